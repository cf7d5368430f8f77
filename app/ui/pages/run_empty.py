"""What stands in the chat's place when there is no server: what to do, or why it failed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from app.ui.theme.fonts import mono_font
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import LinkButton, PlainButton
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say

_ICON = 36


class EmptyState(QWidget):
    """An icon, a heading, a sentence, and a link to the page where the next step is."""

    page_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = ThemeManager.of_app()
        self._page = "plan"
        self._icon = QLabel()
        self._icon.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._title = SectionTitle(factor=1.15)
        self._title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text = QLabel()
        self._plan = DimLabel(wrap=True)
        for label in (self._text, self._plan):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._link = LinkButton("")
        self._link.clicked.connect(self._on_link)
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addStretch(1)
        for widget in (self._icon, self._title, self._text, self._plan):
            layout.addWidget(widget)
        layout.addWidget(self._link, 0, Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(2)
        self._theme.theme_changed.connect(self._refresh_icon)
        self._refresh_icon()

    @property
    def texts(self) -> tuple[str, str, str]:
        """Heading, sentence, plan."""
        return (self._title.text(), self._text.text(), self._plan.text())

    @property
    def link(self) -> LinkButton:
        """Leads to the page where the next step is."""
        return self._link

    def set_texts(self, title: str, text: str, plan: str, page: str, link: str) -> None:
        """Say what to do; ``page`` is the name of the page that ``link`` opens, '' for no link."""
        self._title.setText(title)
        self._text.setText(text)
        self._plan.setText(plan)
        self._plan.setVisible(bool(plan))
        self._page = page
        self._link.setText(link)
        self._link.setVisible(bool(page))

    @Slot()
    def _on_link(self) -> None:
        self.page_requested.emit(self._page)

    @Slot()
    def _refresh_icon(self) -> None:
        icon = self._theme.icon("run", "text_dim", _ICON)
        self._icon.setPixmap(icon.pixmap(QSize(_ICON, _ICON), self.devicePixelRatioF()))


class FailureState(QWidget):
    """Why the server ended: one sentence, the lines of the log that show it, and a report to copy."""

    page_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = ThemeManager.of_app()
        self._report = ""
        self._icon = QLabel()
        self._title = SectionTitle(say("run.failed_title"), factor=1.1)
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._code = DimLabel()
        self._evidence = QPlainTextEdit()
        self._evidence.setReadOnly(True)
        self._evidence.setFont(mono_font(self.font()))
        self._evidence.setProperty("look", "command")
        self._evidence.setAccessibleName(say("run.evidence"))
        self._evidence.setTabChangesFocus(True)
        self._caption = DimLabel(say("run.evidence"))
        self._copy = PlainButton(say("run.copy_report"))
        self._copy.set_icon("copy")
        self._copy.clicked.connect(self._on_copy)
        self._plan = PlainButton(say("run.to_plan"))
        self._plan.clicked.connect(self._on_plan)
        self.doctor = PlainButton(say("run.to_doctor"))
        self.doctor.set_icon("doctor")
        self.doctor.clicked.connect(self._on_doctor)
        self._lay_out()
        self._theme.theme_changed.connect(self._refresh_icon)
        self._refresh_icon()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._icon)
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self._code)
        buttons = QHBoxLayout()
        for button in (self.doctor, self._plan, self._copy):
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self._text)
        layout.addWidget(self._caption)
        layout.addWidget(self._evidence, 1)
        layout.addLayout(buttons)

    @property
    def report(self) -> str:
        """What Copy report copies."""
        return self._report

    def set_failure(self, sentence: str, exit_code: int | None, evidence: Sequence[str], report: str) -> None:
        """Show a failure; ``evidence`` are lines of the engine's own log."""
        self._text.setText(sentence)
        self._code.setText("" if exit_code is None else say("run.exit_code", code=exit_code))
        self._evidence.setPlainText("\n".join(evidence))
        self._evidence.setVisible(bool(evidence))
        self._caption.setVisible(bool(evidence))
        self._report = report
        self._copy.setText(say("run.copy_report"))

    @Slot()
    def _on_doctor(self) -> None:
        self.page_requested.emit("doctor")

    @Slot()
    def _on_plan(self) -> None:
        self.page_requested.emit("plan")

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._report)
        self._copy.setText(say("run.copied"))

    @Slot()
    def _refresh_icon(self) -> None:
        icon = self._theme.icon("error", "error", 20)
        self._icon.setPixmap(icon.pixmap(QSize(20, 20), self.devicePixelRatioF()))
