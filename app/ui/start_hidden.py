"""A start with the system: into the tray without a window, and the plan launched once everything is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.session.state import EnginePhase, RunPhase

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class LaunchWhenReady(QObject):
    """Launches the plan of a file once, when model, machine and engine are there and the plan has no errors. Another
    file, or a launch by hand, ends the wait."""

    def __init__(self, session: AppSession, path: str, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._path = path
        self.is_waiting = True
        for signal in (session.plan_files.changed, session.plan_changed, session.engine_changed, session.run_changed):
            signal.connect(self.look)

    @Slot()
    def look(self) -> None:
        """Is it time?"""
        session = self._session
        if not self.is_waiting:
            return
        if session.run.phase is not RunPhase.STOPPED:
            self.is_waiting = False
            return
        plan = session.plan
        is_there = session.plan_files.path == self._path and plan is not None and not plan.has_errors
        if is_there and session.engine.phase is EnginePhase.READY:
            self.is_waiting = False
            session.launch()
