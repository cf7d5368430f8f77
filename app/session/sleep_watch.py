"""A computer that slept while a server ran: says so afterwards, and whether the server still answers.

Drivers may lose a card's memory over a sleep, and a network card its addresses; the server is then a process that runs
and does not answer. Clocks are read every ten seconds while a server runs, and never otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.later import later
from app.common.problem import Problem, Severity
from app.session.jobs import JobRunner
from app.session.state import RunPhase, RunState

if TYPE_CHECKING:
    from app.engine.client import ServerClient
    from app.hardware.sleep_time import slept_s
else:
    ServerClient = later("app.engine.client", "ServerClient")
    slept_s = later("app.hardware.sleep_time", "slept_s")

_LOOK_MS = 10_000
_NO_SLEEP_S = 3.0
"""The two clocks tick apart by milliseconds; a shorter sleep disturbs no server."""


class SleepWatch(QObject):
    """Signal ``told(Problem)``."""

    told = Signal(object)

    def __init__(
        self,
        jobs: JobRunner,
        run_of: Callable[[], RunState],
        clock: Callable[[], float | None] = slept_s,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._run_of = run_of
        self._clock = clock
        self._before: float | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.look)

    @property
    def is_watching(self) -> bool:
        """Are the clocks being read?"""
        return self._timer.isActive()

    @Slot()
    def follow(self) -> None:
        """The state of the server changed: watch exactly while it answers."""
        is_ready = self._run_of().phase is RunPhase.READY
        if is_ready and not self._timer.isActive():
            self._before = self._clock()
            self._timer.start()
        elif not is_ready:
            self._timer.stop()

    @Slot()
    def look(self) -> None:
        """Has the computer slept since the last look? Then ask the server whether it is well."""
        now, before = self._clock(), self._before
        self._before = now
        run = self._run_of()
        if now is None or before is None or now - before < _NO_SLEEP_S or run.url is None:
            return
        url, key, slept = run.url, run.api_key, now - before

        def ask() -> int | None:
            with ServerClient(url, key) as client:
                return client.health()

        def on_answer(status: int | None, _error: Exception | None) -> None:
            if self._run_of().url != url:
                return  # it has ended meanwhile, which is told elsewhere
            params: dict[str, str | int | float | bool | None] = {"minutes": max(1, round(slept / 60))}
            if status == 200:
                self.told.emit(Problem("slept_server_well", Severity.INFO, params))
            else:
                self.told.emit(Problem("slept_server_silent", Severity.WARNING, params))

        self._jobs.run(ask, on_answer)
