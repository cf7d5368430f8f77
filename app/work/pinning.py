"""Which cores an exported script gives the engine, and what the script says about it."""

from __future__ import annotations

from dataclasses import dataclass

from app.common.ranges import ranges_text
from app.hardware.types import CpuInfo
from app.planner.scripts import Pinning
from app.planner.shells import Shell
from app.planner.types import Plan
from app.words import say
from app.work.launching import engine_cpus


@dataclass(frozen=True, slots=True)
class ScriptPinning:
    """``pinning`` None: the script leaves the choice to the system; ``comments`` say why, or how to change it."""

    pinning: Pinning | None = None
    comments: tuple[str, ...] = ()


UNPINNED = ScriptPinning()
"""A script that starts the engine and nothing more."""


def script_pinning(plan: Plan, cpu: CpuInfo | None, shell: str) -> ScriptPinning:
    """The cores that a launch gives the engine for this plan. Nothing is said where it gets all of them anyway, or
    where the processor is not known."""
    cpus = () if cpu is None else engine_cpus(plan, cpu)
    if cpu is None or not cpus or len(cpus) == cpu.logical_count:
        return UNPINNED
    names = ranges_text(cpus)
    if shell == Shell.BASH:
        return ScriptPinning(Pinning(cpus), (say("export.pinned.taskset", cpus=names),))
    pinning = Pinning(cpus, say("export.pinned.stop"))
    if pinning.mask is None or (cpu.processor_groups or 1) > 1:
        return ScriptPinning(None, (say("export.not_pinned", cpus=names),))
    return ScriptPinning(pinning, (say("export.pinned.mask", cpus=names),))
