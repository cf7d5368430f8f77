"""Somebody's llama-server command -> what it asks for, in the terms of the board; the rest is kept verbatim.

What is not said is what the engine would do (context of the model, four slots, 8 GiB of prompt cache), not what a
plan of ours would: an imported command must do the same as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity
from app.planner.companion_import import read_companion
from app.planner.flag_table import (
    Given,
    current_spelling,
    from_variables,
    is_ik,
    is_no,
    is_yes,
    parse_argv,
    without_our_own,
)
from app.planner.kv import CACHE_TYPES
from app.planner.tensor_rules import MOST_RULES, TensorRule, rules_of
from app.planner.types import KvHome, Wishes

ENGINE_PROMPT_CACHE_MIB = 8192
"""``-cram`` where nobody says it (common/arg.cpp:1719)."""
ENGINE_FIT_TARGET_MIB = 1024
ENGINE_DEFAULT_THREADS = -1
"""``-t -1``: the engine counts the cores itself."""
_LARGEST = 1 << 30
MOST_WORDS = 8192
"""Words of a command that are read; what Windows or a shell can hand over has fewer."""


@dataclass(frozen=True, slots=True)
class ImportedCommand:
    """What a command asks for.

    ``n_ctx``: None = not said, 0 = the model's own. ``n_gpu_layers``: None = not said or ``auto``, -1 = all.
    ``device_names``: None = the engine's choice, empty = none. ``wishes`` hold the rest; ``kept`` is what the board
    does not model, in order, and ``wishes.extra`` its words. ``fit``: is automatic fitting on (by default it is)?
    ``is_ik``: the command or the engine at hand is ik_llama.cpp's.
    """

    wishes: Wishes
    given: tuple[Given, ...]
    kept: tuple[Given, ...]
    rules: tuple[TensorRule, ...]
    model_path: str | None = None
    downloads: str | None = None
    n_ctx: int | None = None
    n_gpu_layers: int | None = None
    device_names: tuple[str, ...] | None = None
    split_mode: str = "layer"
    main_gpu: int = 0
    tensor_split: tuple[float, ...] = ()
    rpc_servers: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8080
    api_key: str | None = None
    alias: str | None = None
    fit: bool = True
    is_ik: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def fit_places(self) -> bool:
        """Does the engine place the model itself? Only while nothing of the placement is said
        (common/fit.cpp:463-485)."""
        said = self.n_gpu_layers is not None or any(self.tensor_split) or self.rules
        return self.fit and not said and self.split_mode in ("layer", "none") and self.device_names != ()

    def last(self, setting: str) -> Given | None:
        """The option that counts: the last of its kind."""
        return next((g for g in reversed(self.given) if g.setting == setting and g.fault != "value_missing"), None)


@dataclass(slots=True)
class _Reading:
    """Fills in an ``ImportedCommand`` option by option."""

    capabilities: Capabilities
    wishes: Wishes
    is_ik: bool
    fields: dict[str, object] = field(default_factory=dict)
    kept: list[Given] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    slots_given: bool = False
    unified: bool | None = None
    is_mapped: bool = True
    is_locked: bool = False
    overrules: bool = False
    threads: int = ENGINE_DEFAULT_THREADS

    def keep(self, given: Given) -> None:
        """Not modelled: verbatim into the extra arguments."""
        self.kept.append(given)

    def report(self, code: str, given: Given, severity: Severity = Severity.ERROR, **more: ParamValue) -> None:
        params = {"flag": given.flag, "value": " ".join(given.values), **more}
        self.problems.append(Problem(code, severity, params))

    def number(self, given: Given, low: int) -> int | None:
        """The value as a whole number from ``low``; None and a problem when it is none."""
        if re.fullmatch(r"[+-]?[0-9]{1,10}", given.value) and low <= int(given.value) <= _LARGEST:
            return int(given.value)
        self.report("import_bad_value", given)
        return None


def read_command(
    argv: Sequence[str], capabilities: Capabilities, variables: Mapping[str, str] | None = None
) -> ImportedCommand:
    """Read the arguments after the program's name; ``variables`` are those set in front of the command.

    Never fails: what cannot be understood is a problem (``import_*``), and its option counts as not given. So is what
    lies beyond the first ``MOST_WORDS`` words and ``MOST_RULES`` rules.
    """
    given = (*from_variables(variables or {}), *parse_argv(argv[:MOST_WORDS], capabilities))
    rules = rules_of(given)
    has_cache = capabilities.first("-cram", "--cache-ram") is not None
    wishes = Wishes(n_slots=None, prompt_cache_mib=ENGINE_PROMPT_CACHE_MIB if has_cache else 0, load_mode="auto")
    reading = _Reading(capabilities, wishes, is_ik((*(g.flag for g in given), *capabilities.flags)))
    reading.fields["fit"] = capabilities.first("-fit", "--fit") is not None
    for option in given:
        _read(reading, option)
    _finish_slots(reading)
    _finish_loading(reading)
    for code, n, most in (("words", len(argv), MOST_WORDS), ("rules", len(rules), MOST_RULES)):
        if n > most:
            reading.problems.append(Problem(f"import_too_many_{code}", Severity.ERROR, {"n": n, "most": most}))
    command = ImportedCommand(
        wishes=replace(reading.wishes, n_threads=reading.threads),
        given=given,
        kept=tuple(reading.kept),
        rules=rules[:MOST_RULES],
        is_ik=reading.is_ik,
        problems=tuple(reading.problems),
    )
    command = replace(command, **reading.fields)  # type: ignore[arg-type]  # each field is set by its own reader below
    return _with_fit_target(command)


def _read(reading: _Reading, given: Given) -> None:
    if given.fault == "stray":
        reading.report("import_stray", given)
        return
    if given.fault == "value_missing":
        reading.report("import_value_missing", given)
        return
    if given.fault == "equals":
        reading.report("import_equals", given)
    reader = _READERS.get(given.setting or "")
    wishes = read_companion(reading.wishes, given)
    if wishes is not None:
        reading.wishes = wishes
    elif reader is None:
        reading.keep(given)
    else:
        reader(reading, given)


def _finish_slots(reading: _Reading) -> None:
    """No ``-np``: four slots that share the context, in builds that can share it; one slot in older ones
    (server.cpp:168). An explicit ``-np N`` divides the context unless ``-kvu`` is given."""
    can_share = reading.capabilities.first("-kvu", "--kv-unified") is not None
    wishes = reading.wishes
    if wishes.n_slots is None and not can_share:
        wishes = replace(wishes, n_slots=1)
    unified = wishes.n_slots is None if reading.unified is None else reading.unified
    if wishes.n_slots != 1:
        wishes = replace(wishes, kv_unified=unified)
    reading.wishes = wishes


def _finish_loading(reading: _Reading) -> None:
    """``--mlock`` and ``--no-mmap`` of older builds as one load mode."""
    if reading.is_mapped and not reading.is_locked:
        return
    mapped = "mmap" if reading.is_mapped else "none"
    mode = {"mmap": "mmap+mlock", "none": "mlock"}[mapped] if reading.is_locked else mapped
    reading.wishes = replace(reading.wishes, load_mode=mode)
    if reading.overrules:
        reading.problems.append(Problem("import_loading_order", Severity.WARNING, {"mode": mode}))


def _with_fit_target(command: ImportedCommand) -> ImportedCommand:
    """The margin that fitting leaves free is what the board calls the reserve; without fitting it means nothing.

    A margin per device, and ``-mg`` where it does not choose the device, are kept as they are.
    """
    target = command.last("fit_target")
    kept = list(command.kept)
    wishes = command.wishes
    if command.fit_places:
        told = set(re.split(r"[,/]", target.value)) if target is not None else set()
        is_one = len(told) == 1 and all(re.fullmatch(r"[0-9]{1,8}", text) for text in told)
        reserve = int(told.pop()) if is_one else ENGINE_FIT_TARGET_MIB
        wishes = replace(wishes, preset="fit", reserve_mib=reserve)
        target = None if is_one else target
    also = [target, command.last("main_gpu") if command.split_mode != "none" else None]
    kept += [option for option in also if option is not None]
    kept = without_our_own(sorted(kept, key=command.given.index))
    words = tuple(word for option in kept for word in option.words)
    return replace(command, kept=tuple(kept), wishes=replace(wishes, extra=words))


def _set(reading: _Reading, **fields: object) -> None:
    reading.fields.update(fields)


def _number_field(name: str, low: int) -> Callable[[_Reading, Given], None]:
    def read(reading: _Reading, given: Given) -> None:
        value = reading.number(given, low)
        if value is not None:
            _set(reading, **{name: value})

    return read


def _text_field(name: str) -> Callable[[_Reading, Given], None]:
    def read(reading: _Reading, given: Given) -> None:
        _set(reading, **{name: given.value})

    return read


def _number_wish(name: str, low: int) -> Callable[[_Reading, Given], None]:
    def read(reading: _Reading, given: Given) -> None:
        value = reading.number(given, low)
        if value is not None:
            changed: dict[str, int] = {name: value}
            reading.wishes = replace(reading.wishes, **changed)  # type: ignore[arg-type]  # number fields only

    return read


def _gpu_layers(reading: _Reading, given: Given) -> None:
    if given.value in ("auto", "all"):
        _set(reading, n_gpu_layers=None if given.value == "auto" else -1)
        return
    value = reading.number(given, -_LARGEST)
    if value is not None:  # -1 is the engine's own "auto"
        _set(reading, n_gpu_layers=None if value == -1 else max(value, -1))


def _devices(reading: _Reading, given: Given) -> None:
    names = tuple(name.strip() for name in given.value.split(",") if name.strip())
    _set(reading, device_names=() if names == ("none",) else names)


def _split_mode(reading: _Reading, given: Given) -> None:
    _set(reading, split_mode=given.value)
    if given.value not in ("layer", "none"):
        reading.keep(given)
        reading.report("import_split_mode", given, Severity.WARNING)


def _tensor_split(reading: _Reading, given: Given) -> None:
    parts = [part for part in re.split(r"[,/]+", given.value) if part]
    if not parts or any(re.fullmatch(r"[0-9]{1,12}(\.[0-9]*)?|\.[0-9]+", part) is None for part in parts):
        reading.report("import_bad_value", given)
        return
    _set(reading, tensor_split=tuple(float(part) for part in parts))


def _cache_type(side: str) -> Callable[[_Reading, Given], None]:
    def read(reading: _Reading, given: Given) -> None:
        if given.value not in CACHE_TYPES and not reading.is_ik:
            reading.report("import_bad_value", given)
        elif given.value not in CACHE_TYPES:
            reading.keep(given)
            reading.report("import_cache_type", given, Severity.WARNING, known=", ".join(CACHE_TYPES))
        elif side == "k":
            reading.wishes = replace(reading.wishes, cache_type_k=given.value)
        else:
            reading.wishes = replace(reading.wishes, cache_type_v=given.value)

    return read


def _flash_attention(reading: _Reading, given: Given) -> None:
    told = given.value.lower()
    if not told or is_yes(told):
        wish = "on"
    elif is_no(told):
        wish = "off"
    elif told in ("auto", "-1"):
        wish = "auto"
    else:
        reading.report("import_bad_value", given)
        return
    reading.wishes = replace(reading.wishes, flash_attn=wish)


def _slots(reading: _Reading, given: Given) -> None:
    value = reading.number(given, -1)
    if value == 0:
        reading.report("import_bad_value", given)
    elif value is not None:
        reading.wishes = replace(reading.wishes, n_slots=None if value < 0 else value)


def _kv_unified(reading: _Reading, given: Given) -> None:
    reading.unified = is_yes(given.value)


def _kv_home(reading: _Reading, given: Given) -> None:
    reading.wishes = replace(reading.wishes, kv_home=KvHome.RAM if is_yes(given.value) else KvHome.HOME)


def _prompt_cache(reading: _Reading, given: Given) -> None:
    value = reading.number(given, -1)
    if value is None:
        return
    if value < 0:  # no limit: the board cannot say that
        reading.keep(given)
        value = ENGINE_PROMPT_CACHE_MIB
    reading.wishes = replace(reading.wishes, prompt_cache_mib=value)


def _threads(reading: _Reading, given: Given) -> None:
    value = reading.number(given, -1)
    if value is not None:
        reading.threads = value if value > 0 else ENGINE_DEFAULT_THREADS


def _load_mode(reading: _Reading, given: Given) -> None:
    if given.value not in ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio"):
        reading.report("import_bad_value", given)
        return
    reading.wishes = replace(reading.wishes, load_mode=given.value)


def _old_loading(reading: _Reading, given: Given) -> None:
    """Older builds' switches. They add up, except in builds that take them beside ``--load-mode``: there each sets
    the whole mode and the last one counts (ggml-org/llama.cpp#28334)."""
    sets_mode = reading.capabilities.has(given.flag) and reading.capabilities.has("--load-mode")
    reading.overrules |= sets_mode and (reading.is_locked or not reading.is_mapped)
    if sets_mode and given.setting != "mlock":
        reading.is_locked = False
    if given.setting == "mlock":
        reading.is_locked = True
    elif given.setting == "direct_io":
        reading.wishes = replace(reading.wishes, load_mode="dio")
    else:
        reading.is_mapped = given.setting == "mmap"


def _fit(reading: _Reading, given: Given) -> None:
    if given.value and not is_yes(given.value) and not is_no(given.value):
        reading.report("import_bad_value", given)
        return
    _set(reading, fit=not is_no(given.value))


def _rpc(reading: _Reading, given: Given) -> None:
    _set(reading, rpc_servers=tuple(s for s in given.value.split(",") if s))


def _layer_count(reading: _Reading, given: Given) -> None:
    reading.number(given, 0)  # the rules are made by rules_of; here only a bad N is told


def _nothing(_reading: _Reading, _given: Given) -> None:
    """Written by every plan of its own, or read elsewhere."""


_READERS: Mapping[str, Callable[[_Reading, Given], None]] = {
    "model": _text_field("model_path"),
    "download": _text_field("downloads"),
    "rpc": _rpc,
    "device": _devices,
    "n_gpu_layers": _gpu_layers,
    "split_mode": _split_mode,
    "main_gpu": _number_field("main_gpu", 0),
    "tensor_split": _tensor_split,
    "fit": _fit,
    "fit_target": _nothing,
    "ctx": _number_field("n_ctx", 0),
    "slots": _slots,
    "kv_unified": _kv_unified,
    "kv_in_ram": _kv_home,
    "cache_k": _cache_type("k"),
    "cache_v": _cache_type("v"),
    "flash_attn": _flash_attention,
    "batch": _number_wish("n_batch", 1),
    "ubatch": _number_wish("n_ubatch", 1),
    "prompt_cache": _prompt_cache,
    "threads": _threads,
    "load_mode": _load_mode,
    "mlock": _old_loading,
    "mmap": _old_loading,
    "no_mmap": _old_loading,
    "direct_io": _old_loading,
    "override_tensor": _nothing,
    "cpu_moe": _nothing,
    "n_cpu_moe": _layer_count,
    "n_cpu_ffn": _layer_count,
    "host": _text_field("host"),
    "port": _number_field("port", 0),
    "metrics": _nothing,
    "alias": _text_field("alias"),
    "api_key": _text_field("api_key"),
}


def repaired_extra(kept: Iterable[Given], capabilities: Capabilities) -> tuple[str, ...]:
    """The kept options in spellings that this build lists; options that it has in no spelling are left out."""
    words: list[str] = []
    for option in kept:
        flag = current_spelling(option.flag, capabilities)
        if flag is not None:
            words += [flag, *option.values]
    return tuple(words)
