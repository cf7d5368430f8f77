"""Makes the plan: wishes + devices + placement -> estimate, overrides, command, problems. Pure; a few milliseconds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity, fail
from app.common.units import MIB
from app.model.side_files import NO_FILES, SideFiles
from app.model.types import ModelInfo
from app.planner.argv import ArgvRequest, to_argv
from app.planner.calibration import Calibration
from app.planner.companions import companion_problems, companions_of, speculation_of
from app.planner.compute import is_verified
from app.planner.expert_cache import CACHE_PRESET, cache_mib, cache_words, require_cache, with_cache
from app.planner.fill import Measures
from app.planner.host_memory import (
    NO_LIMITS,
    RamLimits,
    checkpoint_bytes,
    host_problems,
    rearranged_bytes,
    rearranges,
    second_copies,
    with_ram_segment,
    with_second_copies,
)
from app.planner.kv import CACHE_TYPES, KvSettings, kv_bytes_by_block
from app.planner.memory import RunSettings, default_prompt_cache_mib, estimate, with_prompt_cache
from app.planner.overrides import compile_overrides, prove, short_form
from app.planner.placement import expert_layers_in_ram, in_use, locations
from app.planner.presets import PRESETS, preset_placement, wishes_for_preset
from app.planner.quiet import quiet_problem, quiet_threads
from app.planner.sizing import memory_problem, reserve_problem
from app.planner.speed import decode_seconds, estimate_speed
from app.planner.token_work import kv_read_bytes, ram_bytes_per_token
from app.planner.types import (
    RAM,
    DeviceSet,
    KvHome,
    MemoryEstimate,
    Override,
    Placement,
    Plan,
    Segment,
    SpeedEstimate,
    Wishes,
)

DEFAULT_CTX = 8192
AUTO_SLOTS = 4
"""What the engine makes of ``-np -1`` (server.cpp:168); we say it explicitly instead."""


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """Everything a plan follows from, except the placement.

    ``host``, ``port``, ``api_key`` and ``alias`` stay the same for a plan; ``api_key`` None leaves the key out of the
    command (never for a launch). ``files``: what was read of the files that the wishes name beside the model.
    ``ram_limits``: what the system promises of memory, besides what is free.
    """

    model: ModelInfo
    devices: DeviceSet
    wishes: Wishes
    capabilities: Capabilities
    n_threads: int
    host: str = "127.0.0.1"
    port: int = 8080
    api_key: str | None = None
    alias: str | None = None
    calibration: Calibration | None = None
    files: SideFiles = NO_FILES
    ram_limits: RamLimits = NO_LIMITS


def context_of(model: ModelInfo, wishes: Wishes) -> int:
    """The context to run with: as wished, else 8192 or the model's own if that is smaller. Never the engine's default,
    which is the model's whole training context."""
    if wishes.n_ctx is not None:
        return max(1, wishes.n_ctx)
    return min(DEFAULT_CTX, model.context_length or DEFAULT_CTX)


def slots_of(wishes: Wishes) -> int:
    """Users at once."""
    return AUTO_SLOTS if wishes.n_slots is None else max(1, wishes.n_slots)


def kv_settings(model: ModelInfo, wishes: Wishes) -> KvSettings:
    """What the KV cache depends on. Several slots share one cache (``-kvu``), each may use the whole context, unless
    the wishes say that each gets its own part."""
    n_ctx = context_of(model, wishes)
    return KvSettings(
        n_ctx=n_ctx,
        n_ubatch=min(wishes.n_ubatch, wishes.n_batch, n_ctx),
        cache_type_k=wishes.cache_type_k,
        cache_type_v=wishes.cache_type_v,
        n_slots=slots_of(wishes),
        is_unified=wishes.kv_unified is not False,
    )


