"""One question at a time to the running server; the answer streams into a frozen ``ChatState``."""

from __future__ import annotations

import threading
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.problem import Problem, Severity
from app.engine.client import ServerClient
from app.engine.sse import ChatDelta, ChatDone, ChatEvent, ChatTimings, PromptProgress
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.state import ChatPhase, ChatState

_SHOW_EVERY_MS = 50
"""Tokens may come by the hundred a second; the window is told twenty times a second."""


class ChatController(QObject):
    """Signals ``changed`` when ``state`` was replaced."""

    changed = Signal()
    _event = Signal(int, object)

    def __init__(self, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.state = ChatState(ChatPhase.IDLE)
        self._stop = threading.Event()
        self._number = 0
        self._server_ended = False
        self._history: list[dict[str, str]] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SHOW_EVERY_MS)
        self._timer.timeout.connect(self.changed)
        self._event.connect(self._on_event)

    def ask(self, url: str, api_key: str | None, text: str) -> None:
        """Send a question with the conversation so far; ignored while another is being answered."""
        if self.state.phase is not ChatPhase.IDLE or not text.strip():
            return
        self._number += 1
        number = self._number
        self._stop = stop = threading.Event()
        self._server_ended = False
        text = _without_halves(text)
        messages = [*self._history, {"role": "user", "content": text}]
        self._show(ChatState(ChatPhase.PROMPT, question=text))

        def work() -> None:
            with ServerClient(url, api_key) as client:
                client.stream_chat(messages, lambda event: self._event.emit(number, event), stop)

        self._jobs.run(work, lambda _, error: self._on_done(number, error))

    def stop(self) -> None:
        """Close the connection; the server then stops generating."""
        self._stop.set()

    def forget(self, *, server_ended: bool = False) -> None:
        """The server is gone: stop, and begin a new conversation with the next one. ``server_ended``: it went by
        itself; an answer that was coming says so."""
        self._server_ended = server_ended and not self._stop.is_set()
        self._stop.set()
        self._history.clear()

    @Slot(int, object)
    def _on_event(self, number: int, event: ChatEvent) -> None:
        if number != self._number:
            return
        self.state = _after(self.state, event)
        if not self._timer.isActive():
            self._timer.start()

    def _on_done(self, number: int, error: Exception | None) -> None:
        if number != self._number:
            return
        problem = problem_of(error) if error is not None else None
        if problem is not None and _is_context_full(problem):
            self._history.clear()
            problem = Problem("chat_context_full", Severity.WARNING, {}, (str(problem.params.get("why")),))
        state = replace(self.state, phase=ChatPhase.IDLE, problem=problem)
        if self._was_cut(problem):
            self._server_ended = False
            why = () if problem is None else (str(problem.params.get("why")),)
            ended = Problem("chat_server_ended", Severity.ERROR, {}, why)
            state = replace(state, problem=ended, finish_reason=None)
        elif error is None and state.answer:
            self._history += [
                {"role": "user", "content": state.question},
                {"role": "assistant", "content": state.answer},
            ]
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


def _without_halves(text: str) -> str:
    """Half a character (a lone surrogate, as a text field may hold one) cannot be sent: it becomes a replacement."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_context_full(problem: Problem) -> bool:
    """Did the server refuse a conversation that has grown beyond its context (server-context.cpp, send_error)?"""
    return problem.code == "server_refused" and "exceeds the available context size" in str(problem.params.get("why"))


def _after(state: ChatState, event: ChatEvent) -> ChatState:
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
            )
        case PromptProgress():
            return replace(state, prompt_done=event.done, prompt_total=event.total)
        case ChatDone():
            return replace(state, finish_reason=event.finish_reason)
