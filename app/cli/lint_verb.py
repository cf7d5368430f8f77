"""``lint``: somebody's llama-server command checked against this file and this engine."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser
from app.cli.command_input import CommandCase, add_command_options, command_case
from app.cli.console import print_json, print_problems, print_text, problem_line, table
from app.cli.inputs import worst_first
from app.cli.plan_json import Json, problems_json
from app.common.problem import Problem, Severity
from app.common.units import size_text
from app.diagnose.lint import LintReport, lint
from app.diagnose.lint_rules import RuleReport
from app.settings.settings import default_shell
from app.words import say
from app.work.exporting import command_text
from app.work.outside_settings import outside_settings

_WIDEST_RULE = 60


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_command_options(parser)


def run(options: Namespace) -> int:
    """Print what is wrong and how we would write it; 1 when anything is an error."""
    case = command_case(options, "lint")
    report = lint(case.command, case.inputs, outside_settings())
    problems = worst_first((*report.problems, *case.problems))
    if options.json:
        print_json(lint_json(report, problems))
        print_problems(problems, least=Severity.ERROR)
    else:
        print_text(_text(case, report, problems))
    return 1 if any(p.severity is Severity.ERROR for p in problems) else 0


def lint_json(report: LintReport, problems: tuple[Problem, ...]) -> Json:
    """The JSON of the contract (docs/cli.md, "lint --json")."""
    return {
        "rules": [_rule_json(rule) for rule in report.rules],
        "problems": problems_json(problems),
        "converted": list(report.converted),
    }


def _rule_json(report: RuleReport) -> Json:
    return {
        "pattern": report.rule.pattern,
        "device": report.device if report.device is not None else report.rule.buffer,
        "hits": report.hits,
        "bytes": report.n_bytes,
        "shadowed_by": report.shadowed_by,
        "problems": [problem.code for problem in report.problems],
        "moved": report.moved,
        "text": report.rule.text,
        "source": report.rule.source,
    }


def _text(case: CommandCase, report: LintReport, problems: tuple[Problem, ...]) -> str:
    lines = _rule_lines(report)
    lines += ["", *(map(problem_line, problems) if problems else [say("cli.lint.clean")])]
    command = command_text(case.program, report.converted, default_shell())
    return "\n".join([*lines, "", say("cli.lint.converted"), f"  {command}"])


def _rule_lines(report: LintReport) -> list[str]:
    if not report.rules:
        return [say("cli.lint.no_rules")]
    rows = [
        (
            f"  {rule.device or rule.rule.buffer}",
            say("cli.lint.hits", n=rule.hits),
            size_text(rule.n_bytes),
            say("cli.lint.moved", n=rule.moved),
            _shortened(rule.rule.text),
        )
        for rule in report.rules
    ]
    return [say("cli.lint.rules"), *table(rows, right=frozenset({1, 2, 3}))]


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDEST_RULE else text[: _WIDEST_RULE - 1] + "…"
