"""``export``: a script that runs exactly the plan's command."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_json, print_problems, print_text
from app.cli.inputs import plan_case
from app.common.problem import Severity, fail
from app.words import say
from app.work.exporting import SCRIPT_SHELLS, export_script


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    parser.group("output").option("--to", "FILE")


def run(options: Namespace) -> int:
    """Write the script; its suffix says for which shell."""
    if not options.to:
        raise fail("cli_export_where", suffixes=" ".join(SCRIPT_SHELLS))
    path = Path(options.to)
    shell = SCRIPT_SHELLS.get(path.suffix.lower())
    if shell is None:
        raise fail("cli_export_kind", path=str(path), suffixes=", ".join(SCRIPT_SHELLS))
    case = plan_case(options, "export")
    export_script(path, case.program, case.plan.argv, shell)
    if options.json:
        print_json({"path": str(path), "shell": shell})
    else:
        print_text(say("problem.exported", path=str(path)))
    print_problems(case.problems, least=Severity.WARNING)
    return 1 if case.has_errors else 0
