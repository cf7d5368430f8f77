"""The doctor: facts in, findings out, the cause first. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from app.common.problem import Severity
from app.diagnose.doctor.cures import with_fix
from app.diagnose.doctor.log_rules import failure_finding, log_findings
from app.diagnose.doctor.plan_rules import machine_rules, plan_findings
from app.diagnose.doctor.run_rules import run_findings, with_post_mortem
from app.diagnose.doctor.types import Facts, Finding

_SAME_STORY = {
    "unknown_argument": frozenset({"unknown_argument", "extra_unknown_flag"}),
    "no_usable_gpu": frozenset({"device_unused", "gpu_backend_not_loaded"}),
    "gpu_backend_not_loaded": frozenset({"no_usable_gpu", "device_unused"}),
    "device_unused": frozenset({"placement_differs"}),
    "context_reduced": frozenset({"fit_gave_up_context_reduced"}),
    "ram_swapping": frozenset({"ram_full"}),
}
"""What follows from a finding is no finding of its own."""
_MEMORY_ENDS = frozenset(
    {
        "vram_oom_cuda", "vram_oom_vulkan", "vram_oom_device", "weights_oom", "kv_oom", "compute_oom", "host_oom",
        "engine_killed",
    }
)  # fmt: skip
_OF_A_MEMORY_END = frozenset({"over_full_gpu", "over_full_ram", "placement_differs", "ram_full"})


def examine(facts: Facts) -> tuple[Finding, ...]:
    """All findings: the failure first, then errors, warnings and notes; each code once, with its fix."""
    failure = failure_finding(facts)
    found: list[Finding] = [] if failure is None else [with_post_mortem(failure, facts)]
    order = list(Severity)
    rest = sorted(
        [*log_findings(facts), *run_findings(facts), *plan_findings(facts), *machine_rules(facts)],
        key=lambda finding: order.index(finding.severity),
    )
    kept = _without_consequences([*found, *rest])
    return tuple(with_fix(finding, facts) for finding in kept)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Is any of them an error?"""
    return any(finding.severity is Severity.ERROR for finding in findings)


def _without_consequences(findings: list[Finding]) -> list[Finding]:
    covered: set[str] = set()
    kept: list[Finding] = []
    seen: set[tuple[str, str]] = set()
    for finding in findings:
        about = str(finding.params.get("device") or finding.params.get("gpu") or finding.params.get("argument") or "")
        if finding.code in covered or (finding.code, about) in seen:
            continue
        seen.add((finding.code, about))
        kept.append(finding)
        covered |= _SAME_STORY.get(finding.code, frozenset())
        if finding.code in _MEMORY_ENDS:
            covered |= _OF_A_MEMORY_END
    return kept
