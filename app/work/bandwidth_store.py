"""Remembers the measured RAM bandwidth of each machine with its date: it is measured once, not at each start.

The key is what the figure depends on: processor, the cores that read, amount, kind and speed of the modules. A module
more, other slots that the firmware tells of, or a container with fewer cores is another machine, and measured anew.
"""

from __future__ import annotations

import dataclasses
import math
from datetime import datetime

from app.common.problem import Problem
from app.common.units import GIB
from app.hardware.bandwidth import reading_cpus
from app.hardware.types import HardwareSnapshot
from app.work.learned import Json, LearnedStore, try_add

KIND = "ram_bandwidth"
SOURCE = "measured"


def bandwidth_key(snapshot: HardwareSnapshot) -> str:
    """What makes two measurements comparable. The amount is rounded: firmware keeps a few MiB more or less at times."""
    cpu, memory = snapshot.cpu, snapshot.memory
    amount = None if memory.total_bytes is None else round(memory.total_bytes / GIB)
    facts = (cpu.name, len(reading_cpus(cpu)), amount, memory.kind, memory.modules, memory.channels, memory.speed_mts)
    return "|".join("?" if fact is None else str(fact) for fact in facts)


def with_known_bandwidth(snapshot: HardwareSnapshot, store: LearnedStore) -> HardwareSnapshot:
    """The snapshot with what was measured on this machine before; as it is where nothing was, or nothing sensible."""
    if snapshot.memory.measured_gbs is not None:
        return snapshot
    for seen in store.load(KIND, bandwidth_key(snapshot)).observations:
        gbs = seen.value.get("gbs")
        if isinstance(gbs, (int, float)) and not isinstance(gbs, bool) and math.isfinite(gbs) and gbs > 0:
            return with_bandwidth(snapshot, float(gbs), _iso(seen.at))
    return snapshot


def with_bandwidth(snapshot: HardwareSnapshot, gbs: float, measured_at: str | None) -> HardwareSnapshot:
    """The snapshot with a measured figure and its date."""
    memory = dataclasses.replace(snapshot.memory, measured_gbs=gbs, measured_at=measured_at)
    return dataclasses.replace(snapshot, memory=memory, sources={**snapshot.sources, "memory.measured_gbs": SOURCE})


def keep_bandwidth(snapshot: HardwareSnapshot, gbs: float, store: LearnedStore) -> Problem | None:
    """Remember a figure; the trouble when the folder cannot be written (the figure holds for this run all the same)."""
    value: dict[str, Json] = {"gbs": round(gbs, 2), "cpus": list(reading_cpus(snapshot.cpu))}
    return try_add(store, KIND, bandwidth_key(snapshot), value, keep=5)


def _iso(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return None
