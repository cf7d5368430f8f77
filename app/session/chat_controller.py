"""The conversation with the running server: one question at a time, the answer streams into a frozen ``ChatState``."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QImage

from app.common.later import later
from app.common.problem import Problem, Severity
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.state import ChatPhase, ChatState

if TYPE_CHECKING:
    from app.engine.client import ServerClient
    from app.engine.sse import ChatEvent
    from app.session.chat_pictures import Picture, picture_of, read_picture
else:
    ServerClient = later("app.engine.client", "ServerClient")
    picture_of = later("app.session.chat_pictures", "picture_of")
    read_picture = later("app.session.chat_pictures", "read_picture")

_SHOW_EVERY_MS = 50
"""Tokens may come by the hundred a second; the window is told twenty times a second."""
_MOST_PICTURES = 8


class ChatController(QObject):
    """Signals ``changed`` when ``state`` was replaced, ``server_known`` when it is known what the server can do,
    ``page_known(url, problem)`` with a problem when the engine has no page of its own.

    ``pending_changed`` when the pictures for the next question changed, ``failed(Problem)`` for one that is none.
    ``turns`` are the exchanges before the one in ``state``. Nothing of this is ever written to a file.
    """

    changed = Signal()
    server_known = Signal()
    page_known = Signal(str, object)
    pending_changed = Signal()
    failed = Signal(object)
    _event = Signal(int, object, float)

    def __init__(self, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.state = ChatState(ChatPhase.IDLE)
        self.turns: tuple[ChatState, ...] = ()
        self.system_prompt = ""
        self.pending: tuple[Picture, ...] = ()
        self.takes_pictures: bool | None = None
        self.n_ctx: int | None = None
        self._first_sent = 0
        self._server: tuple[str, str | None] | None = None
        self._stop = threading.Event()
        self._number = 0
        self._asked_at = 0.0
        self._server_ended = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SHOW_EVERY_MS)
        self._timer.timeout.connect(self.changed)
        self._event.connect(self._on_event)

    # ---- the server ----------------------------------------------------------------------------------------------

    def serve(self, url: str, api_key: str | None) -> None:
        """A server is ready: ask it for its context and for pictures."""
        self._server = server = (url, api_key)

        def ask() -> Mapping[str, object]:
            with ServerClient(url, api_key) as client:
                return client.props()

        def on_done(props: Mapping[str, object] | None, _error: Exception | None) -> None:
            if props is not None and self._server == server:
                self.takes_pictures, self.n_ctx = _pictures_of(props), _context_of(props)
                self.server_known.emit()

        self._jobs.run(ask, on_done)

    def ask_for_page(self) -> None:
        """Has the engine a page of its own for browsers? ``page_known`` tells."""
        if self._server is None:
            return
        url, api_key = self._server

        def ask() -> bool:
            with ServerClient(url, api_key) as client:
                return client.has_page()

        def on_done(has_page: bool | None, error: Exception | None) -> None:
            if has_page:
                self.page_known.emit(url, None)
            else:
                problem = problem_of(error) if error is not None else Problem("chat_no_page", Severity.INFO)
                self.page_known.emit(url, problem)

        self._jobs.run(ask, on_done)

    # ---- wishes --------------------------------------------------------------------------------------------------

    def ask(self, url: str, api_key: str | None, text: str, pictures: tuple[Picture, ...] = ()) -> None:
        """Send a question with the conversation so far; ignored while another is being answered."""
        if self.state.phase is not ChatPhase.IDLE or not (text.strip() or pictures):
            return
        if self.state.question or self.state.pictures:
            self.turns = (*self.turns, self.state)
        self._server = self._server or (url, api_key)
        self._send(url, api_key, _without_halves(text), pictures)

    def again(self) -> None:
        """Ask the last question once more, as if its answer had not come; ignored while one is coming."""
        if self.state.phase is ChatPhase.IDLE and self._server is not None and self.can_ask_again:
            self._send(*self._server, self.state.question, self.state.pictures)

    @property
    def can_ask_again(self) -> bool:
        """Is there a question to ask once more?"""
        return self.state.phase is ChatPhase.IDLE and bool(self.state.question or self.state.pictures)

    def add_picture(self, path: str) -> None:
        """Read a picture for the next question, in the background."""
        self._jobs.run(lambda: read_picture(path), self._on_picture)

    def add_image(self, name: str, image: QImage) -> None:
        """A picture from the clipboard for the next question."""
        self._jobs.run(lambda: picture_of(name, image), self._on_picture)

    def _on_picture(self, picture: Picture | None, error: Exception | None) -> None:
        if picture is None:
            self.failed.emit(problem_of(error))
            return
        self.pending = (*self.pending, picture)[-_MOST_PICTURES:]
        self.pending_changed.emit()

    def drop_picture(self, index: int) -> None:
        """Take a picture out of the next question again."""
        self.pending = self.pending[:index] + self.pending[index + 1 :]
        self.pending_changed.emit()

    def take_pending(self) -> tuple[Picture, ...]:
        """The pictures for the question that is being sent."""
        taken, self.pending = self.pending, ()
        if taken:
            self.pending_changed.emit()
        return taken

    def begin_anew(self) -> None:
        """Forget the conversation; an answer that is coming is stopped and dropped."""
        self._stop.set()
        self._number += 1
        self.turns, self._first_sent = (), 0
        self.take_pending()
        self._show(ChatState(ChatPhase.IDLE, number=self._number))

    def stop(self) -> None:
        """Close the connection; the server then stops generating."""
        self._stop.set()

    def forget(self, *, server_ended: bool = False) -> None:
        """The server is gone: stop. The conversation goes on with the next one, so that the same question can be asked
        under another plan. ``server_ended``: it went by itself; an answer that was coming says so."""
        self._server_ended = server_ended and not self._stop.is_set()
        self._stop.set()
        self._server = self.takes_pictures = self.n_ctx = None

    # ---- the exchange --------------------------------------------------------------------------------------------

    def _send(self, url: str, api_key: str | None, text: str, pictures: tuple[Picture, ...]) -> None:
        self._number += 1
        number = self._number
        self._stop = stop = threading.Event()
        self._server_ended = False
        messages = self._messages(text, pictures)
        self._show(ChatState(ChatPhase.PROMPT, question=text, number=number, pictures=pictures))
        self._asked_at = time.monotonic()

        def tell(event: ChatEvent) -> None:
            self._event.emit(number, event, time.monotonic())

        def work() -> None:
            with ServerClient(url, api_key) as client:
                client.stream_chat(messages, tell, stop)

        self._jobs.run(work, lambda _, error: self._on_done(number, error))

    def _messages(self, text: str, pictures: tuple[Picture, ...]) -> list[dict[str, object]]:
        """What the server is told: the system prompt, what was asked and answered, the question."""
        messages: list[dict[str, object]] = []
        if self.system_prompt.strip():
            messages.append({"role": "system", "content": _without_halves(self.system_prompt.strip())})
        for turn in self.turns[self._first_sent :]:
            if turn.answer and turn.problem is None:
                messages.append(_question(turn.question, turn.pictures))
                messages.append({"role": "assistant", "content": turn.answer})
        return [*messages, _question(text, pictures)]

    @Slot(int, object, float)
    def _on_event(self, number: int, event: ChatEvent, at_s: float) -> None:
        if number != self._number:
            return
        from app.engine.sse import ChatDelta  # with an answer

        if isinstance(event, ChatDelta) and self.state.first_token_s is None:
            self.state = replace(self.state, first_token_s=max(0.0, at_s - self._asked_at))
        self.state = _after(self.state, event)
        if not self._timer.isActive():
            self._timer.start()

    def _on_done(self, number: int, error: Exception | None) -> None:
        if number != self._number:
            return
        problem = problem_of(error) if error is not None else None
        if problem is not None and _is_context_full(problem):
            self._first_sent = len(self.turns) + 1
            problem = Problem("chat_context_full", Severity.WARNING, {}, (str(problem.params.get("why")),))
        state = replace(self.state, phase=ChatPhase.IDLE, problem=problem)
        if self._was_cut(problem):
            self._server_ended = False
            why = () if problem is None else (str(problem.params.get("why")),)
            ended = Problem("chat_server_ended", Severity.ERROR, {}, why)
            state = replace(state, problem=ended, finish_reason=None)
        self._show(state)

    def _was_cut(self, problem: Problem | None) -> bool:
        """Did the server go while it answered? It is known to be gone, or the stream broke off in the middle."""
        broke_off = self.state.finish_reason == "interrupted"
        broke_off |= problem is not None and problem.code == "server_unreachable"
        return self._server_ended or (broke_off and bool(self.state.answer or self.state.reasoning))

    def _show(self, state: ChatState) -> None:
        self._timer.stop()
        self.state = state
        self.changed.emit()


def _question(text: str, pictures: tuple[Picture, ...]) -> dict[str, object]:
    """A message of the user: plain text, or parts where pictures belong to it."""
    if not pictures:
        return {"role": "user", "content": text}
    parts = [picture.part for picture in pictures]
    return {"role": "user", "content": [*parts, {"type": "text", "text": text}]}


def _pictures_of(props: Mapping[str, object]) -> bool | None:
    """``modalities.vision`` of ``/props`` (server-context.cpp:4974); None where an older engine does not tell."""
    modalities = props.get("modalities")
    vision = modalities.get("vision") if isinstance(modalities, dict) else None
    return vision if isinstance(vision, bool) else None


def _context_of(props: Mapping[str, object]) -> int | None:
    """Tokens of one conversation: ``default_generation_settings.n_ctx`` (server-context.cpp:4962), a slot's share."""
    defaults = props.get("default_generation_settings")
    n_ctx = defaults.get("n_ctx") if isinstance(defaults, dict) else None
    return n_ctx if isinstance(n_ctx, int) and 0 < n_ctx < 1 << 40 else None


def _without_halves(text: str) -> str:
    """Half a character (a lone surrogate, as a text field may hold one) cannot be sent: it becomes a replacement."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_context_full(problem: Problem) -> bool:
    """Did the server refuse a conversation that has grown beyond its context (server-context.cpp, send_error)?"""
    return problem.code == "server_refused" and "exceeds the available context size" in str(problem.params.get("why"))


def _after(state: ChatState, event: ChatEvent) -> ChatState:
    from app.engine.sse import ChatDelta, ChatDone, ChatTimings, PromptProgress

    match event:
        case ChatDelta():
            return replace(
                state,
                phase=ChatPhase.ANSWERING,
                answer=state.answer + event.text,
                reasoning=state.reasoning + event.reasoning,
            )
        case ChatTimings():
            return replace(
                state,
                prompt_tps=event.prompt_tps,
                decode_tps=event.predicted_tps,
                decoded_tokens=event.predicted_n,
                context_used=event.context_n or None,
            )
        case PromptProgress():
            return replace(state, prompt_done=event.done, prompt_total=event.total)
        case ChatDone():
            return replace(state, finish_reason=event.finish_reason)
