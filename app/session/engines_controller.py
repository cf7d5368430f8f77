"""The engines side by side behind the window: listed, added, used, gone back from, and got from the network."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.common.paths import AppPaths
from app.common.problem import Problem
from app.engine.capabilities import DOES_NOT_RUN
from app.engine.release_choice import Offer
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.session.engine_messages import change_problem
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.settings import Settings
from app.work.engine_archives import BroughtArchive, Verdict, install_archives, look_with_runtime
from app.work.engine_changes import PlanRecheck, recheck_plans
from app.work.engine_getting import GetProgress, GetStep, get_package, load_releases, offers_here
from app.work.engine_knowing import architecture_warning, engine_warnings, has_changed
from app.work.engine_registry import (
    ChangedEngine,
    EngineList,
    add_engine,
    forget_engine,
    look_at_engines,
    note_plan,
    remember,
    use_engine,
)
from app.work.engine_store import EngineStore, KnownEngine

_TRY_NEXT = ("engine_sees_no_card", *DOES_NOT_RUN)
"""After these another package may work."""

_LEAVES_CARD_IDLE = ("engine_no_cuda_runtime", "engine_cuda_no_card", "engine_cpu_only", "engine_missing_file")

NEEDS_ANOTHER = (*_LEAVES_CARD_IDLE, "engine_lacks_architecture")
"""What another engine would cure."""


class GetPhase(StrEnum):
    """Where getting an engine stands."""

    IDLE = "idle"
    LISTING = "listing"
    CHOOSING = "choosing"
    CONFIRMING = "confirming"
    GETTING = "getting"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class GetState:
    """``offers``: best first; ``failed``: keys of packages that were tried and did not work, with the reason.

    ``archives``: what the user brought and has to confirm. ``problem``: why the last step failed.
    """

    phase: GetPhase = GetPhase.IDLE
    offers: tuple[Offer, ...] = ()
    progress: GetProgress | None = None
    problem: Problem | None = None
    failed: tuple[str, ...] = ()
    archives: tuple[BroughtArchive, ...] = ()
    engine: KnownEngine | None = None

    @property
    def next_offer(self) -> Offer | None:
        """The best one that has not failed yet."""
        return next((o for o in self.offers if o.suits and o.package.key not in self.failed), None)


class EnginesController(QObject):
    """Owns the list of engines and the one transfer that may run.

    Signals: ``changed`` the list; ``get_changed`` the transfer; ``failed(Problem)``; ``engine_chosen(path)`` the user
    wants this one; ``outdated`` the one in use is another program now and must be asked again.
    """

    changed = Signal()
    get_changed = Signal()
    failed = Signal(object)
    engine_chosen = Signal(str)
    outdated = Signal()
    _progressed = Signal(object)

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        hardware: Callable[[], HardwareSnapshot | None],
        settings: Callable[[], Settings],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._paths = paths
        self._hardware = hardware
        self._settings = settings
        self._cancel = threading.Event()
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
        self.get = GetState()
        self._progressed.connect(self._on_progress)
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

    def _gpus(self) -> tuple[GpuInfo, ...]:
        hardware = self._hardware()
        return () if hardware is None else hardware.gpus

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

    # ---- getting one ------------------------------------------------------------------------------------------------

    def load_packages(self) -> None:
        """Ask the network which packages there are; only ever by the user's click."""
        if self.get.phase in (GetPhase.LISTING, GetPhase.GETTING):
            return
        self._cancel.clear()
        self._set(GetState(GetPhase.LISTING))
        gpus, mirror = self._gpus(), self._settings().engine_mirror

        def on_done(found: tuple[Offer, ...] | None, error: Exception | None) -> None:
            if found is None:
                self._set(GetState(problem=problem_of(error)))
            else:
                self._set(GetState(GetPhase.CHOOSING, found))

        self._jobs.run(lambda: offers_here(load_releases(self._paths, mirror, self._cancelled), gpus), on_done)

    def forget_offers(self) -> None:
        """What was listed holds no longer: another mirror, or the window is opened anew."""
        if self.get.phase not in (GetPhase.LISTING, GetPhase.GETTING):
            self._set(GetState())

    def get_package(self, offer: Offer) -> None:
        """Fetch and install this one, then use it."""
        gpus, mirror = self._gpus(), self._settings().engine_mirror

        def work() -> KnownEngine:
            known = get_package(offer.package, self._paths, gpus, self._progressed.emit, self._cancelled, mirror)
            remember(known, self._paths)
            return use_engine(known.id, self._paths)

        self._install(work, offer.package.key)

    def bring_archive(self, path: str) -> None:
        """Look at an archive that the user fetched; one that nobody knows waits for ``install_brought``."""
        if self.get.phase in (GetPhase.LISTING, GetPhase.GETTING):
            return
        self._cancel.clear()
        self._set(replace(self.get, phase=GetPhase.GETTING, progress=GetProgress(GetStep.CHECKING), problem=None))

        def on_done(found: tuple[BroughtArchive, ...] | None, error: Exception | None) -> None:
            if found is None:
                self._set(replace(self.get, phase=self._resting, progress=None, problem=problem_of(error)))
                return
            self._set(replace(self.get, phase=GetPhase.CONFIRMING, progress=None, archives=found))
            if all(archive.verdict is not Verdict.UNKNOWN for archive in found):
                self.install_brought()

        self._jobs.run(lambda: look_with_runtime(Path(path), self._paths, self._cancelled), on_done)

    def install_brought(self) -> None:
        """Install the archives that were looked at; by this call the user has confirmed their hashes."""
        archives, gpus = self.get.archives, self._gpus()
        confirmed = tuple(archive.sha256 for archive in archives)

        def work() -> KnownEngine:
            known = install_archives(archives, confirmed, self._paths, gpus, self._progressed.emit, self._cancelled)
            remember(known, self._paths)
            return use_engine(known.id, self._paths)

        if archives:
            self._install(work, None)

    def cancel_get(self) -> None:
        """End the transfer at once; what has arrived is kept."""
        self._cancel.set()
        if self.get.phase is GetPhase.CONFIRMING:
            self._set(replace(self.get, phase=self._resting, archives=()))

    def close(self) -> None:
        """The window goes. A second call does nothing."""
        if self._watched is not None:
            self._watched.applicationStateChanged.disconnect(self._on_application_state)
            self._watched = None
        self._closing.set()
        self._cancel.set()

    def _cancelled(self) -> bool:
        return self._cancel.is_set()

    @property
    def _resting(self) -> GetPhase:
        return GetPhase.CHOOSING if self.get.offers else GetPhase.IDLE

    def _install(self, work: Callable[[], KnownEngine], key: str | None) -> None:
        self._cancel.clear()
        self._set(replace(self.get, phase=GetPhase.GETTING, progress=None, problem=None))

        def on_done(known: KnownEngine | None, error: Exception | None) -> None:
            if known is None:
                problem = problem_of(error)
                has_failed = key is not None and problem.code in _TRY_NEXT
                failed = (*self.get.failed, key) if has_failed and key else self.get.failed
                state = replace(self.get, phase=self._resting, progress=None, problem=problem, failed=failed)
                self._set(replace(state, archives=()))
                return
            self._set(GetState(GetPhase.DONE, engine=known))
            self.engine_chosen.emit(known.path)

        self._jobs.run(work, on_done)

    @Slot(object)
    def _on_progress(self, progress: object) -> None:
        if self.get.phase is GetPhase.GETTING and isinstance(progress, GetProgress):
            self._set(replace(self.get, progress=progress))

    def _set(self, state: GetState) -> None:
        self.get = state
        self.get_changed.emit()
