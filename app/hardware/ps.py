"""The few psutil calls that the probes need, typed (psutil ships no types)."""

from __future__ import annotations

from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # ships no types


@dataclass(frozen=True, slots=True)
class RamNow:
    """System memory at this moment."""

    total_bytes: int
    available_bytes: int


def ram_now() -> RamNow:
    """Total and available RAM. Raises OSError or RuntimeError where the system refuses."""
    memory = psutil.virtual_memory()
    return RamNow(int(memory.total), int(memory.available))


def own_affinity() -> frozenset[int] | None:
    """The logical CPUs that this process may run on; None where the system cannot tell."""
    try:
        return frozenset(int(n) for n in psutil.Process().cpu_affinity()) or None
    except (AttributeError, OSError, psutil.Error):
        return None


def logical_count() -> int:
    """Number of logical CPUs, at least 1."""
    return int(psutil.cpu_count(logical=True) or 1)


def process_name(pid: int) -> str | None:
    """The program's name; None when it has ended or the system does not tell."""
    try:
        return str(psutil.Process(pid).name()) or None
    except (OSError, psutil.Error):
        return None
