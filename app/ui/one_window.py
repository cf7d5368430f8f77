"""The start of a window beside another one: hand the file over and end, or be the window that others hand over to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.common.paths import AppPaths
from app.common.problem import Problem
from app.common.start_options import WindowOptions
from app.session.open_file import open_file
from app.session.single_instance import WindowServer, claim_window, hand_over, has_window, silent_window
from app.ui.window_front import bring_to_front
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class OneWindow(QObject):
    """Made before the window; ``was_handed_over`` then says whether there is anything left to do. A start with options
    of its own (another machine, another engine) opens a window of its own, beside the one that may be running."""

    def __init__(self, paths: AppPaths, options: WindowOptions) -> None:
        super().__init__()
        self._paths = paths
        self._server: WindowServer | None = None
        self._window: QWidget | None = None
        self._session: AppSession | None = None
        self._waiting: list[str] = []
        self.problems: tuple[Problem, ...] = ()
        self.was_handed_over = False
        self._lock = None if options.smoke else claim_window(paths)
        if self._lock is None and options.may_hand_over and has_window(paths):
            self._hand_over(options.model)

    def _hand_over(self, path: str | None) -> None:
        self.was_handed_over = hand_over(self._paths, path, is_alone=self._is_first_now)
        if self.was_handed_over:
            if sys.stderr is not None:
                print(say("cli.handed_over"), file=sys.stderr)
        elif self._lock is None:
            self.problems = (silent_window(),)

    def _is_first_now(self) -> bool:
        """The other window has ended while it was asked: then this start takes its place, with the lock."""
        self._lock = claim_window(self._paths)
        return self._lock is not None

    def listen(self) -> None:
        """Hear later starts from now on, before the slow part of this one; nothing where another window does that.
        What they hand over waits for ``open_in``."""
        if self._lock is not None and self._server is None:
            self._server = WindowServer(self._paths, self)
            self._server.open_requested.connect(self._on_open)

    def open_in(self, window: QWidget, session: AppSession) -> None:
        """Open in this window what later starts hand over, and what they have handed over already."""
        self.listen()
        self._window, self._session = window, session
        waiting, self._waiting = self._waiting, []
        for path in waiting:
            self._on_open(path)

    @Slot(str)
    def _on_open(self, path: str) -> None:
        if self._window is None or self._session is None:
            self._waiting.append(path)
            return
        bring_to_front(self._window)
        if path:
            open_file(self._session, path)

    def close(self) -> None:
        """Stop listening first, so that a start from now on opens a window of its own."""
        if self._server is not None:
            self._server.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
