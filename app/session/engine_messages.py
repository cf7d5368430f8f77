"""What the window is told about a changed engine: one message, with each saved plan's differences as its evidence."""

from __future__ import annotations

from pathlib import Path

from app.common.problem import ParamValue, Problem, Severity
from app.planner.compare import OptionChange
from app.words import say, say_problem
from app.work.engine_changes import PlanRecheck
from app.work.engine_registry import ChangedEngine


def change_problem(change: ChangedEngine, plans: tuple[PlanRecheck, ...]) -> Problem:
    """One message: the engine is another, and what that means for each saved plan."""
    params: dict[str, ParamValue] = {
        "id": change.after.id,
        "before": change.before.build or change.before.short_hash,
        "after": change.after.build or change.after.short_hash,
    }
    if params["before"] == params["after"]:
        params |= {"before": change.before.short_hash, "after": change.after.short_hash}
    evidence = tuple(line for plan in plans for line in _plan_lines(plan))
    return Problem("engine_changed", Severity.WARNING, params, evidence)


def _plan_lines(plan: PlanRecheck) -> list[str]:
    name = Path(plan.path).name
    lines = [f"{name}: {say_problem(problem)}" for problem in plan.problems]
    options = () if plan.difference is None else plan.difference.options
    lines += [f"{name}: {_option_text(option)}" for option in options]
    if not lines:
        code = "engine.recheck.agrees" if plan.agrees else "engine.recheck.same"
        lines.append(say(code, name=name))
    return lines


def _option_text(option: OptionChange) -> str:
    return f"{' '.join(option.before) or '—'} → {' '.join(option.after) or '—'}"
