"""``plan``: placement, bytes per device, command and predicted speed of a model on this machine."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_json, print_problems, print_text
from app.cli.difference import difference_json, difference_text
from app.cli.inputs import plan_case, saved_plan
from app.common.problem import Severity
from app.planner.compare import compare_plans
from app.planner.second_gpu import second_gpu
from app.planner.trades import trades
from app.work.engines import capabilities_of


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    output = parser.group("output")
    output.switch("--tensors")
    output.option("--against", "FILE")


def run(options: Namespace) -> int:
    """Print the plan; 1 when it does not fit or cannot be carried out."""
    case = plan_case(options, "plan")
    difference = None
    if options.against:
        difference = compare_plans(saved_plan(options, case), case.plan, case.model, capabilities_of(case.engine))
    if options.json:
        from app.cli.plan_json import plan_json

        offers = trades(case.inputs, case.plan) if case.inputs is not None else ()
        told = plan_json(
            case.model,
            case.plan,
            case.problems,
            with_tensors=options.tensors,
            offers=offers,
            more_cards=None if case.inputs is None else second_gpu(case.inputs, case.plan),
        )
        print_json(told if difference is None else {**told, "against": difference_json(difference)})
        print_problems(case.problems, least=Severity.ERROR)
    else:
        from app.cli.plan_text import plan_text

        print_text(plan_text(case, with_tensors=options.tensors))
        if difference is not None:
            print_text(f"\n{difference_text(difference)}")
    return 1 if case.has_errors else 0
