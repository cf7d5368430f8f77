"""Override rules as anybody wrote them: cut as the engine cuts them, matched as the engine matches them.

``-ot`` values are cut at every comma, then at the first ``=`` (common/arg.cpp:252-284); ``--cpu-moe`` and
``--n-cpu-moe`` append rules like any other (common/arg.cpp:2763-2790), so the order on the command line decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.planner.ecma_regex import EcmaSyntaxError, to_python
from app.planner.flag_table import Given
from app.planner.types import RAM, Device, DeviceSet

EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""``--cpu-moe`` (common.h:1224)."""
DENSE_FFN = r"\.ffn_(up|down|gate)\."
"""``--n-cpu-ffn`` (common.h:1226)."""

_MOST_LAYERS = 4096
MOST_RULES = 2048
"""Twice a rule for every single tensor of the largest models; a command with more is no command that anybody uses."""
_HOST_NAMES = frozenset({"ram", "host", "system", "memory", "sysmem"})
_GPU_NAMES = frozenset({"gpu", "vram", "cuda", "vulkan", "rocm", "metal", "device"})
_QUOTES = "'\"`“”‘’"


@dataclass(frozen=True, slots=True)
class TensorRule:
    """One rule: ``pattern`` is searched in tensor names, ``buffer`` is the buffer type's name as typed.

    ``text`` is the rule as typed, ``flag`` the option it comes from, ``source`` where that option was set.
    ``fault``: why the engine would not read it as meant: ``comma`` or ``equals`` (inside the pattern),
    ``no_device`` (nothing after it says where to), ``quotes`` (quote marks arrived as part of it). ``pattern`` and
    ``buffer`` are then what was meant.
    """

    pattern: str
    buffer: str
    text: str
    flag: str = "-ot"
    source: str = "command"
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class RuleHits:
    """What the rules do to a list of names. ``matches[i]``: names that rule i finds; ``wins[i]``: those it decides,
    being the first that finds them; ``regex_errors[i]``: why rule i cannot be compiled."""

    matches: tuple[tuple[str, ...], ...]
    wins: tuple[tuple[str, ...], ...]
    regex_errors: tuple[EcmaSyntaxError | None, ...]


def rules_of(given: Iterable[Given]) -> tuple[TensorRule, ...]:
    """All rules of a command in the engine's order. An ``N`` that is no number gives no rule."""
    found: list[TensorRule] = []
    for option in given:
        if option.setting == "override_tensor" and option.values:
            found.extend(split_rules(option.value, option.flag, option.source))
        elif option.setting == "cpu_moe":
            found.append(TensorRule(EXPERTS, "CPU", option.flag, option.flag, option.source))
        elif option.setting in ("n_cpu_moe", "n_cpu_ffn"):
            found.extend(_first_layers(option))
    return tuple(found)


def _first_layers(option: Given) -> Iterable[TensorRule]:
    """``--n-cpu-moe N``: one rule that finds what the engine's N rules find. N = 0 gives none."""
    if re.fullmatch(r"[0-9]{1,6}", option.value) is None or int(option.value) == 0:
        return
    blocks = "|".join(str(n) for n in range(min(int(option.value), _MOST_LAYERS)))
    what = EXPERTS if option.setting == "n_cpu_moe" else DENSE_FFN
    text = f"{option.flag} {option.value}"
    yield TensorRule(rf"blk\.({blocks}){what}", "CPU", text, option.flag, option.source)


def split_rules(value: str, flag: str = "-ot", source: str = "command") -> tuple[TensorRule, ...]:
    """The rules of one ``-ot`` value; a rule that the engine would cut in two is put together again and marked."""
    pieces = value.split(",")
    if len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    found: list[TensorRule] = []
    waiting: list[str] = []
    for piece in pieces:
        waiting.append(piece)
        if "=" not in piece:
            continue
        found.append(_rule(",".join(waiting), len(waiting) > 1, flag, source))
        waiting = []
    if waiting:
        text = ",".join(waiting)
        found.append(TensorRule(text.strip(_QUOTES), "", text, flag, source, "no_device"))
    return tuple(found)


