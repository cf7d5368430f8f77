"""Predicted bytes on every device for a placement: weights by role, KV, compute, overhead, prompt cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.common.units import MIB
from app.model.types import ModelInfo, Role
from app.planner.compute import compute_bytes
from app.planner.engine_traits import CURRENT_MAINLINE, EngineKind, EngineTraits
from app.planner.ik import ik_compute_bytes
from app.planner.kv import KvSettings, kv_bytes_by_block
from app.planner.placement import in_use, kv_device, locations
from app.planner.types import RAM, Device, DeviceEstimate, DeviceSet, MemoryEstimate, Placement


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the estimate depends on besides the placement."""

    kv: KvSettings
    flash_attention: bool = True
    op_offload: bool = True
    prompt_cache_bytes: int = 0
    engine: EngineTraits = CURRENT_MAINLINE


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
    kv_blocks = kv_bytes_by_block(model, replace(settings.kv, flash_attention=settings.flash_attention))
    weights = _weights(model, placement, devices, where)
    kv = {d.name: 0 for d in devices.all}
    for block, n_bytes in kv_blocks.items():
        kv[kv_device(placement, block)] += n_bytes
    compute = _compute(model, placement, devices, where, settings, kv_blocks)
    return MemoryEstimate(
        tuple(_device_estimate(d, weights[d.name], kv[d.name], compute.get(d.name, 0), settings) for d in devices.all)
    )


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
        n_outputs=min(kv.n_ubatch, kv.n_ctx) if engine.logits_for_every_token else None,
        fuses_experts=engine.fuses_experts,
        reserves_f16_cache=engine.reserves_f16_cache,
        takes_embeddings=engine.takes_embeddings,
        mixes_embeddings=engine.mixes_embeddings,
    )


def _weights(
    model: ModelInfo, placement: Placement, devices: DeviceSet, where: dict[str, str]
) -> dict[str, dict[Role, int]]:
    by_device: dict[str, dict[Role, int]] = {d.name: {} for d in devices.all}
    for tensor in model.tensors:
        device = where.get(tensor.name)
        if device is not None:
            by_role = by_device[device]
            by_role[tensor.role] = by_role.get(tensor.role, 0) + tensor.n_bytes
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
