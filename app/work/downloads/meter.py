"""Turns bytes into progress: speed over the last seconds, time left, a few reports a second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.work.downloads.types import DownloadProgress, ProgressHandler, WantedFile

_REPORT_S = 0.1
_WINDOW_S = 5.0


class Meter:
    """Counts over all files. ``clock`` is a parameter for the tests."""

    def __init__(
        self, files: Sequence[WantedFile], on_progress: ProgressHandler, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._names = [wanted.name for wanted in files]
        self._totals = [wanted.size_bytes for wanted in files]
        self._on_progress = on_progress
        self._clock = clock
        self._number = 0
        self._before = 0
        self._size = 0
        self._told_at: float | None = None
        self._retry = 0
        self._marks: deque[tuple[float, int]] = deque()

    def begin(self, number: int) -> None:
        """The next file."""
        self._number, self._size = number, 0
        self._marks.clear()

    def check(self, size_bytes: int) -> None:
        """So much of an older part has been read back; that is no speed of the network."""
        self._size = size_bytes
        self._marks.clear()
        self._tell(now=False)

    def total(self, size_bytes: int | None) -> None:
        """The file's size, as the server says it."""
        if size_bytes is not None:
            self._totals[self._number] = size_bytes

    def at(self, size_bytes: int) -> None:
        """So much of the file is here."""
        if size_bytes < self._size or not self._marks:
            self._marks.clear()
            self._marks.append((self._clock(), size_bytes))
        self._size, self._retry = size_bytes, 0
        self._tell(now=False)

    def retrying(self, attempt: int) -> None:
        """The connection is gone; attempt number ``attempt`` follows."""
        self._retry = attempt
        self._tell(now=True)

    def end(self, size_bytes: int) -> None:
        """The file is whole."""
        self._totals[self._number] = self._size = size_bytes
        self._tell(now=True)
        self._before += size_bytes

    def _tell(self, *, now: bool) -> None:
        at = self._clock()
        if not now and self._told_at is not None and at - self._told_at < _REPORT_S:
            return
        self._told_at = at
        done = self._before + self._size
        rest = self._totals[self._number + 1 :]
        current = self._totals[self._number]
        total = None if current is None or None in rest else self._before + current + sum(n or 0 for n in rest)
        speed = self._speed(at)
        left = None if total is None or not speed else max(0, total - done) / speed
        name, count = self._names[self._number], len(self._names)
        place = DownloadProgress(name, self._number + 1, count, self._size, current, done, total)
        self._on_progress(replace(place, bytes_per_s=speed, seconds_left=left, retry=self._retry))

    def _speed(self, at: float) -> float | None:
        """Bytes per second since the oldest mark of the window; None until there is something to divide by."""
        self._marks.append((at, self._size))
        while len(self._marks) > 2 and self._marks[1][0] < at - _WINDOW_S:
            self._marks.popleft()
        since, size = self._marks[0]
        return (self._size - size) / (at - since) if at - since >= _REPORT_S else None
