"""Rules over the plan and the machine before anything runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Severity
from app.diagnose.doctor.cures import new_spelling
from app.diagnose.doctor.log_rules import as_finding
from app.diagnose.doctor.types import Facts, Finding
from app.diagnose.machine import machine_findings
from app.hardware.types import GpuInfo
from app.planner.flag_table import parse_argv
from app.planner.tensor_rules import match_rules, rules_of
from app.planner.types import RAM

_MACHINE_CHECKS = {
    "single_channel": "channels",
    "single_channel_slots": "channels",
    "narrow_pcie": "pcie",
    "narrow_pcie_slot": "pcie",
    "engine_does_not_see_gpu": "devices",
    "software_gpu": "devices",
}


def plan_findings(facts: Facts) -> Iterator[Finding]:
    """What is wrong with the plan: too little memory, rules that find nothing, options the build lacks."""
    if facts.plan is None:
        return
    for problem in facts.plan.problems:
        if problem.code not in ("dense_model", "fit_decides", "extra_unknown_flag"):
            yield as_finding(problem)
    yield from _unknown_extras(facts)
    yield from _unmatched_extras(facts)
    yield from _wrong_device(facts)
    yield from _lock_limit(facts)
    yield from _threads(facts)


def engine_rules(facts: Facts) -> Iterator[Finding]:
    """The engine in use cannot run this model, or not on this machine's cards."""
    for problem in facts.engine_problems:
        finding = as_finding(problem)
        if finding.is_cured_by_engine:
            yield finding


def machine_rules(facts: Facts) -> Iterator[Finding]:
    """What the machine itself is told about."""
    if facts.snapshot is None:
        return
    has_card = facts.plan is not None and bool(facts.plan.devices.gpus)
    for problem in machine_findings(facts.snapshot):
        if has_card and problem.code in ("no_gpu", "only_integrated_gpu"):
            continue  # the plan is for a card that was named
        finding = as_finding(problem)
        check = _MACHINE_CHECKS.get(problem.code)
        yield Finding(finding.code, finding.severity, finding.params, finding.evidence, check=check)


def _unknown_extras(facts: Facts) -> Iterator[Finding]:
    """Options typed by the user that this build does not have: it would stop at once (common/arg.cpp)."""
    capabilities = facts.capabilities
    assert facts.plan is not None
    if capabilities is None or not capabilities.flags:
        return
    for option in parse_argv(facts.plan.wishes.extra, capabilities):
        if option.flag and not capabilities.has(option.flag):
            new = new_spelling(option.flag, capabilities)
            params: dict[str, ParamValue] = {"argument": option.flag, "new": new}
            yield Finding("unknown_argument", Severity.ERROR, params, (" ".join(option.words),), check="help")


def _unmatched_extras(facts: Facts) -> Iterator[Finding]:
    """Rules typed by the user that find no tensor of this file; the engine says nothing about them."""
    if facts.inputs is None or facts.plan is None:
        return
    rules = rules_of(parse_argv(facts.plan.wishes.extra, facts.capabilities or Capabilities(frozenset())))
    if not rules:
        return
    names = tuple(tensor.name for tensor in facts.inputs.model.tensors)
    hits = match_rules(rules, names)
    for rule, found, error in zip(rules, hits.matches, hits.regex_errors, strict=True):
        if not found and error is None:
            example = next((n for n in names if "_exps" in n), names[0] if names else None)
            params: dict[str, ParamValue] = {"n": 1, "example": rule.text, "names": example}
            yield Finding("override_unmatched", Severity.ERROR, params, (rule.text,), check="tensors")


def _wrong_device(facts: Facts) -> Iterator[Finding]:
    """The plan uses an integrated or a software card while a real one is there."""
    if facts.snapshot is None or facts.plan is None or not facts.plan.devices.gpus:
        return
    by_name = {gpu.engine_name: gpu for gpu in facts.snapshot.gpus if gpu.engine_name is not None}
    real = [gpu for gpu in facts.snapshot.gpus if _is_real(gpu)]
    chosen = by_name.get(facts.plan.devices.gpus[0].name)
    if chosen is None or not real or _is_real(chosen):
        return
    params: dict[str, ParamValue] = {"device": chosen.name, "better": real[0].name}
    yield Finding("wrong_device", Severity.WARNING, params, check="devices")


def _is_real(gpu: GpuInfo) -> bool:
    return gpu.kind == "gpu" and not gpu.is_software


def _lock_limit(facts: Facts) -> Iterator[Finding]:
    """Locking needs a limit (RLIMIT_MEMLOCK) above the weights in RAM; else every lock fails at once."""
    assert facts.plan is not None
    limit = facts.state.memlock_limit_bytes
    to_lock = facts.plan.estimate.get(RAM).weights_bytes
    words = (facts.plan.wishes.load_mode or "", *facts.plan.wishes.extra)
    if limit is None or to_lock <= limit or not any("mlock" in word for word in words):
        return
    params: dict[str, ParamValue] = {"limit": limit, "to_lock": to_lock}
    yield Finding("mlock_limit_low", Severity.WARNING, params, check="memlock")


def _threads(facts: Facts) -> Iterator[Finding]:
    wished = facts.plan.wishes.n_threads if facts.plan is not None else None
    if facts.snapshot is None or wished is None or wished <= len(facts.snapshot.cpu.cores):
        return
    params: dict[str, ParamValue] = {
        "threads": wished,
        "recommended": facts.snapshot.cpu.recommended_threads,
        "cores": len(facts.snapshot.cpu.cores),
    }
    yield Finding("too_many_threads", Severity.WARNING, params, check="threads")
