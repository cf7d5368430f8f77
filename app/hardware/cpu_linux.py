"""The processor on Linux, from sysfs and /proc; no command is run.

Core kinds, first source that knows: Intel's ``cpu_core``/``cpu_atom``/``cpu_lowpower`` device lists, the scheduler's
``cpu_capacity``, clusters of ``cpuinfo_max_freq``, third-level caches of different sizes. Numbers of P cores follow no
rule (on Meteor Lake they stand at both ends), so nothing here assumes an order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.common.units import KIB, MIB
from app.hardware.cgroup_linux import cpu_quota
from app.hardware.cpu_choice import CpuLimits, kinds_by_cache, plain_cores
from app.hardware.ps import own_affinity
from app.hardware.sysfs import read_cpu_list, read_int, read_text
from app.hardware.types import CacheDomain, CoreKind, CpuCore

_CPUS = "sys/devices/system/cpu"
_FAST_SHARE = 0.8
"""Cores within this share of the best are fast: turbo bins differ by a few percent, core designs by a quarter."""


@dataclass(frozen=True, slots=True)
class CpuFacts:
    """What a probe found. ``kinds_from`` names the source of the core kinds; None: the system does not tell them."""

    name: str | None
    cores: tuple[CpuCore, ...]
    is_virtual_machine: bool | None
    kinds_from: str | None
    l3: tuple[CacheDomain, ...] = ()
    processor_groups: int | None = None
    is_emulated: bool | None = None


def read_cpu(root: Path = Path("/")) -> CpuFacts:
    """Name, cores and their kinds. A file that is missing costs its fact, never the rest."""
    cpuinfo = read_text(root / "proc/cpuinfo") or ""
    machine = is_virtual_machine(cpuinfo, read_text(root / "proc/version") or "")
    groups = _core_groups(root)
    # A virtual CPU may look like a P-core and run on any core of the host: no kinds are claimed there.
    kinds, source = ({}, None) if machine is True else _kinds(root, groups)
    l3 = _l3_domains(root, groups)
    if not kinds and machine is not True:
        kinds = kinds_by_cache(tuple(CpuCore(group, CoreKind.UNKNOWN) for group in groups), l3)
        source = "caches" if kinds else None
    cores = tuple(CpuCore(group, kinds.get(group[0], CoreKind.UNKNOWN)) for group in groups)
    return CpuFacts(_name(root, cpuinfo), cores, machine, source, l3)


def read_limits(root: Path = Path("/")) -> CpuLimits:
    """The affinity of this process (which follows the cpuset) and the CPU time that its container grants."""
    return CpuLimits(own_affinity(), cpu_quota(root))


def is_virtual_machine(cpuinfo: str, version: str) -> bool | None:
    """The hypervisor bit of x86 (``flags``), or WSL's kernel name; None where the flags say nothing (ARM)."""
    if "microsoft" in version.lower():
        return True
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    if flags is None:
        return None
    return "hypervisor" in flags.group(1).split()


def _name(root: Path, cpuinfo: str) -> str | None:
    found = re.search(r"^model name\s*:\s*(\S.*?)\s*$", cpuinfo, re.MULTILINE)
    if found:
        return " ".join(found.group(1).split())
    return read_text(root / "sys/firmware/devicetree/base/model") or None


def _core_groups(root: Path) -> tuple[tuple[int, ...], ...]:
    """The logical CPUs of each physical core, in ascending order of their first one."""
    online = read_cpu_list(root / _CPUS / "online")
    if online is None:
        return tuple(core.logical for core in plain_cores(os.cpu_count() or 1))
    groups: set[tuple[int, ...]] = set()
    for cpu in online:
        topology = root / _CPUS / f"cpu{cpu}" / "topology"
        siblings = read_cpu_list(topology / "core_cpus_list") or read_cpu_list(topology / "thread_siblings_list")
        group = tuple(n for n in siblings if n in online) if siblings else ()
        groups.add(group if cpu in group else (cpu,))
    return tuple(sorted(groups))


