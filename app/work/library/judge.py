"""Judges files for one machine: the planner's own plan with the usual wishes, read as one verdict."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from app.common.capabilities import Capabilities
from app.common.problem import ProblemError
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.devices import DeviceWishes, device_set
from app.planner.file_verdict import FileVerdict, VerdictKind, file_verdict
from app.planner.first_verdict import first_verdict
from app.planner.learned import NOTHING_LEARNED, Learned
from app.planner.learned_devices import with_learned
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import DeviceSet, Plan, Wishes
from app.work.planning import calibration_here

_RANK = {kind: rank for rank, kind in enumerate(VerdictKind)}
STEP_BYTES = 256 << 20
"""Free memory changes all the time; a verdict is kept until it has changed by as much as a browser tab takes."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A machine and what the user wants of every model; ``key`` names both.

    ``step_bytes``: by how much free memory must change to make another key; ``STEP_BYTES`` for a machine that lives, 1
    for figures that somebody has named.
    """

    snapshot: HardwareSnapshot
    capabilities: Capabilities
    wishes: Wishes = field(default_factory=Wishes)
    device_wishes: DeviceWishes = field(default_factory=DeviceWishes)
    learned: Learned = NOTHING_LEARNED
    step_bytes: int = 1

    @property
    def key(self) -> str:
        """The same for the same devices with about the same free memory, the same wishes and engine build."""
        devices = device_set(self.snapshot, self.device_wishes)
        parts = [
            (d.name, d.total_bytes, None if d.free_bytes is None else d.free_bytes // self.step_bytes, d.reserve_bytes,
             _rounded(d.bandwidth_gbs), _rounded(d.pcie_gbs), d.overhead_bytes)
            for d in devices.all
        ]  # fmt: skip
        told = repr((parts, self.wishes, self.capabilities.build, self.learned))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    def plan(self, model: ModelInfo) -> Plan:
        """The plan that this machine would make for a model. Raises ProblemError for wishes the engine lacks."""
        return self._plan(model, device_set(self.snapshot, self.device_wishes))

    def _plan(self, model: ModelInfo, devices: DeviceSet) -> Plan:
        build = self.capabilities.build or ""
        inputs = PlanInputs(
            model=model,
            devices=with_learned(devices, self.snapshot, self.learned, build, model.architecture),
            wishes=self.wishes,
            capabilities=self.capabilities,
            n_threads=self.snapshot.cpu.recommended_threads,
            calibration=calibration_here(self.learned, self.snapshot, devices, build),
        )
        return make_plan(inputs)

    def first_verdict(self, model: ModelInfo) -> FileVerdict | None:
        """What is certain before the plan, at once; None where only the plan can tell."""
        devices = device_set(self.snapshot, self.device_wishes)
        build = self.capabilities.build or ""
        learned = with_learned(devices, self.snapshot, self.learned, build, model.architecture)
        return first_verdict(model, learned, self.wishes)

    def verdict(self, model: ModelInfo) -> FileVerdict | None:
        """The verdict of a model, without the cards where those are so full that they only hinder; None where the free
        memory of a device is unknown or no plan can be made."""
        devices = device_set(self.snapshot, self.device_wishes)
        try:
            verdict = file_verdict(self._plan(model, devices), model)
            if verdict is None or verdict.runs or not devices.gpus:
                return verdict
            without = file_verdict(self._plan(model, replace(devices, gpus=())), model)
            return without if without is not None and _RANK[without.kind] < _RANK[verdict.kind] else verdict
        except ProblemError:
            return None


def _rounded(gbs: float | None) -> float | None:
    return None if gbs is None else round(gbs, 1)
