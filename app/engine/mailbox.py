"""What other threads tell the owner of a server."""

from __future__ import annotations

import threading
from collections import deque

_MOST_PENDING = 50_000


class Mailbox:
    """Lines of output, the wish to stop, the news of the end.

    A program that floods its output must neither block (the pipe is always drained) nor fill our memory: when the
    owner falls far behind, the oldest lines that it has not read are dropped and counted.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: deque[str] = deque(maxlen=_MOST_PENDING)
        self._stop_deadline: float | None = None
        self._has_exited = False
        self._has_news = self._is_urgent = False
        self.dropped_lines = 0

    @property
    def stop_deadline(self) -> float | None:
        """When to use force, in ``time.monotonic`` seconds; None as long as nobody asked to stop."""
        return self._stop_deadline

    @property
    def has_exited(self) -> bool:
        """Has the process ended?"""
        return self._has_exited

    def put_line(self, line: str) -> None:
        """A line was read."""
        with self._changed:
            if len(self._lines) == _MOST_PENDING:
                self.dropped_lines += 1
            self._lines.append(line)
            if not self._has_news:  # a thread that was told already need not wake for each line
                self._has_news = True
                self._changed.notify()

    def ask_stop(self, deadline: float) -> None:
        """Somebody wants it to end; of several deadlines the earliest counts."""
        with self._changed:
            if self._stop_deadline is None or deadline < self._stop_deadline:
                self._stop_deadline = deadline
                self._tell()

    def tell_exit(self) -> None:
        """The process has ended."""
        with self._changed:
            self._has_exited = True
            self._tell()

    def wait(self, timeout_s: float | None, gather_s: float = 0.0) -> None:
        """Sleep until there is news, or the time is over. ``gather_s``: news of lines alone can wait for more lines."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_news, timeout_s)
            if gather_s and self._has_news:
                self._changed.wait_for(lambda: self._is_urgent, gather_s)
            self._has_news = self._is_urgent = False

    def take_lines(self) -> list[str]:
        """All lines since last time."""
        with self._changed:
            lines = list(self._lines)
            self._lines.clear()
        return lines

    def _tell(self) -> None:
        self._has_news = self._is_urgent = True
        self._changed.notify()
