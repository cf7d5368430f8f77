"""Fixed, stepped axes: a curve that grows must not make the picture jump on each sample. Pure, no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from app.common.ranges import ranges_text
from app.common.units import GIB, MIB, size_text
from app.words import say
from app.words.catalogue import number_text

_HEADROOM = 1.05
_SHRINK_BELOW = 0.3
_SMALL_SHARE = 0.3


class PlotUnit(StrEnum):
    """What the y axis counts: it decides the steps of the range and the words of a value."""

    BYTES = "bytes"
    SPEED = "speed"
    PERCENT = "percent"
    TOKENS = "tokens"
    CELSIUS = "celsius"
    WATTS = "watts"
    MEGAHERTZ = "megahertz"
    """The last four stand in tables only."""


_SUFFIXES = {PlotUnit.TOKENS: "", PlotUnit.CELSIUS: " °C", PlotUnit.WATTS: " W", PlotUnit.MEGAHERTZ: " MHz"}

_DECADES = tuple(m * 10.0**e for e in range(0, 6) for m in (1, 2, 5))
_SIZES = tuple(
    float(n)
    for n in (
        *(m * MIB for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),
        *(
            g * GIB
            for g in (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512, 1024, 2048)
        ),
    )
)
_STEPS: dict[PlotUnit, tuple[float, ...]] = {
    PlotUnit.BYTES: _SIZES,
    PlotUnit.SPEED: _DECADES[3:],
    PlotUnit.PERCENT: (100.0,),
}


def stepped_maximum(peak: float, unit: PlotUnit, current: float | None = None) -> float:
    """The upper end of the y axis for a highest value ``peak``.

    A range grows as soon as it must and shrinks only when the curve uses less than a third of it, so that a value
    that swings around a step does not make the axis flicker.
    """
    steps = _STEPS[unit]
    needed = peak if unit is PlotUnit.PERCENT else peak * _HEADROOM
    wanted = next((step for step in steps if step >= needed), steps[-1])
    if current is not None and wanted < current and peak > current * _SHRINK_BELOW:
        return current
    return wanted


def capacity_maximum(peak: float, capacity: float, current: float | None = None) -> float:
    """The upper end of an axis for a device of a fixed size.

    It is the first step that holds the whole device, and does not move; but where little of a large device is used (a
    small model on a large card), a line along the bottom would say nothing, so the range follows the curve in steps.
    """
    if peak < capacity * _SMALL_SHARE and (current is None or current < capacity * 0.995):
        return stepped_maximum(peak, PlotUnit.BYTES, current)
    return next((step for step in _SIZES if step >= max(peak, capacity * 0.995)), max(peak, capacity))


def y_ticks(maximum: float, unit: PlotUnit) -> list[tuple[float, str]]:
    """Zero, middle and top with their words; the unit stands at the top one only."""
    return [(0.0, "0"), (maximum / 2, _tick(maximum / 2, maximum, unit)), (maximum, _top_tick(maximum, unit))]


def x_ticks(span_s: float, *, is_over: bool = False) -> list[tuple[float, str]]:
    """Seconds before now, or before the end of a run that is over: the start, the middle and the end of the window."""
    end = say("plot.end" if is_over else "plot.now")
    return [(-s, ago_text(s, is_over=is_over)) for s in (span_s, span_s / 2)] + [(0.0, end)]


def ago_text(seconds: float, *, is_over: bool = False) -> str:
    """'30 s' or '5 min' before now, or before the end."""
    suffix = "_before" if is_over else "_ago"
    if seconds >= 120 and seconds % 60 == 0:
        return say(f"plot.minutes{suffix}", n=seconds / 60)
    return say(f"plot.seconds{suffix}", n=seconds)


def value_text(value: float | None, unit: PlotUnit) -> str:
    """One value for people; unknown (None or NaN) is an em dash."""
    if value is None or value != value:
        return "—"
    if unit is PlotUnit.BYTES:
        return size_text(value)
    if unit is PlotUnit.PERCENT:
        return f"{value:.0f} %"
    if unit is PlotUnit.SPEED:
        return say("plot.tok_s", x=round(value, 1))
    return f"{number_text(round(value))}{_SUFFIXES[unit]}"


def cpu_list_text(cpus: Sequence[int]) -> str:
    """'0-5, 8, 10-11' for a list of logical CPU numbers; an em dash for none."""
    return ranges_text(cpus) or "—"


def _tick(value: float, maximum: float, unit: PlotUnit) -> str:
    if unit is PlotUnit.BYTES:
        return f"{value / (GIB if maximum >= GIB else MIB):g}"
    return number_text(value)


def _top_tick(maximum: float, unit: PlotUnit) -> str:
    text = _tick(maximum, maximum, unit)
    if unit is PlotUnit.BYTES:
        return f"{text} {'GiB' if maximum >= GIB else 'MiB'}"
    return f"{text} %" if unit is PlotUnit.PERCENT else text
