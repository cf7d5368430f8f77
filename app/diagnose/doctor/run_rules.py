"""Rules over what was measured while the engine ran, and over the answer it gave. Pure.

Names of figures are those of ``app/work/watching.py``; ``gpu.<device>.shared`` (bytes of system memory that Windows has
given a card), ``gpu.<device>.clock`` (MHz), ``gpu.<device>.temperature`` (degrees Celsius), ``gpu.<device>.mem_util``
(percent of the time that its memory is busy), ``gpu.<device>.held_back`` (NVML's reasons for a low clock) and
``swap.used`` (bytes) are looked at where a sampler tells them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from app.common.problem import ParamValue, Severity
from app.common.units import MIB
from app.diagnose.doctor.types import Facts, Finding
from app.diagnose.machine import NARROW_LANES
from app.hardware.types import CoreKind, HardwareSnapshot
from app.monitor.held_back import HARDWARE, HEAT, POWER_CAP, SUPPLY, reasons_of
from app.monitor.sample import Sample
from app.monitor.spill import spilled_bytes

WINDOW_S = 60.0
"""How far back the doctor looks."""

_LEAST_SWAP = 256 * MIB
_LEAST_RAM = 512 * MIB
_LEAST_RAM_SHARE = 0.03
_BUSY, _IDLE = 60.0, 30.0
_SLOW_TPS = 5.0
_LEAST_POINTS = 5
_HOT_C = 83.0
_CLOCK_DROP = 0.7
_OOM = frozenset({"vram_oom_cuda", "vram_oom_vulkan", "vram_oom_device", "compute_oom", "host_oom"})


def last_minute(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples of the last minute before the newest one."""
    if not samples:
        return ()
    newest = samples[-1].t_monotonic
    return tuple(sample for sample in samples if newest - sample.t_monotonic <= WINDOW_S)


def run_findings(facts: Facts) -> Iterator[Finding]:
    """What the figures of the last minute show."""
    samples = last_minute(facts.samples)
    yield from _spills(facts, samples)
    yield from _ram(facts, samples)
    if facts.snapshot is not None:
        yield from _cores(facts.snapshot, samples)
        yield from _hot(samples)
        yield from _held_back(samples)
        yield from _link(facts.snapshot, samples)
        yield from _power(facts.snapshot, samples)
    yield from _slow(facts, samples)
    yield from answer_findings(facts)


def live_findings(facts: Facts) -> Iterator[Finding]:
    """What is worth interrupting a user for while the server runs: spilled memory, RAM at its end, a card too hot."""
    samples = last_minute(facts.samples)
    yield from _spills(facts, samples)
    yield from _ram(facts, samples)
    if facts.snapshot is not None:
        yield from _hot(samples)
        yield from (found for found in _held_back(samples) if found.severity is Severity.WARNING)
        yield from _cores(facts.snapshot, samples)


def with_post_mortem(finding: Finding, facts: Facts) -> Finding:
    """Out of memory in the middle of an answer: how deep it was, in which phase, and how full the card, at the end."""
    samples = last_minute(facts.samples)
    if finding.code not in _OOM or finding.params.get("stage") != "generating" or not samples:
        return finding
    device = finding.params.get("device")
    if device is None and facts.plan is not None and len(facts.plan.devices.gpus) == 1:
        device = facts.plan.devices.gpus[0].name  # CUDA's message names no card; the plan has one
    depths = _series(samples, "ctx.used")
    speeds = _series(samples, "tok.decode")
    phase = None
    if depths:
        phase = "decode" if speeds and speeds[-1] > 0 else "prompt"
    used = _series(samples, f"gpu.{device}.used") if isinstance(device, str) else []
    params: dict[str, ParamValue] = {
        **finding.params,
        "device": device,
        "depth": round(depths[-1]) if depths else None,
        "phase": phase,
        "peak_bytes": round(max(used)) if used else None,
    }
    last = samples[-1]
    keys = ("ctx.used", "tok.decode", "tok.prompt", f"gpu.{device}.used", "ram.available")
    shown = [f"{key} = {value:.0f}" for key in keys if (value := last.values.get(key)) is not None]
    return replace(finding, params=params, evidence=(*finding.evidence, *shown), when_s=0.0)


def _series(samples: Sequence[Sample], key: str) -> list[float]:
    return [value for sample in samples if (value := sample.values.get(key)) is not None]


def _devices(samples: Sequence[Sample], ending: str) -> tuple[str, ...]:
    keys = {key for sample in samples for key in sample.values if key.startswith("gpu.") and key.endswith(ending)}
    return tuple(sorted(key[len("gpu.") : -len(ending)] for key in keys))


