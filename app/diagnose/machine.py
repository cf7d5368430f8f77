"""What a look at the machine alone tells: findings and the verdict sentences of the machine page. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.common.problem import ParamValue, Problem, Severity
from app.common.units import GIB
from app.diagnose.machine_cpu import layout_findings
from app.diagnose.machine_upgrades import WORTH_TELLING, Gain, Judgement
from app.diagnose.machine_vram import withheld_findings
from app.hardware.types import CoreKind, GpuInfo, HardwareSnapshot
from app.planner.types import DeviceKind, MemoryEstimate, Plan

SMALL_MEMORY_BYTES = 20 * GIB
"""RAM and VRAM together below this: a 30B MoE model at 4 bits (about 17.3 GiB) hardly fits beside the system."""
_FASTER_TOO = ("second_module", "second_channel")
NARROW_LANES = 4
FEW_P_CORES = 2
CUDA_12_DRIVER = 525
"""The oldest major NVIDIA driver version that runs programs built with CUDA 12 (CUDA release notes, table 2)."""
CUDA_12_CAPABILITY = 5.0
"""The oldest cards that CUDA 12 still builds for: Maxwell."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the verdict: a code of ``app.words`` and its parameters."""

    code: str
    params: Mapping[str, ParamValue]


def machine_findings(snapshot: HardwareSnapshot) -> tuple[Problem, ...]:
    """Everything worth telling about this machine, warnings first. A fact that is unknown gives no finding."""
    found = [problem for rule in _RULES for problem in rule(snapshot)]
    return tuple(sorted(found, key=lambda p: p.severity is not Severity.WARNING))


def machine_verdict(snapshot: HardwareSnapshot) -> tuple[Sentence, ...]:
    """Two sentences: what the GPUs offer, and how fast the RAM is that the experts are read from."""
    return (_gpu_sentence(snapshot), _ram_sentence(snapshot))


def judgement_sentences(snapshot: HardwareSnapshot, judgement: Judgement) -> tuple[Sentence, ...]:
    """What limits decode and prompts with this model, and what would help most and by how much."""
    sentences = list(_limit_sentences(snapshot, judgement))
    for gain, kind in ((judgement.best, "best"), (judgement.best_cheap, "cheap")):
        if gain is not None:
            sentences.append(_gain_sentence(gain, kind))
    return tuple(sentences)


def _limit_sentences(snapshot: HardwareSnapshot, judgement: Judgement) -> tuple[Sentence, ...]:
    """Decode, and prompts where their limit is known; or that the model does not fit, or what is not known yet."""
    speed, estimate, memory = judgement.plan.speed, judgement.plan.estimate, snapshot.memory
    params: dict[str, ParamValue] = {"model": judgement.model, "tps": speed.decode_tps}
    if estimate.fits is False:
        short = min((d for d in estimate.devices if d.left_bytes is not None), key=lambda d: d.left_bytes or 0)
        missing: dict[str, ParamValue] = {"device": short.device, "bytes": -(short.left_bytes or 0)}
        return (Sentence("machine.judge.no_fit", {**params, **missing}),)
    if speed.decode_tps is None or judgement.decode_limit is None:
        return (Sentence(f"machine.judge.unknown_{_unknown_speed(judgement.plan)}", params),)
    decode = judgement.decode_limit
    if decode == "ram":
        decode = "ram_measured" if memory.measured_gbs is not None else "ram_theory"
        params["gbs"] = memory.measured_gbs or memory.theoretical_gbs
    sentences = [Sentence(f"machine.judge.decode.{decode}", params)]
    if judgement.prompt_limit is not None:
        about: dict[str, ParamValue] = {"tps": speed.prompt_tps}
        sentences.append(Sentence(f"machine.judge.prompt.{judgement.prompt_limit}", about))
    return tuple(sentences)


def _unknown_speed(plan: Plan) -> str:
    """What is missing for a prediction: the RAM's or the card's bandwidth, or nothing but a larger model."""
    if plan.devices.ram.bandwidth_gbs is None:
        return "ram"
    return "vram" if any(gpu.bandwidth_gbs is None for gpu in plan.devices.gpus) else "small"


def _gain_sentence(gain: Gain, kind: str) -> Sentence:
    params: dict[str, ParamValue] = {**gain.params, "decode": gain.decode_factor, "prompt": gain.prompt_factor}
    if gain.makes_fit:
        is_faster = gain.code in _FASTER_TOO and (gain.decode_factor or 1) >= WORTH_TELLING
        return Sentence(f"machine.help.{gain.code}.fit{'_faster' if is_faster else ''}", params)
    is_prompt = (gain.prompt_factor or 1) > (gain.decode_factor or 1)
    return Sentence(f"machine.help.{gain.code}.{'prompt' if is_prompt else 'decode'}.{kind}", params)