def run_settings(model: ModelInfo, wishes: Wishes, prompt_cache_mib: int, files: SideFiles = NO_FILES) -> RunSettings:
    """What the memory estimate depends on besides the placement."""
    return RunSettings(
        kv=kv_settings(model, wishes),
        flash_attention=wishes.flash_attn != "off",
        op_offload="--no-op-offload" not in wishes.extra,
        prompt_cache_bytes=prompt_cache_mib * MIB,
        others=other_wishes(wishes),
        companions=companions_of(wishes, files),
        repack_words=wishes.extra,
    )


_KNOWN_TO_FORMULAS = frozenset(
    ("n_ctx", "cache_type_k", "cache_type_v", "n_batch", "n_ubatch", "flash_attn", "n_slots", "kv_unified", "kv_home")
)
_WITHOUT_BUFFERS = frozenset(
    ("n_threads", "prompt_cache_mib", "reserve_mib", "keep_ram_mib", "n_gpu_layers", "preset", "load_mode", "is_quiet")
)


def other_wishes(wishes: Wishes) -> tuple[str, ...]:
    """A fingerprint of every further wish that is not at its default, () when all are: what the engine said of a plan
    with an extra argument says nothing of one without it. A fingerprint, because it is kept on disk and arguments may
    hold keys and paths."""
    skipped = _KNOWN_TO_FORMULAS | _WITHOUT_BUFFERS
    told = [
        f"{f.name}={value!r}"
        for f in fields(wishes)
        if f.name not in skipped and (value := getattr(wishes, f.name)) != f.default
    ]
    return (hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:16],) if told else ()


def make_plan(inputs: PlanInputs, placement: Placement | None = None, is_edited: bool = False) -> Plan:
    """The plan for these inputs: the preset's placement, or the given one (a move on the board, a saved plan).

    Raises ProblemError for wishes that the engine does not take (``preset_unknown``, ``preset_cache_unsupported``,
    ``kv_type_unknown``).
    """
    inputs = replace(inputs, wishes=_checked(inputs.wishes, inputs.capabilities))
    model, devices, wishes = inputs.model, inputs.devices, inputs.wishes
    placement = _placed(inputs, placement)
    where = locations(model, placement)
    predicted = estimate(model, placement, devices, run_settings(model, wishes, 0, inputs.files), where)
    load_mode = wishes.load_mode or _load_mode(model, placement, predicted)
    predicted = with_ram_segment(predicted, Segment.CHECKPOINTS, _checkpoints(inputs))
    left_bytes, prompt_cache_mib = predicted.get(RAM).left_bytes, wishes.prompt_cache_mib
    prompt_cache_mib = default_prompt_cache_mib(left_bytes) if prompt_cache_mib is None else prompt_cache_mib
    predicted = with_prompt_cache(predicted, prompt_cache_mib * MIB)
    n_cache_mib = cache_mib(model, placement, predicted) if wishes.preset == CACHE_PRESET else 0
    predicted = with_cache(predicted, placement, n_cache_mib) if n_cache_mib else predicted
    named = in_use(devices, placement)
    copies = second_copies(rearranged_bytes(model, where) if rearranges(named, wishes.extra) else 0, load_mode)
    predicted = with_second_copies(predicted, copies)
    overrides = compile_overrides(model, placement, named)
    unproven = prove(model, placement, named, overrides)
    request = _argv_request(replace(inputs, devices=named), placement, prompt_cache_mib, load_mode, overrides)
    short = short_form(model, placement, inputs.capabilities) if overrides else None
    command = to_argv(replace(request, short_rule=short or ()), inputs.capabilities)
    return Plan(
        model_path=model.path,
        devices=devices,
        wishes=wishes,
        n_ctx=context_of(model, wishes),
        n_slots=slots_of(wishes),
        placement=placement,
        overrides=overrides,
        estimate=predicted,
        speed=_speed_of(inputs, placement, where),
        argv=cache_words(command.argv, wishes.extra, n_cache_mib),
        problems=(
            *((unproven,) if unproven else ()),
            *_problems(inputs, predicted, load_mode, copies),
            *command.problems,
        ),
        is_edited=is_edited,
        files=inputs.files,
    )


