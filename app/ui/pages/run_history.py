"""Joins the plots to the ring buffer: columns of a run as seconds before now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from app.monitor.ring import RingBuffer
from app.ui.plots.data import FloatArray
from app.work.watching import GAP_S

_NO_NUMBERS: FloatArray = np.empty(0)
_TRIES = 3


class HistoryReader:
    """Reads the session's ring buffer for the plots.

    While a run lives, "now" is the clock; afterwards it is the last sample, so that the last picture stands still.
    Where samples are far apart (nobody looked, or the computer slept) there is an unknown one between them: a gap.
    """

    def __init__(self, source: Callable[[], RingBuffer], clock: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self.is_live = True
        self._clock = clock

    def known_keys(self) -> frozenset[str]:
        """The keys that have ever had a value."""
        history = self.source()
        keys = history.keys()
        return frozenset(key for key in keys if np.isfinite(np.asarray(history.column(key))).any())

    def read(self, key: str, seconds: float) -> tuple[FloatArray, FloatArray]:
        """The samples of the last ``seconds``: (seconds before now, values with NaN where unknown)."""
        times, values = _consistent(self.source(), key)
        if times.size == 0:
            return _NO_NUMBERS, _NO_NUMBERS
        now = self._clock() if self.is_live else float(times[-1])
        ages = times - now
        kept = ages >= -seconds
        return with_gaps(ages[kept], values[kept])


def with_gaps(ages: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An unknown value between two samples that are more than ``GAP_S`` apart. Pure."""
    after = np.flatnonzero(np.diff(ages) > GAP_S) + 1
    if after.size == 0:
        return ages, values
    middles = (ages[after - 1] + ages[after]) / 2
    return np.insert(ages, after, middles), np.insert(values, after, np.nan)


def _consistent(history: RingBuffer, key: str) -> tuple[FloatArray, FloatArray]:
    """Times and values of the same samples: another thread may append between the two reads."""
    for _ in range(_TRIES):
        written = history.written
        times, values = np.asarray(history.times()), np.asarray(history.column(key))
        if history.written == written and times.size == values.size:
            return times, values
    return _NO_NUMBERS, _NO_NUMBERS


def cpu_load(values: Mapping[str, float | None]) -> dict[int, float | None]:
    """``cpu.N`` of a sample as CPU number -> percent."""
    return {int(key[4:]): value for key, value in values.items() if key.startswith("cpu.") and key[4:].isdigit()}
