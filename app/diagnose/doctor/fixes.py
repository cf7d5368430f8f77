"""Changed plans that cure a finding, each proven to fit by the memory model before it is offered. Pure.

Memory is freed in the order of what it costs the user: expert layers to RAM (slower), a smaller micro-batch (slower
prompts), a q8_0 cache (quality hardly), the cache in RAM (slower prompts), at last half the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.common.problem import ParamValue
from app.diagnose.doctor.budgets import with_budget
from app.diagnose.doctor.types import Facts, Fix
from app.planner.moves import move
from app.planner.placement import all_in_ram, expert_layers_in_ram, locations, with_experts_in_ram
from app.planner.plan import PlanInputs, kv_problems, make_plan
from app.planner.types import RAM, DeviceSet, KvHome, MoveResult, Placement, Plan, Wishes
from app.planner.wish_options import WISH_OPTIONS

_LEAST_UBATCH = 64
_LEAST_CTX = 1024
_LAST_PORT = 65535

Step = tuple[str, Callable[[Wishes, int], Mapping[str, Any] | None]]


def _smaller_ubatch(wishes: Wishes, n_ctx: int) -> Mapping[str, Any] | None:
    half = min(wishes.n_ubatch, wishes.n_batch, n_ctx) // 2
    return {"n_ubatch": half} if half >= _LEAST_UBATCH else None


def _smaller_cache(wishes: Wishes, n_ctx: int) -> Mapping[str, Any] | None:
    large = ("f32", "f16", "bf16")
    if wishes.cache_type_k not in large and wishes.cache_type_v not in large:
        return None
    return {
        "cache_type_k": "q8_0" if wishes.cache_type_k in large else wishes.cache_type_k,
        "cache_type_v": "q8_0" if wishes.cache_type_v in large else wishes.cache_type_v,
        "flash_attn": "auto" if wishes.flash_attn == "off" else wishes.flash_attn,
    }


def _cache_in_ram(wishes: Wishes, n_ctx: int) -> Mapping[str, Any] | None:
    return {"kv_home": KvHome.RAM} if wishes.kv_home is KvHome.HOME else None


def _half_context(wishes: Wishes, n_ctx: int) -> Mapping[str, Any] | None:
    half = n_ctx // 2 // 256 * 256
    return {"n_ctx": half} if half >= _LEAST_CTX else None


def _no_prompt_cache(wishes: Wishes, n_ctx: int) -> Mapping[str, Any] | None:
    return {"prompt_cache_mib": 0} if wishes.prompt_cache_mib != 0 else None


_FOR_CARD: tuple[Step, ...] = (
    ("ubatch", _smaller_ubatch),
    ("ubatch", _smaller_ubatch),
    ("kv_type", _smaller_cache),
    ("kv_home", _cache_in_ram),
    *((("context", _half_context),) * 8),
)
_FOR_RAM: tuple[Step, ...] = (
    ("prompt_cache", _no_prompt_cache),
    ("ubatch", _smaller_ubatch),
    ("kv_type", _smaller_cache),
    *((("context", _half_context),) * 8),
)


def relieve(facts: Facts, device: str, budget: int) -> Fix | None:
    """The least costly plan that needs at most ``budget`` bytes on the device; None where none is found or known."""
    inputs, plan = facts.inputs, facts.plan
    if inputs is None or plan is None or plan.wishes.preset == "fit":
        return None
    if all(d.name != device for d in plan.devices.all):
        return None
    tight = with_budget(plan.devices, device, budget)
    own_keys = {plan.argv, *facts.tried}
    for codes, wishes in _attempts(inputs, plan, _FOR_RAM if device == RAM else _FOR_CARD):
        placement = _placement_that_fits(inputs, plan, wishes, tight)
        if placement is None:
            continue
        after = make_plan(replace(inputs, devices=plan.devices, wishes=wishes), placement, is_edited=True)
        if after.argv in own_keys:
            continue
        return _fix(facts, codes, wishes, placement, after)
    return None if device == RAM else _all_in_ram(facts, tight)


def make_room(facts: Facts) -> Fix | None:
    """For a plan that does not fit what is free: the least costly one that does, on the device that lacks most, then
    the next; else the preset's own placement. None where none is found or the plan fits."""
    plan = facts.plan
    if plan is None or plan.estimate.fits is not False or plan.wishes.preset == "fit":
        return None
    short = [(d.left_bytes, d) for d in plan.estimate.devices if d.left_bytes is not None and d.left_bytes < 0]
    for _, device in sorted(short, key=lambda pair: pair[0]):
        fix = relieve(facts, device.device, max(0, (device.free_bytes or 0) - device.reserve_bytes))
        if fix is not None:
            return fix
    fix = other_wishes(replace(facts, plan=replace(plan, is_edited=False)), "preset", preset="fill")
    return fix if fix is not None and fix.plan.estimate.fits else None


