"""The models of this computer behind the window: looked for in the background, judged, and what could be downloaded."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.capabilities import Capabilities
from app.common.paths import AppPaths
from app.common.problem import Problem
from app.hardware.types import HardwareSnapshot
from app.planner.learned import Learned
from app.planner.types import Wishes
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.settings import Settings
from app.work.library.judge import STEP_BYTES, Judge
from app.work.library.places import all_places
from app.work.library.scan import Scan, ScanOptions, scan_library, with_beside
from app.work.library.store import LibraryStore
from app.work.library.suggest import Suggestion, suggestions
from app.work.library.types import Entry, Place, ScanNote

_CANCELLED = "download_cancelled"
_PAUSE_MS = 100
_SHORT_SWITCH_S = 0.0005
"""How soon a search lets the window have Python, instead of 5 ms: an event may ask for it a dozen times."""


@dataclass(frozen=True, slots=True)
class LibrarySurroundings:
    """What verdicts follow from, asked when they are made. ``hardware`` None: the machine is still being looked at."""

    hardware: Callable[[], HardwareSnapshot | None]
    capabilities: Callable[[], Capabilities]
    learned: Callable[[], Learned]
    settings: Callable[[], Settings]


class LibraryController(QObject):
    """Signals: ``changed`` the files, the notes or whether a search runs; ``suggested``; ``failed(Problem)``.

    Nothing is looked for before somebody wants to see it (``ensure``).
    """

    changed = Signal()
    suggested = Signal()
    failed = Signal(object)
    _found = Signal(int, object)

    def __init__(
        self, jobs: JobRunner, paths: AppPaths, surroundings: LibrarySurroundings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._paths = paths
        self._around = surroundings
        self._cancel = threading.Event()
        self._no_suggestions = threading.Event()
        self._scan_id = 0
        self._judged_key: str | None = None
        self._suggested_key: str | None = None
        self._looked_at: tuple[str, ...] = ()
        self._usual_switch_s = sys.getswitchinterval()
        self._by_path: dict[str, Entry] = {}
        self.entries: tuple[Entry, ...] = ()
        self.notes: tuple[ScanNote, ...] = ()
        self.places: tuple[Place, ...] = ()
        self.suggestions: tuple[Suggestion, ...] | None = None
        self.is_scanning = False
        self.was_scanned = False
        self._found.connect(self._on_found)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._show_found)

    def ensure(self) -> None:
        """Somebody looks at the list: search unless that has been done for this machine as it is."""
        judge = self._judge()
        if self.is_scanning:
            return
        if not self.was_scanned or (judge is not None and judge.key != self._judged_key):
            self.scan()

    def scan(self) -> None:
        """Look through every place; a search that runs is ended first."""
        self.cancel()
        self._scan_id += 1
        scan_id, self._cancel = self._scan_id, threading.Event()
        cancelled, judge = self._cancel.is_set, self._judge()
        folders, own = self._around.settings().model_folders, self.download_folder
        self._judged_key = None if judge is None else judge.key
        self.is_scanning, self.entries, self.notes, self._by_path = True, (), (), {}
        self.changed.emit()
        sys.setswitchinterval(_SHORT_SWITCH_S)
        options = ScanOptions(wanted=lambda: self._looked_at)

        def work() -> tuple[tuple[Place, ...], Scan]:
            places = all_places(folders, own)
            store = LibraryStore(self._paths.library_file)
            found = scan_library(places, judge, store, cancelled, lambda new: self._found.emit(scan_id, new), options)
            return places, found

        def on_done(result: tuple[tuple[Place, ...], Scan] | None, error: Exception | None) -> None:
            if scan_id != self._scan_id:
                return
            self.is_scanning = False
            sys.setswitchinterval(self._usual_switch_s)
            self._pause.stop()
            if result is not None:
                self.places, found = result
                self.entries, self.notes, self.was_scanned = found.files, found.notes, True
            else:
                self.entries = with_beside(tuple(replace(each, waits=False) for each in self._by_path.values()))
                if (problem := problem_of(error)).code != _CANCELLED:
                    self.failed.emit(problem)
            self.changed.emit()

        self._jobs.run(work, on_done)
        self.suggest()

    def suggest(self) -> None:
        """Judge the well-known models for this machine, unless that has been done."""
        judge = self._judge()
        if judge is None or judge.key == self._suggested_key:
            return
        key = self._suggested_key = judge.key
        self._no_suggestions.set()  # those for the machine as it was
        self._no_suggestions = threading.Event()
        cancelled = self._no_suggestions.is_set

        def on_done(result: tuple[Suggestion, ...] | None, error: Exception | None) -> None:
            if key != self._suggested_key:
                return
            if result is None:
                self._suggested_key = None
                if problem_of(error).code != _CANCELLED:
                    self.failed.emit(problem_of(error))
                return
            self.suggestions = result
            self.suggested.emit()

        self._jobs.run(lambda: suggestions(judge, cancelled), on_done)

    def look_at(self, paths: tuple[str, ...]) -> None:
        """These files are seen: their plans come first while a search runs."""
        self._looked_at = paths

    def cancel(self) -> None:
        """End the search at once; what was found stays in the list."""
        self._cancel.set()

    def close(self) -> None:
        """The window goes: end whatever runs."""
        self.cancel()
        self._no_suggestions.set()
        sys.setswitchinterval(self._usual_switch_s)

    @property
    def download_folder(self) -> Path:
        """Where downloads go."""
        chosen = self._around.settings().download_folder
        return Path(chosen) if chosen else self._paths.models

    def judge(self) -> Judge | None:
        """The machine as it is now; None while it is being looked at."""
        return self._judge()

    def problems(self) -> tuple[Problem, ...]:
        """What could not be looked into."""
        return tuple(note.problem for note in self.notes)

    def _judge(self) -> Judge | None:
        hardware = self._around.hardware()
        if hardware is None:
            return None
        wishes = Wishes(reserve_mib=self._around.settings().reserve_mib)
        capabilities, learned = self._around.capabilities(), self._around.learned()
        return Judge(hardware, capabilities, wishes, learned=learned, step_bytes=STEP_BYTES)

    @Slot(int, object)
    def _on_found(self, scan_id: int, new: object) -> None:
        if scan_id == self._scan_id and self.is_scanning and isinstance(new, tuple):
            self._by_path.update({entry.path: entry for entry in new})
            if not self._pause.isActive():
                self._pause.start()

    @Slot()
    def _show_found(self) -> None:
        """All that has come in is shown in one go: on a busy computer several batches wait."""
        if self.is_scanning:
            self.entries = with_beside(tuple(self._by_path.values()))
            self.changed.emit()
