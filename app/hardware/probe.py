"""Looks at this computer once: probe() -> HardwareSnapshot.

No administrator, no command run, nothing sent anywhere. A probe that fails becomes a ``Problem`` and its facts stay
None; ``probe`` itself never raises. No serial number, user name or host name is read.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from app.common.problem import Problem, ProblemError, Severity
from app.hardware import (
    cpu_linux,
    cpu_windows,
    gpus_linux,
    gpus_nvml,
    gpus_windows,
    gpus_windows_calls,
    memory_linux,
    memory_windows,
    power,
    ps,
)
from app.hardware.commit import commit_free_bytes
from app.hardware.cpu_choice import CpuLimits, CpuSystem, describe_cpu, plain_cores
from app.hardware.cpu_linux import CpuFacts
from app.hardware.join import join_gpus
from app.hardware.memory_common import MemoryFacts, summarise_modules, theoretical_gbs
from app.hardware.sysfs import read_text
from app.hardware.types import CoreKind, CpuInfo, GpuInfo, HardwareSnapshot, MemoryInfo, PowerInfo
from app.hardware.vram_speeds import with_spec_bandwidths

T = TypeVar("T")
_IS_WINDOWS = sys.platform == "win32"
_FIRST_WINDOWS_11_BUILD = 22000


class _Notes:
    """Collects sources and problems while the probes run."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.problems: list[Problem] = []

    def attempt(self, code: str, read: Callable[[], T], otherwise: T) -> T:
        """Run one probe. Whatever it raises becomes the problem ``code`` with its text as evidence."""
        try:
            return read()
        except ProblemError as error:
            self.problems.append(error.problem)
        except Exception as error:  # a probe of a strange machine must not stop the others
            self._failed(code, f"{type(error).__name__}: {error}")
        return otherwise

    def _failed(self, code: str, evidence: str) -> None:
        """One problem for each code, with the evidence of every probe that failed under it."""
        known = [p.evidence for p in self.problems if p.code == code]
        self.problems = [p for p in self.problems if p.code != code]
        self.problems.append(Problem(code, Severity.WARNING, {}, (*(known[0] if known else ()), evidence)))


def probe() -> HardwareSnapshot:
    """The computer as it is now. Takes some tens of milliseconds, more where NVML has to wake a card."""
    notes = _Notes()
    cpu = _probe_cpu(notes)
    memory = _probe_memory(notes, cpu)
    gpus = _probe_gpus(notes)
    snapshot = HardwareSnapshot(
        taken_at=datetime.now().astimezone().isoformat(timespec="seconds"),
        os=notes.attempt("os_probe_failed", _os_name, sys.platform),
        cpu=cpu,
        memory=memory,
        gpus=gpus,
        sources=notes.sources,
        problems=tuple(notes.problems),
        power=notes.attempt("power_probe_failed", power.read_power, PowerInfo()),
    )
    return with_spec_bandwidths(snapshot)


def windows_name(major: int, build: int) -> str:
    """'Windows 11 (build 22631)': Windows 11 still calls itself version 10, the build tells."""
    return f"Windows {11 if major == 10 and build >= _FIRST_WINDOWS_11_BUILD else major} (build {build})"


def linux_name(os_release: str, kernel: str) -> str:
    """'Debian GNU/Linux 12 (bookworm), Linux 6.1' from /etc/os-release and the kernel's release."""
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', os_release, re.MULTILINE)
    return f"{pretty.group(1)}, Linux {kernel}" if pretty else f"Linux {kernel}"


def _os_name() -> str:
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        return windows_name(version.major, version.build)
    else:
        return linux_name(read_text(Path("/etc/os-release")) or "", os.uname().release)


def _probe_cpu(notes: _Notes) -> CpuInfo:
    nothing = CpuFacts(None, plain_cores(notes.attempt("cpu_probe_failed", ps.logical_count, 1)), None, None)
    facts = notes.attempt("cpu_probe_failed", _windows_cpu if _IS_WINDOWS else cpu_linux.read_cpu, nothing)
    limits = notes.attempt(
        "cpu_probe_failed", cpu_windows.read_limits if _IS_WINDOWS else cpu_linux.read_limits, CpuLimits()
    )
    name, name_source = facts.name, "registry" if _IS_WINDOWS else "procfs"
    if name is None:
        name, name_source = notes.attempt("cpu_probe_failed", _name_from_cpuinfo, None), "cpuinfo"
    if name is not None:
        notes.sources["cpu.name"] = name_source
    if facts is not nothing:
        notes.sources["cpu.cores"] = "win32" if _IS_WINDOWS else "sysfs"
    if facts.kinds_from is not None:
        notes.sources["cpu.kinds"] = facts.kinds_from
    if facts.l3:
        notes.sources["cpu.l3"] = notes.sources["cpu.cores"]
    system = CpuSystem(facts.l3, facts.processor_groups, facts.is_emulated)
    return describe_cpu(name, facts.cores, limits, facts.is_virtual_machine, system)


