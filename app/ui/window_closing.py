"""Closing the window: at once, after a question, or into the tray with the server running on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication, QWidget

from app.session.phases import RunPhase

if TYPE_CHECKING:
    from app.session.app_session import AppSession
    from app.ui.tray import Tray

_RUNNING = (RunPhase.STARTING, RunPhase.READY)


class WindowClosing(QObject):
    """Decides what a press on the window's cross does. ``tray`` is None where the desktop has none."""

    def __init__(self, session: AppSession, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._window = window
        self._is_granted = False
        self.tray: Tray | None = None

    def use_tray(self, tray: Tray) -> None:
        """There is a tray to hide in."""
        self.tray = tray
        tray.quit_requested.connect(self.quit)

    def may_close(self) -> bool:
        """Close now? Else the window stays, or goes to the tray, or a question is open."""
        if self._is_granted or self._session.run.phase not in _RUNNING:
            return True
        wish = self._session.settings.close_with_server
        if wish == "tray" and self.tray is not None:
            self.hide_in_tray()
            return False
        if wish == "stop":
            return True
        self._ask()
        return False

    def _ask(self) -> None:
        from app.ui.dialogs.ask_close import AskClose

        question = AskClose(self._session, self._window, has_tray=self.tray is not None)
        question.accepted.connect(self._on_granted)
        question.tray_chosen.connect(self.hide_in_tray)
        question.open()

    @Slot()
    def _on_granted(self) -> None:
        self._is_granted = True
        self._window.close()

    @Slot()
    def hide_in_tray(self) -> None:
        """Away from the screen; the server runs on."""
        assert self.tray is not None
        QApplication.setQuitOnLastWindowClosed(False)  # a small window closed later must not end the program
        self._window.hide()
        self.tray.refresh()

    @Slot()
    def quit(self) -> None:
        """End the program, from the tray: there it was asked for in so many words."""
        self._is_granted = True
        QApplication.setQuitOnLastWindowClosed(True)
        if self._window.isVisible():
            self._window.close()
        else:
            QApplication.quit()
