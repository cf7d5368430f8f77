"""Predicted speed: decode from bytes per token over bandwidths, prompt from copies and compute. Pure.

Decode (engine.md 10): t = RAM bytes / RAM bandwidth + VRAM bytes / VRAM bandwidth + hand-overs + kernel starts; the
processor and the GPU take turns inside a token, so the times add up, and the cache's bytes grow with the depth.
Prompt, with op offload: a micro-batch copies the experts in use over PCIe and computes on the GPU, at once, so the
slower of the two decides; rows that one GPU hands to the next come on top. Without op offload the processor computes;
its rate is unknown, and nothing predicted, until a prompt has been measured.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.model.types import ModelInfo
from app.planner.calibration import Calibration, Rates, offloading_gpu, rates_of, token_seconds
from app.planner.kv import KvSettings
from app.planner.placement import in_use, locations
from app.planner.token_work import PromptWork, card_crossings, prompt_work, token_work
from app.planner.types import DeviceKind, DeviceSet, Placement, SpeedEstimate

_LEAST_SECONDS = 0.5e-3
"""Below this the work outside the layers (sampling, the answer on its way) decides, and nobody has measured it."""

_OFFLOAD_MIN_BATCH = 32
"""Smaller batches are computed where the weights lie (GGML_OP_OFFLOAD_MIN_BATCH, ggml-backend.cpp)."""


def estimate_speed(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    kv: KvSettings,
    where: Mapping[str, str] | None = None,
    *,
    depth: int | None = None,
    op_offload: bool = True,
    calibration: Calibration | None = None,
) -> SpeedEstimate:
    """Decode tok/s at ``depth`` tokens (None: half of the context) and prompt tok/s; None where an input that
    matters is unknown."""
    where = locations(model, placement) if where is None else where
    devices = in_use(devices, placement)
    work = token_work(model, placement, devices, kv, where, depth)
    rates = rates_of(devices, calibration)
    parts = token_seconds(work, rates)
    ram_read = round(work.ram_weight_bytes)
    total = sum(parts.values()) if parts else 0.0
    batch = prompt_work(model, where, kv.n_ubatch, card_crossings(model, placement))
    takes_over = offloading_gpu(devices) is not None and placement.n_gpu_layers > 0
    if op_offload and takes_over and kv.n_ubatch >= _OFFLOAD_MIN_BATCH:
        prompt = _prompt_tps(batch, rates, calibration)
    else:
        prompt = _host_prompt_tps(batch, rates)
    if parts is None or total < _LEAST_SECONDS:
        return SpeedEstimate(None, prompt, "unknown", None, ram_read)
    n_runs = 0 if calibration is None else calibration.n_measurements
    kind = "calibrated" if n_runs else "estimated"
    return SpeedEstimate(1 / total, prompt, kind, _limit(parts, devices), ram_read, n_runs)


def _limit(parts: Mapping[str, float], devices: DeviceSet) -> str:
    """The part that takes longest; the memory of graphics inside the processor is RAM."""
    longest = max(parts, key=lambda k: parts[k])
    is_inside = all(gpu.kind is DeviceKind.IGPU for gpu in devices.gpus)
    return "ram" if longest == "vram" and is_inside else longest


def decode_seconds(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    kv: KvSettings,
    *,
    calibration: Calibration | None = None,
) -> float | None:
    """Seconds per token at half of the context; None where a bandwidth that matters is unknown."""
    work = token_work(model, placement, in_use(devices, placement), kv)
    parts = token_seconds(work, rates_of(devices, calibration))
    total = sum(parts.values()) if parts else 0.0
    return total if total >= _LEAST_SECONDS else None


def _host_prompt_tps(work: PromptWork, rates: Rates) -> float | None:
    """Without a GPU that takes over: the processor's part at its measured rate, and the cards' part where theirs is
    known; None before a prompt was measured."""
    if not rates.host_tflops or not work.host_flops:
        return None
    seconds = work.host_flops / (rates.host_tflops * 1e12)
    if rates.compute_tflops:
        seconds += (work.flops - work.host_flops) / (rates.compute_tflops * 1e12)
    return work.n_tokens / seconds


def _prompt_tps(work: PromptWork, rates: Rates, calibration: Calibration | None) -> float | None:
    """A micro-batch's tokens over the slower of copying and computing; None where one that matters is unknown.

    Once the copies of this machine have been measured, an unknown compute rate is not waited for: they decide.
    """
    copies_measured = bool(work.copy_bytes and calibration and calibration.pcie_gbs)
    if (work.copy_bytes and not rates.pcie_gbs) or (not rates.compute_tflops and not copies_measured):
        return None
    copying = work.copy_bytes / (rates.pcie_gbs * 1e9) if rates.pcie_gbs else 0.0
    computing = work.flops / (rates.compute_tflops * 1e12) if rates.compute_tflops else 0.0
    slowest = max(copying, computing)
    handing = work.row_bytes / (rates.pcie_gbs * 1e9) if rates.pcie_gbs else 0.0
    return work.n_tokens / (slowest + handing) if slowest else None
