"""What a plan could have for something else: trades that the planner did not take, because they cost something that
only the user can weigh (quality, context, other programs' memory). Pure; a plan for each offer, so ask when needed.

Each offer is made as a whole plan of the same preset and compared with the present one at the same depth of context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from app.common.units import MIB
from app.model.types import ModelInfo, Role
from app.planner.calibration import offloading_gpu
from app.planner.kv import CACHE_TYPES
from app.planner.memory import estimate
from app.planner.placement import further_cards, in_use, locations, with_device
from app.planner.plan import PlanInputs, kv_problems, kv_settings, make_plan, placement_for, run_settings
from app.planner.speed import estimate_speed
from app.planner.token_work import kv_read_bytes, prompt_work, ram_bytes_per_token
from app.planner.types import RAM, DeviceSet, KvHome, Placement, Plan, SpeedEstimate, Wishes

_LEAST_GAIN = 0.005
"""Below half a percent of decode a change is not worth a line."""
_LEAST_PROMPT_GAIN = 1.05
_LEAST_FREED = 64 * MIB
_LARGEST_UBATCH = 4096
_LEAST_CTX = 4096


Changes = Mapping[str, Any]
"""Fields of ``Wishes`` and their new values; each field has a type of its own."""


class Quality(StrEnum):
    """What an offer costs beside bytes and speed; ``quality.<code>`` in the words."""

    SAME = "same"
    HARDLY = "hardly"
    VISIBLE = "visible"
    SHORTER = "shorter"
    OTHERS = "others"
    PROMPTS = "prompts"


@dataclass(frozen=True, slots=True)
class Trade:
    """One offer. ``code`` and ``value`` say what (``kv_type`` q8_0, ``context`` 8192, ``ubatch`` 1024, ``kv_home`` ram,
    ``prompt_cache`` MiB, ``close_programs``, ``use_device`` CUDA1, ``preset`` fill); applying it is ``changes`` of the
    wishes, for ``use_device`` to switch the card on, and nothing when only the user can do it.

    ``freed_bytes``: VRAM that it frees with everything left where it is (negative: takes); of a plan that does not fit,
    what the over-full devices gain. ``expert_layers``: more of them on the GPU afterwards. ``ram_read_saved_bytes``:
    less read from RAM per token. Speeds are changes; None where unknown. ``prompt_factor``: prompt speed afterwards /
    now. ``relieves``: the plan does not fit, and this frees memory where it lacks.
    """

    code: str
    value: str | int | None
    changes: Changes
    freed_bytes: int
    expert_layers: float
    decode_gain_tps: float | None
    decode_gain_share: float
    prompt_factor: float | None
    ram_read_saved_bytes: int
    quality: Quality
    relieves: bool = False

    @property
    def can_apply(self) -> bool:
        """Can the program do it at a click?"""
        return bool(self.changes) or self.code == "use_device"

    @property
    def is_free(self) -> bool:
        """Faster, and nothing is given for it."""
        return self.quality is Quality.SAME and self.decode_gain_share > _LEAST_GAIN and (self.prompt_factor or 1) >= 1


@dataclass(frozen=True, slots=True)
class _Offer:
    code: str
    value: str | int | None
    changes: Changes
    quality: Quality
    devices: DeviceSet | None = None


@dataclass(frozen=True, slots=True)
class _State:
    """A placement with what it is worth."""

    placement: Placement
    speed: SpeedEstimate
    ram_read_bytes: float
    expert_gpu_bytes: int


def trades(inputs: PlanInputs, plan: Plan) -> tuple[Trade, ...]:
    """Offers that gain something, the best first; of a plan that does not fit, those that free what it lacks.

    None for a plan that the engine itself makes, or that fits without a GPU. ``inputs`` are those that the plan was
    made of. An edited plan keeps its placement; what it could gain by starting again from the best one is an offer too.
    """
    fits = plan.estimate.fits
    if fits is None or plan.wishes.preset == "fit" or (fits and not plan.devices.gpus):
        return ()
    inputs = replace(inputs, wishes=plan.wishes, devices=plan.devices)
    now = _state(inputs, plan.placement, plan)
    found = [trade for offer in _offers(inputs, plan) if (trade := _trade(inputs, plan, now, offer)) is not None]
    if plan.estimate.fits is False:
        return tuple(sorted(found, key=lambda t: (t.code != "preset", -t.freed_bytes, t.code)))
    return tuple(sorted(found, key=lambda t: (-t.decode_gain_share, -(t.prompt_factor or 1.0), t.code)))


def _offers(inputs: PlanInputs, plan: Plan) -> Iterator[_Offer]:
    wishes = plan.wishes
    if plan.is_edited or wishes.preset != "fill":
        yield _Offer("preset", "fill", {"preset": "fill"}, Quality.SAME)
    yield from _kv_offers(inputs.model, wishes)
    if plan.n_ctx // 2 >= _LEAST_CTX:
        yield _Offer("context", plan.n_ctx // 2, {"n_ctx": plan.n_ctx // 2}, Quality.SHORTER)
    ubatch = wishes.n_ubatch * 2
    if ubatch <= min(_LARGEST_UBATCH, plan.n_ctx):
        changes = {"n_ubatch": ubatch, "n_batch": max(ubatch, wishes.n_batch)}
        yield _Offer("ubatch", ubatch, changes, Quality.SAME)
    ram_has_room = plan.estimate.get(RAM).fits is not False
    if wishes.kv_home is KvHome.HOME and plan.placement.kv_home is KvHome.HOME and ram_has_room:
        yield _Offer("kv_home", "ram", {"kv_home": KvHome.RAM}, Quality.PROMPTS)
    elif wishes.kv_home is KvHome.RAM:
        yield _Offer("kv_home", "home", {"kv_home": KvHome.HOME}, Quality.SAME)
    yield from _prompt_cache_offers(plan)
    yield from _device_offers(plan)


def _prompt_cache_offers(plan: Plan) -> Iterator[_Offer]:
    """A smaller prompt cache where RAM is over-full: the largest that fits in the automatic one's steps, else none."""
    ram = plan.estimate.get(RAM)
    if ram.fits is False and ram.prompt_cache_bytes and ram.left_bytes is not None:
        step = 256
        left_mib = max(0, ram.prompt_cache_bytes + ram.left_bytes) // MIB // step * step
        yield _Offer("prompt_cache", left_mib, {"prompt_cache_mib": left_mib}, Quality.SHORTER)


