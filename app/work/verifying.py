"""The plan's figures against the engine's own, by a dry run that reads no weights."""

from __future__ import annotations

import time
from dataclasses import dataclass

from app.common.paths import AppPaths
from app.common.units import MIB
from app.diagnose.buffers import tolerance_bytes
from app.engine.locate import EngineBinary
from app.engine.logparse import OverrideConfirmed, device_of_buffer, parse_log_line
from app.engine.probe import DryRunDevice, dry_run
from app.planner.learned import MemoryFigures
from app.planner.types import DeviceEstimate, Plan

ROUNDING = 3 * MIB
"""The dry run rounds every figure down to a MiB, and the host's are sums of up to three."""

Figures = MemoryFigures
"""Bytes on one device."""


@dataclass(frozen=True, slots=True)
class VerifiedDevice:
    """Our figures beside the engine's; ``engine`` None: it did not name the device."""

    name: str
    ours: Figures
    engine: Figures | None

    @property
    def difference(self) -> int | None:
        """Bytes that the engine needs more than we said."""
        return None if self.engine is None else self.engine.total - self.ours.total

    @property
    def agrees(self) -> bool:
        """Weights and KV to the rounding, the compute buffer (an estimate) to its tolerance."""
        if self.engine is None:
            return self.ours.total < MIB
        pairs = (
            ("weights", self.ours.weights, self.engine.weights),
            ("kv", self.ours.kv, self.engine.kv),
            ("compute", self.ours.compute, self.engine.compute),
        )
        return all(abs(theirs - ours) <= tolerance_bytes(what, ours) + ROUNDING for what, ours, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Verification:
    """What a dry run told. ``unconfirmed``: moved tensors that the engine put elsewhere or did not name."""

    devices: tuple[VerifiedDevice, ...]
    unconfirmed: tuple[str, ...]
    seconds: float

    @property
    def agrees(self) -> bool:
        """Is the plan what the engine would do?"""
        return not self.unconfirmed and all(device.agrees for device in self.devices)


def verify_plan(plan: Plan, binary: EngineBinary, paths: AppPaths) -> Verification:
    """Ask the engine what the plan's command would allocate. Raises ProblemError (see ``app.engine.probe.dry_run``)."""
    confirmed: dict[str, str] = {}

    def on_line(line: str) -> None:
        fact = parse_log_line(line)
        if isinstance(fact, OverrideConfirmed):
            confirmed.setdefault(fact.tensor, fact.buffer_name)

    started_at = time.monotonic()
    rows = dry_run(binary, plan.argv, paths, on_line=on_line)
    seconds = time.monotonic() - started_at
    unconfirmed = tuple(
        tensor for tensor, device in plan.placement.overrides.items() if not _is_on(plan, device, confirmed.get(tensor))
    )
    return Verification(_side_by_side(plan, rows), unconfirmed, seconds)


def _is_on(plan: Plan, device: str, buffer_name: str | None) -> bool:
    """Is this buffer type one of the device? For RPC its full name must match; it counts per server."""
    if buffer_name is None:
        return False
    return buffer_name == plan.devices.get(device).override_name or device_of_buffer(buffer_name) == device


def _side_by_side(plan: Plan, rows: tuple[DryRunDevice, ...]) -> tuple[VerifiedDevice, ...]:
    told = {row.device: Figures(row.weights_bytes, row.kv_bytes, row.compute_bytes) for row in rows}
    planned = [VerifiedDevice(d.device, _ours(d), told.pop(d.device, None)) for d in plan.estimate.devices]
    nothing = Figures(0, 0, 0)
    return (*planned, *(VerifiedDevice(name, nothing, figures) for name, figures in told.items() if figures.total))


def _ours(device: DeviceEstimate) -> Figures:
    return Figures(device.weights_bytes, device.kv_bytes, device.compute_bytes)
