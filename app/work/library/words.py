"""A verdict, a role and a size class as words, the same in the window and on the command line."""

from __future__ import annotations

from app.planner.file_verdict import FileVerdict, VerdictKind
from app.words import say, say_problem
from app.work.library.types import Entry

_BILLION = 1e9
_BOUNDS = (VerdictKind.EXPERTS_IN_RAM, VerdictKind.LAYERS_IN_RAM, VerdictKind.TOO_BIG)
"""Kinds whose figure is a bound as long as there is no plan."""


def verdict_words(verdict: FileVerdict | None) -> str:
    """'Fits, 21 expert layers of 48 in RAM'; a first verdict says 'at most'."""
    if verdict is None:
        return say("library.verdict.unknown")
    if verdict.kind is VerdictKind.EXPERTS_IN_RAM:
        params = {"n": verdict.expert_layers_in_ram, "total": verdict.expert_layers}
    elif verdict.kind is VerdictKind.LAYERS_IN_RAM:
        params = {"n": verdict.layers_in_ram, "total": verdict.layers}
    else:
        params = {"missing": verdict.missing_bytes}
    is_bound = verdict.is_first and verdict.kind in _BOUNDS
    return say(f"library.first.{verdict.kind.value}" if is_bound else f"library.verdict.{verdict.kind.value}", **params)


def speed_words(verdict: FileVerdict | None) -> str:
    """'about 53 tok/s', or a dash."""
    if verdict is None or verdict.decode_tps is None:
        return "—"
    return say("library.speed", tps=rounded_tps(verdict.decode_tps))


def entry_words(entry: Entry) -> str:
    """What the list says of a file: its verdict, why it has none, or what else it is."""
    problem = entry.summary.problem
    if problem is not None:
        return say_problem(problem)
    if not entry.is_model:
        return say(f"library.role.{entry.summary.role.value}")
    return say("library.verdict.waiting") if entry.waits and entry.verdict is None else verdict_words(entry.verdict)


def entry_speed_words(entry: Entry) -> str:
    """'about 53 tok/s', a dash, or dots while the plan is still to be made."""
    return say("library.verdict.waiting") if entry.waits else speed_words(entry.verdict)


def size_class(total: int | None, active: int | None) -> str:
    """'30.5B, 3.4B active'; a dash for what is no model."""
    if total is None:
        return "—"
    if active is None or active == total:
        return say("library.size_class", total=_billions(total))
    return say("library.size_class_moe", total=_billions(total), active=_billions(active))


def rounded_tps(tps: float) -> float:
    """A predicted speed with the digits it deserves: 7.6, 34, 110."""
    if tps < 10:
        return round(tps, 1)
    step = 10.0 ** max(0, len(str(int(tps))) - 2)
    return round(tps / step) * step


def _billions(count: int) -> float:
    value = count / _BILLION
    return round(value, 1) if value < 100 else round(value)
