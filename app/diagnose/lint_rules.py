"""Override rules against one file: what each finds, what it decides, and what is wrong with it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.common.problem import ParamValue, Problem, Severity
from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.ecma_regex import EcmaSyntaxError, without_counts
from app.planner.placement import NOT_LOADED, home_of
from app.planner.tensor_rules import EXPERTS, RuleHits, TensorRule, device_of, match_rules, usable_devices
from app.planner.types import RAM, DeviceSet

_EVERY_TOKEN = frozenset({Role.SHARED_EXPERT, Role.ROUTER, Role.NORM, Role.ATTENTION, Role.RECURRENT})
"""Small parts that every token uses: moving them with the experts costs speed and frees nothing."""

_FAULTS: Mapping[str, str] = {
    "comma": "lint_regex_comma",
    "equals": "lint_regex_equals",
    "no_device": "lint_no_device",
    "quotes": "lint_stray_quotes",
}
_FOREIGN: tuple[tuple[str, str], ...] = (
    (r"model\\?\.layers|(?<![A-Za-z])layers?", "blk"),
    (r"(?:mlp|block_sparse_moe|feed_forward)\\?\.experts(?:(?:\\?\.|\.\*).*)?$", r"ffn_(up|down|gate|gate_up)_exps"),
    (r"(?:mlp|feed_forward)\\?\.shared_experts?(?:(?:\\?\.|\.\*).*)?$", r"ffn_(up|down|gate)_shexp"),
    (r"self_attn", "attn"),
)
"""Names of the original model files -> names in a GGUF."""

_SINGLE_EXPERT = re.compile(r"experts?(?:\\?[._]|\[)?(?:\\d|\d|\(\d|\[\d)|hot", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RuleReport:
    """One rule and this file. ``hits``: tensors whose names it finds, with their bytes; ``moved``: those it decides,
    being the first rule that finds them. ``shadowed_by``: the earlier rule that takes them, when none is left.
    ``device`` is None where the engine would not know the buffer."""

    rule: TensorRule
    device: str | None
    hits: int
    n_bytes: int
    moved: int
    shadowed_by: str | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """All rules of a command: their reports, and the rules as they were meant."""

    reports: tuple[RuleReport, ...]
    repaired: tuple[TensorRule, ...]


@dataclass(frozen=True, slots=True)
class _Board:
    """What every check looks at. ``names_are_certain``: an engine was asked, so an unknown buffer is an error."""

    tensors: Mapping[str, TensorInfo]
    unit_homes: tuple[str, ...]
    devices: DeviceSet
    hits: RuleHits
    rules: Sequence[TensorRule]
    winners: Mapping[str, int]


def check_rules(
    rules: Sequence[TensorRule], model: ModelInfo, devices: DeviceSet, unit_homes: tuple[str, ...]
) -> RuleCheck:
    """Match the rules with the file's tensors. ``devices``: those of the command; ``unit_homes``: without any rule."""
    tensors = {t.name: t for t in model.tensors if t.role not in NOT_LOADED}
    hits = match_rules(rules, tuple(tensors))
    winners = {name: i for i, names in enumerate(hits.wins) for name in names}
    board = _Board(tensors, unit_homes, devices, hits, rules, winners)
    reports = tuple(_report(board, i) for i in range(len(rules)))
    repaired = tuple(r for i, rule in enumerate(rules) if (r := _meant(board, i, rule)) is not None)
    return RuleCheck(reports, repaired)


def _report(board: _Board, index: int) -> RuleReport:
    rule = board.rules[index]
    found = board.hits.matches[index]
    wins = board.hits.wins[index]
    device, buffer_problem = _device(board, rule)
    shadow = _shadow(board, index) if found and not wins else None
    problems = [*_form(board, index), *buffer_problem]
    if board.hits.regex_errors[index] is None:
        problems += _reach(board, index, device, shadow)
    return RuleReport(
        rule=rule,
        device=device,
        hits=len(found),
        n_bytes=sum(board.tensors[name].n_bytes for name in found),
        moved=len(wins),
        shadowed_by=None if shadow is None else board.rules[shadow].pattern,
        problems=tuple(problems),
    )


