"""``export``: a script that runs exactly the plan's command, the plan itself, or a router preset."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_json, print_note, print_problems, print_text
from app.cli.inputs import plan_case
from app.common.problem import Severity, fail
from app.words import say, say_problem
from app.work.exporting import OTHER_KINDS, SCRIPT_SHELLS, export_any


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    parser.group("output").option("--to", "FILE")


def run(options: Namespace) -> int:
    """Write the file; its suffix says what it is and for which shell."""
    endings = (*SCRIPT_SHELLS, *OTHER_KINDS)
    if not options.to:
        raise fail("cli_export_where", suffixes=" ".join(endings))
    path = Path(options.to)
    ending = path.suffix.lower()
    if ending not in endings:
        raise fail("cli_export_kind", path=str(path), suffixes=", ".join(endings))
    case = plan_case(options, "export")
    kind = OTHER_KINDS.get(ending, "script")
    assert case.inputs is not None
    shell = SCRIPT_SHELLS.get(ending)
    for note in export_any(path, shell or kind, case.program, case.plan, case.inputs, case.hardware.cpu):
        print_note(say_problem(note))
    if options.json:
        print_json({"path": str(path), "shell": shell, "kind": kind})
    else:
        print_text(say("problem.exported", path=str(path)))
    print_problems(case.problems, least=Severity.WARNING)
    return 1 if case.has_errors else 0
