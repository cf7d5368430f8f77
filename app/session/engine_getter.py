"""Getting an engine behind the window: what can be had, one transfer at a time, archives that the user brought."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.settings import Settings

if TYPE_CHECKING:
    from app.engine.release_choice import Offer
    from app.work.engine_archives import BroughtArchive, install_archives, look_with_runtime
    from app.work.engine_getting import GetProgress, get_package, load_releases, offers_here
    from app.work.engine_registry import remember, use_engine
    from app.work.engine_store import KnownEngine
else:
    install_archives = later("app.work.engine_archives", "install_archives")
    look_with_runtime = later("app.work.engine_archives", "look_with_runtime")
    get_package = later("app.work.engine_getting", "get_package")
    load_releases = later("app.work.engine_getting", "load_releases")
    offers_here = later("app.work.engine_getting", "offers_here")
    remember = later("app.work.engine_registry", "remember")
    use_engine = later("app.work.engine_registry", "use_engine")


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


class EngineGetter(QObject):
    """Owns the one transfer that may run. Nothing here asks the network without the user's click.

    Signals: ``get_changed`` the transfer; ``engine_chosen(path)`` the user wants this one from now on.
    """

    get_changed = Signal()
    engine_chosen = Signal(str)
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
        self.get = GetState()
        self._progressed.connect(self._on_progress)

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
        from app.work.engine_getting import GetProgress, GetStep

        self._cancel.clear()
        self._set(replace(self.get, phase=GetPhase.GETTING, progress=GetProgress(GetStep.CHECKING), problem=None))

        def on_done(found: tuple[BroughtArchive, ...] | None, error: Exception | None) -> None:
            if found is None:
                self._set(replace(self.get, phase=self._resting, progress=None, problem=problem_of(error)))
                return
            from app.work.engine_archives import Verdict

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

    def _gpus(self) -> tuple[GpuInfo, ...]:
        hardware = self._hardware()
        return () if hardware is None else hardware.gpus

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
                has_failed = key is not None and _is_worth_another(problem)
                failed = (*self.get.failed, key) if has_failed and key else self.get.failed
                state = replace(self.get, phase=self._resting, progress=None, problem=problem, failed=failed)
                self._set(replace(state, archives=()))
                return
            self._set(GetState(GetPhase.DONE, engine=known))
            self.engine_chosen.emit(known.path)

        self._jobs.run(work, on_done)

    @Slot(object)
    def _on_progress(self, progress: GetProgress) -> None:
        if self.get.phase is GetPhase.GETTING:
            self._set(replace(self.get, progress=progress))

    def _set(self, state: GetState) -> None:
        self.get = state
        self.get_changed.emit()


def _is_worth_another(problem: Problem) -> bool:
    """After this another package may work."""
    from app.engine.capabilities import DOES_NOT_RUN

    return problem.code in ("engine_sees_no_card", *DOES_NOT_RUN)
