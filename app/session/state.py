"""What the window shows of the engine, the running server and the long jobs: frozen values, replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.session.phases import ChatPhase, EnginePhase, RunPhase

if TYPE_CHECKING:
    from app.common.problem import Problem
    from app.diagnose.buffers import BufferRow
    from app.session.chat_pictures import Picture

__all__ = ["ChatPhase", "ChatState", "EnginePhase", "EngineState", "RunPhase", "RunState"]


@dataclass(frozen=True, slots=True)
class EngineState:
    """``progress`` 0..1 while building, None when it cannot be told."""

    phase: EnginePhase
    path: str | None = None
    build: str | None = None
    progress: float | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """The server now. ``affinity`` is what the system reports for the process, not what we asked for; ``full_speed``
    too: is its power saving for background programs switched off? None where the system does not tell.

    ``findings``: what the engine did otherwise than planned while it loaded.
    """

    phase: RunPhase
    url: str | None = None
    api_key: str | None = None
    pid: int | None = None
    affinity: tuple[int, ...] | None = None
    wanted_affinity: tuple[int, ...] | None = None
    buffers: tuple[BufferRow, ...] = ()
    loaded_bytes: int | None = None
    to_load_bytes: int | None = None
    exit_code: int | None = None
    problem: Problem | None = None
    plan_differs: bool = False
    findings: tuple[Problem, ...] = ()
    full_speed: bool | None = None


@dataclass(frozen=True, slots=True)
class ChatState:
    """One question and its answer so far. Speeds are the engine's own streamed timings, tok/s.

    ``number`` tells one exchange from the next. ``first_token_s``: from sending to the first piece of text, reasoning
    included, by our own clock. ``context_used``: tokens in the context, as the engine counts them.
    """

    phase: ChatPhase
    question: str = ""
    answer: str = ""
    reasoning: str = ""
    prompt_done: int | None = None
    prompt_total: int | None = None
    prompt_tps: float | None = None
    decode_tps: float | None = None
    decoded_tokens: int | None = None
    finish_reason: str | None = None
    problem: Problem | None = None
    number: int = 0
    first_token_s: float | None = None
    context_used: int | None = None
    pictures: tuple[Picture, ...] = ()
