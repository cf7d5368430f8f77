"""Asks once before the window closes over a running server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.ui.widgets.tick_box import TickBox
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class AskClose(QDialog):
    """Accepted: stop the server and close. Signal ``tray_chosen``: hide the window, the server runs on (offered only
    where the desktop has a tray). Escape keeps the window. The answer is remembered when asked to."""

    tray_chosen = Signal()

    def __init__(self, session: AppSession, parent: QWidget, *, has_tray: bool = False) -> None:
        super().__init__(parent)
        self._session = session
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("close.title"))
        question = SectionTitle(say("close.question"))
        question.setWordWrap(True)
        self.remember = TickBox(say("close.remember"))
        self.stop = PrimaryButton(say("close.stop"))
        self.keep = PlainButton(say("close.keep"), look="large")
        self.stop.clicked.connect(self.accept)
        self.keep.clicked.connect(self.reject)
        self.tray = PlainButton(say("close.tray"), look="large")
        self.tray.setVisible(has_tray)
        self.tray.clicked.connect(self._on_tray)
        self.keep.setDefault(True)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.keep)
        buttons.addWidget(self.tray)
        buttons.addWidget(self.stop)
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 18, 22, 18)
        column.setSpacing(10)
        column.addWidget(question)
        note: QLabel = DimLabel(say("close.note_tray" if has_tray else "close.note"), wrap=True)
        column.addWidget(note)
        column.addWidget(self.remember)
        column.addSpacing(6)
        column.addLayout(buttons)
        self.setMinimumWidth(self.fontMetrics().horizontalAdvance("0") * (84 if has_tray else 64))
        self.keep.setFocus()

    @Slot()
    def _on_tray(self) -> None:
        if self.remember.isChecked():
            self._session.change_settings(close_with_server="tray")
        self.tray_chosen.emit()
        self.reject()

    @override
    def accept(self) -> None:
        if self.remember.isChecked():
            self._session.change_settings(close_with_server="stop")
        super().accept()
