"""How hard a plan works: what the user chose for mains and for the battery, and the question when the plug was pulled.

Nothing here changes a plan by itself. A new plan begins as the choice says; one that is on the board already is changed
by an answer, which shows beforehand what becomes of the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.common.capabilities import Capabilities
from app.common.later import later
from app.common.problem import ParamValue, Problem, Severity
from app.hardware.types import PowerInfo
from app.planner.types import Plan
from app.settings import Settings

if TYPE_CHECKING:
    from app.planner.compare import option_changes
    from app.work.before_launch import LaunchAnswer, LaunchQuestion
else:
    option_changes = later("app.planner.compare", "option_changes")
    LaunchAnswer = later("app.work.before_launch", "LaunchAnswer")
    LaunchQuestion = later("app.work.before_launch", "LaunchQuestion")

MAKE_QUIET, MAKE_FULL, STAY = "make_quiet", "make_full", "stay"
"""Answers: change the plan in this way and launch, or launch it as it is."""


def wants_quiet(settings: Settings, power: PowerInfo | None) -> bool:
    """Should a new plan be quiet? Where the launch asks, it begins as on mains."""
    on_battery = power is not None and power.on_battery is True
    choice = settings.effort_on_battery if on_battery else settings.effort_on_mains
    return (settings.effort_on_mains if choice == "ask" else choice) == "quiet"


def asks_for(settings: Settings, power: PowerInfo, *, is_quiet: bool, was_for_battery: bool) -> str | None:
    """The answer that a launch should offer first; None when the plan is as it should be.

    ``was_for_battery``: the plan is quiet because it was made on the battery, not because the user said so.
    """
    if power.on_battery is True and settings.effort_on_battery != "full" and not is_quiet:
        return MAKE_QUIET
    if power.on_battery is False and settings.effort_on_mains == "full" and is_quiet and was_for_battery:
        return MAKE_FULL
    return None


def effort_question(answer: str, now: Plan, then: Plan, capabilities: Capabilities) -> LaunchQuestion:
    """Ask, with the words of the command that would change."""
    code = "launch_on_battery" if answer == MAKE_QUIET else "launch_on_mains"
    params: dict[str, ParamValue] = {"changes": changes_text(now, then, capabilities)}
    return LaunchQuestion(Problem(code, Severity.WARNING, params), (LaunchAnswer(answer), LaunchAnswer(STAY)))


def changes_text(now: Plan, then: Plan, capabilities: Capabilities) -> str:
    """``-t 8 → -t 4, + --prio -1, + --poll 0``; the same in every language."""
    parts = []
    for change in option_changes(now.argv, then.argv, capabilities):
        before, after = " ".join(change.before), " ".join(change.after)
        parts.append(f"{before} → {after}" if before and after else f"+ {after}" if after else f"- {before}")
    return ", ".join(parts)
