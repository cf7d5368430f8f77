"""How busy a card is, its temperature, power and clock, as Windows tells of every maker's cards. Pure parsers.

Windows counts the time that each engine of a card works for each process. An instance of "GPU Engine" is
``pid_4242_luid_0x00000000_0x0000C1D2_phys_0_eng_3_engtype_Compute 0``, one of "GPU Adapter Memory"
``luid_0x00000000_0x0000C1D2_phys_0``. As in Task Manager a card is as busy as its busiest engine
(devblogs.microsoft.com/directx/gpus-in-the-task-manager); we leave out engines that copy, play video and the like.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from app.hardware.gpu_use import luid_text

_LUID = r"luid_(0x[0-9A-F]+_0x[0-9A-F]+)_phys_(\d+)"
_ENGINE = re.compile(rf"pid_(\d+)_{_LUID}_eng_(\d+)_engtype_(.*)", re.IGNORECASE)
_ADAPTER = re.compile(_LUID, re.IGNORECASE)
_WORKS = re.compile(r"3d|compute|cuda|graphics", re.IGNORECASE)
"""Kinds of engines that a model runs on: ``3D``, ``Compute_0``, ``High Priority Compute``, ``Cuda``, ``Graphics_1``."""
_ADAPTER_BYTES = 64
_NODE_BYTES = (56, 64)
_HOTTEST = 1500
"""Tenths of a degree: more is no temperature."""
_FASTEST = 10_000
"""MHz: more is no clock."""


@dataclass(frozen=True, slots=True)
class CardLoad:
    """One card. ``percent``: its busiest engine, over all processes; ``own_percent``: the busiest engine's share of one
    process, None where that process does not use the card; ``used_bytes`` of its own memory and ``shared_bytes`` of the
    system's, whoever uses them."""

    percent: float | None
    own_percent: float | None
    used_bytes: int | None
    shared_bytes: int | None


@dataclass(frozen=True, slots=True)
class CardSensors:
    """Degrees Celsius, percent of the power that the card may draw, MHz. None: its driver does not tell."""

    temperature: float | None = None
    power_percent: float | None = None
    clock: float | None = None


def loads_of_counters(
    busy: Mapping[str, float], used: Mapping[str, int], shared: Mapping[str, int], pid: int
) -> dict[str, CardLoad]:
    """By LUID, from the instances of the counters. ``pid``: the process whose own share is told."""
    everybody, own = _by_engine(busy), _by_engine(busy, pid)
    memory, beside = _by_adapter(used), _by_adapter(shared)
    return {
        luid: CardLoad(_busiest(everybody, luid), _busiest(own, luid), memory.get(luid), beside.get(luid))
        for luid in sorted({*everybody, *memory, *beside})
    }


def _by_adapter(instances: Mapping[str, int]) -> dict[str, int]:
    """LUID -> bytes; the parts of linked cards are added up."""
    found: dict[str, int] = {}
    for name, value in instances.items():
        if (match := _ADAPTER.fullmatch(name.strip())) and value >= 0:
            luid = luid_text(match.group(1))
            found[luid] = found.get(luid, 0) + value
    return found


def _by_engine(busy: Mapping[str, float], pid: int | None = None) -> dict[str, dict[tuple[str, str], float]]:
    """LUID -> (part of linked cards, engine) -> percent, added up over processes (or of one alone)."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for name, percent in busy.items():
        match = _ENGINE.fullmatch(name.strip())
        if match is None or not _WORKS.search(match.group(5)) or not math.isfinite(percent) or percent < 0:
            continue
        if pid is None or int(match.group(1)) == pid:
            engines = found.setdefault(luid_text(match.group(2)), {})
            engine = (match.group(3), match.group(4))
            engines[engine] = engines.get(engine, 0.0) + percent
    return found


def _busiest(cards: Mapping[str, Mapping[tuple[str, str], float]], luid: str) -> float | None:
    engines = cards.get(luid)
    return min(100.0, max(engines.values())) if engines else None


def sensors_of(adapter: bytes, node: bytes) -> CardSensors:
    """From D3DKMT_ADAPTER_PERFDATA (64 bytes: u32 index, five u64, u32 fan, power and temperature in tenths) and
    D3DKMT_NODE_PERFDATA (u32 node, u32 index, u64 Hz, ...) of d3dkmthk.h; b'' where Windows did not answer. A driver
    that keeps quiet leaves zeros."""
    power = temperature = hertz = 0
    if len(adapter) == _ADAPTER_BYTES:
        power, temperature = struct.unpack_from("<II", adapter, 52)
    if len(node) in _NODE_BYTES:
        (hertz,) = struct.unpack_from("<Q", node, 8)
    mhz = hertz / 1_000_000
    return CardSensors(
        temperature / 10 if 0 < temperature <= _HOTTEST else None,
        power / 10 if 0 < power <= 10_000 else None,
        mhz if 0 < mhz <= _FASTEST else None,
    )