def _device_offers(plan: Plan) -> Iterator[_Offer]:
    """What other programs hold on each card, and each card that somebody switched off."""
    devices = plan.devices
    for gpu in devices.gpus:
        others = plan.estimate.get(gpu.name).other_programs_bytes or 0
        if others >= _LEAST_FREED and gpu.free_bytes is not None:
            emptied = replace(gpu, free_bytes=gpu.free_bytes + others)
            gpus = tuple(emptied if device is gpu else device for device in devices.gpus)
            yield _Offer("close_programs", gpu.name, {}, Quality.OTHERS, replace(devices, gpus=gpus))
    for gpu in () if plan.is_edited else further_cards(devices):
        yield _Offer("use_device", gpu.name, {}, Quality.OTHERS, with_device(devices, gpu))


_KV_STEPS = {"f32": "f16", "f16": "q8_0", "bf16": "q8_0", "q8_0": "q4_0"}
"""The next smaller cache type worth offering."""
_KV_QUALITY = {"f16": Quality.SAME, "q8_0": Quality.HARDLY, "q4_0": Quality.VISIBLE}
"""q8_0 changes perplexity by less than is told apart between runs, q4_0 by 1-5 % (llama.cpp#7412, K worse than V)."""


def _kv_offers(model: ModelInfo, wishes: Wishes) -> Iterator[_Offer]:
    smaller = _KV_STEPS.get(max((wishes.cache_type_k, wishes.cache_type_v), key=_bytes_per_element))
    while smaller is not None:
        changes: Changes = {"cache_type_k": smaller, "cache_type_v": smaller}
        if not kv_problems(model, replace(wishes, **changes)):
            yield _Offer("kv_type", smaller, changes, _KV_QUALITY[smaller])
        smaller = _KV_STEPS.get(smaller)


def _bytes_per_element(cache_type: str) -> float:
    elements, size = CACHE_TYPES[cache_type]
    return size / elements


def _trade(inputs: PlanInputs, plan: Plan, now: _State, offer: _Offer) -> Trade | None:
    """The offer worked out, or None when it gains nothing."""
    model = inputs.model
    wishes = replace(plan.wishes, **offer.changes)
    changed = replace(inputs, wishes=wishes, devices=offer.devices or plan.devices)
    keeps = plan.is_edited and offer.code != "preset"
    placement = (
        plan.placement if keeps else placement_for(model, changed.devices, wishes, inputs.calibration, inputs.files)
    )
    if keeps and "kv_home" in offer.changes:
        placement = replace(placement, kv_home=wishes.kv_home)
    after = _state(changed, placement, plan)
    gain, share = _decode_gain(now, after)
    prompt = _prompt_factor(inputs, changed, now, after)
    lacks = plan.estimate.fits is False
    if lacks:
        freed = _relief_bytes(plan, make_plan(changed, placement, is_edited=True))
    else:
        freed = _freed_bytes(inputs, changed, plan, offer, placement)
    relieves = lacks and freed >= _LEAST_FREED
    helps = share > _LEAST_GAIN or (offer.code == "ubatch" and (prompt or 1.0) >= _LEAST_PROMPT_GAIN)
    if not (relieves if lacks else helps):
        return None
    layer = _expert_bytes(model) / max(1, len(model.expert_blocks))
    layers = (after.expert_gpu_bytes - now.expert_gpu_bytes) / layer if layer else 0.0
    saved = round(now.ram_read_bytes - after.ram_read_bytes)
    return Trade(
        code=offer.code,
        value=offer.value,
        changes=offer.changes,
        freed_bytes=freed,
        expert_layers=round(layers, 1),
        decode_gain_tps=gain,
        decode_gain_share=share,
        prompt_factor=prompt,
        ram_read_saved_bytes=saved,
        quality=offer.quality,
        relieves=relieves,
    )


