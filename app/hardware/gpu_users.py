"""Who else uses the VRAM: the programs on each card, the largest first, as far as the system tells.

NVIDIA: NVML's lists of processes (Linux; Windows tells no sizes there). Windows: the counters of "GPU Process Memory".
AMD and Intel on Linux: the DRM drivers' fdinfo of this user's processes. A card that sleeps is used by nobody and is
not woken to be asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.common.problem import ProblemError
from app.hardware import gpus_nvml
from app.hardware.gpu_counters_windows import GpuCounters
from app.hardware.gpu_use import GpuUse, read_process_use
from app.hardware.gpus_nvml import NvmlSession
from app.hardware.ps import process_name
from app.hardware.types import GpuInfo

LEAST_BYTES = 16 * 1024 * 1024
"""Less than this on a card is no program to close."""


@dataclass(frozen=True, slots=True)
class GpuUser:
    """One program on one card (its index in the snapshot). ``name`` None: it has ended, or belongs to others."""

    gpu: int
    pid: int
    name: str | None
    dedicated_bytes: int


def read_gpu_users(
    gpus: Sequence[GpuInfo], open_session: Callable[[], NvmlSession] | None = None
) -> tuple[GpuUser, ...]:
    """Ask now. Programs whose size nobody tells are left out; nothing is raised."""
    uses: list[GpuUse] = []
    if not any(gpu.uuid is not None and gpu.is_asleep for gpu in gpus):
        uses += _nvml_uses([g.uuid for g in gpus if g.uuid is not None], open_session or gpus_nvml.open_nvml)
    uses += _windows_uses() if sys.platform == "win32" else _drm_uses(gpus)
    return gpu_users(gpus, uses, process_name)


def gpu_users(
    gpus: Sequence[GpuInfo], uses: Iterable[GpuUse], name_of: Callable[[int], str | None]
) -> tuple[GpuUser, ...]:
    """The uses by card and program; where two sources tell one, the larger figure. Pure but for ``name_of``."""
    indexes = {key: i for i, gpu in enumerate(gpus) for key in (gpu.uuid, gpu.luid, gpu.pci_id) if key is not None}
    most: dict[tuple[int, int], int] = {}
    for use in uses:
        index = indexes.get(use.adapter)
        if index is not None and use.dedicated_bytes is not None and use.dedicated_bytes >= LEAST_BYTES:
            most[index, use.pid] = max(use.dedicated_bytes, most.get((index, use.pid), 0))
    users = [GpuUser(index, pid, name_of(pid), size) for (index, pid), size in most.items()]
    return tuple(sorted(users, key=lambda user: (user.gpu, -user.dedicated_bytes, user.pid)))


def _nvml_uses(uuids: list[str], open_session: Callable[[], NvmlSession]) -> list[GpuUse]:
    if not uuids:
        return []
    try:
        session = open_session()
    except ProblemError:
        return []
    found: list[GpuUse] = []
    try:
        for uuid in uuids:
            handle = session.handle_of(uuid)
            told = {} if handle is None else session.processes(handle)
            found += [GpuUse(pid, uuid, used, None) for pid, used in told.items()]
    finally:
        session.close()
    return found


def _windows_uses() -> list[GpuUse]:
    try:
        counters = GpuCounters()
    except OSError:
        return []
    try:
        return list(counters.read())
    except OSError:
        return []
    finally:
        counters.close()


def _drm_uses(gpus: Sequence[GpuInfo], root: Path = Path("/")) -> list[GpuUse]:
    """Only where there is a card whose driver writes such files."""
    if all(gpu.uuid is not None or gpu.pci_id is None for gpu in gpus):
        return []
    try:
        pids = [int(folder.name) for folder in (root / "proc").iterdir() if folder.name.isdigit()]
    except OSError:
        return []
    return [use for pid in pids for use in read_process_use(pid, root)]
