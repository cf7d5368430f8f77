"""What each option of a pasted command asks for: one reader for each setting of ``flag_table``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity
from app.planner.flag_table import Given, is_no, is_yes
from app.planner.kv import CACHE_TYPES
from app.planner.types import KvHome, Wishes

ENGINE_PROMPT_CACHE_MIB = 8192
"""``-cram`` where nobody says it (common/arg.cpp:1719)."""
ENGINE_DEFAULT_THREADS = -1
"""``-t -1``: the engine counts the cores itself."""
_LARGEST = 1 << 30


@dataclass(slots=True)
class Reading:
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
        """A problem with this option; its flag and values go along."""
        params = {"flag": given.flag, "value": " ".join(given.values), **more}
        self.problems.append(Problem(code, severity, params))

    def number(self, given: Given, low: int) -> int | None:
        """The value as a whole number from ``low``; None and a problem when it is none."""
        if re.fullmatch(r"[+-]?[0-9]{1,10}", given.value) and low <= int(given.value) <= _LARGEST:
            return int(given.value)
        self.report("import_bad_value", given)
        return None


def _set(reading: Reading, **fields: object) -> None:
    reading.fields.update(fields)


def _number_field(name: str, low: int) -> Callable[[Reading, Given], None]:
    def read(reading: Reading, given: Given) -> None:
        value = reading.number(given, low)
        if value is not None:
            _set(reading, **{name: value})

    return read


def _text_field(name: str) -> Callable[[Reading, Given], None]:
    def read(reading: Reading, given: Given) -> None:
        _set(reading, **{name: given.value})

    return read


def _number_wish(name: str, low: int) -> Callable[[Reading, Given], None]:
    def read(reading: Reading, given: Given) -> None:
        value = reading.number(given, low)
        if value is not None:
            changed: dict[str, int] = {name: value}
            reading.wishes = replace(reading.wishes, **changed)  # type: ignore[arg-type]  # number fields only

    return read


def _gpu_layers(reading: Reading, given: Given) -> None:
    if given.value in ("auto", "all"):
        _set(reading, n_gpu_layers=None if given.value == "auto" else -1)
        return
    value = reading.number(given, -_LARGEST)
    if value is not None:  # -1 is the engine's own "auto"
        _set(reading, n_gpu_layers=None if value == -1 else max(value, -1))


def _devices(reading: Reading, given: Given) -> None:
    names = tuple(name.strip() for name in given.value.split(",") if name.strip())
    _set(reading, device_names=() if names == ("none",) else names)


def _split_mode(reading: Reading, given: Given) -> None:
    _set(reading, split_mode=given.value)
    if given.value not in ("layer", "none"):
        reading.keep(given)
        reading.report("import_split_mode", given, Severity.WARNING)


def _tensor_split(reading: Reading, given: Given) -> None:
    parts = [part for part in re.split(r"[,/]+", given.value) if part]
    if not parts or any(re.fullmatch(r"[0-9]{1,12}(\.[0-9]*)?|\.[0-9]+", part) is None for part in parts):
        reading.report("import_bad_value", given)
        return
    _set(reading, tensor_split=tuple(float(part) for part in parts))


def _cache_type(side: str) -> Callable[[Reading, Given], None]:
    def read(reading: Reading, given: Given) -> None:
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


def _flash_attention(reading: Reading, given: Given) -> None:
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


def _slots(reading: Reading, given: Given) -> None:
    value = reading.number(given, -1)
    if value == 0:
        reading.report("import_bad_value", given)
    elif value is not None:
        reading.wishes = replace(reading.wishes, n_slots=None if value < 0 else value)


def _kv_unified(reading: Reading, given: Given) -> None:
    reading.unified = is_yes(given.value)


def _kv_home(reading: Reading, given: Given) -> None:
    reading.wishes = replace(reading.wishes, kv_home=KvHome.RAM if is_yes(given.value) else KvHome.HOME)


def _prompt_cache(reading: Reading, given: Given) -> None:
    value = reading.number(given, -1)
    if value is None:
        return
    if value < 0:  # no limit: the board cannot say that
        reading.keep(given)
        value = ENGINE_PROMPT_CACHE_MIB
    reading.wishes = replace(reading.wishes, prompt_cache_mib=value)


def _threads(reading: Reading, given: Given) -> None:
    value = reading.number(given, -1)
    if value is not None:
        reading.threads = value if value > 0 else ENGINE_DEFAULT_THREADS


def _load_mode(reading: Reading, given: Given) -> None:
    if given.value not in ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio"):
        reading.report("import_bad_value", given)
        return
    reading.wishes = replace(reading.wishes, load_mode=given.value)


def _old_loading(reading: Reading, given: Given) -> None:
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


def _fit(reading: Reading, given: Given) -> None:
    if given.value and not is_yes(given.value) and not is_no(given.value):
        reading.report("import_bad_value", given)
        return
    _set(reading, fit=not is_no(given.value))


def _rpc(reading: Reading, given: Given) -> None:
    _set(reading, rpc_servers=tuple(s for s in given.value.split(",") if s))


def _layer_count(reading: Reading, given: Given) -> None:
    reading.number(given, 0)  # the rules are made by rules_of; here only a bad N is told


def _nothing(_reading: Reading, _given: Given) -> None:
    """Written by every plan of its own, or read elsewhere."""


READERS: Mapping[str, Callable[[Reading, Given], None]] = {
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