def _windows_cpu() -> CpuFacts:
    records, caches = cpu_windows.parse_processor_information(cpu_windows.read_processor_information())
    if not records:
        records = cpu_windows.cores_of_sets(cpu_windows.parse_cpu_sets(cpu_windows.read_cpu_sets()))
    if not records:
        raise OSError("neither GetLogicalProcessorInformationEx nor GetSystemCpuSetInformation told a core")
    l3, is_virtual = cpu_windows.l3_domains(caches), cpu_windows.read_is_virtual_machine()
    if is_virtual:  # a virtual CPU may run on any core of the host: no kinds are claimed there
        records, caches = tuple(dataclasses.replace(record, efficiency_class=0) for record in records), ()
    cores = cpu_windows.classify_cores(records, caches)
    by_class = len({r.efficiency_class for r in records}) > 1
    by_cache = any(core.kind is not CoreKind.UNKNOWN for core in cores)
    return CpuFacts(
        cpu_windows.read_name(),
        cores,
        is_virtual,
        "win32" if by_class else "caches" if by_cache else None,
        l3,
        cpu_windows.read_group_count(),
        cpu_windows.read_is_emulated(),
    )


def _name_from_cpuinfo() -> str | None:
    """py-cpuinfo starts a Python of its own, which takes about a second: only where nothing else knows the name.

    Never on Windows, where what it starts has a console window, and would be ourselves in the installed program.
    """
    if _IS_WINDOWS or getattr(sys, "frozen", False):
        return None
    import cpuinfo

    name = cpuinfo.get_cpu_info().get("brand_raw")
    return str(name) if name else None


def _probe_memory(notes: _Notes, cpu: CpuInfo) -> MemoryInfo:
    now = notes.attempt("memory_probe_failed", ps.ram_now, None)
    if now is not None:
        notes.sources["memory.total_bytes"] = "psutil"
        if not _IS_WINDOWS:
            here = now
            now, limited = notes.attempt(
                "memory_probe_failed", lambda: memory_linux.within_container(here), (here, False)
            )
            if limited:
                notes.sources["memory.total_bytes"] = "cgroup"
    reader = memory_windows.read_modules if _IS_WINDOWS else memory_linux.read_modules
    facts = notes.attempt("memory_modules_failed", reader, MemoryFacts((), None))
    summary = summarise_modules(facts.modules, cpu.name)
    if facts.source is not None and summary.channels is not None:
        notes.sources["memory.modules"] = facts.source
        notes.sources["memory.channels"] = f"estimate_{summary.channels_from}"
    if facts.source is not None and summary.speed_mts is not None:
        notes.sources["memory.speed_mts"] = facts.source if summary.speed_from == "configured" else "rated_speed"
        notes.sources["memory.theoretical_gbs"] = "estimate"
    committed = notes.attempt("memory_probe_failed", commit_free_bytes, None)
    return MemoryInfo(
        total_bytes=now.total_bytes if now else None,
        available_bytes=now.available_bytes if now else None,
        kind=summary.kind,
        modules=summary.modules,
        channels=summary.channels,
        speed_mts=summary.speed_mts,
        theoretical_gbs=theoretical_gbs(summary.channels, summary.speed_mts),
        slots=facts.slots,
        is_soldered=summary.is_soldered,
        commit_free_bytes=committed,
        commits_cards=_IS_WINDOWS,
    )


def _probe_gpus(notes: _Notes) -> tuple[GpuInfo, ...]:
    none: tuple[GpuInfo, ...] = ()
    system = _windows_gpus(notes) if _IS_WINDOWS else notes.attempt("gpu_probe_failed", gpus_linux.read_gpus, none)
    before = len(notes.problems)
    nvidia = notes.attempt("gpu_probe_failed", _nvml_gpus, none)
    has_card = any("nvidia" in gpu.name.lower() for gpu in system)
    if not has_card:  # no NVIDIA card, so no library is no news
        notes.problems[before:] = [p for p in notes.problems[before:] if p.code != "nvml_missing"]
    joined, sources = join_gpus((("nvml", nvidia), ("dxgi" if _IS_WINDOWS else "sysfs", system)))
    notes.sources.update(sources)
    return joined


def _nvml_gpus() -> tuple[GpuInfo, ...]:
    session = gpus_nvml.open_nvml()
    try:
        return gpus_nvml.read_gpus(session)
    finally:
        session.close()


def _windows_gpus(notes: _Notes) -> tuple[GpuInfo, ...]:
    no_adapters: tuple[gpus_windows.Adapter, ...] = ()
    no_links: tuple[gpus_windows.PcieLink, ...] = ()
    adapters = notes.attempt("gpu_probe_failed", gpus_windows_calls.read_adapters, no_adapters)
    adapters = gpus_windows.with_registry(
        adapters, notes.attempt("gpu_probe_failed", gpus_windows_calls.read_registry_cards, ())
    )
    return gpus_windows.gpus_of(adapters, notes.attempt("gpu_probe_failed", gpus_windows_calls.read_links, no_links))
