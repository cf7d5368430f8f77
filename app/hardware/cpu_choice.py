"""Which logical CPUs the engine should get, how many threads, and why. Pure.

Decoding waits for memory, so one thread per physical core is enough; efficiency cores only slow the others down at
every barrier (engine.md section 8: "physical (P-)cores only; hyperthreads hurt").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.common.units import MIB
from app.hardware.types import CacheDomain, CoreKind, CpuCore, CpuInfo

_EFFICIENT = (CoreKind.E, CoreKind.LP_E)
STACKED_CACHE_BYTES = 64 * MIB
"""A third-level cache of this size on one die is AMD's stacked one (96 MiB); dies without it have 16 or 32 MiB."""


@dataclass(frozen=True, slots=True)
class CpuLimits:
    """What this process may use: logical CPUs (affinity, cpuset), CPU time in CPUs (cgroup quota). None: no limit."""

    allowed: frozenset[int] | None = None
    quota_cpus: float | None = None


@dataclass(frozen=True, slots=True)
class CpuChoice:
    """The recommendation: ``reason`` is one of p_cores, physical_cores, all_cpus, limited."""

    cpus: tuple[int, ...]
    threads: int
    reason: str


def is_hybrid(cores: tuple[CpuCore, ...]) -> bool:
    """Are there both performance and efficiency cores?"""
    kinds = {core.kind for core in cores}
    return CoreKind.P in kinds and any(kind in kinds for kind in _EFFICIENT)


def choose_cpus(cores: tuple[CpuCore, ...], limits: CpuLimits) -> CpuChoice:
    """All logical CPUs of the P cores (of all cores where they are alike) and one thread per physical core."""
    free = _choose(cores, CpuLimits())
    limited = _choose(_within(cores, limits.allowed), limits)
    if (limited.cpus, limited.threads) == (free.cpus, free.threads):
        return free
    return CpuChoice(limited.cpus, limited.threads, "limited")


@dataclass(frozen=True, slots=True)
class CpuSystem:
    """What a system tells of the processor beside its cores; see ``CpuInfo``."""

    l3: tuple[CacheDomain, ...] = ()
    processor_groups: int | None = None
    is_emulated: bool | None = None


def describe_cpu(
    name: str | None,
    cores: tuple[CpuCore, ...],
    limits: CpuLimits,
    is_virtual_machine: bool | None,
    system: CpuSystem = CpuSystem(),
) -> CpuInfo:
    """The whole ``CpuInfo`` from what a system's probe found."""
    choice = choose_cpus(cores, limits)
    everything = {n for core in cores for n in core.logical}
    allowed = None if limits.allowed is None else everything & limits.allowed
    return CpuInfo(
        name=name,
        cores=cores,
        recommended_cpus=choice.cpus,
        recommended_threads=choice.threads,
        reason=choice.reason,
        is_hybrid=is_hybrid(cores),
        is_virtual_machine=is_virtual_machine,
        l3=system.l3,
        allowed_cpus=tuple(sorted(allowed)) if allowed and allowed != everything else None,
        quota_cpus=limits.quota_cpus,
        processor_groups=system.processor_groups,
        is_emulated=system.is_emulated,
    )


def cpus_for_threads(cpu: CpuInfo, threads: int | None) -> tuple[int, ...]:
    """The logical CPUs for so many threads: the recommended ones as long as each thread finds one there.

    More threads than that (somebody compares ``-t 10`` on 2 P-cores and 8 E-cores) would share CPUs while others idle:
    then the next kind of cores joins, E before LP-E, as far as this program may use them.
    """
    chosen = set(cpu.recommended_cpus)
    allowed = {n for core in cpu.cores for n in core.logical} if cpu.allowed_cpus is None else set(cpu.allowed_cpus)
    for kind in (CoreKind.P, CoreKind.UNKNOWN, *_EFFICIENT):
        if threads is None or threads <= len(chosen):
            break
        chosen |= {n for core in cpu.cores if core.kind is kind for n in core.logical} & allowed
    return tuple(sorted(chosen))


def kinds_by_cache(cores: tuple[CpuCore, ...], l3: tuple[CacheDomain, ...]) -> dict[int, CoreKind]:
    """Kind by the first logical CPU of each core, from third-level caches of different sizes; {} where they tell none.

    A mobile chip with full and compact cores gives them clusters of 16 and 8 MiB and no other sign. A stacked cache
    (64 MiB and more) is no such sign: the cores above and beside it are of one kind.
    """
    sizes = {domain.size_bytes for domain in l3}
    if len(sizes) < 2 or max(sizes) >= STACKED_CACHE_BYTES:
        return {}
    size_of = {n: domain.size_bytes for domain in l3 for n in domain.logical}
    if any(core.logical[0] not in size_of for core in cores):
        return {}
    return {c.logical[0]: CoreKind.P if size_of[c.logical[0]] == max(sizes) else CoreKind.E for c in cores}


def stacked_cache(cpu: CpuInfo) -> tuple[CacheDomain, ...]:
    """The dies with stacked cache of a processor that also has dies without it; () for every other processor.

    Told by size, never by name: on a processor with one die, or with the cache on all of them, there is no choice.
    """
    large = tuple(domain for domain in cpu.l3 if domain.size_bytes >= STACKED_CACHE_BYTES)
    return large if len(large) < len(cpu.l3) else ()


def plain_cores(logical_count: int) -> tuple[CpuCore, ...]:
    """The last resort where no topology can be read: each logical CPU counts as a core of unknown kind."""
    return tuple(CpuCore((n,), CoreKind.UNKNOWN) for n in range(max(1, logical_count)))


def _choose(cores: tuple[CpuCore, ...], limits: CpuLimits) -> CpuChoice:
    chosen, reason = cores, "all_cpus"
    if is_hybrid(cores):
        chosen, reason = tuple(c for c in cores if c.kind is CoreKind.P), "p_cores"
    elif any(len(core.logical) > 1 for core in cores):
        reason = "physical_cores"
    threads = max(1, len(chosen))
    if limits.quota_cpus is not None:
        threads = min(threads, max(1, math.floor(limits.quota_cpus)))
    return CpuChoice(tuple(sorted(n for core in chosen for n in core.logical)), threads, reason)


def _within(cores: tuple[CpuCore, ...], allowed: frozenset[int] | None) -> tuple[CpuCore, ...]:
    """The cores as this process sees them; a set that names none of them says nothing about them and is ignored."""
    if allowed is None:
        return cores
    kept = tuple(CpuCore(tuple(n for n in core.logical if n in allowed), core.kind) for core in cores)
    seen = tuple(core for core in kept if core.logical)
    return seen or cores
