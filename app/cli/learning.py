"""What the command line learns and uses of what was learned: the same store as the window's."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from app.cli.console import print_note, problem_line
from app.cli.inputs import PlanCase
from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.work.learned import LearnedStore
from app.work.learned_memory import PlanContext, plan_context


def learning_store() -> LearnedStore:
    """The store in the user's data folder."""
    return LearnedStore(app_paths().learned_file)


def context_of(case: PlanCase, options: Namespace) -> PlanContext | None:
    """The plan as something to learn about; None for a saved machine (``--hardware``), which is not here."""
    if options.hardware is not None:
        return None
    return plan_context(case.plan, case.model, case.hardware, case.engine)


def learn(change: Callable[[], bool]) -> bool:
    """Do it; a store that cannot be written is told and ends nothing."""
    try:
        return change()
    except ProblemError as error:
        print_note(problem_line(error.problem))
        return False