def _kinds(root: Path, groups: tuple[tuple[int, ...], ...]) -> tuple[dict[int, CoreKind], str | None]:
    """Kind by the first logical CPU of each core, and the source; {} where cores look alike or nothing tells."""
    firsts = [group[0] for group in groups]
    listed = _kinds_by_device_lists(root, firsts)
    if listed:
        return listed, "sysfs"
    sources: tuple[tuple[str, Callable[[int], int | None]], ...] = (
        ("cpu_capacity", lambda n: read_int(root / _CPUS / f"cpu{n}" / "cpu_capacity")),
        ("cpufreq", lambda n: read_int(root / _CPUS / f"cpu{n}" / "cpufreq/cpuinfo_max_freq")),
    )
    for source, read in sources:
        kinds = kinds_by_speed({n: read(n) for n in firsts})
        if kinds:
            return kinds, source
    return {}, None


def _kinds_by_device_lists(root: Path, firsts: list[int]) -> dict[int, CoreKind]:
    fast = read_cpu_list(root / "sys/devices/cpu_core/cpus") or ()
    slow = read_cpu_list(root / "sys/devices/cpu_atom/cpus") or ()
    lowest = read_cpu_list(root / "sys/devices/cpu_lowpower/cpus") or ()
    if not fast or not (slow or lowest):
        return {}
    last_level = {n: _shared_l3(root, n) for n in firsts}
    fast_l3 = {cpu for n in firsts if n in fast for cpu in last_level[n]}
    kinds = {}
    for n in firsts:
        if n in fast:
            kinds[n] = CoreKind.P
        elif n in lowest or (fast_l3 and n not in fast_l3):
            kinds[n] = CoreKind.LP_E  # on the low-power island: no share in the fast cores' L3
        elif n in slow:
            kinds[n] = CoreKind.E
    return kinds


def kinds_by_speed(speeds: dict[int, int | None]) -> dict[int, CoreKind]:
    """P for cores near the best figure, E for the rest; {} when they are all near it or any figure is missing."""
    known = {n: speed for n, speed in speeds.items() if speed}
    if len(known) != len(speeds) or not known:
        return {}
    line = _FAST_SHARE * max(known.values())
    kinds = {n: CoreKind.P if speed >= line else CoreKind.E for n, speed in known.items()}
    return kinds if CoreKind.E in kinds.values() else {}


def _shared_l3(root: Path, cpu: int) -> tuple[int, ...]:
    """The logical CPUs that share this one's third-level cache; () where it has none."""
    cache = _l3_folder(root, cpu)
    return () if cache is None else read_cpu_list(cache / "shared_cpu_list") or (cpu,)


def _l3_domains(root: Path, groups: tuple[tuple[int, ...], ...]) -> tuple[CacheDomain, ...]:
    """Each third-level cache with the logical CPUs that share it; a cache that tells no size is left out."""
    found: dict[tuple[int, ...], int] = {}
    for first in (group[0] for group in groups):
        cache = _l3_folder(root, first)
        size = None if cache is None else parse_cache_size(read_text(cache / "size"))
        if size is not None:
            found.setdefault(_shared_l3(root, first), size)
    return tuple(CacheDomain(logical, found[logical]) for logical in sorted(found))


def parse_cache_size(text: str | None) -> int | None:
    """'98304K' -> bytes (fs/sysfs: always KiB; 'M' in case a kernel changes its mind); None for anything else."""
    found = re.fullmatch(r"(\d{1,9})([KM])", text or "")
    return int(found.group(1)) * (KIB if found.group(2) == "K" else MIB) if found else None


def _l3_folder(root: Path, cpu: int) -> Path | None:
    caches = (root / _CPUS / f"cpu{cpu}" / "cache" / f"index{index}" for index in range(6))
    return next((cache for cache in caches if read_int(cache / "level") == 3), None)
