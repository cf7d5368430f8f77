"""Is the second GPU worth it? Answered for writing (decode) and for prompts apart, from whole plans. Pure.

Beside each other stand the best plan over all cards and the best over one of them. Costs of a further card are in the
speed model: a hand-over for each switch of a token, and the rows of a prompt's micro-batch over PCIe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from app.common.units import MIB
from app.model.types import ModelInfo
from app.planner.calibration import offloading_gpu
from app.planner.placement import further_cards, in_use, locations, with_device
from app.planner.plan import PlanInputs, kv_settings, placement_for
from app.planner.speed import estimate_speed
from app.planner.token_work import card_crossings, kv_read_bytes, prompt_work, ram_bytes_per_token
from app.planner.types import DeviceSet, Placement, Plan, SpeedEstimate

_LEAST_GAIN = 0.02
"""A gain below 2 % is not noticed."""

_LEAST_BYTES = 2 * MIB
"""Below this nothing but the embedding's rows come from RAM."""


class Worth(StrEnum):
    """An answer. ``MORE_IN_VRAM``: everything leaves RAM, so the gain has no factor; ``UNKNOWN``: nothing can tell."""

    FASTER = "faster"
    MORE_IN_VRAM = "more_in_vram"
    SAME = "same"
    SLOWER = "slower"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SecondGpu:
    """``devices`` beside ``alone``, the best single card; ``is_on``: all of them are switched on now.

    Speeds in tok/s, None = unknown; ``*_factor``: with / without, by bytes where the speeds are unknown.
    ``ram_read_*``: bytes that a token reads from RAM.
    """

    devices: tuple[str, ...]
    alone: str
    is_on: bool
    decode: Worth
    prompt: Worth
    decode_with: float | None
    decode_without: float | None
    decode_factor: float | None
    prompt_with: float | None
    prompt_without: float | None
    prompt_factor: float | None
    ram_read_with_bytes: int
    ram_read_without_bytes: int


@dataclass(frozen=True, slots=True)
class _Side:
    placement: Placement
    devices: DeviceSet
    speed: SpeedEstimate
    ram_read: float
    copies: float | None


def second_gpu(inputs: PlanInputs, plan: Plan) -> SecondGpu | None:
    """The answer for the plan's model and wishes; None with fewer than two cards of known free memory.

    Graphics inside the processor are not asked about. Takes as long as three plans.
    """
    devices = plan.devices
    is_on = len(devices.gpus) > 1
    for gpu in () if is_on else further_cards(devices):
        devices = with_device(devices, gpu)
    if len(devices.gpus) < 2 or any(d.free_bytes is None for d in devices.gpus) or plan.wishes.preset == "fit":
        return None
    inputs = replace(inputs, wishes=plan.wishes)
    together = _side(inputs, devices)
    singles = [_side(inputs, replace(devices, gpus=(gpu,))) for gpu in devices.gpus]
    alone = _best(singles)
    decode, decode_factor = _compared(
        together.speed.decode_tps, alone.speed.decode_tps, together.ram_read, alone.ram_read
    )
    prompt, prompt_factor = _compared(together.speed.prompt_tps, alone.speed.prompt_tps, together.copies, alone.copies)
    name = alone.devices.gpus[0].name
    return SecondGpu(
        devices=tuple(d.name for d in devices.gpus if d.name != name),
        alone=name,
        is_on=is_on,
        decode=decode,
        prompt=prompt,
        decode_with=together.speed.decode_tps,
        decode_without=alone.speed.decode_tps,
        decode_factor=decode_factor,
        prompt_with=together.speed.prompt_tps,
        prompt_without=alone.speed.prompt_tps,
        prompt_factor=prompt_factor,
        ram_read_with_bytes=round(together.ram_read),
        ram_read_without_bytes=round(alone.ram_read),
    )


def _best(sides: list[_Side]) -> _Side:
    """The fastest where all speeds are known, else the one that reads least from RAM."""
    speeds = [side.speed.decode_tps for side in sides]
    if None in speeds:
        return min(sides, key=lambda side: side.ram_read)
    return max(sides, key=lambda side: side.speed.decode_tps or 0.0)


def _side(inputs: PlanInputs, devices: DeviceSet) -> _Side:
    model, wishes = inputs.model, inputs.wishes
    placement = placement_for(model, devices, wishes, inputs.calibration, inputs.files)
    kv = kv_settings(model, wishes)
    where = locations(model, placement)
    op_offload = "--no-op-offload" not in wishes.extra
    speed = estimate_speed(model, placement, devices, kv, where, op_offload=op_offload, calibration=inputs.calibration)
    read = ram_bytes_per_token(model, placement, kv_read_bytes(model, kv))
    copies = _copies(model, placement, devices, where, kv.n_ubatch) if op_offload else None
    return _Side(placement, devices, speed, read, copies)


def _copies(
    model: ModelInfo, placement: Placement, devices: DeviceSet, where: Mapping[str, str], n_tokens: int
) -> float | None:
    """Bytes over PCIe for a prompt token; None where no card takes over what lies in RAM: then other things decide."""
    work = prompt_work(model, where, n_tokens, card_crossings(model, placement))
    if work.copy_bytes and offloading_gpu(in_use(devices, placement)) is None:
        return None
    return (work.copy_bytes + work.row_bytes) / work.n_tokens if work.copy_bytes else 0.0


def _compared(
    fast: float | None, slow: float | None, less: float | None, more: float | None
) -> tuple[Worth, float | None]:
    """By the speeds with and without, else by the bytes that cost the time."""
    if fast is not None and slow is not None:
        return _worth(fast / slow), fast / slow
    if less is None or more is None:
        return Worth.UNKNOWN, None
    if more < _LEAST_BYTES:
        return Worth.SAME, 1.0
    if less < _LEAST_BYTES:
        return Worth.MORE_IN_VRAM, None
    return _worth(more / less), more / less


def _worth(factor: float) -> Worth:
    if factor >= 1 + _LEAST_GAIN:
        return Worth.FASTER
    return Worth.SLOWER if factor <= 1 - _LEAST_GAIN else Worth.SAME
