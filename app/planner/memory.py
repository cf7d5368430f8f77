"""Predicted bytes on every device for a placement: weights by role, KV, compute, overhead, prompt cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.common.units import MIB
from app.model.types import ModelInfo, Role
from app.planner.companions import NO_COMPANIONS, Companions, companion_segments, mtp_weights
from app.planner.compute import compute_bytes
from app.planner.engine_traits import CURRENT_MAINLINE, EngineKind, EngineTraits
from app.planner.host_memory import rearranges, tied_copy_bytes
from app.planner.ik import ik_compute_bytes
from app.planner.kv import KvSettings, kv_bytes_by_block
from app.planner.learned import MemoryFigures, Situation, nearest_correction, situation_of
from app.planner.placement import bytes_by_role, in_use, kv_device, locations
from app.planner.types import RAM, Device, DeviceEstimate, DeviceSet, KvHome, MemoryEstimate, Placement


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the estimate depends on besides the placement. ``others``: further wishes, which no formula here knows but a
    correction must match (``planner.plan.other_wishes``). ``repack_words``: the extra arguments, where it matters
    whether the processor rearranges weights (``host_memory``); None = it does not matter.
    """

    kv: KvSettings
    flash_attention: bool = True
    op_offload: bool = True
    prompt_cache_bytes: int = 0
    engine: EngineTraits = CURRENT_MAINLINE
    others: tuple[str, ...] = ()
    companions: Companions = NO_COMPANIONS
    repack_words: tuple[str, ...] | None = None


def estimate(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    settings: RunSettings,
    where: dict[str, str] | None = None,
) -> MemoryEstimate:
    """Bytes per device, columns in the board's order.

    Weights are the sum of tensor sizes (exact up to the backend's alignment: llama-model.cpp:1932 prints the same
    sum); a tied token_embd counts once more at a GPU output home (llama-model-loader.cpp:1149). ``where``: the
    tensors' locations when the caller has them.
    """
    where = locations(model, placement) if where is None else where
    if settings.companions.n_snapshots:
        settings = replace(settings, kv=replace(settings.kv, n_snapshots=settings.companions.n_snapshots))
    kv_blocks = kv_bytes_by_block(model, replace(settings.kv, flash_attention=settings.flash_attention))
    weights = _weights(model, placement, devices)
    if settings.companions.loads_mtp:
        for name, n_bytes in mtp_weights(model, placement):
            weights[name][Role.MTP] = weights[name].get(Role.MTP, 0) + n_bytes
    kv = {d.name: 0 for d in devices.all}
    for block, n_bytes in kv_blocks.items():
        kv[kv_device(placement, block)] += n_bytes
    if settings.repack_words is not None and rearranges(in_use(devices, placement), settings.repack_words):
        copy = tied_copy_bytes(model, placement)
        weights[RAM][Role.OUTPUT] = weights[RAM].get(Role.OUTPUT, 0) + copy
    compute = _compute(model, placement, devices, where, settings, kv_blocks)
    in_ram = placement.kv_home is KvHome.RAM
    situation = situation_of(settings.kv, settings.flash_attention, in_ram, settings.others)
    estimates = [
        _device_estimate(d, weights[d.name], kv[d.name], compute.get(d.name, 0), settings) for d in devices.all
    ]
    beside = companion_segments(model, placement, devices, where, settings, estimate)
    return MemoryEstimate(
        tuple(
            replace(_corrected(found, device, situation, model), segments=beside[device.name])
            if device.corrections or beside[device.name]
            else found
            for device, found in zip(devices.all, estimates, strict=True)
        )
    )


def model_id(model: ModelInfo) -> str:
    """The file as corrections of its weights name it: the same tensors in another folder are the same model."""
    return f"{model.name or ''} {model.file_bytes} {len(model.tensors)}"


def _corrected(found: DeviceEstimate, device: Device, situation: Situation, model: ModelInfo) -> DeviceEstimate:
    """The figures set right by what the engine said in the likest situation; devices that hold nothing stay empty."""
    correction = nearest_correction(device.corrections, situation)
    formula = MemoryFigures(found.weights_bytes, found.kv_bytes, found.compute_bytes)
    if correction is None or not formula.total:
        return found
    right = correction.applied_to(formula, model_id(model))
    if right == formula:
        return found
    return replace(
        found,
        weights_by_role=_with_total(found.weights_by_role, right.weights),
        kv_bytes=right.kv,
        compute_bytes=right.compute,
        formula=formula,
    )


