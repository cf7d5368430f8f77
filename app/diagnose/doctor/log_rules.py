"""Rules over the engine's log and its end: the one cause first, then what the engine lived with. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from app.common.problem import ParamValue, Problem, Severity
from app.common.units import MIB
from app.diagnose.buffers import compare_buffers
from app.diagnose.doctor.cures import new_spelling
from app.diagnose.doctor.log_facts import LogFacts
from app.diagnose.doctor.run_rules import answer_findings
from app.diagnose.doctor.types import Answer, Facts, Finding
from app.engine.failure import exit_code_text, explain_exit
from app.engine.logparse import BufferKind, device_of_buffer
from app.planner.types import RAM

_USUAL_ENDS = frozenset({0, -2, -15, 130, 143, 0xC000013A, -1073741510})
"""Ctrl-C and SIGTERM are how a server is stopped, not why it failed."""
_TIMEOUT = 124
"""What timeout(1) says when it has ended the program itself."""
_ENDS_WITHOUT_WORDS = frozenset({"engine_killed", "engine_crashed", "engine_cpu_unsupported"})
_NOTES = frozenset({"prompt_reread", "prompt_cache_too_small", "request_refused"})
"""What costs time and stops nothing."""
_LEAST_REFUSED = 3
"""A program asks again and again; a person who mistyped the key once does not."""
_TROUBLE = re.compile(r"(?i)\b(?:error|fatal|panic|exception|traceback|aborted)\b")
"""Stronger words than those of a suspect: a good log has lines in which something failed or cannot be."""
_MOST_TAIL = 5
_LEAST_ON_DEVICE = 64 * MIB
_LEAST_TWICE = 256 * MIB
_SHORT_RAM_SHARE = 0.4

_CHECKS = {
    "vram_oom_cuda": "vram", "vram_oom_vulkan": "vram", "vram_oom_device": "vram", "weights_oom": "vram",
    "kv_oom": "vram", "compute_oom": "vram", "host_oom": "ram", "commit_limit": "commit", "engine_killed": "killed",
    "mlock_failed": "memlock", "pinned_memory_cap": "pinned", "port_in_use": "port", "port_forbidden": "port_reserved",
    "unknown_argument": "help", "unknown_buffer_type": "devices", "no_usable_gpu": "devices",
    "gpu_backend_not_loaded": "devices", "device_unused": "devices", "engine_dll_missing": "dll",
    "engine_dll_wrong": "dll", "file_truncated": "file_size", "bad_magic": "file_size", "unknown_arch": "build",
    "engine_too_old": "build", "engine_removed": "quarantine", "engine_blocked": "quarantine",
    "override_unmatched": "tensors", "placement_differs": "tensors", "tensors_moved": "tensors",
    "gpu_driver_too_old": "driver", "gpu_driver_missing": "devices", "gpu_not_supported": "devices",
    "gpu_lost": "gpu_events", "gpu_memory_faulty": "gpu_events", "gpu_error": "gpu_events",
    "engine_backends_missing": "dll", "backend_other_build": "dll", "file_corrupt": "file_size",
    "model_read_failed": "disk", "wrong_shape": "build", "mmproj_unknown": "build", "file_too_old": "build",
    "ssl_not_built": "build", "download_unsupported": "build", "rpc_version": "build",
}  # fmt: skip
"""How a user sees a cause with his own eyes: ``doctor.check.<...>`` of the words."""


def check_of(code: str) -> str | None:
    """The check that belongs to a code, or None."""
    return _CHECKS.get(code)


def as_finding(problem: Problem, severity: Severity | None = None) -> Finding:
    """A problem as a finding, with the check that belongs to its code."""
    return Finding(
        problem.code, severity or problem.severity, problem.params, problem.evidence, check=check_of(problem.code)
    )


def failure_finding(facts: Facts) -> Finding | None:
    """Why the engine ended; None for a run that is going well or was stopped."""
    problem = _failure(facts)
    if problem is None:
        return None
    if problem.code == "port_in_use" and facts.log is not None:
        problem = _not_the_port(problem, facts.log)
    if problem.code == "unknown_argument":
        new = new_spelling(str(problem.params.get("argument")), facts.capabilities)
        problem = replace(problem, params={**problem.params, "new": new})
    return as_finding(problem, Severity.ERROR)


def _not_the_port(problem: Problem, log: LogFacts) -> Problem:
    """The engine says no more than that it cannot listen. Port 0, any free one, is never taken: then the address is not
    this computer's, or the server cannot read its certificate (cpp-httplib's ``is_valid``)."""
    host, port = problem.params.get("host"), problem.params.get("port")
    if log.uses_tls:
        return replace(problem, code="tls_files_bad", params={"host": host, "port": port})
    return replace(problem, code="host_unknown", params={"host": host}) if port == "0" else problem


def _failure(facts: Facts) -> Problem | None:
    log = facts.log
    if log is not None and log.failure is not None:
        by_code = facts.exit_code if facts.exit_code is not None else log.judgement.exit_code
        if log.failure.code == "engine_aborted" and by_code is not None:
            return explain_exit(by_code, log.failure.evidence) or log.failure
        return log.failure
    if facts.reason is not None and facts.reason.code != "engine_exited":
        if facts.reason.code in _ENDS_WITHOUT_WORDS and log is not None and log.tail:
            return replace(facts.reason, evidence=log.tail[-_MOST_TAIL:])
        return _nearer(facts.reason)
    code = facts.exit_code
    if code is None and log is not None and log.judgement.exit_code != _TIMEOUT:
        code = log.judgement.exit_code
    if code is not None and code not in _USUAL_ENDS and not facts.end_was_asked:
        tail = log.tail if log is not None else ()
        explained = explain_exit(code, tail)
        if explained is not None and explained.code != "engine_exited":
            return explained
        if facts.exit_code is not None or log is None or not log.was_ready:
            return _unknown(log, code)  # a script's own code after a good run (a timeout's 124) is no failure
    if facts.reason is not None:
        return _unknown(log, code)
    if log is not None and not log.was_ready and log.has_error_lines:
        return _unknown(log, None)
    return None


def _nearer(reason: Problem) -> Problem:
    """What a launch that did not even start comes to: an engine that was there when it was chosen is gone by now."""
    path = reason.params.get("path")
    if reason.code == "engine_not_found":
        return replace(reason, code="engine_removed", params={"path": path, "why": "No such file or directory"})
    if reason.code == "engine_broken" and reason.params.get("why") in ("not executable", "Permission denied"):
        return replace(reason, code="engine_not_executable")
    return reason


def _unknown(log: LogFacts | None, code: int | None) -> Problem:
    """Nobody knows this failure: said as it is, with the lines that look most like a reason."""
    params: dict[str, ParamValue] = {"code": None if code is None else exit_code_text(code)}
    evidence = () if log is None else log.suspects or log.tail
    return Problem("unknown_failure", Severity.ERROR, params, evidence)


def log_findings(facts: Facts) -> Iterator[Finding]:
    """What the log tells beside the failure."""
    log = facts.log
    if log is None:
        return
    for problem in log.judgement.warnings:
        if problem.code == "no_usable_gpu" and facts.plan is not None and not facts.plan.devices.gpus:
            continue  # the plan says so too
        yield as_finding(problem, Severity.INFO if problem.code in _NOTES else None)
    if not log.tail and facts.exit_code is None and facts.reason is None:
        yield Finding("log_empty", Severity.INFO)
    if log.failure is None and not log.was_ready and not log.has_error_lines:
        told = tuple(line for line in log.suspects if _TROUBLE.search(line) is not None)
        if told and not log.judgement.warnings:
            yield Finding("log_no_cause", Severity.INFO, {}, told)
    yield from _early_end(facts, log)
    yield from _context(facts, log)
    yield from _moved(log)
    if facts.log_is_of_plan:
        yield from _unmatched(facts, log)
        yield from _unused_device(facts, log)
        yield from _differs(facts, log)
    yield from _twice(facts, log)
    yield from _threads(facts, log)
    yield from _idle_gpu(facts, log)
    yield from _answer(log)
    if log.n_refused >= _LEAST_REFUSED:
        yield Finding("api_key_refused", Severity.INFO, {"n": log.n_refused}, (log.lines_of["key"],))
    yield from _prompt_cache(facts, log)
    if log.cut_bytes:
        yield Finding("log_cut", Severity.INFO, {"n_bytes": log.cut_bytes})


def _early_end(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    """A server's log that stops in the middle of loading: it runs still, or it died without a word."""
    if not log.is_server or log.was_ready or log.has_ended or log.failure is not None or log.load_mode is None:
        return
    if (
        facts.exit_code is None
        and facts.reason is None
        and log.judgement.exit_code in (None, _TIMEOUT)
        and not log.suspects
    ):
        yield Finding("log_ends_early", Severity.WARNING, {}, log.tail[-3:], check="killed")