def usable_gpus(snapshot: HardwareSnapshot) -> tuple[GpuInfo, ...]:
    """Discrete and remote devices that the engine lists; before it has been asked, all that were found."""
    return tuple(
        gpu
        for gpu in snapshot.gpus
        if gpu.kind in ("gpu", "rpc") and not gpu.is_software and (gpu.engine_name or not snapshot.engine_asked)
    )


def _no_gpu(snapshot: HardwareSnapshot) -> list[Problem]:
    real = [gpu for gpu in snapshot.gpus if not gpu.is_software]
    if not real:
        return [Problem("no_gpu", Severity.INFO)]
    if all(gpu.kind == "igpu" for gpu in real):
        return [Problem("only_integrated_gpu", Severity.INFO, {"gpu": real[0].name})]
    return []


def _engine_does_not_see_gpu(snapshot: HardwareSnapshot) -> list[Problem]:
    if not snapshot.engine_asked:
        return []
    return [
        Problem("engine_does_not_see_gpu", Severity.WARNING, {"gpu": gpu.name})
        for gpu in snapshot.gpus
        if gpu.kind == "gpu" and gpu.engine_name is None
    ]


def _software_gpu(snapshot: HardwareSnapshot) -> list[Problem]:
    return [
        Problem("software_gpu", Severity.WARNING, {"gpu": gpu.name, "device": gpu.engine_name})
        for gpu in snapshot.gpus
        if gpu.is_software
    ]


def _single_channel(snapshot: HardwareSnapshot) -> list[Problem]:
    memory = snapshot.memory
    if memory.channels != 1:
        return []
    if memory.is_soldered:
        return []
    code = "single_channel" if memory.modules == 1 else "single_channel_slots"
    gbs = memory.measured_gbs or memory.theoretical_gbs
    return [Problem(code, Severity.WARNING, {"gbs": gbs, "modules": memory.modules})]


def _narrow_pcie(snapshot: HardwareSnapshot) -> list[Problem]:
    """The width counts at any time; the generation does not, since an idle link drops to generation 1."""
    found = []
    for gpu in snapshot.gpus:
        now, most = gpu.pcie_width_now, gpu.pcie_width_max
        if gpu.kind != "gpu" or most is None:
            continue
        if now is not None and now < most:
            params: dict[str, ParamValue] = {"gpu": gpu.name, "width": now, "max_width": most}
            found.append(Problem("narrow_pcie", Severity.WARNING, params))
        elif most <= NARROW_LANES:
            found.append(Problem("narrow_pcie_slot", Severity.WARNING, {"gpu": gpu.name, "width": most}))
    return found


def _ram_small(snapshot: HardwareSnapshot) -> list[Problem]:
    ram = snapshot.memory.total_bytes
    cards = [gpu for gpu in snapshot.gpus if gpu.kind == "gpu"]
    if ram is None or any(gpu.total_bytes is None for gpu in cards):
        return []
    vram = sum(gpu.total_bytes or 0 for gpu in cards)
    if ram + vram >= SMALL_MEMORY_BYTES:
        return []
    return [Problem("ram_small", Severity.WARNING, {"ram_bytes": ram, "vram_bytes": vram})]


def _cpu(snapshot: HardwareSnapshot) -> list[Problem]:
    cpu = snapshot.cpu
    found = []
    if cpu.is_virtual_machine and "microsoft" in snapshot.os.lower():
        found.append(Problem("inside_wsl", Severity.INFO, {"ram_bytes": snapshot.memory.total_bytes}))
    elif cpu.is_virtual_machine:
        found.append(Problem("virtual_machine", Severity.INFO))
    if cpu.reason == "limited":
        params: dict[str, ParamValue] = {"threads": cpu.recommended_threads, "cpus": cpu.logical_count}
        found.append(Problem("cpu_limited", Severity.INFO, params))
    efficient = cpu.count(CoreKind.E)
    if cpu.is_hybrid and cpu.count(CoreKind.P) <= FEW_P_CORES and efficient > FEW_P_CORES:
        fast = tuple(core for core in cpu.cores if core.kind is CoreKind.P)
        params = {
            "p": len(fast),
            "e": efficient,
            "p_threads": sum(len(core.logical) for core in fast),
            "cores": len(fast) + efficient,
        }
        found.append(Problem("few_p_cores", Severity.INFO, params))
    return found


