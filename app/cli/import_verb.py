"""``import``: somebody's llama-server command as a plan that does the same."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser
from app.cli.command_input import add_command_options, command_case
from app.cli.console import print_json, print_problems, print_text
from app.cli.inputs import PlanCase, worst_first
from app.common.problem import Severity
from app.planner.command_plan import plan_of_command
from app.planner.trades import trades


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_command_options(parser, takes_file=True)
    parser.group("output").switch("--tensors")


def run(options: Namespace) -> int:
    """Print the plan; 1 when it does not fit or the command could not be read whole."""
    asked = command_case(options, "import")
    result = plan_of_command(asked.command, asked.inputs)
    problems = worst_first((*result.plan.problems, *result.problems, *asked.problems))
    case = PlanCase(asked.model, asked.hardware, asked.engine, result.plan, problems, result.inputs)
    if options.json:
        from app.cli.plan_json import plan_json

        offers = trades(result.inputs, result.plan)
        print_json(plan_json(case.model, case.plan, case.problems, with_tensors=options.tensors, offers=offers))
        print_problems(case.problems, least=Severity.ERROR)
    else:
        from app.cli.plan_text import plan_text

        print_text(plan_text(case, with_tensors=options.tensors))
    return 1 if case.has_errors else 0
