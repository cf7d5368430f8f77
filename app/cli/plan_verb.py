"""``plan``: placement, bytes per device, command and predicted speed of a model on this machine."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_json, print_problems, print_text
from app.cli.inputs import plan_case
from app.common.problem import Severity
from app.planner.trades import trades


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    parser.group("output").switch("--tensors")


def run(options: Namespace) -> int:
    """Print the plan; 1 when it does not fit or cannot be carried out."""
    case = plan_case(options, "plan")
    if options.json:
        from app.cli.plan_json import plan_json

        offers = trades(case.inputs, case.plan) if case.inputs is not None else ()
        print_json(plan_json(case.model, case.plan, case.problems, with_tensors=options.tensors, offers=offers))
        print_problems(case.problems, least=Severity.ERROR)
    else:
        from app.cli.plan_text import plan_text

        print_text(plan_text(case, with_tensors=options.tensors))
    return 1 if case.has_errors else 0
