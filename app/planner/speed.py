"""Predicted decode speed: bytes read per token over bandwidths, plus one hand-over per switch between devices.

t_token = sum over RAM tensors of active bytes / RAM bandwidth + (active GPU bytes + KV) / VRAM bandwidth
          + hand-overs x tau                                   (engine.md 10; checked there on four models, CPU only)
Active bytes of a routed expert tensor are n_bytes * expert_used_count / expert_count; of the embedding one row.
Prompt speed is not predicted yet: it needs the GPU's compute rate, which nobody has measured here.
"""

from __future__ import annotations

from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.placement import expert_layers_in_ram, kv_device, locations
from app.planner.types import RAM, DeviceSet, KvHome, Placement, SpeedEstimate

HAND_OVER_SECONDS = 25e-6
"""One switch between GPU and CPU inside a token, two per block with host tensors (splits in the engine's log).
10-40 microseconds on CUDA (engine.md 10); the middle until it is calibrated."""

_LEAST_SECONDS = 1e-3
"""Below this the work that no bandwidth describes (sampling, kernel starts) decides, and nobody has measured it."""

_KV_FILL = 0.25
"""Share of the context in use that the figure is given for: a chat that has filled a quarter."""


def active_bytes(model: ModelInfo, tensor: TensorInfo) -> float:
    """Bytes of a tensor that one decoded token reads."""
    if tensor.role is Role.ROUTED_EXPERT and model.expert_count:
        return tensor.n_bytes * model.used_experts(tensor.block) / model.expert_count
    if tensor.role is Role.EMBEDDING:
        return tensor.n_bytes / max(1, tensor.shape[-1])
    return float(tensor.n_bytes)


def estimate_speed(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    kv_by_block: dict[int, int],
    where: dict[str, str] | None = None,
) -> SpeedEstimate:
    """Decode tok/s at a quarter of the context; None where a bandwidth that matters is unknown."""
    where = locations(model, placement) if where is None else where
    read = {d.name: 0.0 for d in devices.all}
    for tensor in model.tensors:
        place = where.get(tensor.name)
        if place is not None:
            read[place] += active_bytes(model, tensor)
    if model.has_tied_output:  # the output matmul reads the whole tied embedding at the output's home
        home = placement.home_of_unit(placement.block_count)
        read[home] += sum(t.n_bytes for t in model.tensors if t.name == "token_embd.weight")
    ram_read = round(read[RAM])
    for block, n_bytes in kv_by_block.items():
        read[kv_device(placement, block)] += n_bytes * _KV_FILL
    seconds: dict[str, float] = {}
    for device in devices.all:
        if read[device.name] == 0:
            continue
        if not device.bandwidth_gbs:
            return SpeedEstimate(None, None, "unknown", None, ram_read)
        seconds["ram" if device.is_ram else "vram"] = read[device.name] / (device.bandwidth_gbs * 1e9)
    if placement.n_gpu_layers:
        touched = len(expert_layers_in_ram(model, placement))
        if placement.kv_home is KvHome.RAM:
            touched = max(touched, placement.n_gpu_layers - 1)
        seconds["sync"] = (2 * touched + 2) * HAND_OVER_SECONDS
    total = sum(seconds.values())
    if total < _LEAST_SECONDS:
        return SpeedEstimate(None, None, "unknown", None, ram_read)
    return SpeedEstimate(1 / total, None, "estimated", max(seconds, key=lambda k: seconds[k]), ram_read)
