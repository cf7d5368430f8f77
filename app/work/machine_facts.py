"""A hardware snapshot as groups of facts: value in words, unit, source, confidence, and what would reveal an unknown.

The window's page, the text of ``machine`` and the comparison of two snapshots are all made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.common.ranges import ranges_text
from app.common.units import size_text
from app.hardware.types import CoreKind, GpuInfo, HardwareSnapshot
from app.words import ENTRIES, say

Raw = str | int | float | bool | None

CONFIDENCES = ("measured", "told", "estimated", "unknown")
"""measured here; told by the system, a driver or the firmware; worked out from other facts; unknown."""

_MODERATE = ("rated_speed",)
"""Sources that tell something else than asked: a module's rated speed is not what it runs at."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line. ``value`` None = unknown, then ``hint`` says what would reveal it; else ``hint`` explains the value.

    ``key`` is stable (``memory.channels``, ``gpus.0.pcie``); ``raw`` and ``unit`` are the value for programs.
    """

    key: str
    label: str
    value: str | None
    source: str = ""
    hint: str = ""
    raw: Raw = None
    unit: str = ""
    confidence: str = "told"


@dataclass(frozen=True, slots=True)
class FactGroup:
    """One card of the page. ``kind``: cpu, ram, gpu, engine, system; ``key`` tells two cards apart."""

    key: str
    kind: str
    title: str
    subtitle: str
    facts: tuple[Fact, ...]


def machine_groups(snapshot: HardwareSnapshot, *, is_here: bool = True) -> tuple[FactGroup, ...]:
    """Everything the snapshot knows and does not know, in the order of the page. ``is_here``: not a saved machine."""
    cards = tuple(_gpu_group(snapshot, i, gpu) for i, gpu in enumerate(snapshot.gpus))
    return (
        _cpu_group(snapshot),
        _ram_group(snapshot, is_here),
        *cards,
        _engine_group(snapshot),
        _system_group(snapshot),
    )


def source_text(sources: Mapping[str, str], key: str) -> str:
    """Who told a fact, in words: the entry of the fact itself or of what it belongs to ("gpus.0")."""
    code = _source_code(sources, key)
    if code is None:
        return ""
    entry = f"source.{code}"
    return say(entry) if entry in ENTRIES else code


def taken_at_text(text: str) -> str:
    """An ISO time as local wall time of that machine without the seconds; a strange one as it is."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return text


def cores_text(snapshot: HardwareSnapshot) -> str:
    """'8 P-cores + 16 E-cores, 32 threads'."""
    cpu = snapshot.cpu
    p, e, lp = (cpu.count(kind) for kind in (CoreKind.P, CoreKind.E, CoreKind.LP_E))
    if cpu.is_hybrid and lp:
        return say("machine.cores.hybrid_lp", p=p, e=e, lp=lp, t=cpu.logical_count)
    if cpu.is_hybrid:
        return say("machine.cores.hybrid", p=p, e=e, t=cpu.logical_count)
    return say("machine.cores.uniform", n=len(cpu.cores), t=cpu.logical_count)


def _source_code(sources: Mapping[str, str], key: str) -> str | None:
    code = sources.get(key)
    if code is None and key.count(".") > 0:
        code = sources.get(key.rpartition(".")[0])
    return code


def _confidence(code: str | None) -> str:
    if code == "measured":
        return "measured"
    return "estimated" if code is not None and (code.startswith("estimate") or code in _MODERATE) else "told"


def _hint(name: str) -> str:
    return say(f"machine_page.reveal.{name}")


class _Maker:
    """Makes facts of one part of a snapshot; an unknown one has neither source nor unit, but what would reveal it."""

    def __init__(self, snapshot: HardwareSnapshot, prefix: str, *, is_asleep: bool = False) -> None:
        """``is_asleep``: a card that is not woken; what would reveal its facts is then always the same."""
        self._sources = snapshot.sources
        self._prefix = prefix
        self._is_asleep = is_asleep

    def fact(
        self,
        label: str,
        field: str,
        value: str | None,
        reveal: str,
        *,
        note: str = "",
        raw: Raw = None,
        unit: str = "",
        source_of: str | None = None,
    ) -> Fact:
        key = f"{self._prefix}.{field}"
        said = say(f"machine.label.{label}")
        if value is None:
            return Fact(key, said, None, "", _hint("asleep" if self._is_asleep else reveal), None, unit, "unknown")
        asked = f"{self._prefix}.{source_of or field}"
        code = _source_code(self._sources, asked)
        confidence = _confidence(code)
        return Fact(key, said, value, source_text(self._sources, asked), note, raw, unit, confidence)


