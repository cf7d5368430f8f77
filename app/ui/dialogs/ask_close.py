"""Asks once before the window closes over a running server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.session.state import RunPhase
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.ui.widgets.tick_box import TickBox
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_RUNNING = (RunPhase.STARTING, RunPhase.READY)


def must_ask(session: AppSession) -> bool:
    """Does a server run that the user has not allowed to be stopped without a question?"""
    return session.run.phase in _RUNNING and session.settings.close_with_server == "ask"


class AskClose(QDialog):
    """Accepted: stop the server and close. Escape keeps the window. The answer is remembered when asked to."""

    def __init__(self, session: AppSession, parent: QWidget) -> None:
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
        self.keep.setDefault(True)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.remember)
        buttons.addSpacing(24)
        buttons.addStretch(1)
        buttons.addWidget(self.keep)
        buttons.addWidget(self.stop)
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 18, 22, 18)
        column.setSpacing(10)
        column.addWidget(question)
        note: QLabel = DimLabel(say("close.note"), wrap=True)
        column.addWidget(note)
        column.addSpacing(6)
        column.addLayout(buttons)
        self.setMinimumWidth(self.fontMetrics().horizontalAdvance("0") * 64)
        self.keep.setFocus()

    @override
    def accept(self) -> None:
        if self.remember.isChecked():
            self._session.change_settings(close_with_server="stop")
        super().accept()