def _problem(code: str, severity: Severity, rule: TensorRule, **params: ParamValue) -> Problem:
    return Problem(code, severity, {"rule": rule.text, "pattern": rule.pattern, **params})


def _form(board: _Board, index: int) -> list[Problem]:
    """What the engine would not read as it was meant, or not at all."""
    rule = board.rules[index]
    found = []
    if rule.fault is not None:
        better = without_counts(rule.pattern) if rule.fault == "comma" else rule.pattern
        found.append(_problem(_FAULTS[rule.fault], Severity.ERROR, rule, better=better, device=rule.buffer))
    error = board.hits.regex_errors[index]
    if error is not None:
        found.append(_regex_problem(rule, error))
    return found


def _regex_problem(rule: TensorRule, error: EcmaSyntaxError) -> Problem:
    at = rule.pattern[error.position : error.position + 12]
    code = f"lint_regex_{error.reason}" if error.reason in ("not_ecmascript", "too_complex") else "lint_regex_bad"
    return _problem(code, Severity.ERROR, rule, position=error.position + 1, at=at, reason=error.reason)


def _device(board: _Board, rule: TensorRule) -> tuple[str | None, list[Problem]]:
    if not rule.buffer:
        return None, []
    device, fault = device_of(rule.buffer, board.devices)
    known = ", ".join(d.override_name for d in (*usable_devices(board.devices), board.devices.ram))
    if fault is not None:
        right = None
        if device is not None:
            named = {d.name: d.override_name for d in (*usable_devices(board.devices), board.devices.ram)}
            right = named[device]
        code = "lint_buffer_unknown" if right is None or fault == "unknown" else f"lint_buffer_{fault}"
        problem = _problem(code, Severity.ERROR, rule, device=rule.buffer, right=right, known=known)
        return None, [problem]
    if all(d.name != device for d in board.devices.all):
        return device, [_problem("lint_device_not_chosen", Severity.WARNING, rule, device=rule.buffer)]
    return device, []


def _shadow(board: _Board, index: int) -> int:
    """The earlier rule that takes most of what this one finds."""
    takers = Counter(board.winners[name] for name in board.hits.matches[index])
    return min(takers, key=lambda i: (-takers[i], i))


def _reach(board: _Board, index: int, device: str | None, shadow: int | None) -> list[Problem]:
    """Nothing found, nothing left, too much found, or a part missed."""
    rule = board.rules[index]
    found = board.hits.matches[index]
    if not found:
        return [_no_match(board, rule)]
    if shadow is not None:
        by = board.rules[shadow]
        return [_problem("lint_shadowed", Severity.WARNING, rule, by=by.text, n=len(found))]
    wins = [board.tensors[name] for name in board.hits.wins[index]]
    problems = [*_too_broad(rule, wins), *_misses_part(board, rule, wins), *_dense_counted(rule, wins)]
    if device is not None:
        problems += _no_effect(board, rule, wins, device)
    return problems


def _no_match(board: _Board, rule: TensorRule) -> Problem:
    if rule.flag not in ("-ot", "--override-tensor"):
        return _problem("lint_no_experts", Severity.WARNING, rule)
    if _SINGLE_EXPERT.search(rule.pattern):
        return _problem("lint_single_experts", Severity.ERROR, rule)
    better = _translated(rule.pattern, tuple(board.tensors)) or _experts_if_meant(board, rule)
    if better is not None:
        return _problem("lint_no_match_meant", Severity.ERROR, rule, better=better)
    return _problem("lint_no_match", Severity.ERROR, rule)


