"""Live speed from two looks at ``/slots``. Pure.

``/metrics`` only moves when a request ends, so it cannot show a curve; the number of tokens that a slot has decoded
for its current task can: tok/s = difference of ``n_decoded`` / difference of time, for whichever client asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PATIENCE_S = 2.0
"""A busy slot without a new token for less than this is slow, or its answer was late; it does not rest."""
_MOST = 1 << 40
"""Tokens, and numbers of tasks: more is no count."""


@dataclass(frozen=True, slots=True)
class SlotSample:
    """One slot at one moment. ``at_s`` is ``time.monotonic``; ``task`` and ``n_decoded`` are None while it is idle."""

    at_s: float
    slot: int
    is_busy: bool
    n_ctx: int | None
    task: int | None = None
    n_decoded: int | None = None
    n_prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class SlotSpeed:
    """One slot now. ``tps`` is None when it cannot be known yet (nothing was seen written, first look at a task); 0
    while it rests after that.

    ``used_tokens`` of ``n_ctx``: the context fill, None while idle.
    """

    slot: int
    is_busy: bool
    tps: float | None
    used_tokens: int | None
    n_ctx: int | None

    @property
    def fill(self) -> float | None:
        """Share of the context in use, 0 to 1."""
        if self.used_tokens is None or not self.n_ctx:
            return None
        return min(1.0, self.used_tokens / self.n_ctx)


class SlotRate:
    """Remembers the last look at every slot and turns the next into speeds."""

    def __init__(self) -> None:
        self._last: dict[int, SlotSample] = {}
        self._wrote: set[int] = set()
        self._tps: dict[int, float] = {}

    def update(self, samples: Iterable[SlotSample]) -> tuple[SlotSpeed, ...]:
        """The slots' speeds since the last call."""
        return tuple(self._speed(sample, self._last.get(sample.slot)) for sample in samples)

    def _speed(self, now: SlotSample, before: SlotSample | None) -> SlotSpeed:
        if before is not None and _waits(now, before) and now.slot in self._tps:
            held = self._tps[now.slot]  # the next token is divided by all the time that it took
            return SlotSpeed(now.slot, True, held, now.n_prompt_tokens, now.n_ctx)
        self._last[now.slot] = now
        if now.n_decoded:
            self._wrote.add(now.slot)
        has_written = now.slot in self._wrote
        if not now.is_busy:
            return SlotSpeed(now.slot, False, 0.0 if has_written else None, None, now.n_ctx)
        tps = _tps(now, before) if has_written else None
        if tps:
            self._tps[now.slot] = tps
        else:
            self._tps.pop(now.slot, None)
        return SlotSpeed(now.slot, True, tps, now.n_prompt_tokens, now.n_ctx)


def _waits(now: SlotSample, before: SlotSample) -> bool:
    """Is this the same answer, not a token longer, a moment later?"""
    is_same = now.is_busy and now.task == before.task and now.n_decoded == before.n_decoded
    return is_same and bool(now.n_decoded) and 0 <= now.at_s - before.at_s < _PATIENCE_S


def _tps(now: SlotSample, before: SlotSample | None) -> float | None:
    if before is None or before.task != now.task or now.n_decoded is None or before.n_decoded is None:
        return None
    passed_s = now.at_s - before.at_s
    gained = now.n_decoded - before.n_decoded
    return gained / passed_s if passed_s > 0 and gained >= 0 else None


def parse_slots(data: Sequence[object], at_s: float) -> tuple[SlotSample, ...]:
    """``/slots`` entries as samples; whatever has no slot number is left out."""
    samples = []
    for entry in data:
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), int):
            continue
        next_token = entry.get("next_token")
        first = next_token[0] if isinstance(next_token, list) and next_token else next_token
        decoded = first.get("n_decoded") if isinstance(first, dict) else None
        is_busy = entry.get("is_processing") is True
        samples.append(
            SlotSample(
                at_s=at_s,
                slot=entry["id"],
                is_busy=is_busy,
                n_ctx=_count(entry.get("n_ctx")),
                task=_count(entry.get("id_task")) if is_busy else None,
                n_decoded=_count(decoded) if is_busy else None,
                n_prompt_tokens=_count(entry.get("n_prompt_tokens")),
            )
        )
    return tuple(samples)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None
