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
from app.planner.types import DeviceEstimate, DeviceKind, Plan, Segment

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
class VerifiedDraft:
    """Bytes of the draft model, or of the MTP block's context, on one device."""

    name: str
    ours: int
    engine: int

    @property
    def agrees(self) -> bool:
        """Is our figure, partly an estimate, not too low?"""
        return self.engine - self.ours <= tolerance_bytes("draft", self.ours) + ROUNDING


@dataclass(frozen=True, slots=True)
class Verification:
    """What a dry run told. ``unconfirmed``: moved tensors that the engine put elsewhere or did not name. ``draft`` is
    empty without one, or where the engine did not tell."""

    devices: tuple[VerifiedDevice, ...]
    unconfirmed: tuple[str, ...]
    seconds: float
    draft: tuple[VerifiedDraft, ...] = ()

    @property
    def agrees(self) -> bool:
        """Is the plan what the engine would do?"""
        is_told = all(device.agrees for device in self.devices) and all(draft.agrees for draft in self.draft)
        return is_told and not self.unconfirmed


def verify_plan(plan: Plan, binary: EngineBinary, paths: AppPaths) -> Verification:
    """Ask the engine what the plan's command would allocate. Raises ProblemError (see ``app.engine.probe.dry_run``)."""
    confirmed: dict[str, str] = {}

    def on_line(line: str) -> None:
        fact = parse_log_line(line)
        if isinstance(fact, OverrideConfirmed):
            confirmed.setdefault(fact.tensor, fact.buffer_name)

    started_at = time.monotonic()
    drafts: list[tuple[DryRunDevice, ...]] = []
    rows = dry_run(binary, plan.argv, paths, on_line=on_line, on_draft=drafts.append if _asks_draft(plan) else None)
    seconds = time.monotonic() - started_at
    unconfirmed = tuple(
        tensor for tensor, device in plan.placement.overrides.items() if not _is_on(plan, device, confirmed.get(tensor))
    )
    draft = _drafts(plan, drafts[0]) if drafts else ()
    return Verification(_side_by_side(plan, rows), unconfirmed, seconds, draft)


def _asks_draft(plan: Plan) -> bool:
    """Is there a draft to ask about? Its figures come right before loading begins, and an RPC server whose client is
    ended in the middle of loading may end too (seen with b11434), so nobody's server is asked."""
    has_draft = any(Segment.DRAFT in device.segments for device in plan.estimate.devices)
    return has_draft and not any(device.kind is DeviceKind.RPC for device in plan.devices.gpus)


def _drafts(plan: Plan, rows: tuple[DryRunDevice, ...]) -> tuple[VerifiedDraft, ...]:
    """An MTP context is told with the weights of the model that it runs on; they are not its own."""
    is_own_model = plan.files.draft is not None
    told = {row.device: row.kv_bytes + row.compute_bytes + (row.weights_bytes if is_own_model else 0) for row in rows}
    return tuple(
        VerifiedDraft(device.device, device.segments.get(Segment.DRAFT, 0), told[device.device])
        for device in plan.estimate.devices
        if device.device in told and (told[device.device] or Segment.DRAFT in device.segments)
    )


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
