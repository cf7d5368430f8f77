"""``selftest OUT.json``: all raw facts about this machine, redacted, for a bug report."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from app.cli.arguments import PROGRAM, VerbParser
from app.cli.console import print_json, print_text
from app.common.problem import fail
from app.words import say


def add_options(parser: VerbParser) -> None:
    """The one file that is written."""
    parser.add_argument("out", metavar="OUT.json", nargs="?", help=say("cli.help.selftest_out"))


def run(options: Namespace) -> int:
    """Look at the machine, write the report, and say what is in it and what is not."""
    from app.cli.inputs import chosen_engine
    from app.common.paths import app_paths
    from app.work.selftest import make_selftest, save_selftest

    if not options.out:
        raise fail("cli_selftest_where", verb=f"{PROGRAM} selftest")
    path = Path(options.out)
    engine = chosen_engine(options)
    report = make_selftest(None if engine is None else engine.binary, app_paths())
    size = save_selftest(path, report)
    unknown = sum(fact["confidence"] == "unknown" for fact in report["facts"])
    if options.json:
        print_json({"path": str(path), "bytes": size, "facts": len(report["facts"]), "unknown": unknown})
    else:
        print_text(say("cli.selftest.done", path=str(path), size=size, facts=len(report["facts"]), unknown=unknown))
    return 0
