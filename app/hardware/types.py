"""What this computer is, as frozen values that save to and load from JSON. Unknown is None, never 0.

Every fact's origin stands in ``HardwareSnapshot.sources`` under a dotted key, for example
``{"memory.total_bytes": "psutil", "gpus.0.pcie_width_max": "nvml"}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.common.problem import Problem


class CoreKind(StrEnum):
    """Performance core, efficiency core, low-power efficiency core; UNKNOWN where the system does not tell."""

    P = "P"
    E = "E"
    LP_E = "LP-E"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CpuCore:
    """One physical core: the logical CPU numbers that share it, and its kind."""

    logical: tuple[int, ...]
    kind: CoreKind


@dataclass(frozen=True, slots=True)
class CacheDomain:
    """The logical CPUs that share one third-level cache, and its size: a die, or a cluster of cores."""

    logical: tuple[int, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """``recommended_cpus``: logical CPUs the engine should get (one list, ascending); ``recommended_threads``: -t.

    ``reason`` is a words code (``cpu.reason.<code>``): why these cores. ``allowed_cpus`` and ``quota_cpus``: what an
    affinity mask and a container grant this program; None = no such limit. ``processor_groups``: Windows numbers at
    most 64 CPUs in a group. ``is_emulated``: this program was built for another processor than the one it runs on.
    """

    name: str | None
    cores: tuple[CpuCore, ...]
    recommended_cpus: tuple[int, ...]
    recommended_threads: int
    reason: str
    is_hybrid: bool = False
    is_virtual_machine: bool | None = None
    l3: tuple[CacheDomain, ...] = ()
    allowed_cpus: tuple[int, ...] | None = None
    quota_cpus: float | None = None
    processor_groups: int | None = None
    is_emulated: bool | None = None

    @property
    def logical_count(self) -> int:
        """Number of logical CPUs."""
        return sum(len(core.logical) for core in self.cores)

    def count(self, kind: CoreKind) -> int:
        """Number of physical cores of a kind."""
        return sum(1 for core in self.cores if core.kind is kind)


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """RAM. ``speed_mts`` is the configured speed in MT/s. Bandwidths in decimal GB/s.

    ``commit_free_bytes``: what the system can still promise, where it keeps to a limit (Windows; Linux with
    ``vm.overcommit_memory`` 2); None without one. ``commits_cards``: what graphics cards hold counts too (WDDM).

    ``modules``: places with memory in them, of ``slots`` places; ``is_soldered``: they cannot be changed.

    ``measured_at``: ISO 8601 time of the measurement that ``measured_gbs`` comes from.
    """

    total_bytes: int | None
    available_bytes: int | None
    kind: str | None = None
    modules: int | None = None
    channels: int | None = None
    speed_mts: int | None = None
    theoretical_gbs: float | None = None
    measured_gbs: float | None = None
    measured_at: str | None = None
    slots: int | None = None
    is_soldered: bool | None = None
    commit_free_bytes: int | None = None
    commits_cards: bool = False


@dataclass(frozen=True, slots=True)
class GpuInfo:
    """One graphics device.

    ``engine_name`` is what llama-server calls it (CUDA0, Vulkan0, RPC0); None until the engine has been asked, and
    then the engine cannot use it. ``kind``: gpu, igpu, rpc. ``buffer_name`` is for ``-ot`` (``RPC0[HOST:PORT]``).
    ``engine_free_bytes`` is the engine's own figure, taken with its context open; ``free_bytes`` is what a plan may
    count on (devices.py joins the two). ``is_software``: a processor that plays a graphics card (llvmpipe).
    ``driver_free_bytes``: what the driver called free where the engine's smaller figure counts instead (Windows
    withholds the rest from a single program).
    ``reserved_bytes``: VRAM that the driver keeps for itself, part of neither free nor used. ``luid``: Windows' name of
    the adapter until the next restart, as its counters write it (``0x00000000_0x0000C1D2``).
    ``is_asleep``: hybrid graphics have switched the card off (it is not woken to be asked); None: nobody tells.
    """

    name: str
    kind: str
    engine_name: str | None
    total_bytes: int | None
    free_bytes: int | None
    uuid: str | None = None
    pci_id: str | None = None
    driver: str | None = None
    compute_capability: str | None = None
    pcie_gen_max: int | None = None
    pcie_gen_now: int | None = None
    pcie_width_max: int | None = None
    pcie_width_now: int | None = None
    drives_display: bool | None = None
    memory_gbs: float | None = None
    buffer_name: str | None = None
    engine_free_bytes: int | None = None
    is_software: bool = False
    is_asleep: bool | None = None
    reserved_bytes: int | None = None
    luid: str | None = None
    driver_free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PowerInfo:
    """``on_battery``: no mains; ``is_saving``: the system's battery saver or low-power profile is on."""

    on_battery: bool | None = None
    is_saving: bool | None = None


@dataclass(frozen=True, slots=True)
class HardwareSnapshot:
    """One look at the machine. ``taken_at`` is an ISO 8601 text with time zone."""

    taken_at: str
    os: str
    cpu: CpuInfo
    memory: MemoryInfo
    gpus: tuple[GpuInfo, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    engine_asked: bool = False
    power: PowerInfo = field(default_factory=PowerInfo)
