"""The plan against the engine: predicted bytes per device beside what the engine says it allocated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.common.units import MIB
from app.engine.logparse import BufferKind, EngineBuffer
from app.planner.types import RAM, MemoryEstimate, Segment

_WHAT = {
    BufferKind.WEIGHTS: "weights",
    BufferKind.KV: "kv",
    BufferKind.RECURRENT: "kv",
    BufferKind.COMPUTE: "compute",
    BufferKind.OUTPUT: "compute",
    BufferKind.DRAFT: "draft",
}
_LOG_ROUNDING = MIB // 100
"""The log prints MiB with two decimals, once per buffer."""


@dataclass(frozen=True, slots=True)
class BufferRow:
    """One line of 'plan against engine': ``what`` is weights, kv, compute or draft (all of a draft model or of the MTP
    block's context); bytes; None = the engine did not say.

    ``agrees`` None: cannot be judged (nothing said, or a mapped span instead of a sum: engine.md 0.5).
    """

    device: str
    what: str
    predicted_bytes: int
    actual_bytes: int | None
    agrees: bool | None


def tolerance_bytes(what: str, predicted: int) -> int:
    """Weights and KV: 1 MiB or 0.1 % (alignment, log rounding). Compute, which is an estimate, and a draft, which holds
    some: 16 MiB or 5 %."""
    if what in ("compute", "draft"):
        return max(16 * MIB, predicted // 20)
    return max(MIB, predicted // 1000) + _LOG_ROUNDING


def compare_buffers(estimate: MemoryEstimate, buffers: Iterable[EngineBuffer]) -> tuple[BufferRow, ...]:
    """Three rows per device of the plan, and rows for devices that the plan does not know (that is always wrong)."""
    actual: dict[tuple[str, str], int] = {}
    mapped: set[tuple[str, str]] = set()
    for buffer in buffers:
        what = _WHAT.get(buffer.kind)
        if what is None:
            continue
        actual[buffer.device, what] = actual.get((buffer.device, what), 0) + buffer.n_bytes
        if "_Mapped" in buffer.buffer_name:
            mapped.add((buffer.device, what))  # the printed size is the span from first to last tensor, not their sum
    rows = []
    for device in estimate.devices:
        predicted = {
            "weights": device.weights_bytes,
            "kv": device.kv_bytes,
            "compute": device.compute_bytes,
            "draft": device.segments.get(Segment.DRAFT, 0),
        }
        for what, n_bytes in predicted.items():
            said = actual.pop((device.device, what), None)
            if said is None and not n_bytes:
                continue
            is_span = (device.device, what) in mapped
            rows.append(_row(device.device, what, n_bytes, said, is_span))
    rows.extend(BufferRow(device, what, 0, said, False) for (device, what), said in sorted(actual.items()) if said)
    return tuple(rows)


def _row(device: str, what: str, predicted: int, said: int | None, is_span: bool) -> BufferRow:
    if said is None or is_span:
        # nothing printed for a device that needs almost nothing is no disagreement
        return BufferRow(device, what, predicted, said, None if is_span or device == RAM else predicted < MIB)
    return BufferRow(device, what, predicted, said, abs(said - predicted) <= tolerance_bytes(what, predicted))
