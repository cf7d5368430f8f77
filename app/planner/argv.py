"""The llama-server arguments of a plan: everything that matters is said, only in flags that the build lists.

Order, as a person would read it: model, devices and layers, context and memory, threads and loading, the override
rules, then the server's own settings, then the user's extra arguments verbatim. ``--rpc`` stands before ``-dev`` and
``-ot``, because it registers the devices that they name (arg.cpp:2683). Everything is in the one command that is
shown, copied and run: the last options (``--metrics``, ``--slots``, ``-lv 4``, ``--log-colors off``) are what Lanewise
needs to read speed and buffer sizes; they change no byte of the placement. CPU affinity is set from outside the
process, so there is no ``-C``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.common.capabilities import Capabilities
from app.common.problem import Problem, Severity
from app.planner.companion_argv import add_companions
from app.planner.flags import (
    MOVES_TENSORS,
    OPTIONS,
    PLACEMENT,
    SECRETS,
    STOPS_FIT,
    flags_in,
    normalised,
    takes_on_off,
)
from app.planner.homes import split_argument
from app.planner.overrides import ot_argument
from app.planner.quiet import LOW_PRIORITY
from app.planner.types import DeviceKind, DeviceSet, KvHome, Override, Placement, Wishes

HIDDEN = "HIDDEN"
"""What stands for a secret in logs and bug reports; needs no quotes in any shell."""


@dataclass(frozen=True, slots=True)
class ArgvRequest:
    """What the command is made of.

    ``load_mode``: ``none`` (read into memory: best when experts are in RAM and RAM suffices), ``mmap`` or ``auto``.
    ``short_rule``: ``--cpu-moe`` or ``--n-cpu-moe N`` where that says the same as the overrides.
    ``kv_unified``: True = slots share one cache of ``n_ctx``, False = each gets ``n_ctx / n_slots``, None = leave it to
    the engine (which divides, as ``-np`` is explicit). ``api_key`` and ``alias``: None leaves the option out.
    ``let_engine_fit``: the engine places the model itself; then homes and overrides are left out and
    ``fit_target_mib`` (one value, or one per device) is what it keeps free. Context and the rest stay explicit.
    ``speculation`` is the kind of drafting, a value of ``--spec-type``. Cache types, batch sizes, flash attention, the
    files beside the model and the extra arguments come from ``wishes``.
    """

    model_path: str
    devices: DeviceSet
    wishes: Wishes
    placement: Placement
    overrides: tuple[Override, ...]
    n_ctx: int
    n_slots: int
    prompt_cache_mib: int
    n_threads: int | None = None
    n_threads_batch: int | None = None
    load_mode: str = "auto"
    kv_unified: bool | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    api_key: str | None = None
    alias: str | None = None
    short_rule: tuple[str, ...] = ()
    let_engine_fit: bool = False
    fit_target_mib: tuple[int, ...] = ()
    log_level: int = 4
    speculation: str | None = None


@dataclass(frozen=True, slots=True)
class ArgvResult:
    """The arguments after the program's name, and what could not be said with this build."""

    argv: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Writer:
    """Collects arguments; a setting whose flag the build lacks becomes a problem, never a silent gap."""

    capabilities: Capabilities
    argv: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def add(self, option: str, *values: str | int, lacking: Severity | None = Severity.WARNING) -> bool:
        """Write an option if the build has it. ``lacking``: how bad it is without; None = nothing is lost."""
        spellings = OPTIONS[option].spellings
        flag = self.capabilities.first(*spellings)
        texts = [str(value) for value in values]
        if flag is None:
            if option in PLACEMENT or lacking is Severity.ERROR:
                self.report("engine_lacks_placement", Severity.ERROR, spellings[0], texts)
            elif lacking is not None:
                self.report("engine_lacks_flag", lacking, spellings[0], texts)
            return False
        self.argv += [flag, *texts]
        self.written.append(option)
        return True

    def report(self, code: str, severity: Severity, flag: str, values: list[str]) -> None:
        self.problems.append(Problem(code, severity, {"flag": flag, "setting": " ".join([flag, *values])}))


def to_argv(request: ArgvRequest, capabilities: Capabilities) -> ArgvResult:
    """The llama-server arguments for a plan, without the program's name.

    Problems: ``engine_lacks_placement`` (error: the board cannot be carried out), ``engine_lacks_flag`` (a setting is
    left out; info where the build lacks the whole feature), ``extra_repeats_flag``, ``extra_moves_tensors``,
    ``extra_stops_fit``, ``extra_unknown_flag`` (the user's extra arguments, kept all the same).
    """
    writer = _Writer(capabilities)
    fits = request.let_engine_fit and bool(request.devices.gpus)
    writer.add("model", request.model_path)
    _add_devices(writer, request)
    if fits:
        writer.add("fit", "on", lacking=Severity.ERROR)
        if request.fit_target_mib:
            writer.add("fit_target", ",".join(str(n) for n in request.fit_target_mib))
    else:
        _add_homes(writer, request)
        writer.add("fit", "off", lacking=None)
    _add_memory(writer, request)
    _add_cpu(writer, request)
    if request.placement.kv_home is KvHome.RAM and request.devices.gpus:
        writer.add("kv_in_ram")
    if request.overrides and not fits:
        if request.short_rule:
            writer.argv += request.short_rule
        else:
            writer.add("override_tensor", ot_argument(request.overrides))
    add_companions(writer, request.wishes, request.speculation)
    _add_server(writer, request)
    extra = tuple(request.wishes.extra)
    problems = (*writer.problems, *_extra_problems(extra, writer, fits))
    return ArgvResult((*writer.argv, *extra), problems)


