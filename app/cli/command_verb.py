"""``command``: the command line of a plan, quoted for a shell."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_exactly, print_json, print_problems
from app.cli.inputs import PlanCase, plan_case
from app.cli.values import one_of
from app.common.problem import Problem, Severity
from app.settings.settings import default_shell

_SHELLS = ("cmd", "powershell", "bash", "json")


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    parser.group("output").option("--shell", "|".join(_SHELLS), one_of("--shell", _SHELLS))


def run(options: Namespace) -> int:
    """Print the command alone on standard output; what there is to say about it goes to standard error."""
    case = plan_case(options, "command")
    shell = options.shell or ("json" if options.json else default_shell())
    remarks: tuple[Problem, ...] = ()
    if shell == "json":
        print_json([case.program or "llama-server", *case.plan.argv])
    else:
        remarks = _print_for(case, shell, as_json=options.json)
    print_problems((*case.problems, *remarks), least=Severity.WARNING)
    return 1 if case.has_errors else 0


def _print_for(case: PlanCase, shell: str, *, as_json: bool) -> tuple[Problem, ...]:
    from app.work.exporting import command_text, length_remarks

    text = command_text(case.program, case.plan.argv, shell)
    if as_json:
        print_json({"shell": shell, "command": text, "argv": list(case.plan.argv)})
    else:
        print_exactly(text)
    return length_remarks(text, shell)
