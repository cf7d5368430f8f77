"""A hardware snapshot for people: the verdict first, then the facts, then what is worth knowing."""

from __future__ import annotations

from app.cli.console import problem_line, ranges_text, table
from app.diagnose.machine import machine_findings, machine_verdict
from app.hardware.types import CoreKind, GpuInfo, HardwareSnapshot
from app.words import say, with_words


def machine_text(snapshot: HardwareSnapshot) -> str:
    """The snapshot as text."""
    verdict = [say(sentence.code, **sentence.params) for sentence in machine_verdict(snapshot)]
    rows = [*_cpu_rows(snapshot), *_ram_rows(snapshot)]
    for gpu in snapshot.gpus:
        rows += _gpu_rows(gpu)
    rows += [
        (say("machine.label.os"), snapshot.os),
        (say("machine.label.taken_at"), snapshot.taken_at),
    ]
    findings = [problem_line(problem) for problem in (*machine_findings(snapshot), *with_words(snapshot.problems))]
    return "\n".join([*verdict, "", *table(rows), *(["", *findings] if findings else [])])


def _known(value: str | None) -> str:
    return say("machine.value.unknown") if value is None else value


def _cpu_rows(snapshot: HardwareSnapshot) -> list[tuple[str, str]]:
    cpu = snapshot.cpu
    p, e, lp = (cpu.count(kind) for kind in (CoreKind.P, CoreKind.E, CoreKind.LP_E))
    code = "uniform" if not cpu.is_hybrid else "hybrid_lp" if lp else "hybrid"
    cores = say(f"machine.cores.{code}", p=p, e=e, lp=lp, n=len(cpu.cores), t=cpu.logical_count)
    chosen = say("machine.cores.for_engine", cpus=ranges_text(cpu.recommended_cpus), threads=cpu.recommended_threads)
    return [
        (say("machine.group.cpu"), _known(cpu.name)),
        (say("machine.label.cores"), cores),
        (say("machine.label.for_engine"), f"{chosen} {say(f'cpu.reason.{cpu.reason}')}"),
    ]


def _ram_rows(snapshot: HardwareSnapshot) -> list[tuple[str, str]]:
    memory = snapshot.memory
    sizes = say("cli.machine.ram", total=memory.total_bytes, available=memory.available_bytes)
    rows = [(say("machine.group.ram"), sizes)]
    if memory.modules is not None:
        modules = say("machine.value.modules", n=memory.modules, kind=memory.kind or "RAM")
        rows.append((say("machine.label.ram_modules"), modules))
    if memory.speed_mts is not None:
        rows.append((say("machine.label.ram_speed"), say("machine.value.speed", mts=memory.speed_mts)))
    if memory.channels is not None:
        rows.append((say("machine.label.channels"), say("machine.value.channels", n=memory.channels)))
    for label, gbs in (("theoretical", memory.theoretical_gbs), ("measured", memory.measured_gbs)):
        value = None if gbs is None else say("machine.value.gbs", gbs=gbs)
        rows.append((say(f"machine.label.{label}"), _known(value)))
    return rows


def _gpu_rows(gpu: GpuInfo) -> list[tuple[str, str]]:
    kind = say("machine.gpu.software") if gpu.is_software else say(f"machine.gpu.kind.{gpu.kind}")
    memory = say("cli.machine.vram", total=gpu.total_bytes, free=gpu.free_bytes)
    rows = [
        (gpu.engine_name or say("machine.group.gpu"), f"{gpu.name} ({kind})"),
        (say(f"machine.label.vram_{'shared' if gpu.kind == 'igpu' else 'total'}"), memory),
    ]
    if gpu.pcie_gen_max is not None and gpu.pcie_width_max is not None:
        link = say("machine.value.pcie", gen=gpu.pcie_gen_max, width=gpu.pcie_width_max)
        rows.append((say("machine.label.pcie"), link))
    if gpu.driver is not None:
        rows.append((say("machine.label.driver"), gpu.driver))
    return rows
