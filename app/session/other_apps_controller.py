"""Asks the running server a short question the way another program would, for the window's Test button."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.common.later import later
from app.common.problem import Problem
from app.session.errors import problem_of
from app.session.jobs import JobRunner

if TYPE_CHECKING:
    from app.work.other_apps import AppAccess, AppAnswer, ask_as_an_app
else:
    ask_as_an_app = later("app.work.other_apps", "ask_as_an_app")


class OtherAppsController(QObject):
    """``answer`` or ``problem`` of the last test; both None before and during one. Signal ``changed``."""

    changed = Signal()

    def __init__(self, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._stop: threading.Event | None = None
        self.answer: AppAnswer | None = None
        self.problem: Problem | None = None

    @property
    def is_testing(self) -> bool:
        """Is a question on its way?"""
        return self._stop is not None

    def test(self, access: AppAccess) -> None:
        """Ask; ignored while a question is on its way."""
        if self._stop is not None:
            return
        stop = self._stop = threading.Event()
        self.answer, self.problem = None, None

        def on_done(answer: AppAnswer | None, error: Exception | None) -> None:
            if stop is not self._stop:
                return
            self._stop = None
            self.answer = answer
            self.problem = problem_of(error) if error is not None else None
            self.changed.emit()

        self._jobs.run(lambda: ask_as_an_app(access, stop), on_done)
        self.changed.emit()

    def forget(self) -> None:
        """The server is gone, or the window that asked: end a question on its way and forget its answer."""
        if self._stop is None and self.answer is None and self.problem is None:
            return
        if self._stop is not None:
            self._stop.set()
            self._stop = None
        self.answer, self.problem = None, None
        self.changed.emit()
