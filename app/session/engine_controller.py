"""Finds, chooses and builds the engine for the window."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.common.later import later
from app.common.paths import AppPaths
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.state import EnginePhase, EngineState

if TYPE_CHECKING:
    from app.engine.build import build_engine
    from app.work.engines import EngineHandle, open_engine
else:
    build_engine = later("app.engine.build", "build_engine")
    open_engine = later("app.work.engines", "open_engine")


class EngineController(QObject):
    """Owns the engine handle.

    Signals: ``changed`` the engine's state; ``search_ended`` an engine was found or none; ``failed(Problem)``.
    """

    changed = Signal()
    search_ended = Signal()
    failed = Signal(object)
    _build_progress = Signal(object)

    def __init__(self, jobs: JobRunner, paths: AppPaths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._paths = paths
        self._cancel_build = threading.Event()
        self._look_id = 0
        self.handle: EngineHandle | None = None
        self.state = EngineState(EnginePhase.LOOKING)
        self._build_progress.connect(self._on_build_progress)

    def look(self, explicit: str | None) -> None:
        """Find the engine, in the background; only the newest search counts."""
        self._look_id += 1
        look_id = self._look_id
        self._set(EngineState(EnginePhase.LOOKING))

        def on_engine(handle: EngineHandle | None, error: Exception | None) -> None:
            if look_id != self._look_id:
                return
            if error is not None:
                self._engine_failed(error, explicit)
                handle = None
            self.handle = handle
            if handle is not None:
                build = handle.capabilities.build
                self._set(EngineState(EnginePhase.READY, handle.binary.path, build))
            elif error is None:
                self._set(EngineState(EnginePhase.MISSING))
            self.search_ended.emit()

        self._jobs.run(lambda: open_engine(explicit, self._paths), on_engine)

    def build(self, on_built: Callable[[], None]) -> None:
        """Build llama.cpp from its source package, once; minutes long, with progress."""
        if self.state.phase is EnginePhase.BUILDING:
            return
        self._cancel_build.clear()
        self._set(EngineState(EnginePhase.BUILDING, progress=0.0))

        def on_done(_: object, error: Exception | None) -> None:
            if error is None:
                on_built()
            else:
                self._engine_failed(error, None)

        self._jobs.run(lambda: build_engine(self._paths, self._build_progress.emit, self._cancel_build.is_set), on_done)

    def close(self) -> None:
        """Give up a running build; the job runner waits for its end."""
        self._cancel_build.set()

    def _engine_failed(self, error: Exception, explicit: str | None) -> None:
        problem = problem_of(error)
        self._set(EngineState(EnginePhase.BROKEN, explicit, problem=problem))
        self.failed.emit(problem)

    @Slot(object)
    def _on_build_progress(self, progress: object) -> None:
        if self.state.phase is EnginePhase.BUILDING:
            fraction = getattr(progress, "fraction", None)
            self._set(EngineState(EnginePhase.BUILDING, progress=fraction))

    def _set(self, state: EngineState) -> None:
        self.state = state
        self.changed.emit()
