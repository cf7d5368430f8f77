"""The plan against what the engine did with it while it loaded, beyond the sizes of the buffers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.common.problem import ParamValue, Problem, Severity
from app.diagnose.buffers import BufferRow
from app.engine.logparse import TensorsMoved, device_of_buffer
from app.planner.types import Plan


def placement_findings(
    plan: Plan, n_ctx: int | None, moved: Iterable[TensorsMoved], rows: Sequence[BufferRow]
) -> tuple[Problem, ...]:
    """``context_smaller`` and ``tensors_refused``. ``n_ctx``: the context that the log tells; ``moved``: tensors that
    could not live where they were wanted; ``rows``: the buffers beside the plan.

    A tensor that only gets another kind of buffer on the same device is no news (CPU_REPACK or pinned memory to CPU).
    """
    found = []
    if n_ctx is not None and n_ctx < plan.n_ctx:
        found.append(Problem("context_smaller", Severity.WARNING, {"n_ctx": n_ctx, "wanted": plan.n_ctx}))
    for one in moved:
        wanted, got = device_of_buffer(one.wanted), device_of_buffer(one.got)
        if wanted != got:
            params: dict[str, ParamValue] = {
                "device": wanted,
                "got": got,
                "n": one.n_others + 1,
                "tensor": one.first_tensor,
                "n_bytes": _missing(wanted, rows),
            }
            found.append(Problem("tensors_refused", Severity.WARNING, params))
    return tuple(found)


def _missing(device: str, rows: Sequence[BufferRow]) -> int | None:
    """By how much the weights on the device fell short of the plan; the log names only the first tensor."""
    row = next((r for r in rows if r.device == device and r.what == "weights"), None)
    if row is None or row.actual_bytes is None or row.actual_bytes >= row.predicted_bytes:
        return None
    return row.predicted_bytes - row.actual_bytes