def _placed(inputs: PlanInputs, placement: Placement | None) -> Placement:
    """The given placement or the preset's, its KV where it was wished and where it can be."""
    wishes = inputs.wishes
    if placement is None:
        placement = placement_for(inputs.model, inputs.devices, wishes, inputs.calibration, inputs.files)
    kv_home = KvHome.RAM if wishes.kv_home is KvHome.RAM else placement.kv_home
    return replace(placement, kv_home=kv_home if inputs.devices.gpus else KvHome.HOME)


def _speed_of(inputs: PlanInputs, placement: Placement, where: Mapping[str, str]) -> SpeedEstimate:
    return estimate_speed(
        inputs.model,
        placement,
        inputs.devices,
        kv_settings(inputs.model, inputs.wishes),
        where,
        op_offload="--no-op-offload" not in inputs.wishes.extra,
        calibration=inputs.calibration,
    )


def placement_for(
    model: ModelInfo,
    devices: DeviceSet,
    wishes: Wishes,
    calibration: Calibration | None = None,
    files: SideFiles = NO_FILES,
) -> Placement:
    """What the preset of these wishes makes of the model and the devices."""
    settings = run_settings(model, wishes, wishes.prompt_cache_mib or 0, files)
    kv = replace(settings.kv, flash_attention=settings.flash_attention)
    cached = kv_read_bytes(model, kv)

    def seconds(placement: Placement) -> float | None:
        return decode_seconds(model, placement, devices, settings.kv, calibration=calibration)

    by_block = kv_bytes_by_block(model, kv)
    measures = Measures(
        estimate=lambda placement: estimate(model, placement, devices, settings),
        cost=lambda placement: ram_bytes_per_token(model, placement, cached),
        seconds=seconds,
        kv_by_block=tuple(by_block.get(block, 0) for block in range(model.block_count)),
    )
    return preset_placement(model, devices, wishes, measures)


