"""A bug that nobody caught while the window is open: told once at a time, with a report to copy and no upload."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal, Slot
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


class CrashNotice(QObject):
    """Brings reports from any thread to the window's; one dialog at a time, since a bug may come with every redraw."""

    _came = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._open: CrashDialog | None = None
        self._came.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def tell(self, report: CrashReport) -> None:
        """Show this report; from any thread."""
        self._came.emit(report)

    @Slot(object)
    def _show(self, report: object) -> None:
        assert isinstance(report, CrashReport)
        if self._open is not None:
            return
        self._open = CrashDialog(report, self._window)
        self._open.destroyed.connect(self._on_closed)
        self._open.show()

    @Slot()
    def _on_closed(self) -> None:
        self._open = None


_notices: list[CrashNotice] = []


def install_notice(window: QWidget) -> CrashNotice:
    """Tell of bugs over this window until it is destroyed."""
    notice = CrashNotice(window)
    _notices.append(notice)
    notice.destroyed.connect(_notices.clear)
    return notice


def tell(report: CrashReport) -> None:
    """Show a report over the window, if there is one."""
    for notice in _notices:
        notice.tell(report)
