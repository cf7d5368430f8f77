"""Trouble in place: a strip under the title, never a box in the way."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.common.problem import Problem, Severity
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import IconButton, LinkButton, PlainButton
from app.ui.widgets.labels import DimLabel, set_look
from app.words import say, say_problem

_ICONS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}
_TOKENS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "accent"}


class MessageStrip(QFrame):
    """Shows one problem with its severity as icon and word, its evidence on demand, and a button to close it.

    ``action_wanted``: the button with the way on was pressed, where the message has one.
    """

    closed = Signal()
    action_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "message")
        self._problem: Problem | None = None
        self._icon = QLabel()
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.action = PlainButton("")
        self.action.clicked.connect(self.action_wanted)
        self.action.hide()
        self._more = LinkButton(say("ui.message.evidence"))
        self._more.setCheckable(True)
        self._more.toggled.connect(self._on_more)
        self._close = IconButton("close", say("ui.message.close"), bare=True)
        self._close.clicked.connect(self.clear)
        self._evidence = DimLabel(wrap=True)
        self._evidence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._build()
        ThemeManager.of_app().theme_changed.connect(self._refresh_icon)
        self.hide()

    def _build(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(10)
        line.addWidget(self._icon)
        line.addWidget(self._text, 1)
        line.addWidget(self.action)
        line.addWidget(self._more)
        line.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 6, 10, 6)
        column.setSpacing(2)
        column.addLayout(line)
        column.addWidget(self._evidence)
        self._evidence.hide()

    @property
    def problem(self) -> Problem | None:
        """What is shown now."""
        return self._problem

    @property
    def text(self) -> str:
        """The sentence that is shown now."""
        return self._text.text()

    @Slot(object)
    def show_problem(self, problem: Problem, action: str = "") -> None:
        """Show a problem; it replaces the one before. ``action``: the words of a button that leads on."""
        self._problem = problem
        self.action.setText(action)
        self.action.setVisible(bool(action))
        sentence = say_problem(problem)
        self._text.setText(sentence)
        self._text.setAccessibleName(say(f"ui.severity.{problem.severity.value}") + ": " + sentence)
        set_look(self._text, "plain" if problem.severity is Severity.INFO else problem.severity.value)
        self._evidence.setText("\n".join(problem.evidence))
        self._more.setVisible(bool(problem.evidence))
        self._more.setChecked(False)
        self._refresh_icon()
        self.show()

    @Slot()
    def clear(self) -> None:
        """Take the message away."""
        if self._problem is None:
            return
        self._problem = None
        self.hide()
        self.closed.emit()

    @Slot(bool)
    def _on_more(self, shown: bool) -> None:
        self._evidence.setVisible(shown and bool(self._evidence.text()))

    @Slot()
    def _refresh_icon(self) -> None:
        if self._problem is None:
            return
        severity = self._problem.severity
        icon = ThemeManager.of_app().icon(_ICONS[severity], _TOKENS[severity], 18)
        self._icon.setPixmap(icon.pixmap(QSize(18, 18), self.devicePixelRatioF()))
        self._icon.setAccessibleName(say(f"ui.severity.{severity.value}"))
