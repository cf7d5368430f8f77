"""Which curves the run page draws, chosen from the plan and from what is really measured. Pure, no Qt."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.hardware.types import CpuCore, HardwareSnapshot
from app.planner.types import RAM, Device, DeviceEstimate, Plan
from app.ui.plots.core_strip import kind_text
from app.ui.plots.data import Series
from app.ui.plots.scale import PlotUnit
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
            series.append(_measured(measured, estimate, device.name, index))
        elif allocated in keys:
            series.append(Series(allocated, device.name, index, float(_buffers(estimate)), say("run.note_allocated")))
        else:
            series.append(Series(allocated, device.name, index, float(estimate.total_bytes)))
    return tuple(series)


def _measured(key: str, estimate: DeviceEstimate, name: str, index: int) -> Series:
    """The whole card holds other programs too; the server's own share does not."""
    if key.endswith(".used"):
        predicted = estimate.total_bytes + (estimate.other_programs_bytes or 0)
        return Series(key, name, index, float(predicted), "", say("run.plan_and_others"))
    return Series(key, name, index, float(estimate.total_bytes), say("run.note_server"))


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


_CARD_FIGURES = (
    ("util", PlotUnit.PERCENT),
    ("own_util", PlotUnit.PERCENT),
    ("mem_util", PlotUnit.PERCENT),
    ("temperature", PlotUnit.CELSIUS),
    ("power_w", PlotUnit.WATTS),
    ("power_percent", PlotUnit.PERCENT),
    ("clock", PlotUnit.MEGAHERTZ),
    ("used", PlotUnit.BYTES),
    ("process", PlotUnit.BYTES),
    ("dedicated", PlotUnit.BYTES),
    ("shared", PlotUnit.BYTES),
)
_OTHER_FIGURES = (
    ("ram.used", "ram_used", PlotUnit.BYTES),
    ("server.rss", "server_rss", PlotUnit.BYTES),
    ("ram.commit_free", "commit_free", PlotUnit.BYTES),
    ("swap.used", "swap_used", PlotUnit.BYTES),
    ("ctx.used", "context", PlotUnit.TOKENS),
    ("tok.decode", "decode", PlotUnit.SPEED),
    ("tok.prompt", "prompt", PlotUnit.SPEED),
)


def all_figures(keys: Collection[str]) -> tuple[Series, ...]:
    """Every figure that has been measured, the processors' excepted: the columns of a table."""
    cards = sorted({key[4:].rpartition(".")[0] for key in keys if key.startswith("gpu.")})
    engine = sorted(key for key in keys if key.startswith("engine.") and key.endswith(".allocated"))
    return (
        *(
            Series(f"gpu.{card}.{what}", say(f"run.figure.{what}", device=card), 0, unit=unit)
            for card in cards
            for what, unit in _CARD_FIGURES
            if f"gpu.{card}.{what}" in keys
        ),
        *(
            Series(key, say("run.figure.allocated", device=key.split(".", 1)[1].rpartition(".")[0]), 0,
                   unit=PlotUnit.BYTES)
            for key in engine
        ),
        *(Series(key, say(f"run.figure.{code}"), 0, unit=unit) for key, code, unit in _OTHER_FIGURES if key in keys),
    )  # fmt: skip


def cpu_figures(cores: Iterable[CpuCore]) -> tuple[Series, ...]:
    """The server's share and the load of each logical CPU with its kind: the columns of a table."""
    cpus = sorted((cpu, core.kind) for core in cores for cpu in core.logical)
    return (
        Series("server.cpu", say("run.figure.server_cpu"), 0),
        *(Series(f"cpu.{cpu}", say("run.figure.cpu", n=cpu, kind=kind_text(kind)), 0) for cpu, kind in cpus),
    )


def _measured_keys(device: Device, hardware: HardwareSnapshot | None) -> tuple[str, ...]:
    """Of the whole card, where anything tells; else of the server alone."""
    names = [device.name]
    if hardware is not None:
        names.extend(gpu.name for gpu in hardware.gpus if gpu.engine_name == device.name)
    return tuple(f"gpu.{name}.{what}" for what in ("used", "process", "dedicated") for name in names)


def _buffers(estimate: DeviceEstimate) -> int:
    """What the engine prints of itself: everything but the overhead that it never prints."""
    return estimate.total_bytes - estimate.overhead_bytes
