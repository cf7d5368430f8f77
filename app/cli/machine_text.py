"""A hardware snapshot for people: the verdict first, then the facts with source and confidence, then what is worth
knowing; and two snapshots side by side."""

from __future__ import annotations

from collections.abc import Mapping

from app.cli.console import problem_line, table
from app.common.problem import Problem
from app.diagnose.machine import Sentence, judgement_sentences, machine_findings, machine_verdict
from app.diagnose.machine_upgrades import Judgement
from app.hardware.types import HardwareSnapshot
from app.words import say, sentences, with_words
from app.work.machine_compare import CompareRow
from app.work.machine_facts import Fact, FactGroup, machine_groups

_MARK = "≠ "


def machine_text(snapshot: HardwareSnapshot, judgement: Judgement, *, is_here: bool) -> str:
    """The snapshot as text."""
    verdict = [_said(s) for s in (machine_verdict(snapshot)[0], *judgement_sentences(snapshot, judgement))]
    parts = [*verdict]
    for group in machine_groups(snapshot, is_here=is_here):
        parts += ["", _group_title(group), *(f"  {line}" for line in table(_rows(group)))]
    findings = [problem_line(problem) for problem in _findings(snapshot)]
    return "\n".join([*parts, *(["", *findings] if findings else [])])


def compare_text(names: tuple[str, str], rows: tuple[CompareRow, ...], verdicts: tuple[str, str]) -> str:
    """Two machines as a table; what differs is marked."""
    lines: list[tuple[str, str, str]] = [("", *names)]
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            lines.append((group, "", ""))
        lines.append((f"{_MARK if row.differs else '  '}{row.label}", _value(row.left), _value(row.right)))
    differ = sum(row.differs for row in rows)
    count = say("compare_machines.count", n=differ, total=len(rows)) if differ else say("compare_machines.same")
    said = [f"{name}: {verdict}" for name, verdict in zip(names, verdicts, strict=True)]
    return "\n".join([*said, "", *table(lines), "", count])


def facts_json(snapshot: HardwareSnapshot, judgement: Judgement) -> dict[str, object]:
    """``facts``, ``verdict`` and ``findings`` of ``machine --json``."""
    facts = [fact_json(fact) for group in machine_groups(snapshot) for fact in group.facts]
    told = judgement_sentences(snapshot, judgement)
    return {
        "facts": facts,
        "verdict": {
            "model": judgement.model,
            "decode_limit": judgement.decode_limit,
            "prompt_limit": judgement.prompt_limit,
            "decode": judgement.plan.speed.decode_tps,
            "prompt": judgement.plan.speed.prompt_tps,
            "fits": judgement.plan.estimate.fits,
            "gains": [
                {
                    "code": gain.code,
                    "params": dict(gain.params),
                    "decode_factor": gain.decode_factor,
                    "prompt_factor": gain.prompt_factor,
                    "makes_fit": gain.makes_fit,
                    "cheap": gain.is_cheap,
                }
                for gain in judgement.gains
            ],
            "text": [_said(s) for s in told],
        },
        "findings": [
            {"code": p.code, "severity": p.severity.value, "params": dict(p.params)} for p in machine_findings(snapshot)
        ],
    }


def fact_json(fact: Fact | None) -> Mapping[str, object] | None:
    """One fact for programs: ``value`` and ``unit``, who told it, how sure that is."""
    if fact is None:
        return None
    return {
        "key": fact.key,
        "value": fact.raw,
        "unit": fact.unit,
        "text": fact.value,
        "source": fact.source,
        "confidence": fact.confidence,
        "note": fact.hint,
    }


def verdict_text(snapshot: HardwareSnapshot, judgement: Judgement) -> str:
    """The verdict in a row."""
    return sentences(_said(sentence) for sentence in judgement_sentences(snapshot, judgement))


def _said(sentence: Sentence) -> str:
    return say(sentence.code, **sentence.params)


def _findings(snapshot: HardwareSnapshot) -> tuple[Problem, ...]:
    return (*machine_findings(snapshot), *with_words(snapshot.problems))


def _group_title(group: FactGroup) -> str:
    return f"{group.title} ({group.subtitle})" if group.subtitle else group.title


def _rows(group: FactGroup) -> list[tuple[str, str, str]]:
    """A hint that the line above has given already is left out."""
    rows, last_hint = [], ""
    for fact in group.facts:
        value = say("machine.value.unknown") if fact.value is None else fact.value
        if fact.hint and fact.hint != last_hint:
            value = f"{value} ({fact.hint})"
        last_hint = fact.hint
        rows.append((fact.label, value, ", ".join(text for text in (fact.source, _confidence(fact)) if text)))
    return rows


def _confidence(fact: Fact) -> str:
    return "" if fact.confidence in ("told", "unknown") else say(f"confidence.{fact.confidence}")


def _value(fact: Fact | None) -> str:
    if fact is None:
        return say("compare_machines.none")
    return say("machine.value.unknown") if fact.value is None else fact.value
