"""What was learned, brought to the devices of a plan: whose it is, and which of it holds for this engine and model."""

from __future__ import annotations

from dataclasses import replace

from app.common.units import MIB
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.planner.devices import assumed_names
from app.planner.learned import Learned
from app.planner.overhead import backend_of
from app.planner.types import RAM, Device, DeviceSet


def learning_key(name: str, gpu: GpuInfo | None) -> str:
    """What was learned belongs to this: the card itself with its backend, wherever it is plugged in; RAM; or the RPC
    server's device. ``name`` is the engine's. ``gpu`` None: a device that only the user knows of, nothing is kept."""
    if name == RAM:
        return RAM
    if gpu is None:
        return ""
    if gpu.kind == "rpc":
        return f"RPC {gpu.buffer_name or gpu.name}"
    identity = gpu.uuid or f"{gpu.name} {gpu.pci_id or ''} {(gpu.total_bytes or 0) // MIB} MiB"
    return f"{backend_of(name)} {identity}"


def learning_keys(devices: DeviceSet, snapshot: HardwareSnapshot) -> dict[str, str]:
    """Device name -> key, for every device of which something can be kept."""
    named = snapshot.gpus if snapshot.engine_asked else assumed_names(snapshot)
    gpus = {gpu.engine_name: gpu for gpu in named if gpu.engine_name is not None}
    keys = {d.name: learning_key(d.name, gpus.get(d.name)) for d in (*devices.all, *devices.off)}
    return {name: key for name, key in keys.items() if key}


def with_learned(
    devices: DeviceSet, snapshot: HardwareSnapshot, learned: Learned, engine: str, architecture: str
) -> DeviceSet:
    """The devices with the overheads and corrections that were learned for this engine build and architecture."""
    if learned.is_empty:
        return devices
    keys = learning_keys(devices, snapshot)

    def taught(device: Device) -> Device:
        key = keys.get(device.name)
        if key is None:
            return device
        device = replace(device, corrections=learned.corrections_for(engine, architecture, key))
        overhead = None if device.is_ram else learned.overhead(key, engine)
        if overhead is None:
            return device
        return replace(
            device,
            overhead_bytes=overhead.n_bytes,
            overhead_kind="calibrated",
            overhead_launches=overhead.n_launches,
        )

    return replace(
        devices,
        gpus=tuple(taught(d) for d in devices.gpus),
        ram=taught(devices.ram),
        off=tuple(taught(d) for d in devices.off),
    )
