"""Live figures of a running server under the names that the curves use.

``cpu.<n>`` percent, ``ram.used``, ``ram.available``, ``ram.commit_free`` (where there is a limit), ``swap.used``,
``server.rss`` bytes, ``server.cpu`` percent (100 = one CPU), ``gpu.<device>.used`` bytes and ``gpu.<device>.util``
percent (whole card; NVML, /sys of AMD's and Intel's drivers, or Windows' counters; more in app/monitor/nvml.py,
drm_card.py and windows_card.py),
``gpu.<device>.process`` bytes (NVML; the server's own),
``gpu.<device>.dedicated`` and ``shared`` bytes (the server's own, by Windows' counters or Linux' DRM),
``engine.<device>.allocated`` bytes (what the engine says it allocated; a flat line where nothing live can be read),
``tok.decode`` tok/s over all slots and ``ctx.used`` tokens (from ``/slots``, whoever asked).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from app.common.problem import ProblemError
from app.engine.client import ServerClient
from app.engine.logparse import EngineBuffer
from app.engine.slotrate import SlotRate
from app.hardware.types import HardwareSnapshot
from app.monitor.drm_card import drm_card_sampler
from app.monitor.gpu_process import gpu_process_sampler
from app.monitor.nvml import NvmlSampler
from app.monitor.sample import CallableSampler, Sampler, Values
from app.monitor.samplers import CpuSampler, ProcessSampler, RamSampler
from app.monitor.windows_card import windows_card_sampler
from app.planner.types import RAM

PERIOD_S = 0.5
"""While somebody looks at the curves, unless the user chose another pace (``Settings.samples_per_second``)."""
RESTING_S = 5.0
"""While nobody does: enough for the record of the run and for the doctor's warnings."""
GAP_S = 2.5
"""Samples further apart than this were taken at rest, or the computer slept: a curve has a gap there. One missed sample
of the slowest pace that can be chosen is none."""


def _slots(url: str, api_key: str | None) -> CallableSampler:
    client = ServerClient(url, api_key, keep_alive=False)
    rate = SlotRate()

    def read() -> Values:
        try:
            speeds = rate.update(client.slots(time.monotonic()))
        except ProblemError:
            return {"tok.decode": None, "ctx.used": None}  # between two decode steps, or the server has just ended
        known = [s.tps for s in speeds if s.tps is not None]
        used = [s.used_tokens for s in speeds if s.used_tokens is not None]
        return {"tok.decode": sum(known) if known else None, "ctx.used": float(max(used)) if used else None}

    return CallableSampler("slots", read, client.close)


def _allocated(buffers: Callable[[], Iterable[EngineBuffer]]) -> CallableSampler:
    def read() -> Values:
        sums: dict[str, float | None] = {}
        for buffer in buffers():
            if buffer.device != RAM:
                key = f"engine.{buffer.device}.allocated"
                sums[key] = (sums.get(key) or 0.0) + buffer.n_bytes
        return sums

    return CallableSampler("engine", read)


def samplers_for(
    snapshot: HardwareSnapshot,
    pid: int,
    url: str | None,
    api_key: str | None,
    buffers: Callable[[], Iterable[EngineBuffer]],
) -> tuple[Sampler, ...]:
    """Everything that can be watched of this server on this machine. ``url`` None: it does not answer yet."""
    watched: list[Sampler] = [
        CpuSampler(),
        RamSampler(),
        ProcessSampler(pid),
        _allocated(buffers),
    ]
    cards = {g.uuid: g.engine_name or g.name for g in snapshot.gpus if g.uuid is not None}
    if cards:
        watched.append(NvmlSampler(tuple(cards), cards, pid=pid))
    of_cards = drm_card_sampler(snapshot.gpus)
    if of_cards is not None:
        watched.append(of_cards)
    on_windows = windows_card_sampler(pid, snapshot.gpus)
    if on_windows is not None:
        watched.append(on_windows)
    of_process = gpu_process_sampler(pid, snapshot.gpus)
    if of_process is not None:
        watched.append(of_process)
    if url is not None:
        watched.append(_slots(url, api_key))
    return tuple(watched)
