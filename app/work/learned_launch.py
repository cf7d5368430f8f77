"""Watches one launch for what its cards really take: the figures behind a learned overhead.

Three sources, the best first: the server's own share of a card (NVML, Windows' counters, Linux' DRM), the whole card's
use against what it held just before the start, and, for devices that only the engine sees (RPC, SYCL), the free memory
that it prints before loading and in its table at the end. A device whose free memory does not fall by what was put
there (a processor that lends RAM) tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from app.common.units import MIB
from app.diagnose.buffers import BufferRow
from app.engine.exit_table import parse_exit_row
from app.engine.logparse import DeviceUsed, parse_log_line
from app.hardware.gpus_nvml import NvmlSession, open_nvml
from app.hardware.types import HardwareSnapshot
from app.monitor.nvml import NvmlSampler
from app.planner.overhead import backend_of
from app.planner.types import RAM, Plan, Segment
from app.work.speed_history import SpeedWatch

_SPILL = 64 * MIB
"""A card that holds less than the printed buffers by more than this has moved some of them to RAM (WDDM)."""
_MOST_OF_PLAN = 0.9
_MOST_OF_OTHERS = 1024 * MIB
"""Beyond this, what a whole card took more is other programs, not a driver."""
_CONTEXT_FIRST = ("CUDA", "ROCm", "HIP", "MUSA")
"""Backends whose first free figure is taken with their context already open: the engine's own free cannot tell it."""


def cards_used(snapshot: HardwareSnapshot, open_session: Callable[[], NvmlSession] = open_nvml) -> dict[str, float]:
    """Bytes in use on each NVIDIA card now, by the engine's name; for the moment before a start. Never raises."""
    cards = {g.uuid: g.engine_name for g in snapshot.gpus if g.uuid is not None and g.engine_name is not None}
    if not cards:
        return {}
    sampler = NvmlSampler(tuple(cards), cards, open_session)
    try:
        values = sampler.sample()
    finally:
        sampler.close()
    found = {name: values.get(f"gpu.{name}.used") for name in cards.values()}
    return {name: used for name, used in found.items() if used is not None}


class LaunchWatch:
    """Takes a launch's samples and log lines as they come; ``overheads`` sums up. One thread at a time."""

    def __init__(self) -> None:
        self.before: Mapping[str, float] = {}
        self.speed = SpeedWatch()
        self._process: dict[str, float] = {}
        self._card: dict[str, float] = {}
        self._free_before: dict[str, int] = {}
        self._free_after: dict[str, int] = {}

    def on_sample(self, values: Mapping[str, float | None]) -> None:
        """Keeps the highest ``gpu.<device>.process`` (or ``dedicated``) and ``used``: pools grow with a long prompt."""
        self.speed.on_sample(values)
        for name, value in values.items():
            if value is None or not name.startswith("gpu."):
                continue
            _, device, metric = name.split(".", 2)
            highest = {"process": self._process, "dedicated": self._process, "used": self._card}.get(metric)
            if highest is not None:
                highest[device] = max(highest.get(device, 0.0), value)

    def on_line(self, line: str) -> None:
        """Keeps the engine's own free figures."""
        self.speed.on_line(line)
        if ": using device " in line:
            fact = parse_log_line(line)
            if isinstance(fact, DeviceUsed):
                self._free_before[fact.name] = fact.free_bytes
        else:
            row = parse_exit_row(line)
            if row is not None:
                self._free_after[row.device] = row.free_bytes

    def overheads(self, rows: Iterable[BufferRow], plan: Plan) -> dict[str, int]:
        """Device -> bytes beyond its printed buffers (``rows``), for the devices that can tell. Never below 0.

        Only where the log tells all that the plan put there: what it leaves out would be taken for overhead.
        """
        printed: dict[str, int] = {}
        for row in rows:
            printed[row.device] = printed.get(row.device, 0) + (row.actual_bytes or 0)
        found: dict[str, int] = {}
        for estimate in plan.estimate.devices:
            n_bytes = printed.get(estimate.device, 0)
            planned = estimate.weights_bytes + estimate.kv_bytes + estimate.compute_bytes
            if estimate.device == RAM or not n_bytes or n_bytes + _SPILL < _MOST_OF_PLAN * planned:
                continue
            if estimate.segments.keys() - {Segment.DRAFT}:
                continue  # nobody prints a projector's buffers
            more = self._overhead(estimate.device, n_bytes)
            if more is not None:
                found[estimate.device] = max(0, more)
        return found

    def _overhead(self, device: str, printed: int) -> int | None:
        if device in self._process:
            more = round(self._process[device]) - printed
            return more if more >= -_SPILL else None
        if device in self._card and device in self.before:
            more = round(self._card[device] - self.before[device]) - printed
            return more if -_SPILL <= more <= _MOST_OF_OTHERS else None
        before, after = self._free_before.get(device), self._free_after.get(device)
        if before is None or after is None or backend_of(device) in _CONTEXT_FIRST:
            return None
        fell = before - after
        more = fell - printed
        return more if fell > 0 and -_SPILL <= more <= _MOST_OF_OTHERS else None
