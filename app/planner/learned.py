"""What earlier launches and dry runs on this computer teach the next plan. Pure: ``app.work.learned_memory`` keeps it.

Two things are learned. (1) The **overhead** of a card: what the driver takes and no log shows, from launches. (2) A
**correction** of one device's figures where the engine's own differ from the formula: none in the usual case, since the
formulas mirror the engine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.planner.kv import KvSettings
from app.planner.speed_run import SpeedRun

RECENT_LAUNCHES = 8
"""Launches of one card that count; older ones were with other drivers."""
_FAR = 2.0
"""Octaves of context and micro-batch together beyond which an observation says nothing any more."""
_FACTORS = (0.25, 4.0)
"""A correction never makes a figure less or more than this multiple of the formula's."""


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """Bytes on one device, of the kinds that the engine prints."""

    weights: int
    kv: int
    compute: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.kv + self.compute


@dataclass(frozen=True, slots=True)
class Situation:
    """The wishes that one device's figures depend on; placement apart, which the formulas follow. ``others``: further
    options (extra arguments, a draft model), a fingerprint of which must be the same."""

    n_ctx: int
    n_ubatch: int
    cache_type_k: str
    cache_type_v: str
    n_slots: int
    is_unified: bool
    flash_attention: bool
    kv_in_ram: bool
    others: tuple[str, ...] = ()

    def octaves_from(self, other: Situation) -> float | None:
        """How far apart in context and micro-batch, in doublings; None when anything else differs."""
        if self._kind != other._kind:
            return None
        pairs = ((self.n_ctx, other.n_ctx), (self.n_ubatch, other.n_ubatch))
        return sum(abs(math.log2(max(1, mine) / max(1, theirs))) for mine, theirs in pairs)

    @property
    def _kind(self) -> tuple[object, ...]:
        return (
            self.cache_type_k,
            self.cache_type_v,
            self.n_slots,
            self.is_unified,
            self.flash_attention,
            self.kv_in_ram,
            self.others,
        )


def situation_of(kv: KvSettings, flash_attention: bool, kv_in_ram: bool, others: tuple[str, ...] = ()) -> Situation:
    """The situation of an estimate made with these settings."""
    return Situation(
        n_ctx=kv.n_ctx,
        n_ubatch=kv.n_ubatch,
        cache_type_k=kv.cache_type_k,
        cache_type_v=kv.cache_type_v,
        n_slots=kv.n_slots,
        is_unified=kv.is_unified,
        flash_attention=flash_attention,
        kv_in_ram=kv_in_ram,
        others=others,
    )


@dataclass(frozen=True, slots=True)
class Correction:
    """One device's figures as the formula had them and as the engine has them, where they differ beyond tolerance;
    figures within it are the same in both. ``model`` names the file, whose weights no other file shares."""

    situation: Situation
    model: str
    ours: MemoryFigures
    engine: MemoryFigures

    def applied_to(self, figures: MemoryFigures, model: str) -> MemoryFigures:
        """The formula's figures of a like situation, set right: buffers in proportion, weights (which two files of one
        architecture do not share) by the difference and for the same file only."""
        extra = self.engine.weights - self.ours.weights if model == self.model else 0
        return MemoryFigures(
            weights=max(0, figures.weights + extra) if figures.weights else figures.weights,
            kv=_scaled(figures.kv, self.ours.kv, self.engine.kv),
            compute=_scaled(figures.compute, self.ours.compute, self.engine.compute),
        )


def _scaled(figure: int, ours: int, engine: int) -> int:
    if ours == engine:
        return figure
    if ours <= 0 or figure <= 0:
        return max(0, figure + engine - ours)
    low, high = _FACTORS
    return round(figure * min(high, max(low, engine / ours)))


def nearest_correction(corrections: Sequence[Correction], situation: Situation) -> Correction | None:
    """The observation of the likest situation, the newest (first) of equals; None when none is like enough."""
    best: tuple[float, Correction] | None = None
    for correction in corrections:
        octaves = situation.octaves_from(correction.situation)
        if octaves is not None and octaves <= _FAR and (best is None or octaves < best[0]):
            best = (octaves, correction)
    return None if best is None else best[1]


@dataclass(frozen=True, slots=True)
class LearnedOverhead:
    """What a card took beyond the printed buffers, and how many launches said so."""

    n_bytes: int
    n_launches: int


def overhead_from(launches: Sequence[int]) -> LearnedOverhead | None:
    """The overhead to plan with, from the launches' own (bytes, newest first).

    The largest of the recent ones, because too little memory ends a run and too much costs one layer; from four on the
    second largest, so that one launch beside a game that was just starting does not count for long. Never below 0.
    """
    recent = sorted(max(0, n_bytes) for n_bytes in launches[:RECENT_LAUNCHES])
    if not recent:
        return None
    return LearnedOverhead(recent[-2] if len(recent) > 3 else recent[-1], len(recent))


@dataclass(frozen=True, slots=True)
class Learned:
    """Everything that was learned here. ``overheads``: (card, engine) -> bytes, newest first; ``corrections``:
    (engine, architecture, device) -> newest first; ``speeds``: runs, newest first. Cards and devices are keys of
    ``learned_devices.learning_key``."""

    overheads: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    corrections: Mapping[tuple[str, str, str], tuple[Correction, ...]] = field(default_factory=dict)
    speeds: tuple[SpeedRun, ...] = ()

    def overhead(self, card: str, engine: str) -> LearnedOverhead | None:
        """Of this card with this engine build; with any other build when this one never ran on it."""
        own = overhead_from(self.overheads.get((card, engine), ()))
        if own is not None:
            return own
        others = [overhead_from(runs) for (of_card, _), runs in self.overheads.items() if of_card == card]
        return max((o for o in others if o is not None), key=lambda o: o.n_bytes, default=None)

    def corrections_for(self, engine: str, architecture: str, device: str) -> tuple[Correction, ...]:
        """What may be used for one device of a plan."""
        return self.corrections.get((engine, architecture, device), ())

    @property
    def is_empty(self) -> bool:
        """Nothing was learned yet, or it was forgotten."""
        return not self.overheads and not self.corrections and not self.speeds


NOTHING_LEARNED = Learned()
