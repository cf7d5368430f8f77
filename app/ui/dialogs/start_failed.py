"""A start that broke: what happened, a report to copy, and a way out; never a blank window."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.ui.theme.fonts import mono_font
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.labels import SectionTitle
from app.words import say


class StartFailed(QDialog):
    """Accepted or rejected, the program ends: without a session there is nothing to show."""

    def __init__(self, why: str, report: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(say("start.failed.title"))
        self.setModal(True)
        self._report = report
        text = SectionTitle(say("start.failed.text", why=why))
        text.setWordWrap(True)
        details = QPlainTextEdit(report)
        details.setReadOnly(True)
        details.setFont(mono_font(details.font()))
        details.setTabChangesFocus(True)
        self.copy = PlainButton(say("start.failed.copy"), look="large")
        self.copy.set_icon("copy")
        self.quit = PrimaryButton(say("start.failed.quit"))
        self.copy.clicked.connect(self._on_copy)
        self.quit.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.copy)
        buttons.addWidget(self.quit)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 18)
        column.setSpacing(12)
        column.addWidget(text)
        column.addWidget(details, 1)
        column.addLayout(buttons)
        self.resize(720, 420)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._report)
        self.copy.setText(say("start.failed.copied"))
