"""Server-sent events of llama-server's chat stream: bytes -> typed events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LONGEST_LINE = 4 * 1024 * 1024
_DONE = b"[DONE]"
_A_YEAR_MS = 366 * 24 * 3600 * 1000
_MOST_TOKENS = 1 << 40


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """New text: of the answer, or of the thinking before it. One of them is empty."""

    text: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class ChatTimings:
    """Figures so far. ``prompt_n`` leaves out tokens that came from the cache. Speeds in tok/s, None while unknown.

    The first generated token counts as prompt time: ``predicted_tps`` = (n - 1) / time (server-common.cpp:100).
    """

    prompt_n: int
    prompt_tps: float | None
    predicted_n: int
    predicted_tps: float | None
    predicted_ms: float
    cached_n: int = 0

    @property
    def context_n(self) -> int:
        """Tokens in the context: taken from the cache, read, and written (server-common.cpp:86-97)."""
        return self.cached_n + self.prompt_n + self.predicted_n


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """Tokens of the prompt that are processed, of all."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ChatDone:
    """The end: ``stop`` (complete), ``length`` (out of tokens or context), ``cancelled`` (by us), ``interrupted``."""

    finish_reason: str


ChatEvent = ChatDelta | ChatTimings | PromptProgress | ChatDone


def sse_data(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The ``data:`` of each event, up to ``[DONE]``. Raises ValueError when a line is longer than 4 MiB."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue  # comments (": ping"), other fields and the blank lines between events
            data = line.removeprefix(b"data:").strip()
            if data == _DONE:
                return
            yield data
        if len(rest) > _LONGEST_LINE:
            raise ValueError("a line of the stream is too long")


def parse_chat_chunk(data: bytes) -> list[ChatEvent]:
    """The events of one chunk: progress, text, figures, end, in this order.

    Raises ValueError when it is no JSON object, or when it is the server's error message (its own words).
    """
    try:
        chunk = json.loads(data.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("a chunk of the stream is nested too deeply") from error
    if not isinstance(chunk, dict):
        raise ValueError("a chunk of the stream is no object")
    if isinstance(chunk.get("error"), dict):
        raise ValueError(str(chunk["error"].get("message", "error")))
    events: list[ChatEvent] = []
    progress = chunk.get("prompt_progress")
    if isinstance(progress, dict):
        events.append(PromptProgress(_count(progress.get("processed")), _count(progress.get("total"))))
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    delta = choice.get("delta")
    if isinstance(delta, dict):
        text, reasoning = _text(delta.get("content")), _text(delta.get("reasoning_content"))
        if text or reasoning:
            events.append(ChatDelta(text, reasoning))
    timings = chunk.get("timings")
    if isinstance(timings, dict):
        events.append(_timings(timings))
    reason = choice.get("finish_reason")
    if isinstance(reason, str):
        events.append(ChatDone(reason))
    return events


def _timings(data: dict[str, object]) -> ChatTimings:
    return ChatTimings(
        prompt_n=_count(data.get("prompt_n")),
        prompt_tps=_speed(data.get("prompt_per_second")),
        predicted_n=_count(data.get("predicted_n")),
        predicted_tps=_speed(data.get("predicted_per_second")),
        predicted_ms=_milliseconds(data.get("predicted_ms")),
        cached_n=_count(data.get("cache_n")),
    )


def _milliseconds(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < _A_YEAR_MS else 0.0


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < _MOST_TOKENS else 0


def _speed(value: object) -> float | None:
    """The server writes 0 while it has nothing to divide by, and may write huge numbers after one token."""
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1e7 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
