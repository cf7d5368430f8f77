"""What another engine makes of saved plans: the same plan for the old and for the new program, side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from app.common.capabilities import Capabilities
from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError, Severity
from app.engine.locate import engine_at
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.compare import PlanDifference, compare_plans
from app.planner.devices import DeviceWishes
from app.planner.types import Plan
from app.work.engine_store import KnownEngine
from app.work.models import open_model
from app.work.plan_file import SavedPlan, read_plan_file
from app.work.plan_opening import open_plan
from app.work.planning import plan_and_notes, plan_inputs
from app.work.verifying import verify_plan

_MOST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class PlanRecheck:
    """One saved plan under the changed engine.

    ``difference``: from the command for the old engine to that for the new one. ``problems``: errors of the new plan,
    or the reason why it could not be looked at. ``agrees``: the engine confirms our figures; None = it was not asked.
    """

    path: str
    difference: PlanDifference | None
    problems: tuple[Problem, ...]
    agrees: bool | None = None

    @property
    def is_refused(self) -> bool:
        """Would it not run as it is?"""
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def recheck_plans(
    plan_paths: Sequence[str],
    old: KnownEngine,
    new: KnownEngine,
    hardware: HardwareSnapshot,
    paths: AppPaths,
    cancelled: Callable[[], bool],
) -> tuple[PlanRecheck, ...]:
    """Lint and verify the plans of these files again; files that are gone are left out. Call it on a worker thread."""
    found = []
    for path in dict.fromkeys(plan_paths):
        if cancelled():
            break
        if Path(path).is_file():
            found.append(_recheck(path, old, new, hardware, paths))
    return tuple(found)


def _recheck(path: str, old: KnownEngine, new: KnownEngine, hardware: HardwareSnapshot, paths: AppPaths) -> PlanRecheck:
    try:
        saved = read_plan_file(Path(path))
        model = open_model(_model_of(saved))
        before = _plan(saved, model, hardware, old)
        after = _plan(saved, model, hardware, new)
    except ProblemError as error:
        return PlanRecheck(path, None, (error.problem,))
    capabilities = Capabilities(frozenset(new.flags), new.build)
    difference = compare_plans(before, after, model, capabilities)
    errors = tuple(problem for problem in after.problems if problem.severity is Severity.ERROR)
    try:
        agrees = verify_plan(after, engine_at(Path(new.path)), paths).agrees
    except ProblemError as error:
        if error.problem.code.startswith("engine_probe"):
            return PlanRecheck(path, difference, errors)
        return PlanRecheck(path, difference, (*errors, error.problem))
    return PlanRecheck(path, difference, errors, agrees)


def _plan(saved: SavedPlan, model: ModelInfo, hardware: HardwareSnapshot, engine: KnownEngine) -> Plan:
    capabilities = Capabilities(frozenset(engine.flags), engine.build)
    wishes = DeviceWishes(rpc_servers=saved.rpc_servers)
    opened = open_plan(saved, plan_inputs(model, hardware, saved.wishes, wishes, capabilities))
    return plan_and_notes(opened.inputs, (), opened.placement)[0]


def _model_of(saved: SavedPlan) -> str:
    """The model's path in the plan's command, else a file of its name beside the plan."""
    try:
        with Path(saved.path).open("rb") as file:
            content: object = json.loads(file.read(_MOST_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        content = {}
    argv = content.get("argv") if isinstance(content, dict) else None
    words = [word for word in argv if isinstance(word, str)] if isinstance(argv, list) else []
    for option, value in pairwise(words):
        if option in ("-m", "--model") and Path(value).is_file():
            return value
    return str(Path(saved.path).parent / (saved.model.file_name or "model.gguf"))
