"""The memory table that llama-server prints when it ends: what each device still had free with everything loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.common.units import MIB

_ROW = re.compile(
    r"memory_breakdown_print: \|\s+- (?P<name>\S+) \(.*\)\s*\|\s*(?P<total>\d{1,12}) =\s*(?P<free>\d{1,20})"
    r" \+ \(\s*(?P<own>\d{1,12}) = [^)]*\)"
)


@dataclass(frozen=True, slots=True)
class ExitRow:
    """One device at the end of a run, in the engine's whole MiB. ``own_bytes``: its model, context and compute."""

    device: str
    total_bytes: int
    free_bytes: int
    own_bytes: int


def parse_exit_row(line: str) -> ExitRow | None:
    """The row of a device (common/fit.cpp:980), or None for any other line and for a free figure that wrapped around
    below zero (drivers that let programs take more than there is)."""
    if "memory_breakdown_print" not in line:
        return None
    match = _ROW.search(line)
    if match is None:
        return None
    total, free, own = (int(match[name]) for name in ("total", "free", "own"))
    return ExitRow(match["name"], total * MIB, free * MIB, own * MIB) if free <= total else None