def _state(inputs: PlanInputs, placement: Placement, plan: Plan) -> _State:
    model = inputs.model
    where = locations(model, placement)
    depth = plan.n_ctx // 2
    kv = kv_settings(model, inputs.wishes)
    speed = estimate_speed(
        model,
        placement,
        inputs.devices,
        kv,
        where,
        depth=depth,
        op_offload="--no-op-offload" not in inputs.wishes.extra,
        calibration=inputs.calibration,
    )
    read = ram_bytes_per_token(model, placement, kv_read_bytes(model, kv, depth))
    routed = (t for t in model.tensors if t.role is Role.ROUTED_EXPERT)
    on_gpu = sum(t.n_bytes for t in routed if where.get(t.name, RAM) != RAM)
    return _State(placement, speed, read, on_gpu)


def _decode_gain(now: _State, after: _State) -> tuple[float | None, float]:
    """tok/s more and the share of it; where speeds are unknown, the share of bytes from RAM that is saved."""
    before, then = now.speed.decode_tps, after.speed.decode_tps
    if before is not None and then is not None:
        return then - before, then / before - 1
    if now.ram_read_bytes <= 0:
        return None, 0.0
    return None, (now.ram_read_bytes - after.ram_read_bytes) / now.ram_read_bytes


def _prompt_factor(inputs: PlanInputs, changed: PlanInputs, now: _State, after: _State) -> float | None:
    """Prompt speed then / now: predicted, else by the bytes that a token's share of a micro-batch copies; None where
    nothing is copied to the GPU, so that this does not decide."""
    if now.speed.prompt_tps is not None and after.speed.prompt_tps is not None:
        return after.speed.prompt_tps / now.speed.prompt_tps
    offloads = [offloading_gpu(in_use(i.devices, s.placement)) for i, s in ((inputs, now), (changed, after))]
    if None in offloads or "--no-op-offload" in inputs.wishes.extra:
        return None
    before, then = _copied_per_token(inputs, now.placement), _copied_per_token(changed, after.placement)
    return before / then if before and then else None


def _copied_per_token(inputs: PlanInputs, placement: Placement) -> float:
    n_tokens = kv_settings(inputs.model, inputs.wishes).n_ubatch
    work = prompt_work(inputs.model, locations(inputs.model, placement), n_tokens)
    return work.copy_bytes / work.n_tokens


def _freed_bytes(inputs: PlanInputs, changed: PlanInputs, plan: Plan, offer: _Offer, after: Placement) -> int:
    """VRAM that the offer frees on all cards while every weight stays where it is (of a preset: with its own)."""
    gpus = [device.name for device in plan.devices.gpus]
    if offer.code == "close_programs":
        name = str(offer.value)
        return (changed.devices.get(name).free_bytes or 0) - (plan.devices.get(name).free_bytes or 0)
    if offer.code == "use_device":
        return 0
    if offer.code != "preset":
        kv_home = changed.wishes.kv_home if "kv_home" in offer.changes else plan.placement.kv_home
        after = replace(plan.placement, kv_home=kv_home)
    then = estimate(inputs.model, after, plan.devices, run_settings(inputs.model, changed.wishes, 0, inputs.files))
    return sum(plan.estimate.get(name).total_bytes - then.get(name).total_bytes for name in gpus)


def _relief_bytes(plan: Plan, after: Plan) -> int:
    """Memory that the over-full devices gain, less what the others would then lack."""
    relief = 0
    for now in plan.estimate.devices:
        then = after.estimate.get(now.device)
        if now.left_bytes is not None and then.left_bytes is not None:
            relief += then.left_bytes - now.left_bytes if now.left_bytes < 0 else min(0, then.left_bytes)
    return relief


def _expert_bytes(model: ModelInfo) -> int:
    return sum(t.n_bytes for t in model.tensors if t.role is Role.ROUTED_EXPERT)
