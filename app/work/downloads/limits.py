"""What no honest server does: bytes so slow that they never end, and a head without end."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from typing_extensions import override

from app.work.downloads.types import Patience

MOST_HEAD_BYTES = 64 << 10
"""Of all heads of one answer together; servers themselves refuse to send a quarter of that."""


class HeadTooLargeError(http.client.HTTPException):
    """The answer's head is longer than ``MOST_HEAD_BYTES``."""


class Pace:
    """Is a body coming, or only trickling? Counts the time spent waiting for the network, not that of a busy disk.

    Used by the reading thread (``began``, ``got``) and asked by the other (``hangs``). ``clock``: for the tests.
    """

    def __init__(self, patience: Patience, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self._since: float | None = None
        self._waited_s = 0.0
        self._n_bytes = 0

    def began(self) -> None:
        """A read begins."""
        self._since = self._clock()

    def got(self, n_bytes: int) -> bool:
        """The read is over. False where a whole window of waiting brought less than the least speed."""
        since, self._since = self._since, None
        if since is not None:
            self._waited_s += self._clock() - since
        self._n_bytes += n_bytes
        if self._waited_s < self._patience.slow_s:
            return True
        is_fast_enough = self._n_bytes >= self._waited_s * self._patience.least_bytes_per_s
        self._waited_s, self._n_bytes = 0.0, 0
        return is_fast_enough

    def hangs(self) -> bool:
        """Does one read take so long that a socket's own time-out should have ended it? A head, or the size of a chunk,
        comes byte by byte."""
        since = self._since
        return since is not None and self._clock() - since > 2 * self._patience.silence_s


class BoundedResponse(http.client.HTTPResponse):
    """``http.client`` bounds a line and the number of headers: six megabytes in all, and any number of interim
    answers."""

    @override
    def begin(self) -> None:
        whole = self.fp
        self.fp = cast("Any", _Head(whole))
        try:
            super().begin()
        finally:
            if self.fp is not None:
                self.fp = whole


class _Head:
    """The lines of a head, counted."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = MOST_HEAD_BYTES

    def readline(self, limit: int = -1) -> bytes:
        line = self._file.readline(limit)
        self._left -= len(line)
        if self._left < 0:
            raise HeadTooLargeError
        return line

    def close(self) -> None:
        self._file.close()
