"""The last N samples, one column of numbers per key, for curves. Safe to write in one thread and read in another."""

from __future__ import annotations

import math
import threading
from array import array

from app.monitor.sample import Sample

_NAN = array("d", [math.nan])


class RingBuffer:
    """Time and value columns of a fixed capacity, all allocated once; a value that is not known is NaN, a gap.

    Columns come out oldest first as ``array('d')``, which ``numpy.asarray`` takes without copying. A key that turns
    up later is NaN for the samples before it.
    """

    def __init__(self, capacity: int, keys: tuple[str, ...] = ()) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._capacity = capacity
        self._lock = threading.Lock()
        self._times = _NAN * capacity
        self._columns = dict.fromkeys(keys, _NAN * capacity)
        self._written = 0

    def __len__(self) -> int:
        return min(self._written, self._capacity)

    @property
    def capacity(self) -> int:
        """Most samples it keeps."""
        return self._capacity

    @property
    def written(self) -> int:
        """Samples ever appended; tells a reader whether there is anything new."""
        return self._written

    def keys(self) -> tuple[str, ...]:
        """All keys so far, in the order of their first appearance."""
        with self._lock:
            return tuple(self._columns)

    def append(self, sample: Sample) -> None:
        """Add a sample; the oldest one goes when the buffer is full."""
        with self._lock:
            place = self._written % self._capacity
            self._times[place] = sample.t_monotonic
            for key in sample.values:
                if key not in self._columns:
                    self._columns[key] = _NAN * self._capacity
            for key, column in self._columns.items():
                value = sample.values.get(key)
                column[place] = math.nan if value is None else value
            self._written += 1

    def times(self) -> array[float]:
        """Times of the kept samples in seconds of the monotonic clock, oldest first."""
        with self._lock:
            return self._ordered(self._times)

    def column(self, key: str) -> array[float]:
        """The values of a key, oldest first, as long as ``times()``; NaN for every unknown one and for a new key."""
        with self._lock:
            column = self._columns.get(key)
            return _NAN * len(self) if column is None else self._ordered(column)

    def latest(self, key: str) -> float | None:
        """The newest value of a key; None when it is unknown or there is no sample."""
        with self._lock:
            column = self._columns.get(key)
            if column is None or self._written == 0:
                return None
            value = column[(self._written - 1) % self._capacity]
            return None if math.isnan(value) else value

    def clear(self) -> None:
        """Forget every sample; the keys stay."""
        with self._lock:
            self._written = 0
            for column in self._columns.values():
                column[:] = _NAN * self._capacity

    def _ordered(self, column: array[float]) -> array[float]:
        if self._written <= self._capacity:
            return column[: self._written]
        start = self._written % self._capacity
        return column[start:] + column[:start]
