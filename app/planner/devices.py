"""The board's columns from a hardware snapshot: which devices, how much is free, what is kept back.

All cards and RPC servers are planned together unless somebody switches one off; graphics inside the processor, which
have no memory of their own, join only when they are asked for or are all there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.common.units import MIB
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.planner.overhead import overhead_estimate_bytes
from app.planner.types import RAM, Device, DeviceKind, DeviceSet

_EFFECTIVE = 0.8
"""Share of a theoretical memory bandwidth that matrix-vector products reach; from roofline runs (engine.md 10)."""

_LANE_GBS = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
"""GB/s of one PCIe lane by generation, after line coding (PCI-SIG)."""

_RESERVE_DISPLAY_MIB = 512
_RESERVE_MIB = 256


@dataclass(frozen=True, slots=True)
class DeviceWishes:
    """Corrections to what was detected.

    ``free_mib``: device name -> MiB to plan with, replacing what was detected (``--device``); ``ram_mib`` likewise.
    ``gpus``: names of the GPUs to use, () = none; None = the usual ones, without those of ``off``.
    """

    free_mib: Mapping[str, int] = field(default_factory=dict)
    ram_mib: int | None = None
    gpus: tuple[str, ...] | None = None
    off: tuple[str, ...] = ()
    reserve_mib: int | None = None
    keep_ram_mib: int | None = None
    rpc_servers: tuple[str, ...] = ()


def _kind(gpu: GpuInfo) -> DeviceKind:
    return {"igpu": DeviceKind.IGPU, "rpc": DeviceKind.RPC}.get(gpu.kind, DeviceKind.GPU)


def _reserve_bytes(drives_display: bool | None, kind: DeviceKind, wished_mib: int | None) -> int:
    """512 MiB on a card that drives a display or where nobody can tell, else 256 (docs/cli.md)."""
    if wished_mib is not None:
        return wished_mib * MIB
    headless = drives_display is False or kind is DeviceKind.RPC
    return (_RESERVE_MIB if headless else _RESERVE_DISPLAY_MIB) * MIB


def assumed_names(snapshot: HardwareSnapshot) -> tuple[GpuInfo, ...]:
    """What an engine would most likely call the cards, while none has been asked: CUDA for NVIDIA, Vulkan for others.

    A plan can then be made before there is an engine; the engine's own list replaces this as soon as it exists.
    """
    counts: dict[str, int] = {}
    named = []
    for gpu in snapshot.gpus:
        backend = "CUDA" if gpu.uuid is not None or "nvidia" in gpu.name.lower() else "Vulkan"
        n = counts.get(backend, 0)
        counts[backend] = n + 1
        named.append(replace(gpu, engine_name=f"{backend}{n}"))
    return tuple(named)


def _device(gpu: GpuInfo, wishes: DeviceWishes) -> Device:
    name = gpu.engine_name or gpu.name
    kind = _kind(gpu)
    free = wishes.free_mib.get(name)
    return Device(
        name=name,
        kind=kind,
        total_bytes=gpu.total_bytes,
        free_bytes=gpu.free_bytes if free is None else free * MIB,
        description=gpu.name,
        buffer_name=gpu.buffer_name or name,
        overhead_bytes=overhead_estimate_bytes(name, kind, gpu.total_bytes),
        reserve_bytes=_reserve_bytes(gpu.drives_display, kind, wishes.reserve_mib),
        bandwidth_gbs=gpu.memory_gbs * _EFFECTIVE if gpu.memory_gbs else None,
        pcie_gbs=_pcie_gbs(gpu),
    )


def _pcie_gbs(gpu: GpuInfo) -> float | None:
    """What copies from RAM reach over the card's link at its best (it clocks down when idle)."""
    lane = _LANE_GBS.get(gpu.pcie_gen_max or 0)
    return lane * gpu.pcie_width_max * _EFFECTIVE if lane and gpu.pcie_width_max else None