def _cpu_group(snapshot: HardwareSnapshot) -> FactGroup:
    cpu, make = snapshot.cpu, _Maker(snapshot, "cpu")
    chosen = say("machine.cores.for_engine", cpus=ranges_text(cpu.recommended_cpus), threads=cpu.recommended_threads)
    kinds = "kinds" if "cpu.kinds" in snapshot.sources else "cores"
    facts = [
        make.fact("cpu", "name", cpu.name, "cpu_name", raw=cpu.name),
        make.fact("cores", "cores", cores_text(snapshot), "cpu_name", raw=len(cpu.cores), source_of=kinds),
    ]
    sizes = " + ".join(size_text(domain.size_bytes) for domain in cpu.l3) or None
    facts.append(make.fact("l3", "l3", sizes, "l3", raw=sizes, source_of="cores"))
    facts.append(
        Fact(
            "cpu.for_engine",
            say("machine.label.for_engine"),
            chosen,
            say("source.rule"),
            say(f"cpu.reason.{cpu.reason}"),
            ranges_text(cpu.recommended_cpus),
        )
    )
    if cpu.quota_cpus is not None:
        quota = say("machine.value.quota", n=cpu.quota_cpus)
        facts.append(make.fact("quota", "quota_cpus", quota, "cpu_name", raw=cpu.quota_cpus, source_of="limits"))
    virtual = None if cpu.is_virtual_machine is None else _yes_no(cpu.is_virtual_machine)
    facts.append(make.fact("virtual", "is_virtual_machine", virtual, "virtual", raw=cpu.is_virtual_machine))
    return FactGroup("cpu", "cpu", say("machine.group.cpu"), "", tuple(facts))


def _ram_group(snapshot: HardwareSnapshot, is_here: bool) -> FactGroup:
    memory, make = snapshot.memory, _Maker(snapshot, "memory")
    speed = None if memory.speed_mts is None else say("machine.value.speed", mts=memory.speed_mts)
    channels = None if memory.channels is None else say("machine.value.channels", n=memory.channels)
    total, free = memory.total_bytes, memory.available_bytes
    theory, measured = memory.theoretical_gbs, memory.measured_gbs
    facts = (
        make.fact("ram_total", "total_bytes", _size(total), "ram_total", raw=total, unit="B"),
        make.fact(
            "ram_available",
            "available_bytes",
            _size(free),
            "ram_total",
            raw=free,
            unit="B",
            source_of="total_bytes",
        ),
        make.fact("ram_modules", "modules", _modules(snapshot), "modules", raw=memory.modules),
        make.fact("ram_speed", "speed_mts", speed, "modules", raw=memory.speed_mts, unit="MT/s"),
        make.fact("channels", "channels", channels, "modules", raw=memory.channels, note=_channels_note(snapshot)),
        make.fact("theoretical", "theoretical_gbs", _gbs(theory), "modules", raw=theory, unit="GB/s"),
        make.fact(
            "measured",
            "measured_gbs",
            _gbs(measured),
            "measured" if is_here else "measured_there",
            note=_measured_note(snapshot),
            raw=measured,
            unit="GB/s",
        ),
    )
    return FactGroup("ram", "ram", say("machine.group.ram"), "", facts)


def _modules(snapshot: HardwareSnapshot) -> str | None:
    memory = snapshot.memory
    if memory.modules is None:
        return None
    kind = memory.kind or "RAM"
    if memory.is_soldered:
        return say("machine.value.soldered", n=memory.modules, kind=kind)
    if memory.slots is not None and memory.slots > memory.modules:
        return say("machine.value.modules_slots", n=memory.modules, kind=kind, slots=memory.slots)
    return say("machine.value.modules", n=memory.modules, kind=kind)


def _channels_note(snapshot: HardwareSnapshot) -> str:
    """Soldered memory shows no channels at all: measuring tells more (field report RAM-01)."""
    memory = snapshot.memory
    return say("machine_page.soldered") if memory.is_soldered and memory.measured_gbs is None else ""


def _measured_note(snapshot: HardwareSnapshot) -> str:
    memory = snapshot.memory
    if memory.measured_gbs is None:
        return ""
    parts = []
    if memory.measured_at is not None:
        parts.append(say("machine_page.measured_at", when=taken_at_text(memory.measured_at)))
    if memory.theoretical_gbs:
        parts.append(say("machine_page.of_theory", percent=round(100 * memory.measured_gbs / memory.theoretical_gbs)))
    if snapshot.cpu.is_virtual_machine:
        parts.append(say("machine_page.shared_host"))
    return " ".join(parts)


