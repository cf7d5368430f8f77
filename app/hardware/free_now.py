"""How much memory is free at this moment, and nothing else: what changes while the rest of a snapshot stays.

The drivers are asked for cards that they told of before; a card that hybrid graphics have switched off is not woken.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.common.problem import ProblemError
from app.hardware import gpus_linux, gpus_nvml, gpus_windows, gpus_windows_calls, memory_linux
from app.hardware.commit import commit_free_bytes
from app.hardware.devices import ENGINE_SOURCE
from app.hardware.gpus_nvml import NvmlSession
from app.hardware.power import read_power
from app.hardware.ps import RamNow, ram_now
from app.hardware.sysfs import read_text
from app.hardware.types import GpuInfo, HardwareSnapshot, PowerInfo

_SLEEPING = ("suspended", "suspending")


@dataclass(frozen=True, slots=True)
class FreeNow:
    """``gpus``: index in the snapshot -> free bytes; ``asleep``: index -> does it sleep (None: nobody tells).
    ``commit_bytes``: what the system can still promise, where it keeps to a limit. ``power``: mains or battery."""

    ram: RamNow | None
    gpus: Mapping[int, int] = field(default_factory=dict)
    asleep: Mapping[int, bool | None] = field(default_factory=dict)
    commit_bytes: int | None = None
    power: PowerInfo | None = None


def read_free(
    snapshot: HardwareSnapshot,
    root: Path = Path("/"),
    open_session: Callable[[], NvmlSession] = gpus_nvml.open_nvml,
) -> FreeNow:
    """Ask for free RAM and VRAM. A driver that does not answer any more leaves its cards out; nothing is raised."""
    asleep = {i: is_asleep(gpu, root) for i, gpu in enumerate(snapshot.gpus)}
    awake = {i: gpu for i, gpu in enumerate(snapshot.gpus) if not asleep[i]}
    # NVML wakes every card of the machine when it is opened, so one that sleeps keeps all of them from being asked.
    nvidia = {} if _any_nvidia_asleep(snapshot, asleep) else {i: g for i, g in awake.items() if g.uuid is not None}
    others = _dxgi(awake) if sys.platform == "win32" else _amd(awake, root)
    return FreeNow(_ram(root), {**others, **_nvidia(nvidia, open_session)}, asleep, _commit(root), read_power(root))


def with_free(snapshot: HardwareSnapshot, now: FreeNow) -> HardwareSnapshot:
    """The snapshot with the new figures. What the engine told of a card stands until the engine is asked again."""
    gpus = tuple(
        dataclasses.replace(
            gpu,
            free_bytes=now.gpus[i] if i in now.gpus and not engine_tells_free(snapshot, i) else gpu.free_bytes,
            is_asleep=now.asleep.get(i, gpu.is_asleep),
        )
        for i, gpu in enumerate(snapshot.gpus)
    )
    memory = snapshot.memory
    if now.ram is not None:
        memory = dataclasses.replace(memory, available_bytes=now.ram.available_bytes)
    if now.commit_bytes is not None:
        memory = dataclasses.replace(memory, commit_free_bytes=now.commit_bytes)
    return dataclasses.replace(snapshot, gpus=gpus, memory=memory, power=now.power or snapshot.power)


def engine_tells_free(snapshot: HardwareSnapshot, index: int) -> bool:
    """Is this card's free memory the engine's own figure, so that only the engine can tell it anew?"""
    gpu, sources = snapshot.gpus[index], snapshot.sources
    source = sources.get(f"gpus.{index}.free_bytes") or sources.get(f"gpus.{index}")
    return gpu.engine_name is not None and source == ENGINE_SOURCE


def is_asleep(gpu: GpuInfo, root: Path = Path("/")) -> bool | None:
    """The power state of the card's PCI function, which can be read without waking it; None: not told.

    Linux: runtime power management; Windows: the PnP manager's note of the device's last state.
    """
    if gpu.pci_id is None:
        return None
    if sys.platform == "win32":
        return _windows_states().get(gpu.pci_id)
    state = read_text(root / "sys/bus/pci/devices" / gpu.pci_id / "power/runtime_status")
    return None if state in (None, "", "unsupported", "error") else state in _SLEEPING


def _windows_states() -> Mapping[str, bool]:
    try:
        return gpus_windows_calls.read_sleeping()
    except OSError:
        return {}


def _any_nvidia_asleep(snapshot: HardwareSnapshot, asleep: Mapping[int, bool | None]) -> bool:
    return any(gpu.uuid is not None and asleep[i] for i, gpu in enumerate(snapshot.gpus))


def _ram(root: Path) -> RamNow | None:
    try:
        now = ram_now()
        return now if sys.platform == "win32" else memory_linux.within_container(now, root)[0]
    except (OSError, RuntimeError):
        return None


def _commit(root: Path) -> int | None:
    try:
        return commit_free_bytes(root)
    except OSError:
        return None


def _amd(gpus: Mapping[int, GpuInfo], root: Path) -> dict[int, int]:
    wanted = {gpu.pci_id: i for i, gpu in gpus.items() if gpu.pci_id is not None and gpu.uuid is None}
    if not wanted:
        return {}
    told = ((gpu.pci_id, gpu.free_bytes) for gpu in gpus_linux.read_gpus(root))
    return {wanted[pci_id]: free for pci_id, free in told if pci_id in wanted and free is not None}


def _dxgi(gpus: Mapping[int, GpuInfo]) -> dict[int, int]:
    """Windows' budget for one more program, of the cards that NVML does not tell of."""
    wanted = {gpu.luid: i for i, gpu in gpus.items() if gpu.luid is not None and gpu.uuid is None}
    if not wanted:
        return {}
    try:
        told = gpus_windows.gpus_of(gpus_windows_calls.read_adapters(), ())
    except OSError:
        return {}
    return {wanted[g.luid]: g.free_bytes for g in told if g.luid in wanted and g.free_bytes is not None}


def _nvidia(gpus: Mapping[int, GpuInfo], open_session: Callable[[], NvmlSession]) -> dict[int, int]:
    if not gpus:
        return {}
    try:
        session = open_session()
    except ProblemError:
        return {}
    found: dict[int, int] = {}
    try:
        for i, gpu in gpus.items():
            handle = session.handle_of(gpu.uuid or "")
            free = None if handle is None else session.memory(handle)[1]
            if free is not None:
                found[i] = free
    finally:
        session.close()
    return found
