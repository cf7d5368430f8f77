"""What the command line learns and uses of what was learned: the same store as the window's."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from app.cli.console import print_note, problem_line
from app.cli.inputs import PlanCase
from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.planner.learned_devices import learning_keys
from app.work.engines import capabilities_of
from app.work.learned import LearnedStore
from app.work.learned_memory import PlanContext


def learning_store() -> LearnedStore:
    """The store in the user's data folder."""
    return LearnedStore(app_paths().learned_file)


def context_of(case: PlanCase, options: Namespace) -> PlanContext | None:
    """The plan as something to learn about; None for a saved machine (``--hardware``), which is not here."""
    if options.hardware is not None:
        return None
    keys = learning_keys(case.plan.devices, case.hardware)
    return PlanContext(case.plan, case.model, capabilities_of(case.engine).build or "", keys)


def learn(change: Callable[[], bool]) -> bool:
    """Do it; a store that cannot be written is told and ends nothing."""
    try:
        return change()
    except ProblemError as error:
        print_note(problem_line(error.problem))
        return False
