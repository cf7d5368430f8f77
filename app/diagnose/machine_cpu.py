"""What the layout of a processor means for the engine: dies with and without stacked cache, emulation, groups. Pure."""

from __future__ import annotations

from app.common.problem import Problem, Severity
from app.hardware.cpu_choice import stacked_cache
from app.hardware.types import HardwareSnapshot


def layout_findings(snapshot: HardwareSnapshot) -> list[Problem]:
    """Findings about dies, emulation and processor groups."""
    cpu = snapshot.cpu
    found = []
    large = stacked_cache(cpu)
    if large:
        params = {
            "dies": len(cpu.l3),
            "cache_bytes": large[0].size_bytes,
            "first": large[0].logical[0],
            "cores": sum(1 for core in cpu.cores if core.logical[0] in large[0].logical),
        }
        found.append(Problem("two_dies_vcache", Severity.INFO, params))
    if cpu.is_emulated:
        found.append(Problem("emulated_processor", Severity.WARNING))
    if cpu.processor_groups is not None and cpu.processor_groups > 1:
        found.append(Problem("processor_groups", Severity.INFO, {"groups": cpu.processor_groups}))
    return found
