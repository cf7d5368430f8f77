"""``launch``: runs llama-server with the plan's command until Ctrl-C or ``--for SECONDS``."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_error, print_note, print_problems
from app.cli.inputs import PlanCase, plan_case
from app.cli.launch_run import LaunchRun
from app.cli.learning import context_of, learn, learning_store
from app.cli.values import seconds
from app.common.paths import app_paths
from app.common.problem import Problem, Severity
from app.diagnose.buffers import compare_buffers
from app.engine.apikey import new_api_key
from app.hardware.types import CpuInfo
from app.words import say
from app.work.launching import launch_spec
from app.work.learned_memory import from_buffers, learn_figures, learn_overheads
from app.work.speed_history import learn_speeds

_A_YEAR_S = 366 * 24 * 3600


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    parser.group("launch").option("--for", "SECONDS", seconds("--for", _A_YEAR_S))


def run(options: Namespace) -> int:
    """Run the plan; 0 when the server was ready and ended because it was asked to."""
    key = options.api_key or new_api_key()
    case = plan_case(options, "launch", api_key=key)
    if case.engine is None:
        print_error(Problem("launch_without_engine"))
        return 1
    if case.has_errors:
        print_problems(case.problems, least=Severity.ERROR)
        print_note(say("cli.launch.refused"))
        return 1
    spec = launch_spec(case.plan, case.engine.binary, _cpu(options, case), app_paths(), key)
    run = LaunchRun(case, spec, run_s=getattr(options, "for"), as_json=options.json)
    code = run.run()
    _learn(options, case, run)
    return code


def _learn(options: Namespace, case: PlanCase, run: LaunchRun) -> None:
    """The buffers against the plan, and what the cards took beyond them, for the next plan."""
    context = context_of(case, options)
    if context is None or run.buffers is None:
        return
    rows, store = compare_buffers(case.plan.estimate, run.buffers), learning_store()
    learn(lambda: learn_figures(store, context, from_buffers(rows, case.plan)))
    learn(lambda: learn_overheads(store, context, run.watch.overheads(rows, case.plan)))
    speed = run.watch.speed
    learn(lambda: learn_speeds(store, case.plan, case.model, context.machine, context.engine, context.keys, speed))


def _cpu(options: Namespace, case: PlanCase) -> CpuInfo:
    """The cores of the computer that the server runs on, which a saved snapshot need not describe."""
    if options.hardware is None:
        return case.hardware.cpu
    from app.hardware.probe import probe

    return probe().cpu
