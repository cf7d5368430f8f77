"""What stands in the way of a launch, and the ways on: a strip under the title, never a box in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from app.common.later import later
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.labels import set_look
from app.words import say, say_problem

if TYPE_CHECKING:
    from app.session.launch_controller import LaunchController
    from app.work.before_launch import LaunchAnswer, LaunchQuestion
    from app.work.doctor_text import fix_sentence
else:
    fix_sentence = later("app.work.doctor_text", "fix_sentence")


def answer_text(answer: LaunchAnswer) -> str:
    """The words of a way on."""
    if answer.fix is not None:
        return say("launch.answer.fix", what=fix_sentence(answer.fix))
    return say(f"launch.answer.{answer.code}", **answer.params)


class LaunchStrip(QFrame):
    """Follows the controller's question. The first way on is in focus; Esc gives the launch up."""

    def __init__(self, launching: LaunchController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "message")
        self._launching = launching
        self._icon = QLabel()
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        set_look(self._text, "warning")
        self.buttons: list[PlainButton] = []
        line = QHBoxLayout()
        line.setSpacing(10)
        line.addWidget(self._icon)
        line.addWidget(self._text, 1)
        self._row = QHBoxLayout()
        self._row.setSpacing(8)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 8, 16, 8)
        column.setSpacing(6)
        column.addLayout(line)
        column.addLayout(self._row)
        launching.changed.connect(self.refresh)
        ThemeManager.of_app().theme_changed.connect(self._refresh_icon)
        self.refresh()

    @property
    def text(self) -> str:
        """The question."""
        return self._text.text()

    @Slot()
    def refresh(self) -> None:
        """Show the present question, or nothing."""
        for button in self.buttons:
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons = []
        while self._row.count():
            self._row.takeAt(0)
        question = self._launching.question
        self.setVisible(question is not None)
        if question is not None:
            self._show(question)

    def _show(self, question: LaunchQuestion) -> None:
        sentence = say_problem(question.problem)
        self._text.setText(sentence)
        self.setAccessibleName(say("launch.title"))
        self._text.setAccessibleName(f"{say('launch.title')}: {sentence}")
        self._row.addStretch(1)
        for i, answer in enumerate(question.answers):
            button = PlainButton(answer_text(answer))
            set_look(button, "primary" if i == 0 and answer.code != "anyway" else "plain")
            button.clicked.connect(lambda _=False, answer=answer: self._launching.answer(answer))
            self._add(button)
        cancel = PlainButton(say("launch.cancel"))
        cancel.clicked.connect(self._launching.dismiss)
        self._add(cancel)
        self._refresh_icon()
        self.buttons[0].setFocus(Qt.FocusReason.OtherFocusReason)

    def _add(self, button: PlainButton) -> None:
        self._row.addWidget(button)
        self.buttons.append(button)

    @Slot()
    def _refresh_icon(self) -> None:
        icon = ThemeManager.of_app().icon("warning", "warning", 18)
        self._icon.setPixmap(icon.pixmap(QSize(18, 18), self.devicePixelRatioF()))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._launching.dismiss()
        else:
            super().keyPressEvent(event)