def _named_only(name: str, free_mib: int, wishes: DeviceWishes) -> Device:
    """A device that only the user knows of (``--device CUDA0=12288`` on a machine without one)."""
    kind = DeviceKind.RPC if name.startswith("RPC") else DeviceKind.GPU
    index = name.removeprefix("RPC")
    servers = wishes.rpc_servers
    server = servers[int(index)] if kind is DeviceKind.RPC and index.isdigit() and int(index) < len(servers) else None
    return Device(
        name=name,
        kind=kind,
        total_bytes=free_mib * MIB,
        free_bytes=free_mib * MIB,
        description=server or name,
        buffer_name=f"RPC0[{server}]" if server else name,  # counted per server (ggml-rpc.cpp:2355)
        overhead_bytes=overhead_estimate_bytes(name, kind, free_mib * MIB),
        reserve_bytes=_reserve_bytes(None, kind, wishes.reserve_mib),
    )


def ram_device(snapshot: HardwareSnapshot, ram_mib: int | None = None) -> Device:
    """The host memory column; its bandwidth is the measured one, else 80 % of the theoretical."""
    memory = snapshot.memory
    bandwidth = memory.measured_gbs
    if bandwidth is None and memory.theoretical_gbs is not None:
        bandwidth = memory.theoretical_gbs * _EFFECTIVE
    return Device(
        name=RAM,
        kind=DeviceKind.RAM,
        total_bytes=memory.total_bytes if ram_mib is None else max(memory.total_bytes or 0, ram_mib * MIB),
        free_bytes=memory.available_bytes if ram_mib is None else ram_mib * MIB,
        description=RAM,
        buffer_name="CPU",
        bandwidth_gbs=bandwidth,
    )


def usable_devices(snapshot: HardwareSnapshot, wishes: DeviceWishes) -> list[Device]:
    """Devices the engine can use, in its own order; every ``--device`` replaces or adds one.

    With ``--device`` only the named ones count: they replace what was detected.
    """
    gpus = snapshot.gpus if snapshot.engine_asked else assumed_names(snapshot)
    detected = [_with_shared_memory(_device(g, wishes), snapshot) for g in gpus if g.engine_name is not None]
    if not wishes.free_mib:
        return detected
    known = {d.name: d for d in detected}
    return [known.get(name) or _named_only(name, free, wishes) for name, free in wishes.free_mib.items()]


def _usual(usable: list[Device], snapshot: HardwareSnapshot, wishes: DeviceWishes) -> list[Device]:
    """The devices that are on unless somebody says otherwise.

    A card that two backends list counts once. A processor that plays a graphics card (llvmpipe) computes in RAM,
    slower than the CPU path: never by default.
    """
    pretenders = {g.engine_name for g in snapshot.gpus if g.is_software} - set(wishes.free_mib)
    real = [d for d in usable if d.name not in pretenders and d.name not in wishes.off]
    cards = [d for d in real if d.kind is not DeviceKind.IGPU or d.name in wishes.free_mib]
    if not cards:
        return sorted(real, key=lambda d: -(d.free_bytes or 0))[:1]
    backends = {d.description: d.name.rstrip("0123456789") for d in reversed(cards)}
    return [d for d in cards if d.kind is DeviceKind.RPC or backends[d.description] == d.name.rstrip("0123456789")]


def _with_shared_memory(device: Device, snapshot: HardwareSnapshot) -> Device:
    """Graphics inside the processor read the same RAM, as fast as that is."""
    if device.kind is not DeviceKind.IGPU or device.bandwidth_gbs is not None:
        return device
    return replace(device, bandwidth_gbs=ram_device(snapshot).bandwidth_gbs)


def device_set(snapshot: HardwareSnapshot, wishes: DeviceWishes) -> DeviceSet:
    """The columns for this machine in the engine's order: the GPUs that are on, those that are off, RAM always."""
    usable = usable_devices(snapshot, wishes)
    if wishes.gpus is None:
        active = _usual(usable, snapshot, wishes)
    else:
        active = [d for d in usable if d.name in wishes.gpus and d.name not in wishes.off]
    return DeviceSet(
        gpus=tuple(active),
        ram=replace(ram_device(snapshot, wishes.ram_mib), reserve_bytes=(wishes.keep_ram_mib or 0) * MIB),
        off=tuple(d for d in usable if d not in active),
        rpc_servers=wishes.rpc_servers,
    )
