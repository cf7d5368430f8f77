"""Kept runs in words: the lines of the list and of a comparison. No widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.common.units import size_text
from app.planner.types import RAM
from app.ui.plots.scale import PlotUnit, value_text
from app.words import say
from app.words.catalogue import number_text
from app.work.run_history import RunRecord

LIST_COLUMNS = ("at", "model", "engine", "seconds", "prompt", "decode", "end")


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One line: what, the figure of the first run, of the second, and the difference (empty where there is none)."""

    what: str
    first: str
    second: str
    difference: str


def when_text(record: RunRecord) -> str:
    """The start in the user's own time."""
    try:
        return datetime.fromisoformat(record.at).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return record.at


def duration_text(seconds: float) -> str:
    """'12 s', '3:05', '1:02:10'."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def list_texts(record: RunRecord) -> tuple[str, ...]:
    """One line of the list."""
    return (
        when_text(record),
        record.model,
        record.engine_build.partition(" (")[0] or "—",
        duration_text(record.seconds),
        value_text(record.prompt_tps, PlotUnit.SPEED),
        value_text(record.decode_tps, PlotUnit.SPEED),
        say("runs.end.failed" if record.reason else "runs.end.stopped"),
    )


def devices_of(*records: RunRecord) -> tuple[str, ...]:
    """The devices of both plans, RAM last."""
    found = dict.fromkeys(device for record in records for device in record.planned)
    return (*(d for d in found if d != RAM), *((RAM,) if RAM in found else ()))


def device_name(device: str) -> str:
    """As the board calls it."""
    return say("board.ram") if device == RAM else device


def compare_rows(first: RunRecord, second: RunRecord) -> tuple[CompareRow, ...]:
    """What two runs can be compared by; a line that neither tells is left out. Twice the same run: its own figures."""
    rows = [
        _numbers("runs.column.prompt", first.prompt_tps, second.prompt_tps, _speed),
        _numbers("runs.column.decode", first.decode_tps, second.decode_tps, _speed),
        _numbers("runs.row.requests", len(first.requests), len(second.requests), number_text),
        _numbers("runs.row.context", first.n_ctx, second.n_ctx, number_text),
    ]
    for device in devices_of(first, second):
        name = device_name(device)
        peaks = (_peak(first, device), _peak(second, device))
        rows.append(_numbers("runs.row.peak", *peaks, size_text, device=name))
        plans = (first.planned.get(device), second.planned.get(device))
        rows.append(_numbers("runs.row.plan", *plans, size_text, device=name))
        for code, what, text in (("runs.row.hot", "temperature", _degrees), ("runs.row.power", "power_w", _watts)):
            key = f"gpu.{device}.{what}"
            rows.append(_numbers(code, first.peak(key), second.peak(key), text, device=name))
    engines = [r.engine_build.partition(" (")[0] or "—" for r in (first, second)]
    rows.append(CompareRow(say("runs.column.engine"), engines[0], engines[1], ""))
    if first is not second:
        same = say("runs.row.same" if first.command == second.command else "runs.row.other")
        rows.append(CompareRow(say("runs.row.command"), "", "", same))
    return tuple(row for row in rows if row is not None)


def _peak(record: RunRecord, device: str) -> float | None:
    key = record.device_key(device)
    return None if key is None else record.peak(key)


def _degrees(value: float) -> str:
    return f"{value:.0f} °C"


def _watts(value: float) -> str:
    return f"{value:.0f} W"


def _speed(value: float) -> str:
    return value_text(value, PlotUnit.SPEED)


def _numbers(
    code: str, first: float | None, second: float | None, text: Callable[[float], str], **params: str
) -> CompareRow | None:
    if first is None and second is None:
        return None
    told = ["—" if value is None else text(value) for value in (first, second)]
    difference = ""
    if first and second is not None and second != first:
        percent = 100 * (second / first - 1)
        difference = f"{'+' if percent >= 0 else '−'}{abs(percent):.1f} %"
    return CompareRow(say(code, **params), told[0], told[1], difference)
