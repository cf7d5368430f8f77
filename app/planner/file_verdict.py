"""One verdict for a whole file: does it fit on the GPU, with experts in RAM, only from disk, or not at all. Pure.

It is read off the plan that the planner would make for the file, so that a list says what the plan page will say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from app.common.problem import Problem
from app.model.types import ModelInfo, Role
from app.planner.host_memory import shared_memory_problem
from app.planner.placement import expert_layers_in_ram
from app.planner.types import RAM, Plan, Segment


class VerdictKind(StrEnum):
    """From best to worst; the values are part of the command line's contract (docs/cli.md).

    ``GPU``: all of it on graphics cards. ``EXPERTS_IN_RAM``: some routed experts in RAM. ``LAYERS_IN_RAM``: whole
    layers in RAM (a dense model, or a card too small for the rest). ``RAM``: no card is used. ``TOO_BIG``: it would run
    only by reading weights from disk for every token. ``NO``: not even that, since the parts that cannot be paged do
    not fit.
    """

    GPU = "gpu"
    EXPERTS_IN_RAM = "experts_in_ram"
    LAYERS_IN_RAM = "layers_in_ram"
    RAM = "ram"
    TOO_BIG = "too_big"
    NO = "no"


RUNS = frozenset({VerdictKind.GPU, VerdictKind.EXPERTS_IN_RAM, VerdictKind.LAYERS_IN_RAM, VerdictKind.RAM})
"""Kinds of files that run well enough to be used."""
GOOD_TPS = 10.0
"""From this decode speed on a file 'runs well': faster than most people read."""


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """``expert_layers_in_ram``: of ``expert_layers``; None for a model without routed experts. ``decode_tps`` None:
    a bandwidth is unknown. ``missing_bytes``: how much memory is too little, with TOO_BIG and NO. ``is_first``: the
    plan is still to be made, and this is on the safe side of it (``first_verdict``)."""

    kind: VerdictKind
    n_ctx: int
    expert_layers: int = 0
    expert_layers_in_ram: int | None = None
    layers_in_ram: int = 0
    layers: int = 0
    decode_tps: float | None = None
    missing_bytes: int | None = None
    is_first: bool = False

    @property
    def runs(self) -> bool:
        """Does it run without reading weights from disk?"""
        return self.kind in RUNS

    @property
    def runs_well(self) -> bool:
        """Does it run at a speed that is pleasant to read? An unknown speed is no reason against it."""
        return self.runs and (self.decode_tps is None or self.decode_tps >= GOOD_TPS)


def file_verdict(plan: Plan, model: ModelInfo) -> FileVerdict | None:
    """The verdict of a plan; None where the free memory of a device is unknown."""
    fits = plan.estimate.fits
    if fits is None:
        return None
    in_ram = len(expert_layers_in_ram(model, plan.placement))
    units = model.block_count + 1 - plan.placement.n_gpu_layers
    experts = len(model.expert_blocks)
    made = FileVerdict(
        kind=_kind_of_fitting(in_ram, units, plan),
        n_ctx=plan.n_ctx,
        expert_layers=experts,
        expert_layers_in_ram=in_ram if experts else None,
        layers_in_ram=units,
        layers=model.block_count + 1,
        decode_tps=plan.speed.decode_tps,
    )
    shared = shared_memory_problem(plan.estimate)
    if fits and shared is None:
        return made
    missing = _missing_bytes(plan) if shared is None else _missing_together(shared)
    kind = VerdictKind.TOO_BIG if _could_page(plan, model) else VerdictKind.NO
    return replace(made, kind=kind, decode_tps=None, missing_bytes=missing)


def _kind_of_fitting(in_ram: int, units: int, plan: Plan) -> VerdictKind:
    if plan.placement.n_gpu_layers == 0:
        return VerdictKind.RAM
    if units:
        return VerdictKind.LAYERS_IN_RAM
    return VerdictKind.EXPERTS_IN_RAM if in_ram else VerdictKind.GPU


def _missing_bytes(plan: Plan) -> int:
    """How much more memory it takes, over all devices; rearranged copies can be done without."""
    lacking = 0
    for device in plan.estimate.devices:
        left = device.left_bytes
        if left is not None and left < 0:
            lacking += max(0, -left - device.segments.get(Segment.REPACKED, 0))
    return lacking


def _missing_together(shared: Problem) -> int:
    """How much too little there is where graphics inside the processor and RAM are one memory."""
    needed, free = shared.params["needed_bytes"], shared.params["free_bytes"]
    assert isinstance(needed, int)
    assert isinstance(free, int)
    return needed - free


def _could_page(plan: Plan, model: ModelInfo) -> bool:
    """Only weights of a mapped file can be left on the disk: caches, buffers and what a card holds must have room, and
    what every token reads (all but the routed experts) must stay in memory to be of any use. Rearranged copies can be
    done without (``-nr``)."""
    for device in plan.estimate.devices:
        left = device.left_bytes
        if left is None or left >= 0:
            continue
        if device.device != RAM:
            return False
        pageable = device.weights_by_role.get(Role.ROUTED_EXPERT, 0) if model.is_moe else device.weights_bytes
        if left + pageable + device.segments.get(Segment.REPACKED, 0) < 0:
            return False
    return True
