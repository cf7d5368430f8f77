"""A hardware snapshot as groups of facts: label, value in words, source, and what would reveal an unknown one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.common.units import size_text
from app.hardware.types import CoreKind, GpuInfo, HardwareSnapshot
from app.ui.plots.scale import cpu_list_text
from app.words import ENTRIES, say


@dataclass(frozen=True, slots=True)
class Fact:
    """One line. ``value`` None = unknown, then ``hint`` says what would reveal it; else ``hint`` explains the value."""

    label: str
    value: str | None
    source: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """One card of the page. ``kind``: cpu, ram, gpu, system."""

    kind: str
    title: str
    subtitle: str
    facts: tuple[Fact, ...]


def machine_groups(snapshot: HardwareSnapshot, *, is_here: bool = True) -> tuple[FactGroup, ...]:
    """Everything the snapshot knows and does not know, in the order of the page. ``is_here``: not a saved machine."""
    cards = tuple(_gpu_group(snapshot, i, gpu) for i, gpu in enumerate(snapshot.gpus))
    return (_cpu_group(snapshot), _ram_group(snapshot, is_here), *cards, _system_group(snapshot))


def source_text(sources: Mapping[str, str], key: str) -> str:
    """Who told a fact, in words: the entry of the fact itself or of what it belongs to ("gpus.0")."""
    code = sources.get(key)
    if code is None and key.count(".") > 0:
        code = sources.get(key.rpartition(".")[0])
    if code is None:
        return ""
    entry = f"source.{code}"
    return say(entry) if entry in ENTRIES else code


def taken_at_text(snapshot: HardwareSnapshot) -> str:
    """When it was taken, as local wall time of that machine without the seconds."""
    try:
        return datetime.fromisoformat(snapshot.taken_at).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return snapshot.taken_at


def _hint(name: str) -> str:
    return say(f"machine_page.reveal.{name}")


def cores_text(snapshot: HardwareSnapshot) -> str:
    """'8 P-cores + 16 E-cores, 32 threads'."""
    cpu = snapshot.cpu
    p, e, lp = (cpu.count(kind) for kind in (CoreKind.P, CoreKind.E, CoreKind.LP_E))
    if cpu.is_hybrid and lp:
        return say("machine.cores.hybrid_lp", p=p, e=e, lp=lp, t=cpu.logical_count)
    if cpu.is_hybrid:
        return say("machine.cores.hybrid", p=p, e=e, t=cpu.logical_count)
    return say("machine.cores.uniform", n=len(cpu.cores), t=cpu.logical_count)


def _cpu_group(snapshot: HardwareSnapshot) -> FactGroup:
    cpu, sources = snapshot.cpu, snapshot.sources
    kinds = source_text(sources, "cpu.kinds") or source_text(sources, "cpu.cores")
    chosen = say("machine.cores.for_engine", cpus=cpu_list_text(cpu.recommended_cpus), threads=cpu.recommended_threads)
    virtual = None if cpu.is_virtual_machine is None else _yes_no(cpu.is_virtual_machine)
    facts = (
        Fact(
            say("machine.label.cpu"),
            cpu.name,
            source_text(sources, "cpu.name"),
            _hint("cpu_name") if cpu.name is None else "",
        ),
        Fact(say("machine.label.cores"), cores_text(snapshot), kinds),
        Fact(say("machine.label.for_engine"), chosen, "", say(f"cpu.reason.{cpu.reason}")),
        Fact(say("machine.label.virtual"), virtual, "", _hint("virtual") if virtual is None else ""),
    )
    return FactGroup("cpu", say("machine.group.cpu"), "", facts)


def _ram_group(snapshot: HardwareSnapshot, is_here: bool) -> FactGroup:
    memory, sources = snapshot.memory, snapshot.sources

    def fact(label: str, field: str, value: str | None, reveal: str) -> Fact:
        return Fact(
            say(f"machine.label.{label}"),
            value,
            source_text(sources, f"memory.{field}") if value is not None else "",
            _hint(reveal) if value is None else "",
        )

    modules = None
    if memory.modules is not None:
        modules = say("machine.value.modules", n=memory.modules, kind=memory.kind or "RAM")
    speed = None if memory.speed_mts is None else say("machine.value.speed", mts=memory.speed_mts)
    channels = None if memory.channels is None else say("machine.value.channels", n=memory.channels)
    facts = (
        fact("ram_total", "total_bytes", _size(memory.total_bytes), "ram_total"),
        fact("ram_available", "total_bytes", _size(memory.available_bytes), "ram_total"),
        fact("ram_modules", "modules", modules, "modules"),
        fact("ram_speed", "speed_mts", speed, "modules"),
        fact("channels", "channels", channels, "modules"),
        fact("theoretical", "theoretical_gbs", _gbs(memory.theoretical_gbs), "modules"),
        fact("measured", "measured_gbs", _gbs(memory.measured_gbs), "measured" if is_here else "measured_there"),
    )
    return FactGroup("ram", say("machine.group.ram"), "", facts)


def _gpu_group(snapshot: HardwareSnapshot, index: int, gpu: GpuInfo) -> FactGroup:
    sources, key = snapshot.sources, f"gpus.{index}"

    def fact(label: str, field: str, value: str | None, reveal: str, note: str = "") -> Fact:
        source = source_text(sources, f"{key}.{field}") if value is not None else ""
        return Fact(say(f"machine.label.{label}"), value, source, _hint(reveal) if value is None else note)

    pcie, pcie_note = _pcie(gpu)
    drives = None if gpu.drives_display is None else _yes_no(gpu.drives_display)
    facts = [
        _engine_name_fact(snapshot, gpu, source_text(sources, f"{key}.engine_name")),
        fact("vram_shared" if gpu.kind == "igpu" else "vram_total", "total_bytes", _size(gpu.total_bytes), "vram"),
        fact("vram_free", "free_bytes", _size(gpu.free_bytes), "vram"),
    ]
    if gpu.kind == "gpu":
        facts += [
            fact("vram_bandwidth", "memory_gbs", _gbs(gpu.memory_gbs), "vram_bandwidth"),
            fact("pcie", "pcie_width_max", pcie, "pcie", pcie_note),
            fact("display", "drives_display", drives, "display"),
        ]
    if gpu.driver is not None or gpu.kind == "gpu":
        facts.append(fact("driver", "driver", gpu.driver, "driver"))
    if gpu.compute_capability is not None:
        facts.append(fact("compute_capability", "compute_capability", gpu.compute_capability, "driver"))
    kind = say("machine.gpu.software") if gpu.is_software else say(f"machine.gpu.kind.{gpu.kind}")
    return FactGroup("gpu", gpu.name, kind, tuple(facts))


def _engine_name_fact(snapshot: HardwareSnapshot, gpu: GpuInfo, source: str) -> Fact:
    label = say("machine.label.engine_name")
    if gpu.engine_name is not None:
        return Fact(label, gpu.engine_name, source)
    if snapshot.engine_asked:
        return Fact(label, say("machine.value.not_usable"), say("source.engine"), _hint("engine_build"))
    return Fact(label, None, "", say("machine.value.not_asked"))


def _pcie(gpu: GpuInfo) -> tuple[str | None, str]:
    """Highest link beside the present one, which is marked as an idle reading where it is slower."""
    if gpu.pcie_gen_max is None or gpu.pcie_width_max is None:
        return None, ""
    most = say("machine.value.pcie", gen=gpu.pcie_gen_max, width=gpu.pcie_width_max)
    if gpu.pcie_gen_now is None or gpu.pcie_width_now is None:
        return most, ""
    if (gpu.pcie_gen_now, gpu.pcie_width_now) == (gpu.pcie_gen_max, gpu.pcie_width_max):
        return most, say("machine_page.pcie_full")
    now = say("machine.value.pcie", gen=gpu.pcie_gen_now, width=gpu.pcie_width_now)
    return most, say("machine_page.pcie_idle", now=now)


def _system_group(snapshot: HardwareSnapshot) -> FactGroup:
    facts = (
        Fact(say("machine.label.os"), snapshot.os or None),
        Fact(say("machine.label.taken_at"), taken_at_text(snapshot)),
    )
    return FactGroup("system", say("machine.group.system"), "", facts)


def _size(n_bytes: int | None) -> str | None:
    return None if n_bytes is None else size_text(n_bytes)


def _gbs(gbs: float | None) -> str | None:
    return None if gbs is None else say("machine.value.gbs", gbs=gbs)


def _yes_no(answer: bool) -> str:
    return say("machine.value.yes" if answer else "machine.value.no")