def _all_in_ram(facts: Facts, tight: DeviceSet) -> Fix | None:
    """The last resort for a card that has no room at all: everything in RAM."""
    inputs, plan = facts.inputs, facts.plan
    assert inputs is not None
    assert plan is not None
    placement = all_in_ram(inputs.model, plan.devices)
    if not _fits(replace(inputs, wishes=plan.wishes, devices=tight), placement):
        return None
    after = make_plan(replace(inputs, devices=plan.devices, wishes=plan.wishes), placement, is_edited=True)
    if after.argv in {plan.argv, *facts.tried}:
        return None
    return replace(_fix(facts, ("all_cpu",), plan.wishes, placement, after), code="all_cpu")


def _attempts(inputs: PlanInputs, plan: Plan, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[str, ...], Wishes]]:
    """The wishes as they are, each step alone, then the steps one on top of the other."""
    yield (), plan.wishes
    for code, step in dict.fromkeys(steps):
        changes = step(plan.wishes, plan.n_ctx)
        if changes is not None and _is_allowed(inputs, replace(plan.wishes, **changes)):
            yield (code,), replace(plan.wishes, **changes)
    wishes = plan.wishes
    codes: tuple[str, ...] = ()
    for code, step in steps:
        changes = step(wishes, wishes.n_ctx or plan.n_ctx)
        if changes is None or not _is_allowed(inputs, replace(wishes, **changes)):
            continue
        wishes, codes = replace(wishes, **changes), (*codes, code)
        yield tuple(dict.fromkeys(codes)), wishes


def _is_allowed(inputs: PlanInputs, wishes: Wishes) -> bool:
    return not kv_problems(inputs.model, wishes)


def _placement_that_fits(inputs: PlanInputs, plan: Plan, wishes: Wishes, tight: DeviceSet) -> Placement | None:
    """The present placement with as many expert layers as needed in RAM; of a plan that nobody edited, also a fresh
    one. The check is the whole plan's memory on devices of which one has only its budget."""
    told = replace(inputs, wishes=wishes, devices=tight)
    kept = replace(plan.placement, kv_home=wishes.kv_home if tight.gpus else KvHome.HOME)
    if _fits(told, kept):
        return kept
    if tight.gpus:
        moved = _more_in_ram(told, kept)
        if moved is not None:
            return moved
    if plan.is_edited:
        return None
    fresh = make_plan(told)
    return fresh.placement if fresh.estimate.fits else None


def _more_in_ram(told: PlanInputs, placement: Placement) -> Placement | None:
    """The fewest more layers, taken from the last one down; bisected, since each layer only adds to RAM."""
    model = told.model
    there = set(expert_layers_in_ram(model, placement))
    rest = [block for block in model.expert_blocks if block not in there]

    def at(n: int) -> Placement:
        chosen = frozenset(there | set(rest[len(rest) - n :]))
        return with_experts_in_ram(model, placement, told.devices, chosen)

    if not rest or not _cards_fit(told, at(len(rest))):
        return None
    low, high = 1, len(rest)
    while low < high:
        middle = (low + high) // 2
        if _cards_fit(told, at(middle)):
            high = middle
        else:
            low = middle + 1
    found = at(low)
    return found if _fits(told, found) else None


def _fits(told: PlanInputs, placement: Placement) -> bool:
    return make_plan(told, placement, is_edited=True).estimate.fits is True


def _cards_fit(told: PlanInputs, placement: Placement) -> bool:
    devices = make_plan(told, placement, is_edited=True).estimate.devices
    return all(d.fits is not False for d in devices if d.device != RAM)


def other_wishes(facts: Facts, code: str, params: Mapping[str, ParamValue] | None = None, **changes: Any) -> Fix | None:
    """The same placement with other wishes; None when the result does not fit, or has failed already."""
    inputs, plan = facts.inputs, facts.plan
    if inputs is None or plan is None:
        return None
    wishes = replace(plan.wishes, **changes)
    if wishes == plan.wishes or not _is_allowed(inputs, wishes):
        return None
    told = replace(inputs, devices=plan.devices, wishes=wishes, n_threads=wishes.n_threads or inputs.n_threads)
    placement = plan.placement if plan.is_edited else None
    after = make_plan(told, placement, is_edited=plan.is_edited)
    was_fitting = plan.estimate.fits
    if (after.estimate.fits is False and was_fitting is not False) or after.argv in {plan.argv, *facts.tried}:
        return None
    return _fix(facts, (code,), wishes, placement, after, params)


