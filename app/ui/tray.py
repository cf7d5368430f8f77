"""The icon in the tray: what runs and how fast, its address, start and stop, recent plans, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from app.common.resources import resource_path
from app.session.state import RunPhase
from app.ui.window_front import bring_to_front
from app.words import say, say_problem
from app.words.catalogue import number_text

if TYPE_CHECKING:
    from app.monitor.sample import Sample
    from app.session.app_session import AppSession

_LIVE = (RunPhase.STARTING, RunPhase.READY, RunPhase.STOPPING)
_MOST_RECENT = 5


def tray_exists() -> bool:
    """Has this desktop a place for such an icon? Without one a hidden window could not be found again."""
    return QSystemTrayIcon.isSystemTrayAvailable()


class Tray(QObject):
    """Shown while the window is hidden or a server runs. Signal ``quit_requested``."""

    quit_requested = Signal()

    def __init__(self, session: AppSession, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._window = window
        self._tps: float | None = None
        self.icon = QSystemTrayIcon(QIcon(str(resource_path("icons/lanewise.svg"))), self)
        self.menu = QMenu()
        self.destroyed.connect(self.menu.deleteLater)
        self._fill()
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self._on_activated)
        self.menu.aboutToShow.connect(self.refresh)
        session.run_changed.connect(self.refresh)
        session.plan_changed.connect(self.refresh)
        session.settings_changed.connect(self._on_settings)
        session.sample_added.connect(self._on_sample)
        session.launching.changed.connect(self._on_question)
        self.icon.messageClicked.connect(self.show_window)
        self.refresh()

    def _fill(self) -> None:
        self.menu.clear()
        self.status = self._add("")
        self.status.triggered.connect(self.show_window)
        self.address = self._add("")
        self.address.triggered.connect(self._on_copy)
        self.menu.addSeparator()
        self.run = self._add("")
        self.run.triggered.connect(self._on_run)
        self.recent = self.menu.addMenu(say("tray.recent"))
        self.menu.addSeparator()
        self._add(say("tray.open")).triggered.connect(self.show_window)
        self._add(say("tray.quit")).triggered.connect(self.quit_requested)

    def _add(self, text: str) -> QAction:
        action = QAction(text, self.menu)
        self.menu.addAction(action)
        return action

    # ---- what is shown ------------------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Show what the session says now."""
        session, run = self._session, self._session.run
        if run.phase is not RunPhase.READY:
            self._tps = None
        name = session.model.name if session.model is not None else say("tray.no_model")
        state = say(f"run.phase.{run.phase.value}")
        if self._tps is not None:
            state = say("chat.decode", x=round(self._tps, 1))
        question = session.launching.question
        self.status.setText(_plain(f"{name} · {state}" if question is None else say("tray.question")))
        self.status.setEnabled(question is not None)
        self.address.setVisible(run.url is not None)
        self.address.setText(_plain(say("tray.address", url=run.url)))
        is_live = run.phase in _LIVE
        plan = session.plan
        self.run.setText(say("run.stop") if is_live else say("run.launch"))
        self.run.setEnabled(is_live or (plan is not None and not plan.has_errors))
        self._refresh_recent()
        self.icon.setToolTip(f"Lanewise · {name} · {state}")
        self.icon.setVisible(is_live or not self._window.isVisible())

    def _refresh_recent(self) -> None:
        self.recent.clear()
        paths = [path for path in self._session.settings.recent_plans if Path(path).is_file()][:_MOST_RECENT]
        for path in paths:
            action = self.recent.addAction(_plain(Path(path).stem))
            action.setToolTip(path)
            action.triggered.connect(lambda _=False, p=path: self._on_plan(p))
        self.recent.setEnabled(bool(paths))

    @Slot(object)
    def _on_sample(self, sample: Sample) -> None:
        before, self._tps = self._tps, sample.values.get("tok.decode")
        if number_text(before or 0) != number_text(self._tps or 0) and not self._window.isVisible():
            self.refresh()

    @Slot()
    def _on_question(self) -> None:
        """A launch that was begun without the window waits for an answer: nobody would see the question otherwise."""
        question = self._session.launching.question
        if question is not None and not self._window.isVisible():
            self.icon.showMessage(say("tray.question"), say_problem(question.problem))
        self.refresh()

    @Slot()
    def _on_settings(self) -> None:
        """Perhaps another language."""
        self._fill()
        self.refresh()

    # ---- what is wished -----------------------------------------------------------------------------------------

    @Slot(QSystemTrayIcon.ActivationReason)
    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.show_window()

    @Slot()
    def show_window(self) -> None:
        """The window again, where it was."""
        bring_to_front(self._window)
        self.refresh()

    @Slot()
    def _on_copy(self) -> None:
        if self._session.run.url is not None:
            QGuiApplication.clipboard().setText(self._session.run.url)

    @Slot()
    def _on_run(self) -> None:
        if self._session.run.phase in _LIVE:
            self._session.stop()
        else:
            self.show_window()  # a launch may ask something
            self._session.launch()

    def _on_plan(self, path: str) -> None:
        self.show_window()
        self._session.plan_files.open(path)


def _plain(text: str) -> str:
    """A name in a menu: & would mark a key."""
    return text.replace("&", "&&")
