"""The chat box: a prompt, the conversation, its speed; and what to show when no server runs."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.session.state import ChatPhase, ChatState, RunPhase
from app.ui.pages.run_chat_meter import ContextMeter
from app.ui.pages.run_chat_prompt import PictureRow, PromptBox, SystemPromptBox
from app.ui.pages.run_chat_view import ChatView
from app.ui.pages.run_empty import EmptyState, FailureState
from app.ui.pages.run_parts import fix_size
from app.ui.pages.run_words import speed_line
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import IconButton, LinkButton, PlainButton
from app.ui.widgets.frames import CardFrame, Rule
from app.ui.widgets.labels import DimLabel, ElidedLabel, SectionTitle, set_look
from app.words import say


class ChatPane(CardFrame):
    """Chat while a server runs; else the empty state or the reason of the failure, in the same place.

    Wishes: ``send_requested(text)``, ``stop_requested``, ``again_requested``, ``new_requested``, ``page_requested``
    (the engine's own page), ``attach_requested`` (choose a picture).
    """

    send_requested = Signal(str)
    stop_requested = Signal()
    again_requested = Signal()
    new_requested = Signal()
    page_requested = Signal()
    attach_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=10, spacing=4)
        self._run_phase = RunPhase.STOPPED
        self._chat = ChatState(ChatPhase.IDLE)
        self._has_turns = False
        self._sampled: tuple[float | None, int | None] = (None, None)
        self._n_ctx: int | None = None
        self._n_pictures = 0
        self.view = ChatView()
        self.prompt = PromptBox()
        self.system = SystemPromptBox()
        self.system.hide()
        self.pictures = PictureRow()
        self.empty = EmptyState()
        self.failure = FailureState()
        self.meter = ContextMeter()
        self._make_buttons()
        self._speed = ElidedLabel()
        self._speed.setProperty("look", "dim")
        self._speed.setFont(DimLabel().font())
        self._speed.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._stack = QStackedWidget()
        for widget in (self.view, self.empty, self.failure):
            self._stack.addWidget(widget)
        self._lay_out()
        self._connect()
        self.set_chat(self._chat)

    def _make_buttons(self) -> None:
        self.new_button = LinkButton(say("chat.new"))
        self.system_button = LinkButton(say("chat.system"))
        self.page_button = LinkButton(say("chat.page"))
        self.new_button.setToolTip(say("chat.new_note"))
        self.system_button.setToolTip(say("chat.system_hint"))
        self.page_button.setToolTip(say("chat.page_note"))
        self.system_button.setCheckable(True)
        self.attach = IconButton("attach", say("chat.attach"))
        self.attach.hide()
        self._button = PlainButton(say("chat.send"))
        fix_size(self._button, 18)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(SectionTitle(say("chat.title")))
        self.note = ElidedLabel(say("chat.private"))
        self.note.setProperty("look", "dim")
        self.note.setFont(DimLabel().font())
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        head.addWidget(self.note, 1)
        for button in (self.new_button, self.system_button, self.page_button):
            head.addWidget(button)
        figures = QHBoxLayout()
        figures.setSpacing(8)
        figures.addWidget(self._speed, 1)
        figures.addWidget(self.meter)
        row = QHBoxLayout()
        row.setSpacing(8)
        side = QVBoxLayout()
        side.addStretch(1)
        side.addWidget(self._button)
        row.addWidget(self.prompt, 1)
        row.addWidget(self.attach, 0, Qt.AlignmentFlag.AlignBottom)
        row.addLayout(side)
        self.body.addLayout(head)
        self.body.addWidget(self.system)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(Rule())
        self.body.addLayout(figures)
        self.body.addWidget(self.pictures)
        self.body.addLayout(row)

    def _connect(self) -> None:
        self._button.clicked.connect(self._on_button)
        self.prompt.send_requested.connect(self._on_send)
        self.prompt.stop_requested.connect(self._on_escape)
        self.prompt.textChanged.connect(self._refresh_button)
        self.view.again_requested.connect(self._on_again)
        self.new_button.clicked.connect(self.new_requested)
        self.page_button.clicked.connect(self.page_requested)
        self.attach.clicked.connect(self.attach_requested)
        self.system_button.toggled.connect(self.system.setVisible)
        ThemeManager.of_app().theme_changed.connect(self._refresh_button)

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
        self._run_phase = phase
        self._refresh_speed()
        self._choose_view()
        self._refresh_button()

    def set_chat(self, chat: ChatState, turns: tuple[ChatState, ...] = ()) -> None:
        """Show the conversation: what was said before, and the answer so far."""
        self._chat = chat
        self._has_turns = bool(turns)
        self.view.set_chat(turns, chat)
        self._refresh_speed()
        self._choose_view()
        self._refresh_button()

    def set_context(self, used: float | None, total: int | None) -> None:
        """How full the context is, in tokens, as the last look at the server's slots says."""
        if (used, total) != self._sampled:
            self._sampled = (used, total)
            self._refresh_speed()

    def set_abilities(self, n_ctx: int | None, *, takes_pictures: bool) -> None:
        """What the running server says of itself: the room of one conversation, and whether it sees."""
        self._n_ctx = n_ctx
        self.attach.setVisible(takes_pictures)
        self.prompt.takes_pictures = takes_pictures
        self._refresh_speed()

    def set_demo(self, is_demo: bool) -> None:
        """Say beside the title that the demo model's answers mean nothing, before anyone wonders."""
        self.note.setText(say("chat.demo" if is_demo else "chat.private"))

    def set_pictures(self, names: tuple[str, ...]) -> None:
        """The pictures of the next question."""
        self._n_pictures = len(names)
        self.pictures.set_names(names)
        self._refresh_button()

    @property
    def _is_answering(self) -> bool:
        return self._chat.phase is not ChatPhase.IDLE

    def _choose_view(self) -> None:
        has_talk = bool(self._chat.question or self._chat.pictures or self._has_turns)
        if self._run_phase is RunPhase.FAILED:
            widget: QWidget = self.failure
        elif self._run_phase is not RunPhase.READY and not has_talk:
            widget = self.empty
        else:
            widget = self.view
        self._stack.setCurrentWidget(widget)

    def _refresh_speed(self) -> None:
        sampled, planned = self._sampled
        used = self._chat.context_used if self._chat.context_used is not None else sampled
        if self._run_phase is not RunPhase.READY:
            used = None  # the context went with its server
        total = self._n_ctx or planned
        # The figures of a finished answer stand under it; here is what goes on, and the room that is left.
        shown = self._chat if self._is_answering else ChatState(ChatPhase.IDLE)
        text = speed_line(shown, used, total) or " "
        if text != self._speed.text():
            self._speed.setText(text)
            self._speed.setAccessibleName(text)
        self.meter.set_tokens(used, total)

    @Slot()
    def _refresh_button(self) -> None:
        ready = self._run_phase is RunPhase.READY
        if self._is_answering:
            self._button.setText(say("chat.stop"))
            self._button.setEnabled(True)
            set_look(self._button, "plain")
            self._button.set_icon("stop", "error")
        else:
            can_send = ready and bool(self.prompt.toPlainText().strip() or self._n_pictures)
            self._button.setText(say("chat.send"))
            self._button.setEnabled(can_send)
            set_look(self._button, "primary" if ready else "plain")
            self._button.set_icon("play", "accent_text" if can_send else "text_dim")
        self._button.setToolTip("" if ready else say("chat.not_running"))
        self.page_button.setEnabled(ready)
        self.new_button.setEnabled(bool(self._chat.question or self._chat.pictures or self._has_turns))

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
        if text or self._n_pictures:
            self.send_requested.emit(text)

    @Slot()
    def _on_again(self) -> None:
        if self._run_phase is RunPhase.READY and not self._is_answering:
            self.again_requested.emit()

    @Slot()
    def _on_escape(self) -> None:
        if self._is_answering:
            self.stop_requested.emit()
