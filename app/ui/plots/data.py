"""What a live plot draws: named series, and where their numbers come from. No pyqtgraph here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.ui.plots.scale import PlotUnit

FloatArray = npt.NDArray[np.float64]

SeriesReader = Callable[[str, float], tuple[FloatArray, FloatArray]]
"""(key, seconds) -> (seconds before now, all <= 0 and ascending; values, NaN where unknown). May be empty."""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve. ``color_index`` picks one of the theme's eight series colours.

    ``predicted``: the plan's figure, drawn as a dashed line in the same colour. ``note`` stands after the value, in
    words ("engine's sum", when it is that and not a measured value). ``predicted_name``: what the dashed line is;
    "plan" when empty. ``is_moment``: the label speaks of now, which is wrong once the run is over. ``unit``: where a
    table holds figures of several kinds.
    """

    key: str
    label: str
    color_index: int
    predicted: float | None = None
    note: str = ""
    predicted_name: str = ""
    is_moment: bool = False
    unit: PlotUnit | None = None


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest known value and how many seconds before now it was; ``value`` None = nothing is known."""

    value: float | None
    age_s: float = 0.0
    is_current: bool = False


def newest(ages: FloatArray, values: FloatArray) -> Newest:
    """The newest known value; it is current when nothing unknown came after it."""
    known = np.flatnonzero(np.isfinite(values))
    if known.size == 0:
        return Newest(None)
    at = int(known[-1])
    return Newest(float(values[at]), max(0.0, -float(ages[at])), at == values.size - 1)


def highest(values: FloatArray) -> float:
    """The highest known value; 0 when there is none."""
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else 0.0
