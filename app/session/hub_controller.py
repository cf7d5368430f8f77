"""Getting a model from a hub behind the window: link, list with verdicts, download. One at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.common.problem import Problem, ProblemError
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.settings import Settings
from app.work.downloads.types import DownloadProgress, Patience
from app.work.hub.choices import Choices, judged, unjudged
from app.work.hub.fetching import Downloaded, Space, fetch_sets, space_for
from app.work.hub.links import HubLink, parse_link
from app.work.hub.listing import RemoteSet, list_sets
from app.work.library.judge import Judge


class HubPhase(StrEnum):
    """Where it stands; JUDGING has a list already, without verdicts."""

    IDLE = "idle"
    LISTING = "listing"
    JUDGING = "judging"
    CHOOSING = "choosing"
    FETCHING = "fetching"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class HubState:
    """``problem``: why the last step failed; what was listed stays."""

    phase: HubPhase = HubPhase.IDLE
    choices: Choices | None = None
    progress: DownloadProgress | None = None
    problem: Problem | None = None
    done: Downloaded | None = None

    @property
    def is_busy(self) -> bool:
        """Is anything under way?"""
        return self.phase in (HubPhase.LISTING, HubPhase.JUDGING, HubPhase.FETCHING)


class HubController(QObject):
    """Signals: ``changed``; ``fetched(path)`` a model is there. The network is used only after ``look``."""

    changed = Signal()
    fetched = Signal(str)
    _progressed = Signal(object)
    _listed = Signal(int, object)

    def __init__(
        self,
        jobs: JobRunner,
        judge: Callable[[], Judge | None],
        settings: Callable[[], Settings],
        folder: Callable[[], Path],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._judge = judge
        self._settings = settings
        self._folder = folder
        self._cancel = threading.Event()
        self._look_id = 0
        self.patience = Patience()
        """How long a server is waited for; a test has less."""
        self.state = HubState()
        self._progressed.connect(self._on_progress)
        self._listed.connect(self._on_listed)

    def look(self, text: str) -> None:
        """List what is behind a link, then judge it."""
        if self.state.phase is HubPhase.FETCHING:
            return
        self._cancel.set()
        self._cancel = cancel = threading.Event()
        self._look_id += 1
        look_id = self._look_id
        try:
            link = parse_link(text, self._settings().model_mirror)
        except ProblemError as error:
            self._set(HubState(problem=error.problem))
            return
        judge, patience = self._judge(), self.patience
        self._set(HubState(HubPhase.LISTING))

        def work() -> Choices:
            sets = list_sets(link, cancel.is_set, patience)
            listed = unjudged(link, sets)
            self._listed.emit(look_id, listed)
            return listed if judge is None else judged(link, sets, judge, cancel.is_set, patience)

        def on_done(found: Choices | None, error: Exception | None) -> None:
            if look_id != self._look_id:
                return
            if found is not None:
                self._set(HubState(HubPhase.CHOOSING, found, problem=found.problem))
                return
            known = self.state.choices
            self._set(HubState(HubPhase.CHOOSING if known else HubPhase.IDLE, known, problem=problem_of(error)))

        self._jobs.run(work, on_done)

    def fetch(self, index: int, *, with_projector: bool = False) -> None:
        """Download one of the choices."""
        choices = self.state.choices
        if choices is None or self.state.is_busy:
            return
        self._cancel = cancel = threading.Event()
        link, sets, folder = choices.link, self._sets(choices, index, with_projector=with_projector), self._folder()
        self._set(replace(self.state, phase=HubPhase.FETCHING, progress=None, problem=None, done=None))

        def on_done(done: Downloaded | None, error: Exception | None) -> None:
            if done is None:
                self._set(replace(self.state, phase=HubPhase.CHOOSING, progress=None, problem=problem_of(error)))
                return
            self._set(replace(self.state, phase=HubPhase.DONE, progress=None, done=done))
            self.fetched.emit(done.path)

        tell, patience = self._progressed.emit, self.patience
        self._jobs.run(lambda: fetch_sets(link, sets, folder, tell, cancel.is_set, patience), on_done)

    def space(self, index: int, *, with_projector: bool = False) -> Space | None:
        """What a choice takes and what the disk has; None without a list."""
        choices = self.state.choices
        if choices is None:
            return None
        return space_for(choices.link, self._sets(choices, index, with_projector=with_projector), self._folder())

    def cancel(self) -> None:
        """End what is under way at once; what has arrived stays."""
        self._cancel.set()
        if self.state.phase in (HubPhase.LISTING, HubPhase.JUDGING):
            self._look_id += 1
            known = self.state.choices
            self._set(HubState(HubPhase.CHOOSING if known else HubPhase.IDLE, known))

    close = cancel

    def forget(self) -> None:
        """Begin anew, unless a download runs."""
        if self.state.phase is not HubPhase.FETCHING:
            self.cancel()
            self._set(HubState())

    @property
    def link(self) -> HubLink | None:
        """What the list is of."""
        return None if self.state.choices is None else self.state.choices.link

    @staticmethod
    def _sets(choices: Choices, index: int, *, with_projector: bool) -> tuple[RemoteSet, ...]:
        chosen = choices.choices[index].set
        projector = next((c.set for c in choices.choices if c.set.is_projector and c.set is not chosen), None)
        return (chosen, projector) if with_projector and projector is not None else (chosen,)

    @Slot(int, object)
    def _on_listed(self, look_id: int, listed: object) -> None:
        if look_id == self._look_id and isinstance(listed, Choices) and self.state.phase is HubPhase.LISTING:
            self._set(HubState(HubPhase.JUDGING, listed))

    @Slot(object)
    def _on_progress(self, progress: object) -> None:
        if self.state.phase is HubPhase.FETCHING and isinstance(progress, DownloadProgress):
            self._set(replace(self.state, progress=progress))

    def _set(self, state: HubState) -> None:
        self.state = state
        self.changed.emit()