def run_settings_of(model: ModelInfo, plan: Plan) -> RunSettings:
    """The settings behind an existing plan's estimate, to try a move with."""
    return run_settings(model, plan.wishes, plan.estimate.get(RAM).prompt_cache_bytes // MIB, plan.files)


def _checked(wishes: Wishes, capabilities: Capabilities) -> Wishes:
    """The wishes with what their preset brings along; what this engine does not take is refused here, by name."""
    if wishes.preset == CACHE_PRESET:
        require_cache(capabilities)
    elif wishes.preset not in PRESETS:
        raise fail("preset_unknown", preset=wishes.preset, known=", ".join((*PRESETS, CACHE_PRESET)))
    for cache_type in (wishes.cache_type_k, wishes.cache_type_v):
        if cache_type not in CACHE_TYPES:
            raise fail("kv_type_unknown", cache_type=cache_type, known=", ".join(CACHE_TYPES))
    return wishes_for_preset(wishes, wishes.preset)


def _argv_request(
    inputs: PlanInputs,
    placement: Placement,
    prompt_cache_mib: int,
    load_mode: str,
    overrides: tuple[Override, ...],
) -> ArgvRequest:
    wishes = inputs.wishes
    n_slots = slots_of(wishes)
    fits = wishes.preset == "fit"
    return ArgvRequest(
        model_path=inputs.model.path,
        devices=inputs.devices,
        wishes=wishes,
        placement=placement,
        overrides=overrides,
        n_ctx=context_of(inputs.model, wishes),
        n_slots=n_slots,
        prompt_cache_mib=prompt_cache_mib,
        n_threads=threads_of(inputs),
        load_mode=load_mode,
        kv_unified=wishes.kv_unified is not False if n_slots > 1 else None,
        host=inputs.host,
        port=inputs.port,
        api_key=inputs.api_key,
        alias=inputs.alias,
        let_engine_fit=fits,
        fit_target_mib=tuple(d.reserve_bytes // MIB for d in inputs.devices.gpus) if fits else (),
        speculation=speculation_of(wishes, inputs.files),
    )


def threads_of(inputs: PlanInputs) -> int:
    """Threads of the engine: as told, or half of the recommended ones for a quiet plan."""
    is_chosen = inputs.wishes.n_threads is not None
    return quiet_threads(inputs.n_threads) if inputs.wishes.is_quiet and not is_chosen else inputs.n_threads


def _load_mode(model: ModelInfo, placement: Placement, predicted: MemoryEstimate) -> str:
    """Read the file into memory when experts are in RAM and RAM suffices: the engine itself warns that overrides to
    the CPU are slow with mapping (llama-model-loader.cpp:1247), and mapped weights that get repacked exist twice.
    Otherwise map it: then a file larger than RAM still runs, from disk."""
    in_ram = bool(expert_layers_in_ram(model, placement)) or placement.n_gpu_layers == 0
    return "none" if in_ram and predicted.get(RAM).fits else "mmap"


def _checkpoints(inputs: PlanInputs) -> int:
    """RAM for context checkpoints; a build without them keeps none."""
    model, wishes = inputs.model, inputs.wishes
    keeps = inputs.capabilities.first("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints") is not None
    return checkpoint_bytes(model, kv_settings(model, wishes), wishes.extra) if keeps else 0


def _problems(inputs: PlanInputs, predicted: MemoryEstimate, load_mode: str, copies: int) -> list[Problem]:
    model, wishes = inputs.model, inputs.wishes
    no_room = memory_problem(model, inputs.devices, kv_settings(model, wishes), predicted)
    found = [no_room] if no_room is not None else []
    for device in predicted.devices:
        reserve = reserve_problem(device)
        if reserve is not None:
            found.append(reserve)
        left = device.left_bytes
        if left is not None and left < 0:
            code = "over_full_ram" if device.device == RAM else "over_full_gpu"
            found.append(Problem(code, Severity.ERROR, {"device": device.device, "missing_bytes": -left}))
    found.extend(kv_problems(model, wishes))
    found.extend(inputs.files.problems)
    found.extend(companion_problems(model, wishes, inputs.files))
    found.extend(host_problems(predicted, load_mode, inputs.ram_limits, copies))
    n_ctx = context_of(model, wishes)
    if model.context_length is not None and n_ctx > model.context_length:
        params: dict[str, ParamValue] = {"n_ctx": n_ctx, "trained": model.context_length}
        found.append(Problem("ctx_above_trained", Severity.WARNING, params))
    if not is_verified(model) and not any(device.corrections for device in inputs.devices.all):
        found.append(Problem("compute_estimated", Severity.INFO, {"architecture": model.architecture}))
    if not model.is_moe:
        found.append(Problem("dense_model", Severity.INFO, {}))
    if wishes.is_quiet:
        found.append(quiet_problem(threads_of(inputs), inputs.n_threads))
    if wishes.preset == "fit":
        found.append(Problem("fit_decides", Severity.INFO, {}))
    return found


def kv_problems(model: ModelInfo, wishes: Wishes) -> list[Problem]:
    """KV types the engine refuses at start: a row that is not whole blocks, quantised V without flash attention."""
    found = []
    with_kv = [layer for layer in model.layers if layer.head_count_kv]
    for cache_type, lengths in (
        (wishes.cache_type_k, {layer.key_length for layer in with_kv}),
        (wishes.cache_type_v, {layer.value_length for layer in with_kv if not model.is_mla}),
    ):
        block = CACHE_TYPES[cache_type][0]
        odd = sorted(n for n in lengths if n % block)
        if odd:
            params: dict[str, ParamValue] = {"cache_type": cache_type, "length": odd[0]}
            found.append(Problem("kv_type_row", Severity.ERROR, params))
    if CACHE_TYPES[wishes.cache_type_v][0] > 1 and wishes.flash_attn == "off" and not model.is_mla:
        found.append(Problem("v_type_needs_fa", Severity.ERROR, {"cache_type": wishes.cache_type_v}))
    return found
