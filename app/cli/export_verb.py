"""``export``: a script that runs exactly the plan's command, the plan itself, or a router preset."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_json, print_note, print_problems, print_text
from app.cli.inputs import plan_case
from app.common.problem import Problem, Severity, fail
from app.planner.other_exports import moved_per_token_bytes
from app.words import say, say_problem
from app.work.engines import capabilities_of
from app.work.exporting import (
    OTHER_KINDS,
    SCRIPT_SHELLS,
    export_llama_swap,
    export_plan,
    export_preset,
    export_script,
    export_transformers,
)
from app.work.planning import alias_of


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
    capabilities = capabilities_of(case.engine)
    kind = OTHER_KINDS.get(ending, "script")
    if kind == "plan":
        export_plan(path, case.plan, case.model, capabilities)
    elif kind == "preset":
        export_preset(path, case.plan, alias_of(case.model), capabilities)
    elif kind == "llama-swap":
        export_llama_swap(path, case.program, case.plan.argv, alias_of(case.model))
    elif kind == "transformers":
        n_bytes = moved_per_token_bytes(case.model, case.plan.placement)
        comments = [
            say_problem(Problem("transformers_copies", params={"n_bytes": n_bytes})),
            say("export.not_the_gguf"),
        ]
        export_transformers(path, case.plan, case.model, comments)
        print_note(comments[0])
    else:
        export_script(path, case.program, case.plan.argv, SCRIPT_SHELLS[ending])
    if options.json:
        print_json({"path": str(path), "shell": SCRIPT_SHELLS.get(ending), "kind": kind})
    else:
        print_text(say("problem.exported", path=str(path)))
    print_problems(case.problems, least=Severity.WARNING)
    return 1 if case.has_errors else 0
