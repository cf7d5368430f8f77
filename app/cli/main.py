"""Runs one verb: exit code 0 = done, 1 = the answer is no, 2 = bad usage or bad input (docs/cli.md)."""

from __future__ import annotations

from collections.abc import Sequence

from app.cli.arguments import PROGRAM, VerbParser, add_common, parse
from app.cli.console import ReaderGoneError, forget_stdout, prepare_streams, print_error, print_note, print_text
from app.cli.languages import choose_language
from app.cli.verbs import VERBS, load_verb
from app.common.problem import Problem, ProblemError
from app.words import say

DONE, NO, BAD_INPUT = 0, 1, 2
_INTERRUPTED = 130

_ANSWER_IS_NO = frozenset(
    {
        "move_embeddings", "move_output_tied", "move_not_loaded", "move_other",
        "export_failed", "preset_cannot_carry", "swap_cannot_carry", "engine_probe_timeout", "engine_probe_unsupported",
    }
)  # fmt: skip
"""Problems of a well-formed question whose answer is no; every other one is bad input."""


def run(arguments: Sequence[str]) -> int:
    """Run the verb ``arguments[0]`` (one of ``VERBS``) and return the exit code. Never raises for a user's mistake."""
    verb, *rest = arguments
    try:
        choose_language(rest)
        return _run_verb(verb, rest)
    except ProblemError as error:
        print_error(error.problem)
        return NO if error.problem.code in _ANSWER_IS_NO else BAD_INPUT
    except ReaderGoneError:
        forget_stdout()
        return DONE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # a bug of ours: a report in the log folder instead of a traceback
        return _crashed(error)


def overview() -> str:
    """What ``lanewise --help`` says about the verbs."""
    from app.cli.console import table

    rows = [(f"  {PROGRAM} {verb}", say(f"cli.verb.{verb}")) for verb in VERBS]
    return "\n".join([say("cli.verbs"), *table(rows), "", say("cli.verb_help", program=PROGRAM)])


def _run_verb(verb: str, arguments: Sequence[str]) -> int:
    module = load_verb(verb)
    parser = VerbParser(verb)
    module.add_options(parser)
    add_common(parser)
    options = parse(parser, arguments)
    prepare_streams(json_output=options.json)
    if options.help:
        print_text(parser.format_help().rstrip())
        return DONE
    return module.run(options)


def _crashed(error: Exception) -> int:
    from app.common.log import write_crash_report
    from app.common.paths import app_paths

    report = write_crash_report(app_paths(), (type(error), error, error.__traceback__), "the command line")
    print_error(Problem("internal_error", params={"kind": type(error).__name__}))
    print_note(report.text if report.path is None else say("cli.crash_report", path=str(report.path)))
    return NO
