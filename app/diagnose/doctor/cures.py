"""Which fix belongs to which finding. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue
from app.diagnose.doctor.budgets import budget_after_failure, budget_without
from app.diagnose.doctor.fixes import make_room, other_port, other_wishes, relieve
from app.diagnose.doctor.types import Facts, Finding, Fix
from app.planner.flag_table import REPLACED, Given, current_spelling, parse_argv
from app.planner.tensor_rules import match_rules, rules_of
from app.planner.types import RAM

_CARD_OOM = frozenset({"vram_oom_cuda", "vram_oom_vulkan", "vram_oom_device", "weights_oom", "kv_oom", "compute_oom"})
_RAM_OOM = frozenset({"host_oom", "commit_limit", "engine_killed", "ram_full", "ram_swapping"})
_ENOUGH_RAM_SHARE = 0.15
_LEAST_UBATCH = 64
_TLS_FLAGS = ("--ssl-key-file", "--ssl-cert-file")
_MOVES = frozenset({"override_tensor", "cpu_moe", "n_cpu_moe", "n_cpu_ffn"})


def with_fix(finding: Finding, facts: Facts) -> Finding:
    """The finding with the plan that cures it, where there is one."""
    if facts.plan is None or facts.inputs is None or finding.fix is not None:
        return finding
    if finding.code in _CARD_OOM | _RAM_OOM:
        return replace(finding, fix=_for_memory(finding, facts))
    cure = _CURES.get(finding.code)
    return finding if cure is None else replace(finding, fix=cure(finding, facts))


def new_spelling(flag: str, capabilities: Capabilities | None) -> str | None:
    """What this build calls an option that it does not know under this name; None where it has nothing like it."""
    if capabilities is None:
        return None
    words = REPLACED.get(flag)
    if words and capabilities.has(words[0]):
        return " ".join(words)
    sibling = current_spelling(flag, capabilities)
    return sibling if sibling != flag else None


def _for_memory(finding: Finding, facts: Facts) -> Fix | None:
    plan = facts.plan
    assert plan is not None
    device = finding.params.get("device")
    if finding.code == "engine_killed" and _had_ram(facts):
        return None
    if finding.code in _RAM_OOM or device == RAM:
        return relieve(facts, RAM, budget_after_failure(plan, RAM, finding.problem, facts.log))
    if not isinstance(device, str):  # the log names no card: the plan has one, or nobody can tell
        device = plan.devices.gpus[0].name if len(plan.devices.gpus) == 1 else None
    if device is None or all(d.name != device for d in plan.devices.gpus):
        return None
    return relieve(facts, device, budget_after_failure(plan, device, finding.problem, facts.log))


def _had_ram(facts: Facts) -> bool:
    """Was a good part of the RAM free until the end? Then it was not for want of memory that the engine was killed."""
    free = [value for sample in facts.samples if (value := sample.values.get("ram.available")) is not None]
    total = facts.snapshot.memory.total_bytes if facts.snapshot is not None else None
    return bool(free) and total is not None and min(free) > total * _ENOUGH_RAM_SHARE


def _over_full(finding: Finding, facts: Facts) -> Fix | None:
    """A plan that does not fit before anything has run: to what is free, less the reserve."""
    assert facts.plan is not None
    device = str(finding.params.get("device") or "")
    if finding.code == "context_too_long":
        fits = finding.params.get("fits_ctx")
        fix = other_wishes(facts, "context", n_ctx=fits) if isinstance(fits, int) else None
        return fix if fix is not None and fix.plan.estimate.fits is not False else make_room(facts)
    estimate = next((d for d in facts.plan.estimate.devices if d.device == device), None)
    if estimate is None or estimate.free_bytes is None:
        return make_room(facts)
    fix = relieve(facts, device, max(0, estimate.free_bytes - estimate.reserve_bytes))
    return fix if fix is not None else make_room(facts)


def _spilled(finding: Finding, facts: Facts) -> Fix | None:
    assert facts.plan is not None
    device, n_bytes = str(finding.params.get("device")), finding.params.get("n_bytes")
    if not isinstance(n_bytes, int | float) or all(d.name != device for d in facts.plan.devices.gpus):
        return None
    return relieve(facts, device, budget_without(facts.plan, device, round(n_bytes)))


def _extra_options(facts: Facts) -> tuple[Given, ...]:
    assert facts.plan is not None
    return parse_argv(facts.plan.wishes.extra, facts.capabilities or Capabilities(frozenset()))


def _without(facts: Facts, drop: Callable[[Given], bool], put: tuple[str, ...] = ()) -> Fix | None:
    """The plan whose extra arguments lack the options that ``drop`` names, with ``put`` in their place."""
    given = _extra_options(facts)
    dropped = [option for option in given if drop(option)]
    if not dropped:
        return None
    kept = tuple(word for option in given if not drop(option) for word in option.words)
    what = " ".join(word for option in dropped for word in option.words)
    code = "extra_replaced" if put else "extra_dropped"
    told: Mapping[str, ParamValue] = {"dropped": what, "put": " ".join(put)}
    return other_wishes(facts, code, told, extra=(*kept, *put))


def _unknown_argument(finding: Finding, facts: Facts) -> Fix | None:
    flag = str(finding.params.get("argument"))
    new = new_spelling(flag, facts.capabilities)
    return _without(facts, lambda option: option.flag == flag, tuple((new or "").split()))


def _bad_value(finding: Finding, facts: Facts) -> Fix | None:
    flag = finding.params.get("argument")
    return _without(facts, lambda option: option.flag == flag)


def _bad_rules(finding: Finding, facts: Facts) -> Fix | None:
    return _without(facts, lambda option: option.setting in _MOVES)


def _unmatched_rules(finding: Finding, facts: Facts) -> Fix | None:
    """Drop the options whose rules find no tensor of this file, and only those."""
    assert facts.inputs is not None
    names = tuple(tensor.name for tensor in facts.inputs.model.tensors)

    def finds_nothing(option: Given) -> bool:
        rules = rules_of((option,))
        return bool(rules) and not any(match_rules(rules, names).matches)

    return _without(facts, finds_nothing)


def _longer_context(finding: Finding, facts: Facts) -> Fix | None:
    """Room for what was asked, or twice the context, if memory has it; never beyond what the model was trained for."""
    plan, inputs = facts.plan, facts.inputs
    assert plan is not None
    assert inputs is not None
    asked = finding.params.get("asked")
    wanted = max(2 * plan.n_ctx, (asked + 1024) // 1024 * 1024 if isinstance(asked, int) else 0)
    n_ctx = min(wanted, inputs.model.context_length or wanted)
    return other_wishes(facts, "larger_context", n_ctx=n_ctx) if n_ctx > plan.n_ctx else None


def _larger_ubatch(finding: Finding, facts: Facts) -> Fix | None:
    asked = finding.params.get("asked")
    if facts.plan is None or not isinstance(asked, int):
        return None
    n_ubatch = -(-asked // 512) * 512
    n_batch = max(n_ubatch, facts.plan.wishes.n_batch)
    return other_wishes(facts, "larger_ubatch", n_ubatch=n_ubatch, n_batch=n_batch)


def _threads(finding: Finding, facts: Facts) -> Fix | None:
    wanted = finding.params.get("recommended")
    return other_wishes(facts, "threads", {"threads": wanted}, n_threads=wanted) if isinstance(wanted, int) else None


def _prompt_cache(finding: Finding, facts: Facts) -> Fix | None:
    return other_wishes(facts, "prompt_cache", prompt_cache_mib=0)


def _no_lock(finding: Finding, facts: Facts) -> Fix | None:
    if facts.plan is None or "mlock" not in (facts.plan.wishes.load_mode or ""):
        return None
    return other_wishes(facts, "load_mode", {"load_mode": "none"}, load_mode="none")


def _read_not_mapped(finding: Finding, facts: Facts) -> Fix | None:
    """First read the file instead of mapping it; where it is read already, do without the repacked copy."""
    fix = other_wishes(facts, "load_mode", {"load_mode": "none"}, load_mode="none")
    if fix is not None or facts.plan is None:
        return fix
    return other_wishes(facts, "no_repack", extra=(*facts.plan.wishes.extra, "--no-repack"))


def _flash_attention(finding: Finding, facts: Facts) -> Fix | None:
    return other_wishes(facts, "flash_attn", flash_attn="on")


def _default_cache(finding: Finding, facts: Facts) -> Fix | None:
    return other_wishes(facts, "kv_type", {"kv_type": "f16"}, cache_type_k="f16", cache_type_v="f16")


def _not_mapped(finding: Finding, facts: Facts) -> Fix | None:
    return other_wishes(facts, "load_mode", {"load_mode": "none"}, load_mode="none")


def _shorter_steps(finding: Finding, facts: Facts) -> Fix | None:
    """A card that a watchdog resets gets less to do at once."""
    half = facts.plan.wishes.n_ubatch // 2 if facts.plan is not None else 0
    return other_wishes(facts, "ubatch", n_ubatch=half) if half >= _LEAST_UBATCH else None


def _without_file(code: str, **none: bool | tuple[str, ...] | None) -> Callable[[Finding, Facts], Fix | None]:
    """The plan without the file beside the model that does not go with it."""
    return lambda finding, facts: other_wishes(facts, code, None, **none)


def _without_flags(*flags: str) -> Callable[[Finding, Facts], Fix | None]:
    """The plan without these extra options."""
    return lambda finding, facts: _without(facts, lambda option: option.flag in flags)


def _with_jinja(finding: Finding, facts: Facts) -> Fix | None:
    if facts.plan is None or facts.capabilities is None or not facts.capabilities.has("--jinja"):
        return None
    return other_wishes(facts, "extra_added", {"put": "--jinja"}, extra=(*facts.plan.wishes.extra, "--jinja"))


def _other_port(finding: Finding, facts: Facts) -> Fix | None:
    return other_port(facts)


def _best_preset(finding: Finding, facts: Facts) -> Fix | None:
    plan = facts.plan
    if plan is None or (plan.wishes.preset == "fill" and not plan.is_edited):
        return None
    return other_wishes(replace(facts, plan=replace(plan, is_edited=False)), "preset", preset="fill")


_CURES: Mapping[str, Callable[[Finding, Facts], Fix | None]] = {
    "does_not_fit_memory": _over_full,
    "over_full_gpu": _over_full,
    "over_full_ram": _over_full,
    "context_too_long": _over_full,
    "spill_windows": _spilled,
    "port_in_use": _other_port,
    "port_forbidden": _other_port,
    "unknown_argument": _unknown_argument,
    "extra_unknown_flag": _unknown_argument,
    "bad_argument_value": _bad_value,
    "bad_regex": _bad_rules,
    "unknown_buffer_type": _bad_rules,
    "override_unmatched": _unmatched_rules,
    "context_full": _longer_context,
    "answer_cut_by_context": _longer_context,
    "reasoning_ate_answer": _longer_context,
    "batch_too_small": _larger_ubatch,
    "too_many_threads": _threads,
    "too_few_threads": _threads,
    "prompt_cache_ram": _prompt_cache,
    "prompt_cache_memory": _prompt_cache,
    "mlock_failed": _no_lock,
    "mlock_limit_low": _no_lock,
    "repacked_twice": _read_not_mapped,
    "v_cache_needs_fa": _flash_attention,
    "cache_type_unfit": _default_cache,
    "mmap_refused": _not_mapped,
    "gpu_lost": _shorter_steps,
    "mmproj_mismatch": _without_file("no_mmproj", mmproj_path=None),
    "mmproj_unknown": _without_file("no_mmproj", mmproj_path=None),
    "draft_mismatch": _without_file("no_draft", draft_path=None, mtp=False),
    "lora_mismatch": _without_file("no_lora", lora_paths=()),
    "split_mode_unsupported": _without_flags("-sm", "--split-mode"),
    "ssl_not_built": _without_flags(*_TLS_FLAGS),
    "tls_files_bad": _without_flags(*_TLS_FLAGS),
    "chat_template_bad": _without_flags("--chat-template", "--chat-template-file"),
    "tools_need_jinja": _with_jinja,
    "slow_decode": _best_preset,
    "context_reduced": _best_preset,
}
