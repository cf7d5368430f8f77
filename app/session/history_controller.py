"""Keeps this window's runs, and hands out the kept ones to be compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import ProblemError
from app.monitor.sample import Sample
from app.session.jobs import JobRunner
from app.session.run_controller import RunController
from app.session.state import RunPhase

if TYPE_CHECKING:
    from app.work.learned import LearnedStore
    from app.work.run_history import RequestPoint, RunRecord, RunRecorder, keep_run, kept_runs, runs_store
else:
    RunRecorder = later("app.work.run_history", "RunRecorder")
    keep_run = later("app.work.run_history", "keep_run")
    kept_runs = later("app.work.run_history", "kept_runs")
    runs_store = later("app.work.run_history", "runs_store")


class HistoryController(QObject):
    """``runs``: the newest first, once ``load`` has answered. ``requests``: those of the run that goes on, or of the
    one that ended last. Signals: ``changed``, ``requests_changed``; ``failed(Problem)``."""

    changed = Signal()
    requests_changed = Signal()
    failed = Signal(object)

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        run: RunController,
        names: Callable[[], tuple[str, str]],
        parent: QObject | None = None,
    ) -> None:
        """``names``: the model's name and the engine's build, asked at the start of a run."""
        super().__init__(parent)
        self._jobs, self._run, self._names = jobs, run, names
        self._paths = paths
        self._recorder: RunRecorder | None = None
        self._phase = run.state.phase
        self.runs: tuple[RunRecord, ...] = ()
        self.requests: tuple[RequestPoint, ...] = ()
        run.changed.connect(self._on_run_changed)
        run.sample_added.connect(self._on_sample)
        run.log_added.connect(self._on_log)

    @cached_property
    def _store(self) -> LearnedStore:
        """Made by the first job that reads or writes."""
        return runs_store(self._paths)

    def load(self) -> None:
        """Read the kept runs, in the background."""
        self._jobs.run(lambda: kept_runs(self._store), self._on_loaded)

    def forget(self) -> None:
        """Delete every kept run."""
        self._jobs.run(self._store.forget, self._on_kept)

    def close(self) -> None:
        """The window closes over a running server: what was recorded is kept now, in this thread."""
        record = self._take_record("")
        if record is not None:
            try:
                keep_run(self._store, record)
            except ProblemError:
                return  # the window is going; there is nobody to be told

    @Slot()
    def _on_run_changed(self) -> None:
        before, self._phase = self._phase, self._run.state.phase
        if self._phase is RunPhase.STARTING and before is not RunPhase.STARTING and self._run.plan is not None:
            self._recorder = RunRecorder(self._run.plan, *self._names(), time.monotonic())
            self._tell_requests()
        elif self._recorder is not None and self._phase is RunPhase.READY:
            self._recorder.was_ready = True
        elif self._phase in (RunPhase.STOPPED, RunPhase.FAILED):
            problem = self._run.state.problem
            record = self._take_record("" if problem is None else problem.code)
            if record is not None:
                self._jobs.run(lambda: keep_run(self._store, record), self._on_kept)

    def _take_record(self, reason: str) -> RunRecord | None:
        recorder, self._recorder = self._recorder, None
        return None if recorder is None else recorder.record(time.monotonic(), reason)

    @Slot(object)
    def _on_sample(self, sample: Sample) -> None:
        if self._recorder is not None:
            self._recorder.on_sample(sample.t_monotonic, sample.values)

    @Slot(list)
    def _on_log(self, lines: list[str]) -> None:
        if self._recorder is not None:
            now = time.monotonic()
            for line in lines:
                self._recorder.on_line(line, now)
            self._tell_requests()

    def _tell_requests(self) -> None:
        requests = () if self._recorder is None else self._recorder.requests
        if requests[-1:] != self.requests[-1:]:
            self.requests = requests
            self.requests_changed.emit()

    def _on_kept(self, _: object, error: Exception | None) -> None:
        if isinstance(error, ProblemError):
            self.failed.emit(error.problem)
        self.load()

    def _on_loaded(self, runs: tuple[RunRecord, ...] | None, error: Exception | None) -> None:
        if runs is not None and runs != self.runs:
            self.runs = runs
            self.changed.emit()
