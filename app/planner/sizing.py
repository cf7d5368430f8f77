"""Does a file fit into a machine's memory at all, and how large a file would? Pure; needs no placement.

Whatever is moved where, weights + KV + compute have to be somewhere: together they cannot exceed what all devices have
free, less what is kept back and what the engine takes beyond its buffers. Sizes of a file are those of its weights:
a header and the alignment of tensors are a few MiB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from app.common.problem import ParamValue, Problem, Severity
from app.model.types import ModelInfo
from app.planner.host_memory import is_part_of_ram
from app.planner.kv import KvSettings, kv_bytes_by_block
from app.planner.types import RAM, DeviceEstimate, DeviceSet, MemoryEstimate, Segment

_ASKED = (8192, 16384)
"""Contexts that the answer names: a chat's and a longer one's."""
_CTX_STEP = 1024
_LEAST_CTX = 1024


@dataclass(frozen=True, slots=True)
class Needs:
    """What a model asks for beside its weights. ``kv_bytes(n_ctx)``: cache and recurrent state at a context;
    ``compute_bytes``: buffers and whatever else does not depend on the file's size."""

    weights_bytes: int
    kv_bytes: Callable[[int], int]
    compute_bytes: int


def room_bytes(devices: DeviceSet) -> int | None:
    """What the engine would give a model of all devices together; None where the free memory of one is unknown.

    Graphics inside the processor count beside RAM here, as the engine counts them: ``pool_bytes`` is what there is.
    """
    room = 0
    for device in devices.all:
        if device.free_bytes is None:
            return None
        room += max(0, device.free_bytes - device.reserve_bytes - device.overhead_bytes)
    return room


def pool_bytes(devices: DeviceSet) -> int | None:
    """What there is for a model in all devices together: memory that graphics inside the processor take from RAM is
    counted once. None where the free memory of one is unknown."""
    inside = tuple(g for g in devices.gpus if is_part_of_ram(g.kind, g.total_bytes, devices.ram.total_bytes))
    ram = replace(devices.ram, overhead_bytes=devices.ram.overhead_bytes + sum(g.overhead_bytes for g in inside))
    if any(device.free_bytes is None for device in inside):
        return None
    return room_bytes(replace(devices, gpus=tuple(g for g in devices.gpus if g not in inside), ram=ram))


def largest_file_bytes(devices: DeviceSet, needs: Needs, n_ctx: int) -> int | None:
    """The largest weights that would leave room for everything else at this context; 0 when even that is too much."""
    room = pool_bytes(devices)
    return None if room is None else max(0, room - needs.kv_bytes(n_ctx) - needs.compute_bytes)


def largest_context(devices: DeviceSet, needs: Needs, wished: int) -> int | None:
    """The largest context below ``wished`` that fits, in steps of 1024; None when not even the smallest does."""
    room = pool_bytes(devices)
    if room is None:
        return None

    def fits(steps: int) -> bool:
        n_ctx = steps * _CTX_STEP
        return needs.weights_bytes + needs.kv_bytes(n_ctx) + needs.compute_bytes <= room

    low, high = 0, (wished - 1) // _CTX_STEP
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    n_ctx = low * _CTX_STEP
    return n_ctx if n_ctx >= _LEAST_CTX else None


def no_room_problem(devices: DeviceSet, needs: Needs, n_ctx: int, over_full: int = 0) -> Problem | None:
    """``does_not_fit_memory`` with the missing bytes and the file sizes that would fit, ``context_too_long`` with the
    longest one that fits, or None: there is room, or nobody knows. ``over_full``: what the best placement lacks, which
    can be more than all devices together do, because a layer does not fit into what is left of a card."""
    room = pool_bytes(devices)
    if room is None:
        return None
    missing = needs.weights_bytes + needs.kv_bytes(n_ctx) + needs.compute_bytes - room
    if missing <= 0:
        return None
    shorter = largest_context(devices, needs, n_ctx)
    params: dict[str, ParamValue] = {"missing_bytes": max(missing, over_full), "room_bytes": room, "n_ctx": n_ctx}
    if shorter is not None:
        return Problem("context_too_long", Severity.ERROR, params | {"fits_ctx": shorter})
    params |= {"file_bytes": needs.weights_bytes}
    for asked in _ASKED:
        params[f"file_fits_{asked // 1024}k_bytes"] = largest_file_bytes(devices, needs, asked)
    return Problem("does_not_fit_memory", Severity.ERROR, params)


def memory_problem(model: ModelInfo, devices: DeviceSet, kv: KvSettings, predicted: MemoryEstimate) -> Problem | None:
    """What ``no_room_problem`` says of a model whose header is known, with the compute buffers of its plan and
    what else lies in RAM."""
    weights = sum(d.weights_bytes for d in predicted.devices)

    def kv_bytes(n_ctx: int) -> int:
        return sum(kv_bytes_by_block(model, replace(kv, n_ctx=n_ctx)).values())

    beside = sum(
        d.compute_bytes + d.segments_bytes - d.segments.get(Segment.REPACKED, 0) + d.prompt_cache_bytes
        for d in predicted.devices
    )
    over_full = sum(max(0, -(d.left_bytes or 0)) for d in predicted.devices)
    if not over_full:  # every device has room: that two of them are one memory is ``memory_shared``, a warning
        return None
    return no_room_problem(devices, Needs(weights, kv_bytes, beside), kv.n_ctx, over_full)


def reserve_problem(device: DeviceEstimate) -> Problem | None:
    """``reserve_above_free``: more is to be kept free on a card than there is."""
    if device.device == RAM or device.free_bytes is None or not device.reserve_bytes:
        return None
    if device.reserve_bytes + device.overhead_bytes < device.free_bytes:
        return None
    params: Mapping[str, ParamValue] = {
        "device": device.device,
        "reserve_bytes": device.reserve_bytes,
        "free_bytes": device.free_bytes,
    }
    return Problem("reserve_above_free", Severity.ERROR, params)