def other_port(facts: Facts) -> Fix | None:
    """The same plan on the next port. Whether that one is free shows when it is launched: the user is asked again."""
    inputs, plan = facts.inputs, facts.plan
    if inputs is None or plan is None or not 0 < inputs.port < _LAST_PORT:
        return None
    port = inputs.port + 1
    told = replace(inputs, devices=plan.devices, wishes=plan.wishes, port=port)
    after = make_plan(told, plan.placement, is_edited=plan.is_edited)
    placement = plan.placement if plan.is_edited else None
    fix = _fix(facts, ("port",), plan.wishes, placement, after, {"port": port})
    return replace(fix, changes={"--port": str(port)}, port=port)


def _fix(
    facts: Facts,
    codes: tuple[str, ...],
    wishes: Wishes,
    placement: Placement | None,
    after: Plan,
    params: Mapping[str, ParamValue] | None = None,
) -> Fix:
    assert facts.plan is not None
    assert facts.inputs is not None
    model = facts.inputs.model
    before_layers = expert_layers_in_ram(model, facts.plan.placement)
    after_layers = expert_layers_in_ram(model, after.placement)
    before_n, after_n = len(before_layers), len(after_layers)
    moves_homes = after.placement.n_gpu_layers != facts.plan.placement.n_gpu_layers
    told: dict[str, ParamValue] = {
        "homes": after.placement.n_gpu_layers,
        "layers": after_n - before_n,
        "blocks": _ranges(sorted(set(after_layers) - set(before_layers))),
        "layers_in_ram": after_n,
        "n_ctx": after.n_ctx,
        "ubatch": wishes.n_ubatch,
        "kv_type": wishes.cache_type_k,
        **(params or {}),
    }
    changes = changed_options(facts.plan, after)
    told["changes"] = " ".join(f"{option} {value}" for option, value in changes.items())
    return Fix(
        code=_code(codes, after_n - before_n, moves_homes),
        params=told,
        wishes=wishes,
        placement=placement,
        plan=after,
        before=facts.plan.estimate,
        changes=changes,
        place=() if changes else _moves(facts, after),
    )


def _moves(facts: Facts, after: Plan) -> tuple[str, ...]:
    """``experts:12-14=RAM`` for every block with more expert tensors in RAM, if that alone makes the placement."""
    plan, inputs = facts.plan, facts.inputs
    assert plan is not None
    assert inputs is not None
    before, then = locations(inputs.model, plan.placement), locations(inputs.model, after.placement)
    moved_names = {name for name, device in then.items() if device == RAM and before.get(name) != RAM}
    blocks = {t.block for t in inputs.model.tensors if t.name in moved_names and t.block is not None}
    ids = tuple(f"experts:{part}" for part in _ranges(sorted(blocks)).split(", ") if part)
    if not ids:
        return ()
    moved = move(inputs.model, plan.devices, plan.placement, ids, RAM)
    same = isinstance(moved, MoveResult) and moved.placement == after.placement
    return tuple(f"{card}={RAM}" for card in ids) if same else ()


def _ranges(blocks: list[int]) -> str:
    """``12-14, 20``: the blocks as the cards of the board name them."""
    runs: list[list[int]] = []
    for block in blocks:
        if runs and runs[-1][1] == block - 1:
            runs[-1][1] = block
        else:
            runs.append([block, block])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _code(codes: tuple[str, ...], n_more: int, moves_homes: bool) -> str:
    """Single changes have a sentence of their own; several together are listed by their options. ``n_more``: expert
    layers in RAM that are added; fewer of them follow from the change that makes room and are not told."""
    if not codes:
        return "experts_more" if n_more > 0 and not moves_homes else "placed_anew"
    if len(codes) == 1 and n_more <= 0 and (not moves_homes or codes == ("preset",)):
        return codes[0]
    return "several_experts" if n_more > 0 else "several"


_CHANGED_BY_FIXES = (
    "n_ctx", "cache_type_k", "cache_type_v", "n_batch", "n_ubatch", "flash_attn", "n_slots", "n_threads",
    "prompt_cache_mib", "kv_home", "preset", "load_mode",
)  # fmt: skip


_FILES_DROPPED = ("mmproj_path", "draft_path", "lora_paths", "mtp")
"""What a fix only ever leaves out; the option's value is then empty."""


def changed_options(before: Plan, after: Plan) -> dict[str, str]:
    """The options of ``plan`` (docs/cli.md) that differ, with their new values."""
    changed = {}
    for name in _CHANGED_BY_FIXES:
        value = getattr(after.wishes, name)
        if value != getattr(before.wishes, name):
            changed[WISH_OPTIONS[name]] = "auto" if value is None else str(value)
    for name in _FILES_DROPPED:
        if getattr(after.wishes, name) != getattr(before.wishes, name):
            changed[WISH_OPTIONS[name]] = ""
    if after.wishes.extra != before.wishes.extra:
        changed["--extra"] = " ".join(after.wishes.extra)
    return changed
