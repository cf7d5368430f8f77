"""The stress run of this window: fills the running server's context once, and keeps the stamp of every command."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError
from app.hardware.types import HardwareSnapshot
from app.planner.types import Plan
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.run_controller import RunController
from app.session.state import RunPhase
from app.work.stress_stamp import StressStamp, command_of, fits_engine

if TYPE_CHECKING:
    from app.work.learned import LearnedStore
    from app.work.stress import StressEngine, StressProgress, StressTarget, stress_server
    from app.work.stress_stamp import keep_stamp, kept_stamps
else:
    LearnedStore = later("app.work.learned", "LearnedStore")
    StressProgress = later("app.work.stress", "StressProgress")
    StressTarget = later("app.work.stress", "StressTarget")
    stress_server = later("app.work.stress", "stress_server")
    keep_stamp = later("app.work.stress_stamp", "keep_stamp")
    kept_stamps = later("app.work.stress_stamp", "kept_stamps")


@dataclass(frozen=True, slots=True)
class StressState:
    """``progress`` while one runs, else None. ``problem``: why the last one gave no result."""

    progress: StressProgress | None = None
    problem: Problem | None = None


class StressController(QObject):
    """Signals: ``changed`` the state or the stamps; ``failed(Problem)``: a stamp could not be kept."""

    changed = Signal()
    failed = Signal(object)
    _progress = Signal(int, object)

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        run: RunController,
        around: Callable[[], tuple[HardwareSnapshot | None, StressEngine]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs, self._run, self._around = jobs, run, around
        self._paths = paths
        self._stop: threading.Event | None = None
        self._number = 0
        self._stamps: dict[str, StressStamp] = {}
        self.state = StressState()
        self._progress.connect(self._on_progress, Qt.ConnectionType.QueuedConnection)
        run.changed.connect(self._on_run_changed)

    @cached_property
    def _store(self) -> LearnedStore:
        """Made by the first job that reads or writes."""
        return LearnedStore(self._paths.learned_file)

    def load(self) -> None:
        """Read the stamps of earlier sessions."""

        def on_done(stamps: dict[str, StressStamp] | None, error: Exception | None) -> None:
            if stamps:
                self._stamps = {**stamps, **self._stamps}
                self.changed.emit()

        self._jobs.run(lambda: kept_stamps(self._store), on_done)

    @property
    def is_running(self) -> bool:
        """Is a prompt being filled in?"""
        return self._stop is not None

    @property
    def may_start(self) -> bool:
        """A server runs, and nothing is being filled in."""
        return self._run.state.phase is RunPhase.READY and self._stop is None

    def stamp_of(self, plan: Plan | None) -> StressStamp | None:
        """The stamp of this command with the engine in use; None without one."""
        if plan is None:
            return None
        stamp = self._stamps.get(command_of(plan.argv))
        if stamp is None:
            return None
        engine = self._around()[1]
        return stamp if fits_engine(stamp, engine.build, engine.sha256) else None

    def take_over(self, stamp: StressStamp | None) -> None:
        """A plan file brought its stamp along; a newer one of this computer stands."""
        known = None if stamp is None else self._stamps.get(stamp.command)
        if stamp is not None and (known is None or known.at < stamp.at):
            self._stamps[stamp.command] = stamp
            self.changed.emit()

    def start(self, depth: int | None = None) -> None:
        """Fill the running server's context; ignored while none runs or one is being filled."""
        run, plan = self._run.state, self._run.plan
        snapshot, engine = self._around()
        if not self.may_start or plan is None or snapshot is None or run.url is None or run.pid is None:
            return
        target = StressTarget(run.url, run.api_key, run.pid, self._run.engine_buffers)
        stop = self._stop = threading.Event()
        self._number += 1
        number = self._number

        def work() -> StressStamp | None:
            from app.work.stress import StressCancelledError

            try:
                told = stress_server(
                    plan, target, engine, snapshot, depth, lambda p: self._progress.emit(number, p), stop
                )
            except StressCancelledError:
                return None
            return told

        self._set(StressState(StressProgress("filling")))
        self._jobs.run(work, lambda stamp, error: self._on_done(number, stamp, error))

    def cancel(self) -> None:
        """End it at once; the server goes on. Nothing is kept."""
        if self._stop is not None:
            self._stop.set()
            self._stop = None
            self._number += 1
            self._set(StressState())

    def _on_done(self, number: int, stamp: StressStamp | None, error: Exception | None) -> None:
        if number != self._number:
            return
        self._stop = None
        if stamp is None:
            self._set(StressState(problem=None if error is None else problem_of(error)))
            return
        self._stamps[stamp.command] = stamp
        self._jobs.run(lambda: keep_stamp(self._store, stamp), self._on_kept)
        self._set(StressState())

    def _on_kept(self, _: object, error: Exception | None) -> None:
        if isinstance(error, ProblemError):
            self.failed.emit(error.problem)

    @Slot(int, object)
    def _on_progress(self, number: int, progress: StressProgress) -> None:
        if number == self._number and self._stop is not None:
            self._set(replace(self.state, progress=progress))

    @Slot()
    def _on_run_changed(self) -> None:
        """A server that ends ends the run; why it ended is told by the run itself."""
        if self._run.state.phase is not RunPhase.READY:
            self.cancel()
        self.changed.emit()

    def _set(self, state: StressState) -> None:
        self.state = state
        self.changed.emit()
