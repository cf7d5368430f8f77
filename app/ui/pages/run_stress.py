"""The stress run on the run page: one button, progress with Cancel, and the stamp that it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QSizePolicy, QWidget

from app.ui.pages.stress_words import details, stamp_told
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.labels import ElidedLabel, set_look
from app.words import say, say_problem

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_BAR_WIDTH = 160


class StressRow(QWidget):
    """Shown while a server runs. Its height never changes, so that nothing moves when a run begins or ends."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._icon = QLabel()
        self._icon.setFixedWidth(16)
        self._text = ElidedLabel()
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedSize(_BAR_WIDTH, 6)
        self.bar.setAccessibleName(say("stress.button"))
        self.button = PlainButton(say("stress.button"))
        self.button.setToolTip(say("stress.button_tip"))
        self.button.clicked.connect(self._on_button)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 16, 0)
        row.setSpacing(8)
        row.addWidget(self._icon)
        row.addWidget(self._text, 1)
        row.addWidget(self.bar)
        row.addWidget(self.button)
        session.stress.changed.connect(self.refresh)
        ThemeManager.of_app().theme_changed.connect(self.refresh)
        self.refresh()

    @property
    def text(self) -> str:
        """What is said."""
        return self._text.text()

    @Slot()
    def refresh(self) -> None:
        """Show what holds now."""
        stress = self._session.stress
        progress = stress.state.progress
        self.setVisible(stress.may_start or stress.is_running)
        self.bar.setVisible(progress is not None)
        self.button.setText(say("stress.cancel" if progress is not None else "stress.button"))
        tone, tip = "dim", ""
        if progress is not None:
            self.bar.setRange(0, progress.total)
            self.bar.setValue(progress.done)
            text = say("stress.filling", done=progress.done, total=progress.total or None)
        elif stress.state.problem is not None:
            text, tone = say_problem(stress.state.problem), "error"
        else:
            stamp = stress.stamp_of(self._session.running_plan)
            told = None if stamp is None else stamp_told(stamp)
            text, tone = (say("stress.idle"), "dim") if told is None else (told.text, told.tone)
            tip = "" if stamp is None else details(stamp)
        self._text.setText(text)
        self._text.setAccessibleName(text)
        self._text.setToolTip(tip or text)
        set_look(self._text, tone)
        self._show_icon(tone)

    def _show_icon(self, tone: str) -> None:
        name = {"ok": "check", "error": "error"}.get(tone)
        if name is None:
            self._icon.hide()
            return
        icon = ThemeManager.of_app().icon(name, tone, 16)
        self._icon.setPixmap(icon.pixmap(QSize(16, 16), self.devicePixelRatioF()))
        self._icon.show()

    @Slot()
    def _on_button(self) -> None:
        stress = self._session.stress
        if stress.is_running:
            stress.cancel()
        else:
            stress.start()
