"""The doctor's findings as text and as the JSON of the contract (docs/cli.md, "doctor --json")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.cli.console import problem_line
from app.cli.plan_json import Json
from app.common.problem import LONGEST_TOLD, ParamValue, Severity, clipped
from app.diagnose.doctor.redact import redacted
from app.diagnose.doctor.types import Finding, Fix
from app.planner.argv import redact
from app.words import say
from app.work.doctor_text import device_changes, fix_sentence, words_of

_MOST_EVIDENCE = 6


def doctor_json(findings: Sequence[Finding]) -> Json:
    """Evidence and parameters as they are, secrets and user names hidden."""
    return {"findings": [_finding_json(finding) for finding in findings]}


def doctor_text(findings: Sequence[Finding]) -> str:
    """The findings for people: sentence, details, evidence, check, fix."""
    if not findings:
        return say("cli.doctor.fine")
    blocks = ["\n".join(_block(finding)) for finding in findings]
    errors = sum(1 for finding in findings if finding.severity is Severity.ERROR)
    warnings = sum(1 for finding in findings if finding.severity is Severity.WARNING)
    notes = len(findings) - errors - warnings
    return "\n\n".join([say("cli.doctor.count", errors=errors, warnings=warnings, notes=notes), *blocks])


def _finding_json(finding: Finding) -> Json:
    told = words_of(finding)
    result: dict[str, Any] = {
        "code": finding.code,
        "severity": finding.severity.value,
        "params": {name: _hidden(value) for name, value in finding.params.items()},
        "evidence": [_hidden(line) for line in finding.evidence],
        "text": redacted(told.sentence),
        "check": told.check,
        "fix": None if finding.fix is None else _fix_json(finding.fix),
    }
    return result


def _fix_json(fix: Fix) -> Json:
    return {
        "code": fix.code,
        "text": fix_sentence(fix),
        "params": {name: _hidden(value) for name, value in fix.params.items()},
        "changes": dict(fix.changes),
        "place": list(fix.place),
        "argv": list(redact(fix.plan.argv)),
        "fits": fix.plan.estimate.fits,
        "devices": [
            {"name": change.device, "before": change.before, "after": change.after, "free": change.free}
            for change in device_changes(fix)
        ],
    }


def _hidden(value: ParamValue) -> ParamValue:
    """Without secrets, and no longer than anybody reads: a hostile log could put megabytes into a name."""
    return clipped(redacted(value[: 10 * LONGEST_TOLD])) if isinstance(value, str) else value


def _block(finding: Finding) -> list[str]:
    told = words_of(finding)
    head = problem_line(finding.problem)
    sentence = redacted(told.sentence)
    first = head.split(" ", 1)[0] + " " + sentence if finding.severity is not Severity.ERROR else ""
    lines = [first or say("cli.error", text=sentence)]
    lines += [f"  {detail}" for detail in told.details]
    lines += [f"    | {_hidden(line)}" for line in finding.evidence[:_MOST_EVIDENCE]]
    if told.check is not None:
        lines.append("  " + say("cli.doctor.check", text=told.check))
    if told.fix is not None:
        lines.append("  " + say("cli.doctor.fix", text=told.fix))
        lines += [f"    {change}" for change in told.changes]
    return lines
