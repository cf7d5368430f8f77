"""Rates of a machine from what was measured on it. Pure: the same measurements give the same rates.

Three things are unknown: how fast RAM is really read by the engine's kernels, how fast VRAM, and how long the work
that no bandwidth describes takes (hand-overs, kernel starts). One measured token time cannot tell them apart, so each
starts from an expectation with an uncertainty, and the measurements move them, the most uncertain the most: least
squares in logarithms (a factor of two up is as unlikely as one down), solved by Gauss-Newton.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.planner.token_work import PromptWork, TokenWork
from app.planner.types import RAM, Device, DeviceKind, DeviceSet

HAND_OVER_SECONDS = 25e-6
"""One switch between GPU and CPU inside a token. 10-40 microseconds on CUDA (engine.md 10): the middle."""

BLOCK_SECONDS = 100e-6
"""Kernel starts of one block on a GPU. Tables of measured placements leave 2-13 ms per token that neither RAM nor VRAM
explains, for 24-48 blocks; the median is 0.1 ms a block."""

_UNKNOWN_RAM_GBS = 30.0
"""What an unknown host's RAM gives to expert layers: 19-57 GB/s over the public placement tables, median 28."""
_UNKNOWN_VRAM_GBS = 300.0
"""0.8 of a common card's 360-450 GB/s."""

_SURE_RAM, _UNSURE_RAM = 0.25, 0.5
_SURE_VRAM, _UNSURE_VRAM = 0.2, 0.6
_UNSURE_OVERHEAD = 0.9
_SURE_MEASUREMENT = 0.03
"""Standard deviations of natural logarithms: a told bandwidth within 25 %, an unknown one within a factor of 1.6, the
overhead within 2.5; two runs of the same command differ by about 3 %."""

_STEPS = 40
_LONGEST_STEP = 0.7


@dataclass(frozen=True, slots=True)
class Rates:
    """What the speed model divides by. Bandwidths are decimal GB/s as reached, not theoretical; None: unknown.

    ``pcie_gbs`` host to GPU; ``compute_tflops`` of the GPU's prompt kernels, ``host_tflops`` of the processor's, for
    what no GPU takes over; all three only for prompt speed.
    """

    ram_gbs: float | None
    vram_gbs: Mapping[str, float | None]
    hand_over_seconds: float = HAND_OVER_SECONDS
    block_seconds: float = BLOCK_SECONDS
    pcie_gbs: float | None = None
    compute_tflops: float | None = None
    host_tflops: float | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """A decode speed that the user saw, and the work that a token was; likewise of a prompt. 0 = not measured."""

    work: TokenWork
    decode_tps: float
    prompt: PromptWork | None = None
    prompt_tps: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Effective rates of this machine: GB/s of RAM and VRAM, seconds per token beyond them.

    ``ram_gbs`` None: no decode was measured, prompts alone. ``n_measurements`` of decode, ``n_prompts`` of prompts.
    """

    ram_gbs: float | None
    vram_gbs: Mapping[str, float] = field(default_factory=dict)
    hand_over_seconds: float = HAND_OVER_SECONDS
    block_seconds: float = BLOCK_SECONDS
    n_measurements: int = 0
    pcie_gbs: float | None = None
    compute_tflops: float | None = None
    host_tflops: float | None = None
    n_prompts: int = 0


def offloading_gpu(devices: DeviceSet) -> Device | None:
    """The GPU that takes over big batches of work on weights in RAM: the first that is no RPC server, which takes
    over none (ggml-backend.cpp:1063)."""
    return next((device for device in devices.gpus if device.kind is not DeviceKind.RPC), None)


def rates_of(devices: DeviceSet, calibration: Calibration | None = None) -> Rates:
    """The devices' own bandwidths, replaced by calibrated ones where there are any."""
    gpu = offloading_gpu(devices)
    pcie = gpu.pcie_gbs if gpu else None
    compute = gpu.compute_tflops if gpu else None
    known = {d.name: d.bandwidth_gbs for d in devices.gpus}
    if calibration is None:
        return Rates(devices.ram.bandwidth_gbs, known, pcie_gbs=pcie, compute_tflops=compute)
    return Rates(
        calibration.ram_gbs or devices.ram.bandwidth_gbs,
        known | dict(calibration.vram_gbs),
        calibration.hand_over_seconds,
        calibration.block_seconds,
        calibration.pcie_gbs or pcie,
        calibration.compute_tflops or compute,
        calibration.host_tflops,
    )


def token_seconds(work: TokenWork, rates: Rates) -> dict[str, float] | None:
    """Seconds of a token by resource (ram, vram, sync, starts); CPU and GPU take turns, so they add up (engine.md 10).

    None where a bandwidth that matters is unknown.
    """
    parts = {"ram": 0.0, "vram": 0.0}
    for device, n_bytes in work.read_bytes.items():
        if n_bytes:
            gbs = rates.ram_gbs if device == RAM else rates.vram_gbs.get(device)
            if not gbs:
                return None
            parts["ram" if device == RAM else "vram"] += n_bytes / (gbs * 1e9)
    parts["sync"] = work.hand_overs * rates.hand_over_seconds
    parts["starts"] = work.gpu_blocks * rates.block_seconds
    return parts


