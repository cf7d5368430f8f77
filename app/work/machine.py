"""The machine as one snapshot: the probes' facts and the engine's own device list, joined."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from app.common.problem import ProblemError
from app.engine.devices import list_devices
from app.engine.locate import EngineBinary
from app.hardware.bandwidth import measure_ram_read_gbs, reading_cpus
from app.hardware.devices import with_engine_devices
from app.hardware.probe import probe
from app.hardware.types import HardwareSnapshot


def look_at_machine(binary: EngineBinary | None, rpc_servers: Sequence[str] = ()) -> HardwareSnapshot:
    """Probe the computer and ask the engine; an engine that cannot answer becomes a problem of the snapshot."""
    return ask_engine(probe(), binary, rpc_servers)


def ask_engine(
    snapshot: HardwareSnapshot, binary: EngineBinary | None, rpc_servers: Sequence[str] = ()
) -> HardwareSnapshot:
    """The snapshot with the engine's device list, when there is an engine."""
    if binary is None:
        return snapshot
    try:
        return with_engine_devices(snapshot, list_devices(binary, tuple(rpc_servers)))
    except ProblemError as error:
        return dataclasses.replace(snapshot, problems=(*snapshot.problems, error.problem))


def with_measured_ram(snapshot: HardwareSnapshot) -> HardwareSnapshot:
    """Measure RAM reading for about a second on the recommended cores."""
    measured = measure_ram_read_gbs(reading_cpus(snapshot.cpu))
    sources = {**snapshot.sources, "memory.measured_gbs": "measured"}
    return dataclasses.replace(
        snapshot, memory=dataclasses.replace(snapshot.memory, measured_gbs=measured), sources=sources
    )
