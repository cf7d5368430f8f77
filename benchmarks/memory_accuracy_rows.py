"""What one judged figure is, and the app's estimate of one public case."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.common.units import MIB
from app.model.types import ModelInfo, Role
from app.planner.kv import kv_bytes_by_block
from app.planner.memory import estimate
from app.planner.overhead import cuda_pool_bytes
from app.planner.placement import kv_device, locations
from app.planner.types import DeviceEstimate, MemoryEstimate
from benchmarks.case_model import model_of
from benchmarks.case_run import devices_of, placement_of, settings_of
from benchmarks.cases import Case

UNREADABLE = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError, re.error)
"""What a case that lacks something raises; one such case must not end the run over the others, and it is listed."""


@dataclass(frozen=True)
class Row:
    """One judged figure. ``error`` is signed: above 0 the estimate is too high. ``notes``: why it may be wrong."""

    case: Case
    device: str
    what: str
    predicted_mib: float
    actual_mib: float
    scale_mib: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        return (self.predicted_mib - self.actual_mib) / (self.scale_mib or self.actual_mib or 1.0)

    @property
    def gap_mib(self) -> float:
        return self.predicted_mib - self.actual_mib

    @property
    def is_number(self) -> bool:
        """Are both sides figures that can be compared?"""
        return math.isfinite(self.predicted_mib) and math.isfinite(self.actual_mib) and self.actual_mib >= 0


@dataclass
class Outcome:
    """All rows, why the rest was left out (case id, reason), and MiB beyond our total learned from each series."""

    n_cases: int = 0
    rows: list[Row] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    learned: dict[str, float] = field(default_factory=dict)


def number(value: object) -> float | None:
    """A finite number, else None: texts, lists and NaN are as good as missing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def mapping(value: object) -> Mapping:
    """An object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def predict(case: Case) -> tuple[MemoryEstimate, bool]:
    """The app's estimate of one case, and whether it has compute buffers: those need the model's shapes.

    An architecture that the planner has no graph for is taken as an ordinary transformer.
    """
    if case.is_ik:
        return _estimate(case, model_of(case)), True
    for is_plain in (False, True):
        try:
            if case.has_shapes:
                return _estimate(case, model_of(case, is_plain=is_plain)), True
        except (LookupError, ArithmeticError):
            continue
    return _without_compute(case), False


def _estimate(case: Case, model: ModelInfo) -> MemoryEstimate:
    devices = devices_of(case)
    return estimate(model, placement_of(case, model, devices), devices, settings_of(case))


def _without_compute(case: Case) -> MemoryEstimate:
    """Weights and KV only: the facts lack the shapes that a graph needs, as some series of one host and file do."""
    model, devices, settings = model_of(case), devices_of(case), settings_of(case)
    placement = placement_of(case, model, devices)
    where = locations(model, placement)
    weights, kv = {d.name: 0 for d in devices.all}, {d.name: 0 for d in devices.all}
    for tensor in model.tensors:
        if tensor.name in where:
            weights[where[tensor.name]] += tensor.n_bytes
    for block, n_bytes in kv_bytes_by_block(model, settings.kv).items():
        kv[kv_device(placement, block)] += n_bytes
    return MemoryEstimate(
        tuple(
            DeviceEstimate(d.name, d.kind, {Role.OTHER: weights[d.name]}, kv[d.name], 0, 0, 0, 0, None, None)
            for d in devices.all
        )
    )


def device_of(predicted: MemoryEstimate, name: str) -> DeviceEstimate | None:
    """The estimate of one device; None when the plan has none of that name."""
    return next((d for d in predicted.devices if d.device == name), None)


def pool_mib(case: Case, device: str) -> float:
    """What CUDA takes for a quantised cache beside its buffers: nothing in builds that reserve it among them."""
    settings = settings_of(case)
    if case.is_ik or settings.engine.reserves_f16_cache or not settings.flash_attention:
        return 0.0
    model, devices = model_of(case), devices_of(case)
    return cuda_pool_bytes(model, placement_of(case, model, devices), settings.kv, device) / MIB