def _power(snapshot: HardwareSnapshot) -> list[Problem]:
    found = []
    if snapshot.power.on_battery:
        found.append(Problem("machine_on_battery", Severity.WARNING))
    if snapshot.power.is_saving:
        found.append(Problem("machine_power_saving", Severity.WARNING))
    return found


def _asleep(snapshot: HardwareSnapshot) -> list[Problem]:
    return [Problem("gpu_asleep", Severity.INFO, {"gpu": gpu.name}) for gpu in snapshot.gpus if gpu.is_asleep]


def _old_driver(snapshot: HardwareSnapshot) -> list[Problem]:
    """An NVIDIA driver or card that today's CUDA builds no longer run on."""
    found = []
    for gpu in snapshot.gpus:
        major, capability = _leading_number(gpu.driver), _leading_number(gpu.compute_capability)
        if gpu.uuid is None or gpu.kind != "gpu":
            continue
        if capability is not None and capability < CUDA_12_CAPABILITY:
            params: dict[str, ParamValue] = {"gpu": gpu.name, "capability": gpu.compute_capability}
            found.append(Problem("gpu_too_old_for_cuda", Severity.WARNING, params))
        elif major is not None and major < CUDA_12_DRIVER:
            params = {"gpu": gpu.name, "driver": gpu.driver, "needed": CUDA_12_DRIVER}
            found.append(Problem("driver_too_old", Severity.WARNING, params))
    return found


def _leading_number(text: str | None) -> float | None:
    """'572.16' and '8.9' -> a number, '31.0.15.5222' (a Windows display version) -> None."""
    found = re.fullmatch(r"(\d{1,4}(?:\.\d+)?)(?:\.\d+)?", (text or "").strip())
    return float(found.group(1)) if found else None


def plan_findings(estimate: MemoryEstimate) -> tuple[Problem, ...]:
    """What the open plan finds too small on this machine."""
    return tuple(
        Problem(
            "ram_small_for_plan" if d.kind is DeviceKind.RAM else "vram_small_for_plan",
            Severity.WARNING,
            {"device": d.device, "needed_bytes": d.total_bytes, "free_bytes": d.free_bytes, "missing_bytes": -left},
        )
        for d in estimate.devices
        if (left := d.left_bytes) is not None and left < 0
    )


_RULES: tuple[Callable[[HardwareSnapshot], list[Problem]], ...] = (
    _engine_does_not_see_gpu,
    _single_channel,
    _narrow_pcie,
    _ram_small,
    _power,
    _old_driver,
    _software_gpu,
    _no_gpu,
    _asleep,
    _cpu,
    layout_findings,
    withheld_findings,
)


def _gpu_sentence(snapshot: HardwareSnapshot) -> Sentence:
    gpus = usable_gpus(snapshot)
    if len(gpus) == 1:
        gpu = gpus[0]
        if gpu.total_bytes is None or gpu.free_bytes is None:
            return Sentence("machine.verdict.one_gpu_unknown", {"gpu": gpu.name})
        params: dict[str, ParamValue] = {"gpu": gpu.name, "free": gpu.free_bytes, "total": gpu.total_bytes}
        return Sentence(f"machine.verdict.one_{'rpc' if gpu.kind == 'rpc' else 'gpu'}", params)
    if gpus:
        known = [gpu.free_bytes for gpu in gpus if gpu.free_bytes is not None]
        free = sum(known) if len(known) == len(gpus) else None
        return Sentence("machine.verdict.gpus", {"n": len(gpus), "free": free})
    unseen = next((gpu for gpu in snapshot.gpus if gpu.kind == "gpu"), None)
    if unseen is not None:
        return Sentence("machine.verdict.gpu_unusable", {"gpu": unseen.name})
    integrated = next((gpu for gpu in snapshot.gpus if gpu.kind == "igpu" and not gpu.is_software), None)
    if integrated is not None:
        return Sentence("machine.verdict.igpu", {"gpu": integrated.name})
    return Sentence("machine.verdict.no_gpu", {})


def _ram_sentence(snapshot: HardwareSnapshot) -> Sentence:
    memory = snapshot.memory
    measured = memory.measured_gbs is not None
    gbs = memory.measured_gbs if measured else memory.theoretical_gbs
    if gbs is None:
        return Sentence("machine.verdict.ram_unknown", {})
    if memory.channels == 1:
        code = "machine.verdict.ram_one_channel" if measured else "machine.verdict.ram_one_channel_theory"
        return Sentence(code, {"gbs": gbs})
    if measured:
        return Sentence("machine.verdict.ram_measured", {"gbs": gbs})
    return Sentence("machine.verdict.ram_theory", {"gbs": gbs, "channels": memory.channels})
