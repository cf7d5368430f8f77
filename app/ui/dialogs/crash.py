"""What the window shows of a bug that nobody caught."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.common.log import CrashReport
from app.ui.theme.fonts import mono_font
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say

_LONGEST_WHY = 200


class CrashDialog(QDialog):
    """What happened, where the report lies, and a button that copies it."""

    def __init__(self, report: CrashReport, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._report = report
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("crash.title"))
        text = SectionTitle(say("crash.text", why=report.summary[:_LONGEST_WHY]))
        text.setWordWrap(True)
        text.setTextFormat(Qt.TextFormat.PlainText)
        path = report.path
        where = say("crash.not_written") if path is None else say("crash.where", path=str(path))
        self.details = QPlainTextEdit(report.text)
        self.details.setReadOnly(True)
        self.details.setFont(mono_font(self.details.font()))
        self.details.setTabChangesFocus(True)
        self.details.setAccessibleName(say("crash.title"))
        self.copy = PrimaryButton(say("crash.copy"))
        self.copy.clicked.connect(self._on_copy)
        self.close_button = PlainButton(say("ui.close"), look="large")
        self.close_button.clicked.connect(self.reject)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 18)
        column.setSpacing(10)
        column.addWidget(text)
        column.addWidget(DimLabel(where, wrap=True))
        column.addWidget(self.details, 1)
        column.addLayout(foot)
        self.resize(720, 440)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._report.text)
        self.copy.setText(say("crash.copied"))
