"""Which message stands under the window's title, how long it stays, and the way on that it offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.common.problem import Problem, Severity
from app.session.engines_controller import NEEDS_ANOTHER
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession
    from app.ui.main_window import MainWindow
    from app.ui.widgets.message_strip import MessageStrip


class WindowMessages(QObject):
    """Follows what the session raises. The strip is the window's, which makes it anew with another language."""

    def __init__(self, session: AppSession, window: MainWindow) -> None:
        super().__init__(window)
        self._session = session
        self._window = window
        self._strip: MessageStrip | None = None
        self._shown: Problem | None = None
        self._standing: Problem | None = None
        """What was said of the engine and not closed by the user; another message only covers it for a while."""
        session.message_raised.connect(self.show)
        session.undo_stack.indexChanged.connect(self._on_step)
        session.engines.changed.connect(self._on_engines)

    @Slot(object)
    def show(self, problem: Problem) -> None:
        """Tell a problem, unless the page in front tells it already, with the evidence."""
        if self._window.page_name == "run" and problem is self._session.run.problem:
            return
        strip = self._window.strip
        if strip is not self._strip:
            self._strip = strip
            strip.closed.connect(self._on_closed)
        is_standing = problem.code in NEEDS_ANOTHER
        if is_standing:
            self._standing = problem
        strip.show_problem(problem, say("engines.get") if is_standing else "")
        self._shown = problem

    @Slot()
    def get_engine(self) -> None:
        """The way on of a message about an engine that does not suit."""
        from app.ui.dialogs.get_engine import show_get_engine

        show_get_engine(self._session, self._window)

    @Slot()
    def _on_step(self) -> None:
        """The user's next step takes a remark about the last one away; an error, and what is still true of the engine,
        stays until it is closed."""
        problem = self._window.strip.problem
        if problem is not None and problem.severity is not Severity.ERROR and not self._is_of_engine(problem):
            self._window.strip.clear()

    @Slot()
    def _on_closed(self) -> None:
        """What was covered comes back while it is true; what the user closed himself does not."""
        standing = self._standing
        if standing is None or self._shown is standing or not self._is_of_engine(standing):
            self._standing = None
        else:
            self.show(standing)

    @Slot()
    def _on_engines(self) -> None:
        """Another engine, or another machine: what was said of the one before no longer holds."""
        problem = self._window.strip.problem
        if problem is not None and problem.code in NEEDS_ANOTHER and not self._is_of_engine(problem):
            self._window.strip.clear()

    def _is_of_engine(self, problem: Problem) -> bool:
        if problem.code not in NEEDS_ANOTHER:
            return False
        current = self._session.engines.list.current
        return current is not None and problem in self._session.engines.warnings(current)
