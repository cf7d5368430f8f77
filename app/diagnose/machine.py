"""What a look at the machine alone tells: findings and the verdict sentences of the machine page. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.common.problem import ParamValue, Problem, Severity
from app.common.units import GIB
from app.diagnose.machine_cpu import layout_findings
from app.hardware.types import CoreKind, GpuInfo, HardwareSnapshot

SMALL_MEMORY_BYTES = 20 * GIB
"""RAM and VRAM together below this: a 30B MoE model at 4 bits (about 17.3 GiB) hardly fits beside the system."""
NARROW_LANES = 4
FEW_P_CORES = 2
SECOND_CHANNEL_GAIN = 1.8
"""What a second channel gives in practice (twice in theory)."""


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
        params = {"p": cpu.count(CoreKind.P), "e": efficient}
        found.append(Problem("few_p_cores", Severity.INFO, params))
    return found


_RULES: tuple[Callable[[HardwareSnapshot], list[Problem]], ...] = (
    _engine_does_not_see_gpu,
    _single_channel,
    _narrow_pcie,
    _ram_small,
    _software_gpu,
    _no_gpu,
    _cpu,
    layout_findings,
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
        return Sentence(code, {"gbs": gbs, "gain": SECOND_CHANNEL_GAIN})
    if measured:
        return Sentence("machine.verdict.ram_measured", {"gbs": gbs})
    return Sentence("machine.verdict.ram_theory", {"gbs": gbs, "channels": memory.channels})
