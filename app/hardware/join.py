"""The same card seen by several lists becomes one: by UUID, by PCI address, else by name. Pure.

The first list that knows a fact wins, so the lists come in the order of trust: NVML, then the system's own.
"""

from __future__ import annotations

import dataclasses

from app.hardware.types import GpuInfo


def join_gpus(lists: tuple[tuple[str, tuple[GpuInfo, ...]], ...]) -> tuple[tuple[GpuInfo, ...], dict[str, str]]:
    """(source name, cards) lists -> the cards, and the sources: ``gpus.0`` and, where another list told it, a field."""
    joined: list[GpuInfo] = []
    sources: dict[str, str] = {}
    for source, gpus in lists:
        earlier = len(joined)
        taken: set[int] = set()
        for gpu in gpus:
            index = _find(joined[:earlier], gpu, taken)
            if index is None:
                sources[f"gpus.{len(joined)}"] = source
                joined.append(gpu)
            else:
                taken.add(index)
                joined[index] = _merge(joined[index], gpu, f"gpus.{index}", source, sources)
    return tuple(joined), sources


def _find(known: list[GpuInfo], gpu: GpuInfo, taken: set[int]) -> int | None:
    for field in ("uuid", "pci_id"):
        value = getattr(gpu, field)
        for i, other in enumerate(known):
            if value is not None and getattr(other, field) == value and i not in taken:
                return i
    for i, other in enumerate(known):
        both_placed = gpu.pci_id is not None and other.pci_id is not None
        if i not in taken and not both_placed and other.name.casefold() == gpu.name.casefold():
            return i
    return None


def _merge(first: GpuInfo, second: GpuInfo, key: str, source: str, sources: dict[str, str]) -> GpuInfo:
    """The first card's facts with its gaps filled from the second, each noted under its source."""
    filled = {}
    for field in dataclasses.fields(GpuInfo):
        if getattr(first, field.name) is None and getattr(second, field.name) is not None:
            filled[field.name] = getattr(second, field.name)
            sources[f"{key}.{field.name}"] = source
    return dataclasses.replace(first, **filled)