def _gpu_group(snapshot: HardwareSnapshot, index: int, gpu: GpuInfo) -> FactGroup:
    make = _Maker(snapshot, f"gpus.{index}", is_asleep=gpu.is_asleep is True)
    pcie, pcie_note = _pcie(gpu)
    drives = None if gpu.drives_display is None else _yes_no(gpu.drives_display)
    total_label = "vram_shared" if gpu.kind == "igpu" else "vram_total"
    total, free, reserved = gpu.total_bytes, gpu.free_bytes, gpu.reserved_bytes
    facts = [
        make.fact(total_label, "total_bytes", _size(total), "vram", raw=total, unit="B"),
        make.fact("vram_free", "free_bytes", _size(free), "vram", raw=free, unit="B"),
    ]
    if reserved is not None:
        facts.append(make.fact("vram_reserved", "reserved_bytes", _size(reserved), "vram", raw=reserved, unit="B"))
    if gpu.kind == "gpu":
        rate = gpu.memory_gbs
        facts += [
            make.fact("vram_bandwidth", "memory_gbs", _gbs(rate), "vram_bandwidth", raw=rate, unit="GB/s"),
            make.fact("pcie", "pcie_width_max", pcie, "pcie", note=pcie_note, raw=pcie),
            make.fact("display", "drives_display", drives, "display", raw=gpu.drives_display),
        ]
    if gpu.driver is not None or gpu.kind == "gpu":
        facts.append(make.fact("driver", "driver", gpu.driver, "driver", raw=gpu.driver))
    if gpu.compute_capability is not None:
        capability = gpu.compute_capability
        facts.append(make.fact("compute_capability", "compute_capability", capability, "driver", raw=capability))
    if gpu.is_asleep is not None:
        state = say("machine.value.asleep" if gpu.is_asleep else "machine.value.awake")
        note = say("machine_page.asleep") if gpu.is_asleep else ""
        facts.append(make.fact("state", "is_asleep", state, "driver", note=note, raw=gpu.is_asleep))
    kind = say("machine.gpu.software") if gpu.is_software else say(f"machine.gpu.kind.{gpu.kind}")
    return FactGroup(f"gpus.{index}", "gpu", gpu.name, kind, tuple(facts))


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


def _engine_group(snapshot: HardwareSnapshot) -> FactGroup:
    """The engine's own list, the only names that a command can use; then what it cannot use."""
    told = say("source.engine")
    facts: list[Fact] = []
    for i, gpu in enumerate(snapshot.gpus):
        key = f"engine.{gpu.engine_name or f'gpus.{i}'}"
        if gpu.engine_name is not None:
            sizes = say("cli.machine.vram", total=gpu.total_bytes, free=gpu.engine_free_bytes)
            facts.append(Fact(key, gpu.engine_name, gpu.name, told, sizes, gpu.name))
        elif snapshot.engine_asked:
            not_usable, hint = say("machine.value.not_usable"), _hint("engine_build")
            facts.append(Fact(key, gpu.name, not_usable, told, hint, False))
        else:
            facts.append(Fact(key, gpu.name, None, "", say("machine.value.not_asked"), None, "", "unknown"))
    ram = say("machine.value.engine_ram")
    facts.append(Fact("engine.RAM", "RAM", ram, say("source.rule"), "", "CPU"))
    return FactGroup("engine", "engine", say("machine.group.engine"), "", tuple(facts))


def _system_group(snapshot: HardwareSnapshot) -> FactGroup:
    power = snapshot.power
    mains = None if power.on_battery is None else say(f"machine.value.{'battery' if power.on_battery else 'mains'}")
    saver = None if power.is_saving is None else say(f"machine.value.{'saving' if power.is_saving else 'not_saving'}")
    make = _Maker(snapshot, "power")
    facts = (
        Fact("os", say("machine.label.os"), snapshot.os or None, say("source.psutil"), "", snapshot.os),
        make.fact("power", "on_battery", mains, "power", raw=power.on_battery),
        make.fact("power_saver", "is_saving", saver, "power_saver", raw=power.is_saving),
        Fact("taken_at", say("machine.label.taken_at"), taken_at_text(snapshot.taken_at), "", "", snapshot.taken_at),
    )
    return FactGroup("system", "system", say("machine.group.system"), "", facts)


def _size(n_bytes: int | None) -> str | None:
    return None if n_bytes is None else size_text(n_bytes)


def _gbs(gbs: float | None) -> str | None:
    return None if gbs is None else say("machine.value.gbs", gbs=gbs)


def _yes_no(answer: bool) -> str:
    return say("machine.value.yes" if answer else "machine.value.no")
