"""What a budget bar shows: a device's estimate as labelled segments. Plain values, no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.common.units import size_text
from app.model.types import Role
from app.planner.types import DeviceEstimate
from app.words import say
from app.words.catalogue import number_text


class Part(StrEnum):
    """The kinds of segments, in the order in which they are stacked."""

    OTHERS = "others"
    DENSE = "dense"
    EXPERTS = "experts"
    EMBEDDINGS = "embeddings"
    KV = "kv"
    COMPUTE = "compute"
    OVERHEAD = "overhead"
    PROJECTOR = "projector"
    DRAFT = "draft"
    ADAPTERS = "adapters"
    REPACKED = "repacked"
    CHECKPOINTS = "checkpoints"
    PROMPT_CACHE = "prompt_cache"
    RESERVE = "reserve"
    FREE = "free"


TOKENS = {
    Part.OTHERS: "other_programs",
    Part.DENSE: "role_dense",
    Part.EXPERTS: "role_expert",
    Part.EMBEDDINGS: "role_embedding",
    Part.KV: "kv_cache",
    Part.COMPUTE: "compute",
    Part.OVERHEAD: "overhead",
    Part.PROJECTOR: "role_embedding",
    Part.DRAFT: "role_dense",
    Part.ADAPTERS: "role_embedding",
    Part.REPACKED: "role_expert",
    Part.CHECKPOINTS: "kv_cache",
    Part.PROMPT_CACHE: "kv_cache",
    Part.RESERVE: "text_dim",
    Part.FREE: "chip",
}
"""Colour token of each part."""


def part_of_role(role: Role) -> Part:
    """Which part of the bar a tensor's bytes belong to; everything that every token needs is 'dense'."""
    if role is Role.ROUTED_EXPERT:
        return Part.EXPERTS
    return Part.EMBEDDINGS if role is Role.EMBEDDING else Part.DENSE


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of the bar."""

    part: Part
    n_bytes: int
    kind: str = ""
    n_launches: int = 0
    formula_bytes: int | None = None

    @property
    def label(self) -> str:
        """Its name in words."""
        return say(f"board.part.{self.part.value}")

    @property
    def sentence(self) -> str:
        """Name and size, for tooltips and screen readers; where it comes from, when that is not the formulas alone."""
        if self.kind:
            code = "board.part.from_launches" if self.n_launches else f"board.part.{self.kind}"
            return say(code, name=self.label, size=self.n_bytes, n=self.n_launches, formula=self.formula_bytes)
        return say("board.part.sentence", name=self.label, size=self.n_bytes)


@dataclass(frozen=True, slots=True)
class Budget:
    """A device's bar.

    ``capacity_bytes`` None: nobody knows how much the device has. ``left_bytes``: free after plan and reserve, negative
    when over-full, None when the free memory is unknown.
    """

    segments: tuple[Segment, ...]
    capacity_bytes: int | None
    left_bytes: int | None
    reserve_bytes: int
    need_bytes: int

    @property
    def over_bytes(self) -> int:
        """By how much the plan (with its reserve) is too large; 0 when it fits or when nobody knows."""
        return max(0, -self.left_bytes) if self.left_bytes is not None else 0

    @property
    def scale_bytes(self) -> int:
        """What the whole width of the bar stands for: the capacity, or more when the plan is larger."""
        return max(1, sum(segment.n_bytes for segment in self.segments))

    @property
    def status(self) -> str:
        """One line: fits, or by how much it does not."""
        if self.left_bytes is None:
            return say("board.status.unknown", need=self.need_bytes)
        if self.left_bytes >= 0:
            return say("board.status.fits", left=self.left_bytes)
        if self.over_bytes < self.reserve_bytes:
            left = self.reserve_bytes - self.over_bytes
            return say("board.status.reserve", left=left, reserve=self.reserve_bytes)
        return say("board.status.over", over=self.over_bytes)

    @property
    def status_look(self) -> str:
        """The look of the status line: ok, error, dim."""
        if self.left_bytes is None:
            return "dim"
        return "ok" if self.left_bytes >= 0 else "error"

    @property
    def description(self) -> str:
        """All numbers as one text, for screen readers."""
        return say("board.bar.description", parts="; ".join(s.sentence for s in self.segments), status=self.status)


def make_budget(estimate: DeviceEstimate) -> Budget:
    """The bar of a device."""
    sizes: dict[Part, int] = dict.fromkeys(Part, 0)
    sizes[Part.OTHERS] = estimate.other_programs_bytes or 0
    for role, n_bytes in estimate.weights_by_role.items():
        sizes[part_of_role(role)] += n_bytes
    sizes[Part.KV] = estimate.kv_bytes
    sizes[Part.COMPUTE] = estimate.compute_bytes
    sizes[Part.OVERHEAD] = estimate.overhead_bytes
    sizes[Part.PROMPT_CACHE] = estimate.prompt_cache_bytes
    for segment, n_bytes in estimate.segments.items():
        sizes[Part(segment.value)] += n_bytes
    sizes[Part.RESERVE] = estimate.reserve_bytes
    left = estimate.left_bytes
    sizes[Part.FREE] = max(0, left) if left is not None else 0
    capacity = estimate.total_capacity_bytes
    if capacity is None:
        capacity = estimate.free_bytes
    return Budget(
        tuple(_segment(part, n, estimate) for part, n in sizes.items() if n > 0),
        capacity,
        left,
        estimate.reserve_bytes,
        estimate.total_bytes,
    )


def _segment(part: Part, n_bytes: int, estimate: DeviceEstimate) -> Segment:
    """The overhead tells whether it is estimated or learned; KV and compute, whether the engine has corrected them."""
    if part is Part.OVERHEAD:
        return Segment(part, n_bytes, "estimated", estimate.overhead_launches)
    formula = estimate.formula
    told = None if formula is None else {Part.KV: formula.kv, Part.COMPUTE: formula.compute}.get(part)
    if told is not None and told != n_bytes:
        return Segment(part, n_bytes, "corrected", 0, told)
    return Segment(part, n_bytes)


def legend_number(n_bytes: int, *, with_unit: bool) -> str:
    """MiB in a legend: the unit only at the first number, the rest line up without it."""
    if with_unit:
        return size_text(n_bytes) if n_bytes < 10 * 1024**3 else f"{number_text(round(n_bytes / 1024**2))} MiB"
    value = n_bytes / 1024**2
    return number_text(round(value)) if value >= 10 else f"{value:.1f}"
