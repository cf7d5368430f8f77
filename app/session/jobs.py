"""Background work of the window in one shape: ``run(func, on_done)``.

``func`` returns or raises in a pool thread; ``on_done(result, error)`` runs on the main thread. Every job has an id, so
that the receiver can drop a stale answer. All jobs are waited for in ``close``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Qt, QThreadPool, Signal, Slot

_CLOSE_LOOK_MS = 200

_MOST_THREADS = 16
"""Downloads, a build, a stress run and a search each hold a thread for as long as they take, and a launch must never
wait behind them. They wait far more than they compute, and a thread is made only when it is needed."""

Done = Callable[[Any, Exception | None], None]


class JobRunner(QObject):
    """Runs functions in a small pool of its own and answers on the thread that made it."""

    _finished = Signal(int, object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(_MOST_THREADS)
        self._pool.setExpiryTimeout(-1)
        self._waiting: dict[int, Done] = {}
        self._last_id = 0
        self._closed = False
        self._finished.connect(self._on_finished, Qt.ConnectionType.QueuedConnection)

    def run(self, func: Callable[[], Any], on_done: Done) -> int:
        """Start ``func``; the id of the job. After ``close`` nothing is started: a timer may still come in."""
        self._last_id += 1
        job_id = self._last_id
        if self._closed:
            return job_id
        self._waiting[job_id] = on_done

        def work() -> None:
            try:
                result, error = func(), None
            except Exception as caught:  # handed to on_done on the main thread, which shows it
                result, error = None, caught
            if not self._closed:
                self._finished.emit(job_id, result, error)

        self._pool.start(work)
        return job_id

    @property
    def is_idle(self) -> bool:
        """Has every job been answered?"""
        return not self._waiting

    def close(self, interrupt: Callable[[], None] | None = None) -> None:
        """Answer nobody any more and wait for the running functions; ``interrupt`` ends what they may be waiting for,
        and is called again as long as one of them runs."""
        self._closed = True
        self._waiting.clear()
        self._pool.clear()
        while not self._pool.waitForDone(_CLOSE_LOOK_MS):
            if interrupt is not None:
                interrupt()

    @Slot(int, object, object)
    def _on_finished(self, job_id: int, result: object, error: object) -> None:
        on_done = self._waiting.pop(job_id, None)
        if on_done is not None:
            assert error is None or isinstance(error, Exception)
            on_done(result, error)