def calibrate(devices: DeviceSet, measurements: Sequence[Measurement]) -> Calibration | None:
    """The most likely rates given the devices' bandwidths and the measurements; None without a measurement."""
    usable = [m for m in measurements if m.decode_tps > 0]
    prompts = [m for m in measurements if m.prompt is not None and m.prompt_tps]
    if not usable:
        return _with_prompts(Calibration(None), devices, prompts) if prompts else None
    ram = devices.ram.bandwidth_gbs or _UNKNOWN_RAM_GBS
    vram = {d.name: d.bandwidth_gbs or _UNKNOWN_VRAM_GBS for d in devices.gpus}
    knows_vram = all(d.bandwidth_gbs for d in devices.gpus)
    expected = Rates(ram, dict(vram))
    uncertain = (
        _SURE_RAM if devices.ram.bandwidth_gbs else _UNSURE_RAM,
        _SURE_VRAM if knows_vram else _UNSURE_VRAM,
        _UNSURE_OVERHEAD,
    )
    rows = []
    for measurement in usable:
        parts = token_seconds(measurement.work, expected)
        if parts is not None:
            rows.append(((parts["ram"], parts["vram"], parts["sync"] + parts["starts"]), 1 / measurement.decode_tps))
    x = _most_likely(rows, uncertain)
    found = Calibration(
        ram / math.exp(x[0]),
        {name: gbs / math.exp(x[1]) for name, gbs in vram.items()},
        HAND_OVER_SECONDS * math.exp(x[2]),
        BLOCK_SECONDS * math.exp(x[2]),
        len(rows),
    )
    return _with_prompts(found, devices, prompts)


def _with_prompts(found: Calibration, devices: DeviceSet, prompts: Sequence[Measurement]) -> Calibration:
    """With the latest of each rate that a prompt can tell; ``host_tflops`` only where no GPU takes work over."""
    takes_over = offloading_gpu(devices) is not None
    return replace(
        found,
        n_prompts=len(prompts),
        pcie_gbs=_latest(prompts, _pcie_gbs) if takes_over else None,
        compute_tflops=_latest(prompts, _compute_tflops),
        host_tflops=None if takes_over else _latest(prompts, _host_tflops),
    )


def _latest(measurements: Sequence[Measurement], rate_of: Callable[[Measurement], float | None]) -> float | None:
    rates = [rate for measurement in measurements if (rate := rate_of(measurement)) is not None]
    return rates[-1] if rates else None


def _pcie_gbs(measurement: Measurement) -> float | None:
    """A prompt with experts in RAM waits for their copies: public tables of prompt speed are straight lines in the
    number of expert layers in RAM, through the origin."""
    prompt, tps = measurement.prompt, measurement.prompt_tps
    return None if not prompt or not tps or not prompt.copy_bytes else prompt.copy_bytes * tps / prompt.n_tokens / 1e9


def _compute_tflops(measurement: Measurement) -> float | None:
    """With nothing to copy and nothing left to the processor, computing is all that takes time."""
    prompt, tps = measurement.prompt, measurement.prompt_tps
    if not prompt or not tps or prompt.copy_bytes or prompt.host_flops:
        return None
    return prompt.flops * tps / prompt.n_tokens / 1e12


def _host_tflops(measurement: Measurement) -> float | None:
    """Where no GPU takes it over, the processor's part is what a prompt waits for."""
    prompt, tps = measurement.prompt, measurement.prompt_tps
    if not prompt or not tps or not prompt.host_flops:
        return None
    return prompt.host_flops * tps / prompt.n_tokens / 1e12


_Row = tuple[tuple[float, float, float], float]


def _most_likely(rows: Sequence[_Row], uncertain: Sequence[float]) -> list[float]:
    """Logarithms of the factors on the parts' times: least sum of squares of their own deviations and the rows'."""
    x = [0.0] * len(uncertain)
    for _ in range(_STEPS):
        matrix = [[0.0] * len(x) for _ in x]
        gradient = [0.0] * len(x)
        for k, sigma in enumerate(uncertain):
            matrix[k][k] = 1 / sigma**2
            gradient[k] = x[k] / sigma**2
        for parts, seconds in rows:
            scaled = [part * math.exp(value) for part, value in zip(parts, x, strict=True)]
            total = sum(scaled)
            if total <= 0:
                continue
            slope = [part / total for part in scaled]
            error = math.log(total / seconds)
            for i, si in enumerate(slope):
                gradient[i] += error * si / _SURE_MEASUREMENT**2
                for j, sj in enumerate(slope):
                    matrix[i][j] += si * sj / _SURE_MEASUREMENT**2
        step = _solve(matrix, gradient)
        x = [value - max(-_LONGEST_STEP, min(_LONGEST_STEP, change)) for value, change in zip(x, step, strict=True)]
        if max(abs(change) for change in step) < 1e-9:
            break
    return x


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination; the matrix is positive definite, so no pivoting is needed."""
    n = len(right)
    rows = [[*matrix[i], right[i]] for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [b - factor * a for a, b in zip(rows[i], rows[j], strict=True)]
    found = [0.0] * n
    for i in reversed(range(n)):
        found[i] = (rows[i][n] - sum(rows[i][j] * found[j] for j in range(i + 1, n))) / rows[i][i]
    return found