def _with_total(weights: Mapping[Role, int], total: int) -> dict[Role, int]:
    """The difference goes to ``other``; what that cannot give is taken from the largest roles."""
    changed = dict(weights)
    changed[Role.OTHER] = changed.get(Role.OTHER, 0) + total - sum(weights.values())
    for role in sorted(weights, key=lambda r: -weights[r]):
        missing = -changed[Role.OTHER]
        if missing <= 0:
            break
        if role is not Role.OTHER:
            taken = min(missing, changed[role])
            changed[role] -= taken
            changed[Role.OTHER] += taken
    return {role: n_bytes for role, n_bytes in changed.items() if n_bytes}


def _compute(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    where: dict[str, str],
    settings: RunSettings,
    kv_blocks: dict[int, int],
) -> dict[str, int]:
    """Compute buffers as this engine reserves them."""
    engine, kv, flash_attention = settings.engine, settings.kv, settings.flash_attention
    devices = in_use(devices, placement)
    if engine.kind is EngineKind.IK:
        return ik_compute_bytes(model, placement, devices, where, kv, flash_attention, engine)
    return compute_bytes(
        model,
        placement,
        devices,
        where,
        kv,
        kv_blocks,
        flash_attention,
        settings.op_offload,
        mask_is_f32=engine.mask_is_f32,
        n_outputs=min(kv.n_ubatch, kv.n_ctx)
        if engine.logits_for_every_token
        else settings.companions.n_outputs(kv.n_slots),
        fuses_experts=engine.fuses_experts,
        reserves_f16_cache=engine.reserves_f16_cache,
        takes_embeddings=engine.takes_embeddings,
        mixes_embeddings=engine.mixes_embeddings,
    )


def _weights(model: ModelInfo, placement: Placement, devices: DeviceSet) -> dict[str, dict[Role, int]]:
    by_device: dict[str, dict[Role, int]] = {d.name: {} for d in devices.all} | bytes_by_role(model, placement)
    output_home = placement.home_of_unit(placement.block_count)
    # Gemma 4 makes the output's copy before the embedding, so it has both even where they lie together (gemma4.cpp)
    if model.has_tied_output and (output_home != RAM or model.architecture == "gemma4"):
        copy = sum(t.n_bytes for t in model.tensors if t.name == "token_embd.weight")
        by_role = by_device[output_home]
        by_role[Role.OUTPUT] = by_role.get(Role.OUTPUT, 0) + copy
    return by_device


def _device_estimate(
    device: Device, weights: dict[Role, int], kv: int, compute: int, settings: RunSettings
) -> DeviceEstimate:
    used = bool(weights or kv)
    return DeviceEstimate(
        device=device.name,
        kind=device.kind,
        weights_by_role=weights,
        kv_bytes=kv,
        compute_bytes=compute,
        overhead_bytes=device.overhead_bytes if used or compute else 0,
        prompt_cache_bytes=settings.prompt_cache_bytes if device.is_ram else 0,
        reserve_bytes=device.reserve_bytes,
        total_capacity_bytes=device.total_bytes,
        free_bytes=device.free_bytes,
        overhead_kind=device.overhead_kind,
        overhead_launches=device.overhead_launches,
    )


def with_prompt_cache(predicted: MemoryEstimate, n_bytes: int) -> MemoryEstimate:
    """The same estimate with another prompt cache in RAM."""
    return MemoryEstimate(
        tuple(replace(d, prompt_cache_bytes=n_bytes) if d.device == RAM else d for d in predicted.devices)
    )


def default_prompt_cache_mib(left_bytes: int | None) -> int:
    """``-cram``: a quarter of the RAM that is left, in 256 MiB steps, at most 2048 (the engine's default is 8192)."""
    if left_bytes is None:
        return 0
    return max(0, min(2048, left_bytes // 4 // (256 * MIB) * 256))