def _spills(facts: Facts, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Windows moves a card's pages to system memory without an error: the card full, its shared memory growing. Where
    shared memory stays flat it is something else."""
    totals = {}
    if facts.snapshot is not None:
        totals = {g.engine_name or g.name: g.total_bytes for g in facts.snapshot.gpus}
    for device in _devices(samples, ".shared"):
        shared = _series(samples, f"gpu.{device}.shared")
        used = _series(samples, f"gpu.{device}.used") or _series(samples, f"gpu.{device}.dedicated")
        total = totals.get(device)
        if len(shared) < 2 or not used or total is None:
            continue
        resting, host = round(min(shared)), _pinned_bytes(facts)
        # Samples from before the load rest below the pinned buffers; later ones hold them already.
        pinned = host if resting < host else 0
        grown = spilled_bytes(
            round(shared[-1]), round(used[-1]), total, resting_bytes=resting, host_buffer_bytes=pinned
        )
        if not grown:
            continue
        speeds = _series(samples, "tok.decode")
        params: dict[str, ParamValue] = {
            "device": device,
            "n_bytes": grown,
            "used_share": round(100 * used[-1] / total),
            "tps_before": max(speeds) if speeds else None,
            "tps_now": speeds[-1] if speeds else None,
        }
        evidence = [f"gpu.{device}.shared: {min(shared) / MIB:.0f} -> {shared[-1] / MIB:.0f} MiB"]
        evidence.append(f"gpu.{device}.used: {used[-1] / MIB:.0f} of {total / MIB:.0f} MiB")
        memory_busy = _series(samples, f"gpu.{device}.mem_util")
        if memory_busy:
            evidence.append(f"gpu.{device}.mem_util: {memory_busy[-1]:.0f} %")
        yield Finding("spill_windows", Severity.WARNING, params, tuple(evidence), check="spill")


def _pinned_bytes(facts: Facts) -> int:
    """The engine's own buffers in RAM that a card reads: Windows counts them as its shared memory."""
    buffers = () if facts.log is None else facts.log.buffers
    return sum(buffer.n_bytes for buffer in buffers if buffer.buffer_name.endswith("_Host"))


def _ram(facts: Facts, samples: Sequence[Sample]) -> Iterator[Finding]:
    available = _series(samples, "ram.available")
    swap = _series(samples, "swap.used")
    total = facts.snapshot.memory.total_bytes if facts.snapshot is not None else None
    if not available or total is None:
        return
    least = min(available[-_LEAST_POINTS:])
    if least > max(_LEAST_RAM, total * _LEAST_RAM_SHARE):
        return
    swapped = swap[-1] - min(swap) if swap else 0.0
    code = "ram_swapping" if swapped >= _LEAST_SWAP else "ram_full"
    evidence = [f"ram.available: {least / MIB:.0f} of {total / MIB:.0f} MiB"]
    if swap:
        evidence.append(f"swap.used: {min(swap) / MIB:.0f} -> {swap[-1] / MIB:.0f} MiB")
    params: dict[str, ParamValue] = {"available": round(least), "n_bytes": None, "swapped": round(swapped)}
    yield Finding(code, Severity.WARNING, params, tuple(evidence), check="ram")


def _cores(snapshot: HardwareSnapshot, samples: Sequence[Sample]) -> Iterator[Finding]:
    """The slow cores busy and the fast ones idle while text is generated: the system has put the engine there."""
    if not snapshot.cpu.is_hybrid or not any(speed > 0 for speed in _series(samples, "tok.decode")):
        return
    loads = {True: [], False: []}  # type: dict[bool, list[float]]
    for core in snapshot.cpu.cores:
        if core.kind is CoreKind.UNKNOWN:
            continue
        busiest = [max(_series(samples, f"cpu.{cpu}") or [0.0]) for cpu in core.logical]
        means = [sum(values) / len(values) for cpu in core.logical if (values := _series(samples, f"cpu.{cpu}"))]
        if means and busiest:
            loads[core.kind is CoreKind.P].append(max(means))
    fast, slow = loads[True], loads[False]
    if not fast or not slow or median(slow) < _BUSY or median(fast) > _IDLE:
        return
    params: dict[str, ParamValue] = {"p_load": round(median(fast)), "e_load": round(median(slow))}
    evidence = (f"P {params['p_load']} %", f"E {params['e_load']} %")
    yield Finding("ecores_busy", Severity.WARNING, params, evidence, check="threads")


def _hot(samples: Sequence[Sample]) -> Iterator[Finding]:
    """A busy, hot card whose clock has fallen clearly below what it reached in this minute."""
    for device in _devices(samples, ".clock"):
        clocks = _series(samples, f"gpu.{device}.clock")
        heat, load = _series(samples, f"gpu.{device}.temperature"), _series(samples, f"gpu.{device}.util")
        if len(clocks) < _LEAST_POINTS or not heat or not load or load[-1] < _BUSY or heat[-1] < _HOT_C:
            continue
        if clocks[-1] < max(clocks) * _CLOCK_DROP:
            params: dict[str, ParamValue] = {
                "device": device, "clock": round(clocks[-1]), "most": round(max(clocks)), "celsius": round(heat[-1]),
            }  # fmt: skip
            evidence = (f"gpu.{device}.clock: {max(clocks):.0f} -> {clocks[-1]:.0f} MHz", f"{heat[-1]:.0f} °C")
            yield Finding("throttled", Severity.WARNING, params, evidence)


def _held_back(samples: Sequence[Sample]) -> Iterator[Finding]:
    """What the driver says keeps a busy card's clock down, for most of this minute. Its power limit alone is how a card
    under full load usually runs; heat that ``_hot`` has told is not told twice."""
    hot = {finding.params["device"] for finding in _hot(samples)}
    for device in _devices(samples, ".held_back"):
        told = [
            reasons_of(mask)
            for sample in samples
            if (mask := sample.values.get(f"gpu.{device}.held_back")) is not None
            and (sample.values.get(f"gpu.{device}.util") or 0) >= _BUSY
        ]
        if len(told) < _LEAST_POINTS:
            continue
        for reason in (HEAT, SUPPLY, HARDWARE, POWER_CAP):
            count = sum(reason in reasons for reasons in told)
            if count * 2 > len(told) and not (reason == HEAT and device in hot):
                percent = round(100 * count / len(told))
                watts = _series(samples, f"gpu.{device}.power_limit_w")
                params: dict[str, ParamValue] = {
                    "device": device, "percent": percent, "watts": watts[-1] if watts else None,
                }  # fmt: skip
                severity = Severity.INFO if reason == POWER_CAP else Severity.WARNING
                yield Finding(f"held_back_{reason}", severity, params, (f"gpu.{device}: {reason}, {percent} %",))
                break


def _link(snapshot: HardwareSnapshot, samples: Sequence[Sample]) -> Iterator[Finding]:
    """The PCIe width while the card works: at rest a link may be narrower than it can be, under load it may not."""
    by_name = {gpu.engine_name or gpu.name: gpu for gpu in snapshot.gpus}
    for device in _devices(samples, ".pcie_width"):
        busy = [
            width
            for sample in samples
            if (width := sample.values.get(f"gpu.{device}.pcie_width")) is not None
            and (sample.values.get(f"gpu.{device}.util") or 0) >= _BUSY
        ]
        gpu = by_name.get(device)
        if gpu is None or not busy:
            continue
        width, most = round(max(busy)), gpu.pcie_width_max
        evidence = (f"gpu.{device}.pcie_width: {width}, util >= {_BUSY:.0f} %",)
        if most is not None and width < most:
            params: dict[str, ParamValue] = {"gpu": gpu.name, "width": width, "max_width": most}
            yield Finding("narrow_pcie", Severity.WARNING, params, evidence, check="pcie")
        elif width <= NARROW_LANES:
            yield Finding(
                "narrow_pcie_slot", Severity.WARNING, {"gpu": gpu.name, "width": width}, evidence, check="pcie"
            )


def _power(snapshot: HardwareSnapshot, samples: Sequence[Sample]) -> Iterator[Finding]:
    """While something runs; at other times the machine's own findings say it."""
    if not _series(samples, "tok.decode"):
        return
    if snapshot.power.on_battery:
        yield Finding("on_battery", Severity.WARNING)
    elif snapshot.power.is_saving:
        yield Finding("power_saver", Severity.WARNING)


def _slow(facts: Facts, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Below 5 tok/s for long, as measured or as the engine's own timings say, with what is known of the cause."""
    speeds = [speed for speed in _series(samples, "tok.decode") if speed > 0]
    evidence: tuple[str, ...] = ()
    if len(speeds) < _LEAST_POINTS:
        speeds = list(facts.log.decode_tps) if facts.log is not None else []
        evidence = tuple(line for name, line in facts.log.lines_of.items() if name == "timing") if facts.log else ()
    if not speeds or median(speeds) >= _SLOW_TPS:
        return
    memory = facts.snapshot.memory if facts.snapshot is not None else None
    read = facts.plan.speed.ram_read_bytes_per_token if facts.plan is not None else None
    params: dict[str, ParamValue] = {
        "tps": median(speeds),
        "channels": None if memory is None else memory.channels,
        "ram_gbs": None if memory is None else memory.measured_gbs or memory.theoretical_gbs,
        "ram_read": read,
    }
    yield Finding("slow_decode", Severity.WARNING, params, evidence or (f"tok.decode: {median(speeds):.1f} tok/s",))


def answer_findings(facts: Facts) -> Iterator[Finding]:
    """Answers that ended otherwise than the model meant."""
    answer = facts.answer
    if answer is None or answer.finish_reason != "length":
        return
    total = (answer.prompt_tokens or 0) + (answer.decoded_tokens or 0)
    params: dict[str, ParamValue] = {
        "decoded": answer.decoded_tokens,
        "n_ctx": answer.n_ctx,
        "reasoning": answer.reasoning_characters,
    }
    evidence = (f'"finish_reason":"length", {answer.decoded_tokens} tokens',)
    if answer.answer_characters == 0 and answer.reasoning_characters > 0:
        yield Finding("reasoning_ate_answer", Severity.WARNING, params, evidence)
    elif answer.n_ctx is not None and total >= answer.n_ctx - 1:
        yield Finding("answer_cut_by_context", Severity.WARNING, params, evidence)
    elif answer.is_limited:
        yield Finding("answer_cut_by_limit", Severity.INFO, params, evidence)
