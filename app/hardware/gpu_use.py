"""How much of a card's memory one process uses, and who else uses it. Pure parsers, and the readers of Linux's /proc.

Windows names each figure by an instance: ``pid_4242_luid_0x00000000_0x0000C1D2_phys_0``. Linux' DRM drivers write one
file for each open device of a process, ``/proc/PID/fdinfo/N`` (Documentation/gpu/drm-usage-stats.rst): the same client
appears once for each copy of the handle and counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.common.units import GIB, KIB, MIB
from app.hardware.sysfs import read_text

_INSTANCE = re.compile(r"pid_(\d+)_luid_(0x[0-9A-F]+_0x[0-9A-F]+)_phys_\d+", re.IGNORECASE)
_LINE = re.compile(r"^drm-([a-z0-9-]+):\s*(.*?)\s*$", re.MULTILINE)
_AMOUNT = re.compile(r"(\d{1,18})(?: (KiB|MiB|GiB))?")
_UNITS = {None: 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_VRAM = re.compile(r"vram\d*$")
_SHARED = re.compile(r"(gtt|system\d*|stolen-system\d*)$")
_KINDS = ("resident", "total", "memory")
"""Newest name first: amdgpu wrote ``drm-memory-vram`` before the kernel agreed on ``drm-resident-vram``."""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One process on one card. ``adapter``: a PCI address (Linux), a LUID (Windows) or a UUID (NVML)."""

    pid: int
    adapter: str
    dedicated_bytes: int | None
    shared_bytes: int | None


@dataclass(frozen=True, slots=True)
class DrmClient:
    """One ``fdinfo`` file. ``client`` tells copies of one handle apart from two handles."""

    pci_id: str
    client: str
    vram_bytes: int | None
    shared_bytes: int | None


def parse_instance(name: str) -> tuple[int, str] | None:
    """(pid, LUID as our snapshots write it) of a counter's instance; None for another counter's."""
    found = _INSTANCE.fullmatch(name.strip())
    return (int(found.group(1)), luid_text(found.group(2))) if found else None


def luid_text(luid: str | tuple[int, int]) -> str:
    """'0x00000000_0x0000C1D2' (high, low part) from a counter's text or from DXGI's (low, high) numbers."""
    if isinstance(luid, str):
        high, _, low = luid.partition("_")
        return luid_text((int(low, 16), int(high, 16)))
    return f"0x{luid[1] & 0xFFFFFFFF:08X}_0x{luid[0] & 0xFFFFFFFF:08X}"


def uses_of_counters(dedicated: Mapping[str, int], shared: Mapping[str, int]) -> tuple[GpuUse, ...]:
    """Uses from the instances of "Dedicated Usage" and "Shared Usage"; the parts of linked adapters are added up."""
    found: dict[tuple[int, str], list[int | None]] = {}
    for column, instances in enumerate((dedicated, shared)):
        for name, value in instances.items():
            key = parse_instance(name)
            if key is not None and value >= 0:
                row = found.setdefault(key, [None, None])
                row[column] = (row[column] or 0) + value
    return tuple(GpuUse(pid, luid, used, beside) for (pid, luid), (used, beside) in sorted(found.items()))


def parse_fdinfo(text: str) -> DrmClient | None:
    """The memory figures of one ``fdinfo`` file; None when it is no DRM device or tells no address."""
    told = dict(_LINE.findall(text))
    pci_id, client = told.get("pdev"), told.get("client-id")
    if not pci_id or not client:
        return None
    return DrmClient(pci_id.lower(), client, _region(told, _VRAM), _region(told, _SHARED))


def _region(told: Mapping[str, str], region: re.Pattern[str]) -> int | None:
    """The sum over a region's parts, from the first kind of figure that is there; None where there is none."""
    for kind in _KINDS:
        amounts = [
            _bytes(v) for k, v in told.items() if k.startswith(f"{kind}-") and region.fullmatch(k[len(kind) + 1 :])
        ]
        known = [amount for amount in amounts if amount is not None]
        if known:
            return sum(known)
    return None


def _bytes(text: str) -> int | None:
    found = _AMOUNT.fullmatch(text)
    return int(found.group(1)) * _UNITS[found.group(2)] if found else None


def uses_of_clients(pid: int, clients: Iterable[DrmClient]) -> tuple[GpuUse, ...]:
    """One process's use of each card: every client once, a figure that no client tells stays unknown."""
    once = {(client.pci_id, client.client): client for client in clients}
    cards = sorted({pci_id for pci_id, _ in once})
    return tuple(
        GpuUse(
            pid,
            card,
            _sum(c.vram_bytes for c in once.values() if c.pci_id == card),
            _sum(c.shared_bytes for c in once.values() if c.pci_id == card),
        )
        for card in cards
    )


def read_process_use(pid: int, root: Path = Path("/")) -> tuple[GpuUse, ...]:
    """What a process of ours uses on each card (Linux; () where nothing tells, or the process belongs to others)."""
    folder = root / "proc" / str(pid) / "fdinfo"
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return ()
    texts = (read_text(file) for file in files)
    clients = (parse_fdinfo(text) for text in texts if text and "drm-client-id" in text)
    return uses_of_clients(pid, (client for client in clients if client is not None))


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