def _rule(text: str, has_comma: bool, flag: str, source: str) -> TensorRule:
    fault = "comma" if has_comma else None
    pattern, _, buffer = text.partition("=")
    if "=" in buffer:
        pattern, _, buffer = text.rpartition("=")
        fault = "equals"
    if text[:1] in tuple(_QUOTES) or buffer[-1:] in tuple(_QUOTES):
        pattern, buffer = pattern.lstrip(_QUOTES), buffer.rstrip(_QUOTES)
        fault = fault or "quotes"
    return TensorRule(pattern, buffer, text, flag, source, fault)


def match_rules(rules: Sequence[TensorRule], names: Sequence[str]) -> RuleHits:
    """Walk the rules as the engine does: searched anywhere in the name, first hit wins (llama-model-loader.cpp:1234).

    A rule whose pattern the engine cannot compile finds nothing.
    """
    matches: list[tuple[str, ...]] = []
    errors: list[EcmaSyntaxError | None] = []
    known: dict[str, tuple[tuple[str, ...], EcmaSyntaxError | None]] = {}
    for rule in rules:
        if rule.pattern not in known:
            known[rule.pattern] = _found_by(rule.pattern, names)
        found, error = known[rule.pattern]
        errors.append(error)
        matches.append(found)
    taken: set[str] = set()
    wins: list[tuple[str, ...]] = []
    for found in matches:
        wins.append(tuple(name for name in found if name not in taken))
        taken.update(found)
    return RuleHits(tuple(matches), tuple(wins), tuple(errors))


def _found_by(pattern: str, names: Sequence[str]) -> tuple[tuple[str, ...], EcmaSyntaxError | None]:
    try:
        compiled = re.compile(to_python(pattern), re.ASCII)
    except (EcmaSyntaxError, re.error, OverflowError) as error:
        return (), error if isinstance(error, EcmaSyntaxError) else EcmaSyntaxError("invalid", 0)
    return tuple(name for name in names if compiled.search(name)), None


def in_engine_order(devices: Iterable[Device]) -> tuple[Device, ...]:
    """RPC servers first, then cards, then graphics inside the processor; by number (llama.cpp:195-290)."""

    def key(device: Device) -> tuple[int, str, int]:
        number = re.search(r"(\d+)$", device.name)
        rank = {"rpc": 0, "gpu": 1, "igpu": 2}.get(device.kind.value, 3)
        return rank, device.name.rstrip("0123456789"), int(number[1]) if number else 0

    return tuple(sorted(devices, key=key))


def usable_devices(devices: DeviceSet) -> tuple[Device, ...]:
    """Every device the engine could use, switched on or not."""
    return in_engine_order((*devices.gpus, *devices.off))


def device_of(buffer: str, devices: DeviceSet) -> tuple[str | None, str | None]:
    """(device name, fault) of a buffer type's name. Fault None: the engine takes it as it is.

    ``case``: right but for capitals; ``gpu`` and ``host``: a word for a kind of memory, no buffer type; ``rpc``: an RPC
    device without its address; ``unknown``: no such device here. The device is the one that was probably meant.
    """
    usable = usable_devices(devices)
    exact = {d.override_name: d.name for d in (*usable, devices.ram)}
    if buffer in exact:
        return exact[buffer], None
    lowered = buffer.lower()
    for name, device in exact.items():
        if name.lower() == lowered:
            return device, "case"
    named = next((d for d in usable if d.name.lower() == lowered), None)
    if named is not None:
        return named.name, "rpc"
    if lowered in _HOST_NAMES or lowered.endswith("_host") or lowered.startswith("cpu"):
        return RAM, "host"
    if lowered.rstrip("0123456789") in _GPU_NAMES and usable:
        number = re.search(r"(\d+)$", lowered)
        index = int(number[1]) if number else 0
        if index < len(usable):
            return usable[index].name, "gpu" if lowered.rstrip("0123456789") in ("gpu", "vram", "device") else "unknown"
    return None, "unknown"
