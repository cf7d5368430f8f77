"""The chat box: a prompt, the streamed answer, its speed; and what to show when no server runs."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.session.state import ChatPhase, ChatState, RunPhase
from app.ui.pages.run_chat_view import ChatView
from app.ui.pages.run_empty import EmptyState, FailureState
from app.ui.pages.run_parts import fix_size
from app.ui.pages.run_words import speed_line
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.frames import CardFrame, Rule
from app.ui.widgets.labels import DimLabel, ElidedLabel, SectionTitle, set_look
from app.words import say

_PROMPT_LINES = 3


class PromptBox(QPlainTextEdit):
    """Enter sends, Shift+Enter makes a line, Escape stops the answer, Up in an empty box brings the last prompt."""

    send_requested = Signal()
    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._last = ""
        self.setTabChangesFocus(True)
        self.setPlaceholderText(say("chat.prompt_hint"))
        self.setAccessibleName(say("chat.prompt_name"))
        self.setAccessibleDescription(say("chat.prompt_hint"))
        height = self.fontMetrics().lineSpacing() * _PROMPT_LINES + 2 * int(self.document().documentMargin()) + 6
        self.setFixedHeight(height)

    def take(self) -> str:
        """The text, trimmed; the box is emptied and remembers it."""
        text = self.toPlainText().strip()
        if text:
            self._last = text
            self.clear()
        return text

    @override
    def keyPressEvent(self, e: QKeyEvent) -> None:
        is_enter = e.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and not e.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.send_requested.emit()
        elif e.key() == Qt.Key.Key_Escape:
            self.stop_requested.emit()
        elif e.key() == Qt.Key.Key_Up and not self.toPlainText() and self._last:
            self.setPlainText(self._last)
            self.moveCursor(self.textCursor().MoveOperation.End)
        else:
            super().keyPressEvent(e)


class ChatPane(CardFrame):
    """Chat while a server runs; else the empty state or the reason of the failure, in the same place."""

    send_requested = Signal(str)
    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=10, spacing=4)
        self._run_phase = RunPhase.STOPPED
        self._chat = ChatState(ChatPhase.IDLE)
        self._context: tuple[float | None, int | None] = (None, None)
        self.view = ChatView()
        self.prompt = PromptBox()
        self.empty = EmptyState()
        self.failure = FailureState()
        self._speed = ElidedLabel()
        self._speed.setProperty("look", "dim")
        self._speed.setFont(DimLabel().font())
        self._speed.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._button = PlainButton(say("chat.send"))
        fix_size(self._button, 14)
        self._button.clicked.connect(self._on_button)
        self.prompt.send_requested.connect(self._on_send)
        self.prompt.stop_requested.connect(self._on_escape)
        self.prompt.textChanged.connect(self._refresh_button)
        self._stack = QStackedWidget()
        for widget in (self.view, self.empty, self.failure):
            self._stack.addWidget(widget)
        self._lay_out()
        self.set_chat(self._chat)
        ThemeManager.of_app().theme_changed.connect(self._refresh_button)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(SectionTitle(say("chat.title")))
        head.addStretch(1)
        head.addWidget(DimLabel(say("chat.private")))
        row = QHBoxLayout()
        row.setSpacing(8)
        side = QVBoxLayout()
        side.addStretch(1)
        side.addWidget(self._button)
        row.addWidget(self.prompt, 1)
        row.addLayout(side)
        self.body.addLayout(head)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(Rule())
        self.body.addWidget(self._speed)
        self.body.addLayout(row)

    @property
    def button(self) -> PlainButton:
        """Send, or Stop while an answer streams."""
        return self._button

    @property
    def speed_text(self) -> str:
        """The speed line."""
        return self._speed.text()

    @property
    def shown(self) -> QWidget | None:
        """The chat, the empty state, or the failure."""
        return self._stack.currentWidget()

    def set_run_phase(self, phase: RunPhase) -> None:
        """A prompt can be sent to a ready server only; what was said stays readable after it stopped."""
        if phase is RunPhase.STARTING and self._run_phase is not phase:
            self.view.forget()
        self._run_phase = phase
        self._choose_view()
        self._refresh_button()

    def set_chat(self, chat: ChatState) -> None:
        """Show an answer so far."""
        self._chat = chat
        self.view.set_state(chat)
        self._refresh_speed()
        self._choose_view()
        self._refresh_button()

    def set_context(self, used: float | None, total: int | None) -> None:
        """How full the context is, in tokens."""
        if (used, total) != self._context:
            self._context = (used, total)
            self._refresh_speed()

    @property
    def _is_answering(self) -> bool:
        return self._chat.phase is not ChatPhase.IDLE

    def _choose_view(self) -> None:
        if self._run_phase is RunPhase.FAILED:
            widget: QWidget = self.failure
        elif self._run_phase is not RunPhase.READY and not self._chat.question:
            widget = self.empty
        else:
            widget = self.view
        self._stack.setCurrentWidget(widget)

    def _refresh_speed(self) -> None:
        text = speed_line(self._chat, *self._context) or " "
        if text != self._speed.text():
            self._speed.setText(text)
            self._speed.setAccessibleName(text)

    @Slot()
    def _refresh_button(self) -> None:
        ready = self._run_phase is RunPhase.READY
        if self._is_answering:
            self._button.setText(say("chat.stop"))
            self._button.setEnabled(True)
            set_look(self._button, "plain")
            self._button.set_icon("stop", "error")
        else:
            can_send = ready and bool(self.prompt.toPlainText().strip())
            self._button.setText(say("chat.send"))
            self._button.setEnabled(can_send)
            set_look(self._button, "primary" if ready else "plain")
            self._button.set_icon("play", "accent_text" if can_send else "text_dim")
        self._button.setToolTip("" if ready else say("chat.not_running"))

    @Slot()
    def _on_button(self) -> None:
        if self._is_answering:
            self.stop_requested.emit()
        else:
            self._on_send()

    @Slot()
    def _on_send(self) -> None:
        if self._run_phase is not RunPhase.READY or self._is_answering:
            return
        text = self.prompt.take()
        if text:
            self.send_requested.emit(text)

    @Slot()
    def _on_escape(self) -> None:
        if self._is_answering:
            self.stop_requested.emit()