def _too_broad(rule: TensorRule, wins: Sequence[TensorInfo]) -> Iterable[Problem]:
    """A rule for experts that takes along what every token uses."""
    if re.search(r"exp|ffn", rule.pattern, re.IGNORECASE) is None:
        return
    if not any(t.role is Role.ROUTED_EXPERT for t in wins):
        return
    also = [t for t in wins if t.role in _EVERY_TOKEN]
    if also:
        params: dict[str, ParamValue] = {
            "n": len(also),
            "example": also[0].name,
            "n_bytes": sum(t.n_bytes for t in also),
        }
        yield _problem("lint_too_broad", Severity.WARNING, rule, **params)


def _misses_part(board: _Board, rule: TensorRule, wins: Sequence[TensorInfo]) -> Iterable[Problem]:
    """Newer files keep gate and up in one tensor, which a rule for the separate names misses (llama.cpp#20416)."""
    if re.search(r"gate|up", rule.pattern) is None:
        return
    blocks = {t.block for t in wins if t.role is Role.ROUTED_EXPERT}
    decided = {name for names in board.hits.matches for name in names}
    left = [
        t
        for t in board.tensors.values()
        if t.block in blocks and "_gate_up_" in t.name and t.role is Role.ROUTED_EXPERT and t.name not in decided
    ]
    if left:
        n_bytes = sum(t.n_bytes for t in left)
        yield _problem("lint_misses_part", Severity.WARNING, rule, n=len(left), example=left[0].name, n_bytes=n_bytes)


def _dense_counted(rule: TensorRule, wins: Sequence[TensorInfo]) -> Iterable[Problem]:
    """``--n-cpu-moe N`` counts layers, also those without experts."""
    count = re.fullmatch(r"(?:-ncmoe|--n-cpu-moe) (\d+)", rule.text)
    blocks = sorted({t.block for t in wins if t.block is not None})
    if count is None or not blocks or blocks[0] == 0 or int(count[1]) <= len(blocks):
        return
    yield _problem("lint_dense_counted", Severity.INFO, rule, n=int(count[1]), moved=len(blocks), dense=blocks[0])


def _no_effect(board: _Board, rule: TensorRule, wins: Sequence[TensorInfo], device: str) -> Iterable[Problem]:
    away = [t for t in wins if home_of(t, board.unit_homes) != device]
    if not away:
        yield _problem("lint_no_effect", Severity.INFO, rule, device=device)
        return
    with_kv = [t for t in away if t.role is Role.ATTENTION and device == RAM and t.block is not None]
    if with_kv:
        yield _problem("lint_kv_stays", Severity.INFO, rule, n=len({t.block for t in with_kv}), device=device)


def _meant(board: _Board, index: int, rule: TensorRule) -> TensorRule | None:
    """The rule as it was probably meant; None for one that can mean nothing here (single experts, no device)."""
    if rule.fault == "no_device" or board.hits.regex_errors[index] is not None:
        return None
    if board.hits.matches[index]:
        return rule
    if _SINGLE_EXPERT.search(rule.pattern):
        return None
    better = _translated(rule.pattern, tuple(board.tensors)) or _experts_if_meant(board, rule)
    return None if better is None else replace(rule, pattern=better, fault=None)


def _experts_if_meant(board: _Board, rule: TensorRule) -> str | None:
    """All experts, for a rule that speaks of experts and sends them to RAM."""
    device, _ = device_of(rule.buffer, board.devices) if rule.buffer else (None, None)
    if device != RAM or re.search(r"exp|moe", rule.pattern, re.IGNORECASE) is None:
        return None
    has_experts = any(t.role is Role.ROUTED_EXPERT for t in board.tensors.values())
    return EXPERTS if has_experts else None


def _translated(pattern: str, names: Sequence[str]) -> str | None:
    """The pattern with a GGUF's names for the original model's, when it then finds something."""
    better = pattern
    for foreign, own in _FOREIGN:
        better = re.sub(foreign, lambda _: own, better)  # noqa: B023  # called at once
    if better == pattern:
        return None
    hits = match_rules((TensorRule(better, "CPU", better),), names)
    return better if hits.matches[0] else None
