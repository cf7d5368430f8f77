"""What would make this machine faster: changed machines to plan for, and what their plans say. Pure.

No factor is a constant here: each is the ratio of two predictions of the speed model, for the open model or a reference
one, on this machine and on the changed one.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.common.problem import ParamValue
from app.common.units import GIB, MIB
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.calibration import Calibration, rates_of
from app.planner.placement import locations
from app.planner.token_work import prompt_work
from app.planner.types import DeviceKind, Plan

WORTH_TELLING = 1.05
"""Smaller gains are within what two runs of the same command differ by."""
_MORE_VRAM, _MORE_RAM = 8 * GIB, 16 * GIB
_SOLDERED_CARD = re.compile(r"\blaptop\b|\bmobile\b|\bmax-q\b|\d{3,4}m\b", re.IGNORECASE)
"""Cards of laptops, which nobody exchanges."""
_OTHERS_LEAST = 512 * MIB
_ANY_CARD_FLOPS = 8e12
"""A rate that prompts reached on every card of the public tables that did not wait for copies (speed_tables.json): an
RTX 3060 made 1880 tok/s of 3 billion active weights, 11 TFLOP/s, an RTX 5060 Ti 3069 of 1.5 billion, 9 TFLOP/s."""
_NEW_CARD = GpuInfo(
    "RTX 3060 12GB", "gpu", "CUDA0", 12 * GIB, 12 * GIB - 512 * MIB, memory_gbs=360.0, pcie_gen_max=4,
    pcie_width_max=16, buffer_name="CUDA0",
)  # fmt: skip
"""A common card to compare with: 192 bits at 15 GT/s are 360 GB/s (the maker's data sheet)."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The machine with one thing changed. ``code``: second_module, second_channel, more_ram, usable_gpu,
    close_programs, wide_pcie, more_vram, new_gpu. ``is_cheap``: a hand, or a module of RAM."""

    code: str
    snapshot: HardwareSnapshot
    params: Mapping[str, ParamValue]
    is_cheap: bool = False


@dataclass(frozen=True, slots=True)
class Gain:
    """What a variant gives: factors of the predicted speeds (None: one of them is unknown)."""

    code: str
    params: Mapping[str, ParamValue]
    is_cheap: bool
    decode_factor: float | None
    prompt_factor: float | None
    makes_fit: bool = False

    @property
    def factor(self) -> float:
        """The larger of the two; 1 where nothing is known."""
        return max(self.decode_factor or 1.0, self.prompt_factor or 1.0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """``decode_limit``: ram, vram, sync, starts or None; ``prompt_limit``: pcie, compute, cpu or None. ``gains``: the
    largest first, only those worth telling. ``plan``: what was judged."""

    model: str
    is_reference: bool
    plan: Plan
    decode_limit: str | None
    prompt_limit: str | None
    gains: tuple[Gain, ...]

    @property
    def best(self) -> Gain | None:
        """What would help most."""
        return self.gains[0] if self.gains else None

    @property
    def best_cheap(self) -> Gain | None:
        """The best of what costs little or nothing; None when that is ``best`` itself or there is none."""
        found = next((gain for gain in self.gains if gain.is_cheap), None)
        return None if found is self.best else found


def variants(snapshot: HardwareSnapshot) -> tuple[Variant, ...]:
    """Changes that make sense on this machine; none for facts that are unknown."""
    return tuple(
        variant
        for make in (_second_channel, _more_ram, _usable_gpu, _close_programs, _wide_pcie, _more_vram, _new_gpu)
        if (variant := make(snapshot)) is not None
    )


def judge(
    model: ModelInfo,
    base: Plan,
    changed: Mapping[str, tuple[Variant, Plan]],
    *,
    is_reference: bool,
    calibration: Calibration | None = None,
) -> Judgement:
    """Compare the plan of this machine with those of the changed ones."""
    gains = [_gain(variant, base, plan) for variant, plan in changed.values()]
    worth = [gain for gain in gains if gain.factor >= WORTH_TELLING or gain.makes_fit]
    # Where nothing fits yet, the cheapest thing that makes it fit is worth more than a faster one.
    worth.sort(key=lambda gain: (gain.makes_fit, gain.makes_fit and gain.is_cheap, gain.factor), reverse=True)
    return Judgement(
        model=model.name,
        is_reference=is_reference,
        plan=base,
        decode_limit=_decode_limit(base),
        prompt_limit=prompt_limit(model, base, calibration),
        gains=tuple(worth),
    )


def prompt_limit(model: ModelInfo, plan: Plan, calibration: Calibration | None = None) -> str | None:
    """What a prompt waits for: the processor without a GPU, else the slower of copying experts and computing.

    None where that cannot be told: the link or, with nothing to copy, the GPU's rate is unknown.
    """
    if not plan.devices.gpus or not plan.placement.n_gpu_layers:
        return "cpu"
    rates = rates_of(plan.devices, calibration)
    work = prompt_work(model, locations(model, plan.placement), min(plan.wishes.n_ubatch, plan.n_ctx))
    if not work.copy_bytes:
        return "compute"
    if not rates.pcie_gbs:
        return None
    copying = work.copy_bytes / (rates.pcie_gbs * 1e9)
    if not rates.compute_tflops:  # a card that needs no more than this to keep up with the copies waits for them
        return "pcie" if work.flops / copying < _ANY_CARD_FLOPS else None
    return "pcie" if copying > work.flops / (rates.compute_tflops * 1e12) else "compute"


def _decode_limit(plan: Plan) -> str | None:
    """What the plan says; the memory of graphics inside the processor is RAM."""
    limit = plan.speed.limited_by
    is_shared = any(gpu.kind is DeviceKind.IGPU for gpu in plan.devices.gpus)
    return "ram" if limit == "vram" and is_shared else limit


def _gain(variant: Variant, base: Plan, plan: Plan) -> Gain:
    makes_fit = base.estimate.fits is False and plan.estimate.fits is True
    decode = _ratio(plan.speed.decode_tps, base.speed.decode_tps)
    prompt = _ratio(plan.speed.prompt_tps, base.speed.prompt_tps)
    return Gain(variant.code, variant.params, variant.is_cheap, decode, prompt, makes_fit)


def _ratio(after: float | None, before: float | None) -> float | None:
    return after / before if after and before else None


def _second_channel(snapshot: HardwareSnapshot) -> Variant | None:
    """Twice the bandwidth: the same again beside the first (and as many bytes, when it is one module)."""
    memory = snapshot.memory
    if memory.channels != 1 or memory.is_soldered:
        return None
    doubled = dataclasses.replace(
        memory,
        channels=2,
        theoretical_gbs=None if memory.theoretical_gbs is None else 2 * memory.theoretical_gbs,
        measured_gbs=None if memory.measured_gbs is None else 2 * memory.measured_gbs,
    )
    code = "second_module" if memory.modules == 1 else "second_channel"
    if code == "second_module" and memory.total_bytes is not None:
        available = None if memory.available_bytes is None else memory.available_bytes + memory.total_bytes
        doubled = dataclasses.replace(doubled, modules=2, total_bytes=2 * memory.total_bytes, available_bytes=available)
    return Variant(code, dataclasses.replace(snapshot, memory=doubled), {}, is_cheap=True)


def _more_ram(snapshot: HardwareSnapshot) -> Variant | None:
    """16 GiB more, at the same speed: it makes no plan faster, but may make one fit."""
    memory = snapshot.memory
    if memory.total_bytes is None or memory.available_bytes is None or memory.is_soldered:
        return None
    more = dataclasses.replace(
        memory, total_bytes=memory.total_bytes + _MORE_RAM, available_bytes=memory.available_bytes + _MORE_RAM
    )
    return Variant("more_ram", dataclasses.replace(snapshot, memory=more), {"gib": _MORE_RAM // GIB}, is_cheap=True)


def _usable_gpu(snapshot: HardwareSnapshot) -> Variant | None:
    """A card that the present engine does not list, as an engine built for it would."""
    if not snapshot.engine_asked:
        return None
    for i, gpu in enumerate(snapshot.gpus):
        if gpu.kind == "gpu" and gpu.engine_name is None and gpu.free_bytes is not None:
            usable = dataclasses.replace(gpu, engine_name="CUDA0", buffer_name="CUDA0")
            names = {g.engine_name for g in snapshot.gpus}
            return (
                None
                if "CUDA0" in names
                else Variant("usable_gpu", _with_gpu(snapshot, i, usable), {"gpu": gpu.name}, True)
            )
    return None


def _close_programs(snapshot: HardwareSnapshot) -> Variant | None:
    """The largest card without what other programs hold on it; the driver's own part stays."""
    found = _largest(snapshot)
    if found is None:
        return None
    i, gpu = found
    if gpu.kind == "rpc" or gpu.total_bytes is None or gpu.free_bytes is None:
        return None
    kept = gpu.reserved_bytes or 0
    others = gpu.total_bytes - gpu.free_bytes - kept
    if others < _OTHERS_LEAST:
        return None
    emptied = dataclasses.replace(gpu, free_bytes=gpu.total_bytes - kept)
    return Variant("close_programs", _with_gpu(snapshot, i, emptied), {"gpu": gpu.name, "bytes": others}, True)


def _wide_pcie(snapshot: HardwareSnapshot) -> Variant | None:
    """The largest card with 16 lanes, where it has few."""
    found = _largest(snapshot)
    if found is None or found[1].pcie_width_max is None or found[1].pcie_width_max > 4:
        return None
    i, gpu = found
    wide = dataclasses.replace(gpu, pcie_width_max=16, pcie_width_now=None)
    return Variant("wide_pcie", _with_gpu(snapshot, i, wide), {"gpu": gpu.name, "width": gpu.pcie_width_max})


def _more_vram(snapshot: HardwareSnapshot) -> Variant | None:
    """The largest card with 8 GiB more on it."""
    found = _largest(snapshot)
    if found is None:
        return None
    i, gpu = found
    if gpu.kind == "rpc" or gpu.free_bytes is None or gpu.total_bytes is None or _SOLDERED_CARD.search(gpu.name):
        return None
    total, free = gpu.total_bytes + _MORE_VRAM, gpu.free_bytes + _MORE_VRAM
    larger = dataclasses.replace(gpu, total_bytes=total, free_bytes=free)
    return Variant("more_vram", _with_gpu(snapshot, i, larger), {"gpu": gpu.name, "gib": _MORE_VRAM // GIB})


def _new_gpu(snapshot: HardwareSnapshot) -> Variant | None:
    """None for a machine whose RAM is soldered: nobody puts a card into a laptop."""
    if snapshot.memory.is_soldered or any(gpu.kind in ("gpu", "rpc") for gpu in snapshot.gpus):
        return None
    changed = dataclasses.replace(snapshot, gpus=(_NEW_CARD,), engine_asked=True)
    return Variant("new_gpu", changed, {"gpu": _NEW_CARD.name})


def _largest(snapshot: HardwareSnapshot) -> tuple[int, GpuInfo] | None:
    """The card with the most memory that the engine lists (or may list, before it has been asked)."""
    usable = [
        (i, gpu)
        for i, gpu in enumerate(snapshot.gpus)
        if gpu.kind != "igpu" and not gpu.is_software and (gpu.engine_name or not snapshot.engine_asked)
    ]
    return max(usable, key=lambda item: item[1].total_bytes or 0, default=None)


def _with_gpu(snapshot: HardwareSnapshot, index: int, gpu: GpuInfo) -> HardwareSnapshot:
    gpus = tuple(gpu if i == index else old for i, old in enumerate(snapshot.gpus))
    return dataclasses.replace(snapshot, gpus=gpus)
