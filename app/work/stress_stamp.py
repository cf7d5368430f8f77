"""The stamp of a stress run: at this depth, with this engine and this command, so much memory was used at most.

A stamp belongs to one command (where and how the server is reached does not count) and one engine. When either is
another one, there is no stamp.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.common.jsonable import from_json, to_json

if TYPE_CHECKING:
    from app.work.learned import Json, LearnedStore

KIND = "stress"
_NOT_MEMORY = ("--api-key", "--port", "--host", "-a", "--alias")
_SPILL = 64 << 20
"""Less than this is Windows' own small change."""


@dataclass(frozen=True, slots=True)
class PeakUse:
    """The most that was in use on one device during the run, in bytes; None = nobody told.

    ``source``: ``driver`` (the whole card, other programs too), ``process`` (the server alone, by the driver),
    ``engine`` (the sum of its own buffers), ``system`` (RAM). ``margin_bytes``: what was left at the worst moment.
    ``spilled_bytes``: what Windows moved out to RAM.
    """

    device: str
    peak_bytes: int | None
    margin_bytes: int | None
    planned_bytes: int
    source: str
    spilled_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StressStamp:
    """``at``: UTC, ISO 8601 to the second. ``depth``: tokens of the one prompt. ``slot_ctx``: what one slot holds."""

    command: str
    at: str
    engine_build: str
    engine_sha256: str
    depth: int
    slot_ctx: int | None
    seconds: float
    prompt_tps: float | None
    decode_tps: float | None
    peaks: tuple[PeakUse, ...]

    @property
    def margin_bytes(self) -> int | None:
        """The least that was left on any device; None where no device told."""
        return min((p.margin_bytes for p in self.peaks if p.margin_bytes is not None), default=None)

    @property
    def tightest(self) -> PeakUse | None:
        """The device with the least left."""
        known = [p for p in self.peaks if p.margin_bytes is not None]
        return min(known, key=lambda p: p.margin_bytes or 0, default=None)

    @property
    def is_safe(self) -> bool:
        """It ran to its end, nothing was spilled, and no device went below nothing."""
        spilled = any((p.spilled_bytes or 0) > _SPILL for p in self.peaks)
        return not spilled and (self.margin_bytes is None or self.margin_bytes >= 0)


def command_of(argv: tuple[str, ...]) -> str:
    """What makes two runs the same: the command but for how the server is reached, as a short hash."""
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word in _NOT_MEMORY:
            next(words, None)
        else:
            kept.append(word)
    return hashlib.sha256("\0".join(kept).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def fits_engine(stamp: StressStamp, build: str | None, sha256: str | None) -> bool:
    """Was it this engine? By the hash where both are known, else by the build that it names."""
    if stamp.engine_sha256 and sha256:
        return stamp.engine_sha256 == sha256
    return bool(build) and stamp.engine_build == build


def stamp_json(stamp: StressStamp) -> dict[str, object]:
    """For files and for ``stress --json``."""
    told = to_json(stamp)
    assert isinstance(told, dict)
    return told


def stamp_from(value: object) -> StressStamp | None:
    """Read back; None for anything that is no stamp."""
    if not isinstance(value, Mapping):
        return None
    try:
        stamp = from_json(StressStamp, json.loads(json.dumps(value)))
    except (ValueError, TypeError, RecursionError):
        return None
    return stamp if len(stamp.peaks) <= 64 and stamp.depth > 0 else None


def keep_stamp(store: LearnedStore, stamp: StressStamp) -> None:
    """Remember it on this computer. Raises ProblemError ``learned_not_saved``."""
    value: Mapping[str, Json] = json.loads(json.dumps(stamp_json(stamp)))
    store.add(KIND, stamp.command, value)


def kept_stamps(store: LearnedStore) -> dict[str, StressStamp]:
    """The newest stamp of every command."""
    found: dict[str, StressStamp] = {}
    for observation in store.load(KIND).observations:
        stamp = stamp_from(observation.value)
        if stamp is not None:
            found.setdefault(stamp.command, stamp)
    return found
