"""Judges a machine by planning for it: with the open model, or a well-known one while none is open."""

from __future__ import annotations

from app.diagnose.machine_upgrades import Judgement, judge, variants
from app.hardware.types import HardwareSnapshot
from app.model.reference import reference_model
from app.model.types import ModelInfo
from app.planner.devices import DeviceWishes
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import Plan, Wishes
from app.work.engines import capabilities_of
from app.work.planning import plan_inputs


def judge_machine(
    snapshot: HardwareSnapshot,
    model: ModelInfo | None = None,
    wishes: Wishes | None = None,
    device_wishes: DeviceWishes | None = None,
) -> Judgement:
    """What limits the machine and what would help most. A plan for each changed machine: some 50 ms in all for a model
    of 30B, so not for the window's thread. Raises ProblemError for wishes that no engine takes."""
    judged = reference_model() if model is None else model
    wishes = wishes or Wishes()
    devices = device_wishes or DeviceWishes()

    def plan_for(machine: HardwareSnapshot) -> tuple[PlanInputs, Plan]:
        inputs = plan_inputs(judged, machine, wishes, devices, capabilities_of(None))
        return inputs, make_plan(inputs)

    inputs, base = plan_for(snapshot)
    changed = {variant.code: (variant, plan_for(variant.snapshot)[1]) for variant in variants(snapshot)}
    return judge(judged, base, changed, is_reference=model is None, calibration=inputs.calibration)
