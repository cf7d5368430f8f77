"""The engines side by side behind the window: listed, added, used, gone back from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.session.engine_getter import EngineGetter
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.settings import Settings
from app.work.engine_registry import EngineList
from app.work.engine_store import EngineStore

if TYPE_CHECKING:
    from app.session.engine_messages import change_problem
    from app.work.engine_changes import PlanRecheck, recheck_plans
    from app.work.engine_knowing import architecture_warning, engine_warnings, has_changed
    from app.work.engine_registry import (
        ChangedEngine,
        add_engine,
        forget_engine,
        look_at_engines,
        note_plan,
        use_engine,
    )
    from app.work.engine_store import KnownEngine
else:
    change_problem = later("app.session.engine_messages", "change_problem")
    recheck_plans = later("app.work.engine_changes", "recheck_plans")
    architecture_warning = later("app.work.engine_knowing", "architecture_warning")
    engine_warnings = later("app.work.engine_knowing", "engine_warnings")
    has_changed = later("app.work.engine_knowing", "has_changed")
    add_engine = later("app.work.engine_registry", "add_engine")
    forget_engine = later("app.work.engine_registry", "forget_engine")
    look_at_engines = later("app.work.engine_registry", "look_at_engines")
    note_plan = later("app.work.engine_registry", "note_plan")
    use_engine = later("app.work.engine_registry", "use_engine")

_LEAVES_CARD_IDLE = ("engine_no_cuda_runtime", "engine_cuda_no_card", "engine_cpu_only", "engine_missing_file")

NEEDS_ANOTHER = (*_LEAVES_CARD_IDLE, "engine_lacks_architecture")
"""What another engine would cure."""


class EnginesController(EngineGetter):
    """Owns the list of engines, and gets new ones.

    Signals: ``changed`` the list; ``failed(Problem)``; ``outdated`` the one in use is another program now and must be
    asked again.
    """

    changed = Signal()
    failed = Signal(object)
    outdated = Signal()

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        hardware: Callable[[], HardwareSnapshot | None],
        settings: Callable[[], Settings],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(jobs, paths, hardware, settings, parent)
        self._closing = threading.Event()
        self._look_id = 0
        self._is_checking = False
        self._architecture: str | None = None
        self._lacking: dict[str, Problem] = {}
        self._told: set[tuple[str, str]] = set()
        self._gpu_names: tuple[str, ...] = ()
        self.is_saved: Callable[[], bool] = lambda: False
        """Is the machine one from a file? Its cards are not those that an engine here finds."""
        self.list = EngineList(EngineStore())
        app = QGuiApplication.instance()
        self._watched = app if isinstance(app, QGuiApplication) else None
        if self._watched is not None:
            self._watched.applicationStateChanged.connect(self._on_application_state)

    # ---- the list ---------------------------------------------------------------------------------------------------

    def warnings(self, engine: KnownEngine) -> tuple[Problem, ...]:
        """What is worth knowing about an engine on this machine and for the open model."""
        found = engine_warnings(engine, self._cards_here(), self.list.store)
        lacks = self._lacking.get(engine.id)
        return found if lacks is None else (*found, lacks)

    def troubles(self, current: Problem | None) -> tuple[Problem, ...]:
        """What is wrong with the engine in use. ``current``: why it does not answer, or None."""
        engine = self.list.current
        known = () if engine is None else self.warnings(engine)
        return known if current is None else (current, *known)

    def use_model(self, architecture: str) -> None:
        """Another model is open: does each engine know its kind? The one in use is told when it does not."""
        self._architecture = architecture
        engines = self.list.store.engines

        def work() -> dict[str, Problem]:
            found = {engine.id: architecture_warning(engine, architecture) for engine in engines}
            return {engine_id: problem for engine_id, problem in found.items() if problem is not None}

        def on_done(lacking: dict[str, Problem] | None, error: Exception | None) -> None:
            if lacking is None or architecture != self._architecture:
                return
            is_news = lacking != self._lacking
            self._lacking = lacking
            current = lacking.get(self.list.store.current or "")
            if is_news:
                self.changed.emit()
                if current is not None:
                    self.failed.emit(current)

        self._jobs.run(work, on_done)

    def look(self, chosen: str | None) -> None:
        """Look at every engine in the background; ``chosen`` is the path in the settings."""
        self._look_id += 1
        look_id = self._look_id

        def on_done(found: EngineList | None, error: Exception | None) -> None:
            if look_id != self._look_id:
                return
            if found is None:
                self.failed.emit(problem_of(error))
                return
            self.list = found
            self.changed.emit()
            for change in found.changed:
                self._tell_change(change)
            self._tell_current()
            if self._architecture is not None:
                self.use_model(self._architecture)

        self._jobs.run(lambda: look_at_engines(self._paths, chosen), on_done)

    @Slot()
    def hardware_known(self) -> None:
        """The machine has been looked at: with other cards, other things are worth knowing about the engines."""
        names = tuple(gpu.name for gpu in self._cards_here())
        if names != self._gpu_names:
            self._gpu_names = names
            self._told.clear()  # of other cards, or of a computer that was not this one
            self.changed.emit()
            self._tell_current()

    def _tell_current(self) -> None:
        """An engine in use that leaves the card idle is told once, wherever the user is."""
        current = self.list.current
        for problem in () if current is None else self.warnings(current):
            told = (problem.code, current.stamp.sha256 if current else "")
            if problem.code in _LEAVES_CARD_IDLE and told not in self._told:
                self._told.add(told)
                self.failed.emit(problem)

    def check(self, then: Callable[[], None] | None = None) -> None:
        """Is the engine in use still the same program? A look at sizes and times, in the background.

        ``then`` is called when it is; when it is not, ``outdated`` says so and ``then`` is dropped.
        """
        current = self.list.current
        if current is None or (self._is_checking and then is None):
            if then is not None:
                then()
            return
        self._is_checking = True

        def on_done(is_other: bool | None, error: Exception | None) -> None:
            self._is_checking = False
            if is_other:
                self.outdated.emit()
            elif then is not None:
                then()

        self._jobs.run(lambda: has_changed(current), on_done)

    @Slot(Qt.ApplicationState)
    def _on_application_state(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self.check()

    def add(self, place: str) -> None:
        """Add an engine of the user's own to the list, without using it yet."""
        self._then_look(lambda: add_engine(place, self._paths))

    def use(self, engine_id: str) -> None:
        """Use another one from now on."""

        def on_used(known: KnownEngine | None, error: Exception | None) -> None:
            if known is None:
                self.failed.emit(problem_of(error))
            else:
                self.engine_chosen.emit(known.path)

        self._jobs.run(lambda: use_engine(engine_id, self._paths), on_used)

    def go_back(self) -> None:
        """Use the engine of before again."""
        if self.before is not None:
            self.use(self.before.id)

    @property
    def before(self) -> KnownEngine | None:
        """The engine in use before, while it is still there."""
        return self.list.store.go_back_to

    def forget(self, engine_id: str) -> None:
        """Take one off the list; a downloaded or built one is deleted. The one in use stays."""
        if engine_id != self.list.store.current:
            self._then_look(lambda: forget_engine(engine_id, self._paths))

    def note_plan(self, path: str, engine_path: str | None) -> None:
        """A plan was saved or opened with this engine."""
        self._jobs.run(lambda: note_plan(path, engine_path, self._paths), lambda _, error: None)

    def hash_of(self, engine_path: str | None) -> str | None:
        """The hash of the engine at this path, as it was last seen."""
        known = self.list.store.at(engine_path) if engine_path else None
        return None if known is None else known.stamp.sha256

    def _then_look(self, work: Callable[[], object]) -> None:
        current = self.list.current

        def on_done(_: object, error: Exception | None) -> None:
            if error is not None:
                self.failed.emit(problem_of(error))
            self.look(None if current is None else current.path)

        self._jobs.run(work, on_done)

    def _cards_here(self) -> tuple[GpuInfo, ...]:
        """The cards of this computer; none is known while the plan is for a saved machine."""
        return () if self.is_saved() else self._gpus()

    # ---- an engine that has changed ---------------------------------------------------------------------------------

    def _tell_change(self, change: ChangedEngine) -> None:
        """Check the saved plans that used it again, then tell both at once."""
        hardware = self._hardware()
        noted = [p.path for p in self.list.store.plans if p.engine_id == change.after.id]
        plans = tuple(dict.fromkeys((*noted, *self._settings().recent_plans)))

        def on_done(found: tuple[PlanRecheck, ...] | None, error: Exception | None) -> None:
            if error is not None:
                self.failed.emit(problem_of(error))
            self.failed.emit(change_problem(change, found or ()))

        if hardware is None:
            on_done((), None)
            return
        snapshot = hardware
        self._jobs.run(
            lambda: recheck_plans(plans, change.before, change.after, snapshot, self._paths, self._closing.is_set),
            on_done,
        )

    def close(self) -> None:
        """The window goes. A second call does nothing."""
        if self._watched is not None:
            self._watched.applicationStateChanged.disconnect(self._on_application_state)
            self._watched = None
        self._closing.set()
        self._cancel.set()
