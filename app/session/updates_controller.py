"""Looking for newer versions behind the window: once for each press, never by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.settings import Settings

if TYPE_CHECKING:
    from app.work.updates import Updates, look_for_updates
else:
    look_for_updates = later("app.work.updates", "look_for_updates")


class UpdatesController(QObject):
    """``answer``: what was found at the last press, None before. Signal ``changed``."""

    changed = Signal()

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        settings: Callable[[], Settings],
        build: Callable[[], str | None],
        parent: QObject | None = None,
    ) -> None:
        """``build``: of the engine in use."""
        super().__init__(parent)
        self._jobs, self._paths, self._settings, self._build = jobs, paths, settings, build
        self._cancel: threading.Event | None = None
        self.answer: Updates | None = None
        self.problem: Problem | None = None

    @property
    def is_busy(self) -> bool:
        """Is somebody being asked now?"""
        return self._cancel is not None

    def look(self, version: str | None) -> None:
        """Ask now, in the background; ``version``: of this Lanewise. Ignored while that is under way."""
        if self._cancel is not None:
            return
        self._cancel = cancel = threading.Event()
        settings, build = self._settings(), self._build()
        self.answer = self.problem = None

        def work() -> Updates:
            return look_for_updates(
                settings.update_address, version, settings.engine_mirror, build, self._paths, cancel.is_set
            )

        def on_done(found: Updates | None, error: Exception | None) -> None:
            if self._cancel is not cancel:
                return
            self._cancel = None
            self.answer = found
            self.problem = problem_of(error) if found is None else None
            self.changed.emit()

        self._jobs.run(work, on_done)
        self.changed.emit()

    def cancel(self) -> None:
        """Ask no further."""
        if self._cancel is not None:
            self._cancel.set()
            self._cancel = None
            self.changed.emit()

    close = cancel