def _add_devices(writer: _Writer, request: ArgvRequest) -> None:
    gpus = request.devices.gpus
    if any(d.kind is DeviceKind.RPC for d in gpus) and request.devices.rpc_servers:
        writer.add("rpc", ",".join(request.devices.rpc_servers))
    writer.add("device", ",".join(d.name for d in gpus) if gpus else "none")


def _add_homes(writer: _Writer, request: ArgvRequest) -> None:
    writer.add("n_gpu_layers", request.placement.n_gpu_layers if request.devices.gpus else 0)
    try:
        shares = split_argument(request.placement, request.devices)
    except ValueError:  # runs that these devices do not have: prove() reports it, the rest of the command stays shown
        shares = None
    if shares is not None:
        writer.add("split_mode", "layer", lacking=None)
        writer.add("tensor_split", ",".join(shares))


def _add_memory(writer: _Writer, request: ArgvRequest) -> None:
    wishes = request.wishes
    writer.add("ctx", request.n_ctx)
    writer.add("slots", request.n_slots)
    if request.kv_unified is not None:
        writer.add("kv_unified" if request.kv_unified else "kv_split", lacking=_when(request.n_slots > 1))
    writer.add("cache_k", wishes.cache_type_k)
    writer.add("cache_v", wishes.cache_type_v)
    _add_flash_attention(writer, wishes.flash_attn)
    writer.add("batch", wishes.n_batch)
    writer.add("ubatch", wishes.n_ubatch)
    # a build without the option has no prompt cache at all, so a wish for none is met
    writer.add("prompt_cache", request.prompt_cache_mib, lacking=Severity.INFO if request.prompt_cache_mib else None)


def _when(matters: bool) -> Severity | None:
    return Severity.WARNING if matters else None


def _add_flash_attention(writer: _Writer, wish: str) -> None:
    if takes_on_off(writer.capabilities):
        writer.add("flash_attn", wish)
    elif wish == "on":
        writer.add("flash_attn")
    elif wish != "off":  # the bare switch is off by default and knows no "auto"
        writer.report("engine_lacks_flag", Severity.WARNING, "-fa", [wish])


def _add_cpu(writer: _Writer, request: ArgvRequest) -> None:
    if request.n_threads is not None:
        writer.add("threads", request.n_threads)
    if request.n_threads_batch is not None:
        writer.add("threads_batch", request.n_threads_batch)
    if request.wishes.is_quiet:
        _add_quiet(writer)
    if writer.capabilities.first(*OPTIONS["load_mode"].spellings):
        writer.add("load_mode", request.load_mode)
        return
    if request.load_mode in ("none", "mlock"):
        writer.add("no_mmap")
    else:  # older builds map the file unless told otherwise
        writer.add("mmap", lacking=None)
    if "mlock" in request.load_mode:
        writer.add("mlock")


def _add_quiet(writer: _Writer) -> None:
    """Low priority came in June 2025; an older build with ``--prio`` would refuse the number and not start."""
    if takes_on_off(writer.capabilities):
        writer.add("priority", LOW_PRIORITY)
    else:
        writer.report("engine_lacks_flag", Severity.WARNING, "--prio", [str(LOW_PRIORITY)])
    writer.add("poll", 0)


def _add_server(writer: _Writer, request: ArgvRequest) -> None:
    writer.add("host", request.host)
    writer.add("port", request.port)
    writer.add("metrics", lacking=Severity.INFO)
    # builds that list only --no-slots have the endpoint on by default
    writer.add("slots_endpoint", lacking=None if writer.capabilities.has("--no-slots") else Severity.INFO)
    if request.alias is not None:
        writer.add("alias", request.alias, lacking=Severity.INFO)
    if request.api_key is not None:
        writer.add("api_key", request.api_key)
    writer.add("verbosity", request.log_level, lacking=None)
    if takes_on_off(writer.capabilities):
        writer.add("log_colors", "off", lacking=None)


def _extra_problems(extra: tuple[str, ...], writer: _Writer, fits: bool) -> Iterator[Problem]:
    """What the user's own arguments do to the plan; each flag is reported once, by its gravest effect."""
    ours = {flag for option in writer.written for flag in OPTIONS[option].all}
    for flag in dict.fromkeys(flags_in(extra)):
        if not writer.capabilities.has(flag) and flag != "--":
            code, severity = "extra_unknown_flag", Severity.WARNING
        elif fits and flag in STOPS_FIT:
            code, severity = "extra_stops_fit", Severity.WARNING
        elif flag in MOVES_TENSORS:
            code, severity = "extra_moves_tensors", Severity.WARNING
        elif flag in ours:
            code, severity = "extra_repeats_flag", Severity.WARNING
        else:
            continue
        yield Problem(code, severity, {"flag": flag})


def redact(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments with secrets replaced, for logs, bug reports and pictures. The original is not changed."""
    hidden = list(argv)
    for index, argument in enumerate(argv[:-1]):
        if normalised(argument) in SECRETS:
            hidden[index + 1] = HIDDEN
    return tuple(hidden)