def _context(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    evidence = tuple(line for name, line in log.lines_of.items() if name == "fit")
    wished = facts.plan.n_ctx if facts.plan is not None and facts.log_is_of_plan else None
    if wished is not None and log.n_ctx is not None and log.n_ctx < wished:
        params: dict[str, ParamValue] = {"before": wished, "after": log.n_ctx}
        yield Finding("context_reduced", Severity.WARNING, params, evidence)
    elif wished is None and log.fit_context is not None and log.fit_context[1] < log.fit_context[0]:
        params = {"before": log.fit_context[0], "after": log.fit_context[1]}
        yield Finding("context_reduced", Severity.INFO, params, evidence)


def _moved(log: LogFacts) -> Iterator[Finding]:
    """The engine did not put tensors where it was told to. Repacking buffers of the processor do not count, nor does
    the note about tensors that a rule sends elsewhere on purpose: it names the home that they would have had."""
    for moved in log.moved:
        if device_of_buffer(moved.wanted) != RAM and moved.first_tensor not in log.overrides:
            params: dict[str, ParamValue] = {
                "tensor": moved.first_tensor,
                "others": moved.n_others,
                "device": device_of_buffer(moved.wanted),
                "got": device_of_buffer(moved.got),
            }
            yield Finding("tensors_moved", Severity.WARNING, params, check="tensors")


def _unmatched(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    """Overrides of the plan that the engine did not confirm; only a log at -lv 5 can tell."""
    if facts.plan is None or not facts.plan.placement.overrides or not log.tells_tensors:
        return
    missing = [name for name in facts.plan.placement.overrides if name not in log.overrides]
    if missing:
        params: dict[str, ParamValue] = {"n": len(missing), "example": missing[0]}
        yield Finding("override_unmatched", Severity.ERROR, params, tuple(missing[:5]), check="tensors")


def _unused_device(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    """The plan puts weights on a card, and the engine allocated nothing there: a build without the card's backend, or
    another card was chosen."""
    weights = [b for b in log.buffers if b.kind is BufferKind.WEIGHTS]
    if facts.plan is None or not weights:
        return
    used = {b.device for b in log.buffers}
    for device in facts.plan.estimate.devices:
        if device.device != RAM and device.weights_bytes >= _LEAST_ON_DEVICE and device.device not in used:
            params: dict[str, ParamValue] = {
                "device": device.device,
                "n_bytes": device.weights_bytes,
                "used": ", ".join(sorted(used)),
            }
            yield Finding("device_unused", Severity.ERROR, params, check="devices")


def _differs(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    if facts.plan is None or not log.buffers or facts.plan.wishes.preset == "fit":
        return
    for row in compare_buffers(facts.plan.estimate, log.buffers):
        if row.agrees is False and row.what != "compute" and row.actual_bytes is not None:
            params: dict[str, ParamValue] = {
                "device": row.device,
                "what": row.what,
                "planned": row.predicted_bytes,
                "actual": row.actual_bytes,
            }
            yield Finding("placement_differs", Severity.WARNING, params, check="tensors")


def _twice(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    """Mapped weights that are repacked exist twice in RAM (llama.cpp#16761); told where RAM is short for both."""
    mapped = sum(b.n_bytes for b in log.buffers if b.device == RAM and "_Mapped" in b.buffer_name)
    repacked = sum(b.n_bytes for b in log.buffers if "REPACK" in b.buffer_name)
    free = facts.state.ram_available_bytes
    if free is None and facts.snapshot is not None:
        free = facts.snapshot.memory.available_bytes
    if mapped < _LEAST_TWICE or repacked < _LEAST_TWICE or free is None or mapped + repacked <= free:
        return
    params: dict[str, ParamValue] = {"mapped": mapped, "repacked": repacked, "total": mapped + repacked, "free": free}
    yield Finding("repacked_twice", Severity.WARNING, params, check="ram")


def _idle_gpu(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    """A card was found and got no layer: ``-ngl`` of older builds is 0. A plan without cards, or one of this run that
    gives them no layer, means it so."""
    plan = facts.plan
    is_meant = plan is not None and facts.log_is_of_plan and not plan.placement.n_gpu_layers
    if log.idle_gpu is None or is_meant or (plan is not None and not plan.devices.gpus):
        return
    evidence = tuple(line for name, line in log.lines_of.items() if name == "offloaded")
    yield Finding("nothing_on_gpu", Severity.WARNING, {"gpu": log.idle_gpu}, evidence, check="devices")


def _answer(log: LogFacts) -> Iterator[Finding]:
    """An answer that was pasted beside the log, or alone: which limit it met is known with the context's length."""
    seen = log.answer
    if seen is None:
        return
    n_ctx = log.n_ctx if seen.prompt_tokens is not None and seen.decoded_tokens is not None else None
    answer = Answer(
        seen.finish_reason,
        seen.answer_characters,
        seen.reasoning_characters,
        seen.prompt_tokens,
        seen.decoded_tokens,
        n_ctx,
        is_limited=True,
    )
    for finding in answer_findings(Facts(answer=answer)):
        is_open = finding.code == "answer_cut_by_limit" and n_ctx is None
        yield replace(finding, code="answer_cut_off" if is_open else finding.code, evidence=(seen.line,))


def _threads(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    """Threads of the log against the cores of this machine: more than it has, or less than half of the good ones. The
    log says how many CPUs its machine has: with another number it is another machine's."""
    if log.n_threads is not None and log.n_cpus and log.n_threads > log.n_cpus:
        beyond: dict[str, ParamValue] = {"threads": log.n_threads, "cpus": log.n_cpus}
        lines = tuple(line for name, line in log.lines_of.items() if name == "threads")
        yield Finding("threads_beyond_cpus", Severity.WARNING, beyond, lines, check="threads")
        return
    if facts.snapshot is None or log.n_threads is None or log.n_cpus != facts.snapshot.cpu.logical_count:
        return
    cpu = facts.snapshot.cpu
    evidence = tuple(line for name, line in log.lines_of.items() if name == "threads")
    params: dict[str, ParamValue] = {
        "threads": log.n_threads,
        "recommended": cpu.recommended_threads,
        "cores": len(cpu.cores),
    }
    if log.n_threads > len(cpu.cores) or (cpu.is_hybrid and log.n_threads > cpu.recommended_threads + 2):
        yield Finding("too_many_threads", Severity.WARNING, params, evidence, check="threads")
    elif log.n_threads * 2 <= cpu.recommended_threads and not (facts.log_is_of_plan and _is_quiet(facts)):
        yield Finding("too_few_threads", Severity.WARNING, params, evidence, check="threads")


def _is_quiet(facts: Facts) -> bool:
    """Was the plan made quiet on purpose, with half the threads?"""
    return facts.plan is not None and facts.plan.wishes.is_quiet


def _prompt_cache(facts: Facts, log: LogFacts) -> Iterator[Finding]:
    """Finished conversations kept in RAM, where RAM is short."""
    if log.prompt_cache is None:
        return
    used, limit = log.prompt_cache
    free = facts.state.ram_available_bytes
    total = facts.snapshot.memory.total_bytes if facts.snapshot is not None else None
    is_short = free is not None and free < limit - used
    is_large = total is not None and limit > total * _SHORT_RAM_SHARE
    is_over = used > limit > 0
    if used >= _LEAST_TWICE and (is_short or is_large or is_over):
        evidence = tuple(line for name, line in log.lines_of.items() if name == "cache")
        params: dict[str, ParamValue] = {"used": used, "limit": limit, "free": free}
        yield Finding("prompt_cache_ram", Severity.WARNING, params, evidence, check="ram")
