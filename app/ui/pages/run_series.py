"""Which curves the run page draws, chosen from the plan and from what is really measured. Pure, no Qt."""

from __future__ import annotations

from collections.abc import Collection

from app.hardware.types import HardwareSnapshot
from app.planner.types import RAM, Device, DeviceEstimate, Plan
from app.ui.plots.data import Series
from app.words import say


def vram_series(plan: Plan | None, hardware: HardwareSnapshot | None, keys: Collection[str]) -> tuple[Series, ...]:
    """One curve per switched-on device: what the driver measures if anything does, else the engine's own sum.

    The dashed line is the plan's figure for the same thing: a driver counts other programs and the engine's own
    overhead too, the engine's buffer sum counts neither.
    """
    if plan is None:
        return ()
    series = []
    for index, device in enumerate(plan.devices.gpus):
        estimate = plan.estimate.get(device.name)
        measured = next((key for key in _measured_keys(device, hardware) if key in keys), None)
        allocated = f"engine.{device.name}.allocated"
        if measured is not None:
            predicted = estimate.total_bytes + (estimate.other_programs_bytes or 0)
            series.append(Series(measured, device.name, index, float(predicted), "", say("run.plan_and_others")))
        elif allocated in keys:
            series.append(Series(allocated, device.name, index, float(_buffers(estimate)), say("run.note_allocated")))
        else:
            series.append(Series(allocated, device.name, index, float(estimate.total_bytes)))
    return tuple(series)


def vram_capacity(plan: Plan | None) -> float | None:
    """The largest switched-on device: the axis holds every curve and does not move."""
    if plan is None:
        return None
    sizes = [device.total_bytes for device in plan.devices.gpus if device.total_bytes is not None]
    return float(max(sizes)) if sizes else None


def ram_series(plan: Plan | None) -> tuple[Series, ...]:
    """The server's resident memory against the plan, and what the whole system uses.

    The plan's figure holds a full prompt cache, which fills only with use: an upper bound, and named so.
    """
    predicted = None if plan is None else float(plan.estimate.get(RAM).total_bytes)
    return (
        Series("server.rss", say("run.series_server"), 0, predicted, "", say("run.plan_up_to")),
        Series("ram.used", say("run.series_system"), 1),
    )


def decode_series(plan: Plan | None) -> tuple[Series, ...]:
    """Decode speed against the plan's estimate, where the plan has one."""
    predicted = None if plan is None else plan.speed.decode_tps
    return (Series("tok.decode", say("run.series_decode"), 2, predicted, is_moment=True),)


def prompt_series(plan: Plan | None) -> tuple[Series, ...]:
    """Prompt speed; a point for each request."""
    predicted = None if plan is None else plan.speed.prompt_tps
    return (Series("tok.prompt", say("run.series_prompt"), 3, predicted, is_moment=True),)


def _measured_keys(device: Device, hardware: HardwareSnapshot | None) -> tuple[str, ...]:
    names = [device.name]
    if hardware is not None:
        names.extend(gpu.name for gpu in hardware.gpus if gpu.engine_name == device.name)
    return tuple(f"gpu.{name}.used" for name in names)


def _buffers(estimate: DeviceEstimate) -> int:
    """What the engine prints of itself: everything but the overhead that it never prints."""
    return estimate.total_bytes - estimate.overhead_bytes
