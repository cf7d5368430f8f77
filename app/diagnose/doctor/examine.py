"""The doctor: facts in, findings out, the cause first. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.common.problem import Severity
from app.diagnose.doctor.cures import with_fix
from app.diagnose.doctor.log_match import of_another
from app.diagnose.doctor.log_rules import failure_finding, log_findings
from app.diagnose.doctor.plan_rules import engine_rules, machine_rules, plan_findings
from app.diagnose.doctor.run_rules import run_findings, with_post_mortem
from app.diagnose.doctor.types import Facts, Finding

_SAME_STORY = {
    "unknown_argument": frozenset({"unknown_argument", "extra_unknown_flag"}),
    "no_usable_gpu": frozenset({"device_unused", "gpu_backend_not_loaded"}),
    "gpu_backend_not_loaded": frozenset({"no_usable_gpu", "device_unused"}),
    "gpu_driver_too_old": frozenset({"no_usable_gpu", "device_unused", "gpu_backend_not_loaded"}),
    "backend_other_build": frozenset({"no_usable_gpu", "device_unused", "gpu_backend_not_loaded"}),
    "chat_template_bad": frozenset({"chat_template_request"}),
    "tools_need_jinja": frozenset({"chat_template_request"}),
    "batch_too_small": frozenset({"request_failed"}),
    "engine_cpu_only": frozenset({"engine_does_not_see_gpu"}),
    "engine_cuda_no_card": frozenset({"engine_does_not_see_gpu"}),
    "engine_no_cuda_runtime": frozenset({"engine_does_not_see_gpu"}),
    "device_unused": frozenset({"placement_differs"}),
    "context_reduced": frozenset({"fit_gave_up_context_reduced"}),
    "ram_swapping": frozenset({"ram_full"}),
    "on_battery": frozenset({"machine_on_battery", "machine_power_saving"}),
    "power_saver": frozenset({"machine_power_saving"}),
}
"""What follows from a finding is no finding of its own."""
_WHY_UNUSED = ("gpu_driver_too_old", "backend_other_build", "gpu_backend_not_loaded", "no_usable_gpu")
_MEMORY_ENDS = frozenset(
    {
        "vram_oom_cuda", "vram_oom_vulkan", "vram_oom_device", "weights_oom", "kv_oom", "compute_oom", "host_oom",
        "engine_killed",
    }
)  # fmt: skip
_OVER_FULL = frozenset({"over_full_gpu", "over_full_ram"})
_OF_A_MEMORY_END = _OVER_FULL | {"placement_differs", "ram_full"}


def examine(facts: Facts) -> tuple[Finding, ...]:
    """All findings: the failure first, then errors, warnings and notes; each code once, with its fix.

    A log of another model is judged for itself: what it says is cured by no change of this plan.
    """
    failure = failure_finding(facts)
    other = of_another(facts, failure)
    of_log = facts if other is None else replace(facts, inputs=None, plan=None, log_is_of_plan=False)
    found: list[Finding] = [] if failure is None else [with_post_mortem(failure, of_log)]
    order = list(Severity)
    ran = [*log_findings(of_log), *run_findings(of_log)]
    planned = [*engine_rules(facts), *plan_findings(facts), *machine_rules(facts)]
    noted = [] if other is None else [other]
    rest = sorted(_with_root([*ran, *noted, *planned]), key=lambda finding: order.index(finding.severity))
    kept = _without_consequences([*found, *rest], is_of_plan=other is None)
    cured_by_plan = {id(finding) for finding in planned}
    cured: list[Finding] = []
    for finding in kept:
        whole = next((f for f in cured if f.code == "does_not_fit_memory"), None)
        if whole is not None and finding.code in _OVER_FULL:  # one change makes room for all of the plan
            cured.append(replace(finding, fix=whole.fix))
        else:
            cured.append(with_fix(finding, facts if id(finding) in cured_by_plan else of_log))
    return tuple(cured)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Is any of them an error?"""
    return any(finding.severity is Severity.ERROR for finding in findings)


def _with_root(findings: list[Finding]) -> list[Finding]:
    """A card that the engine did not use, and the reason beside it: the reason is the error, with what it cost."""
    unused = next((f for f in findings if f.code == "device_unused"), None)
    root = next((f for code in _WHY_UNUSED for f in findings if f.code == code), None)
    if unused is None or root is None:
        return findings
    cost = f"{unused.params['device']}: 0 of {unused.params['n_bytes']} bytes"
    named = replace(root, severity=Severity.ERROR, evidence=(*root.evidence, cost))
    return [named if f is root else f for f in findings if f is not unused]


def _without_consequences(findings: list[Finding], is_of_plan: bool) -> list[Finding]:
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
        if is_of_plan and finding.code in _MEMORY_ENDS:
            covered |= _OF_A_MEMORY_END
    return kept
