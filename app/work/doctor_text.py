"""A finding in words: what happened, details, how to check, what the fix changes. And the report that can be copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.common.problem import told_params
from app.common.units import size_text
from app.diagnose.doctor.redact import redacted
from app.diagnose.doctor.types import Facts, Finding, Fix
from app.planner.types import RAM
from app.words import say, say_problem

_OOM = frozenset({"vram_oom_cuda", "vram_oom_vulkan", "vram_oom_device", "weights_oom", "kv_oom", "compute_oom"})
_STAGE_OF_CODE = {"weights_oom": "weights", "kv_oom": "kv", "compute_oom": "compute"}
_PROGRAM_DETAILS = {"engine_dll_missing": "dll", "engine_dll_wrong": "dll_mixed", "engine_crashed": "crash_start"}
"""What Windows' own codes mean most often."""
_LONGEST_LINE = 300
_OWN_HOSTS = ("127.0.0.1", "localhost", "0.0.0.0", "::", "::1")


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """Bytes on one device before and after a fix. ``free`` None: unknown."""

    device: str
    before: int
    after: int
    free: int | None


@dataclass(frozen=True, slots=True)
class FindingWords:
    """``sentence`` says what happened and what to do; the rest may be empty."""

    sentence: str
    details: tuple[str, ...]
    check: str | None
    fix: str | None
    changes: tuple[str, ...]


def words_of(finding: Finding) -> FindingWords:
    """The finding in the current language."""
    fix = finding.fix
    return FindingWords(
        sentence=_sentence(finding),
        details=tuple(_details(finding)),
        check=None if finding.check is None else say(f"doctor.check.{finding.check}"),
        fix=None if fix is None else fix_sentence(fix),
        changes=() if fix is None else tuple(_change_line(change) for change in device_changes(fix)),
    )


def fix_sentence(fix: Fix) -> str:
    """What the fix does, as the words on its button."""
    return say(f"fix.{fix.code}", **told_params(fix.params))


def device_changes(fix: Fix) -> tuple[DeviceChange, ...]:
    """Every device whose bytes the fix changes."""
    changes = []
    for before in fix.before.devices:
        after = next((d for d in fix.plan.estimate.devices if d.device == before.device), None)
        if after is not None and after.total_bytes != before.total_bytes:
            changes.append(DeviceChange(before.device, before.total_bytes, after.total_bytes, after.free_bytes))
    return tuple(changes)


def report_text(findings: Sequence[Finding], facts: Facts, user_names: tuple[str, ...] = ()) -> str:
    """Everything for a question in a forum, without keys and without the user's name in paths."""
    lines = [f"Lanewise: {len(findings)}"]
    if facts.snapshot is not None:
        lines.append(f"{facts.snapshot.os} | {facts.snapshot.cpu.name or '?'} | RAM {_size(facts)}")
        lines += [f"{g.engine_name or '-'} {g.name} {size_text(g.total_bytes)}" for g in facts.snapshot.gpus]
    if facts.plan is not None:
        lines.append(" ".join(facts.plan.argv))
    for finding in findings:
        told = words_of(finding)
        lines += ["", f"[{finding.severity.value}] {finding.code}: {told.sentence}", *told.details]
        lines += [f"  | {line[:_LONGEST_LINE]}" for line in finding.evidence]
        if told.fix is not None:
            lines.append(f"  -> {told.fix}")
            lines += [f"     {change}" for change in told.changes]
    return redacted("\n".join(lines), user_names)


def _size(facts: Facts) -> str:
    return size_text(facts.snapshot.memory.total_bytes if facts.snapshot is not None else None)


def _sentence(finding: Finding) -> str:
    if finding.code not in _OOM:
        return say_problem(finding.problem)
    stage = finding.params.get("stage") or _STAGE_OF_CODE.get(finding.code) or "unknown"
    device = finding.params.get("device") or say("doctor.card")
    if device == RAM:
        device = say("board.ram")
    text = say(f"doctor.oom.{stage}", device=device)
    return text[:1].upper() + text[1:]


def _details(finding: Finding) -> list[str]:
    params = finding.params
    details = []
    if finding.code in _OOM and params.get("n_bytes") is not None:
        details.append(say("doctor.detail.asked", n_bytes=params["n_bytes"]))
    if params.get("phase") in ("prompt", "decode"):
        details.append(
            say(f"doctor.detail.{params['phase']}", depth=params.get("depth"), peak_bytes=params.get("peak_bytes"))
        )
    if finding.code == "spill_windows":
        details.append(say("doctor.detail.spill"))
    if finding.code in _PROGRAM_DETAILS and str(params.get("code") or "0x").startswith("0x"):
        details.append(say(f"doctor.detail.{_PROGRAM_DETAILS[finding.code]}"))
    if finding.code == "port_in_use" and params.get("host") not in (None, *_OWN_HOSTS):
        details.append(say("doctor.detail.host_maybe", host=params["host"]))
    if finding.code == "unknown_argument" and params.get("new"):
        details.append(say("doctor.detail.new_flag", new=params["new"]))
    if finding.code == "override_unmatched" and params.get("names"):
        details.append(say("doctor.detail.names", names=params["names"]))
    return details


def _change_line(change: DeviceChange) -> str:
    name = say("board.ram") if change.device == RAM else change.device
    return say("fix.bytes", device=name, before=change.before, after=change.after, free=change.free)
