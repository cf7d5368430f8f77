"""The machine as one snapshot: the probes' facts, the engine's own device list and what was measured here, joined."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from app.common.later import later
from app.common.paths import AppPaths, app_paths
from app.common.problem import ProblemError
from app.hardware.types import HardwareSnapshot

if TYPE_CHECKING:
    from app.engine.devices import list_devices
    from app.engine.locate import EngineBinary
    from app.hardware.bandwidth import cache_bytes, measure_ram_read_gbs, reading_cpus
    from app.hardware.devices import with_engine_devices
    from app.hardware.free_now import FreeNow, engine_tells_free, read_free, with_free
    from app.hardware.probe import probe
    from app.work.bandwidth_store import keep_bandwidth, with_bandwidth, with_known_bandwidth
    from app.work.learned import LearnedStore
else:
    list_devices = later("app.engine.devices", "list_devices")
    cache_bytes = later("app.hardware.bandwidth", "cache_bytes")
    measure_ram_read_gbs = later("app.hardware.bandwidth", "measure_ram_read_gbs")
    reading_cpus = later("app.hardware.bandwidth", "reading_cpus")
    with_engine_devices = later("app.hardware.devices", "with_engine_devices")
    engine_tells_free = later("app.hardware.free_now", "engine_tells_free")
    read_free = later("app.hardware.free_now", "read_free")
    with_free = later("app.hardware.free_now", "with_free")
    probe = later("app.hardware.probe", "probe")
    keep_bandwidth = later("app.work.bandwidth_store", "keep_bandwidth")
    with_bandwidth = later("app.work.bandwidth_store", "with_bandwidth")
    with_known_bandwidth = later("app.work.bandwidth_store", "with_known_bandwidth")
    LearnedStore = later("app.work.learned", "LearnedStore")


def look_at_machine(
    binary: EngineBinary | None, rpc_servers: Sequence[str] = (), paths: AppPaths | None = None
) -> HardwareSnapshot:
    """Probe the computer, ask the engine, and add the RAM speed that was measured here before.

    An engine that cannot answer becomes a problem of the snapshot.
    """
    return ask_engine(with_known_bandwidth(probe(), _store(paths)), binary, rpc_servers)


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


def with_measured_ram(
    snapshot: HardwareSnapshot, cancelled: Callable[[], bool] = lambda: False, paths: AppPaths | None = None
) -> HardwareSnapshot:
    """Measure RAM reading for about a second on the recommended cores, and remember it with its date.

    Raises ProblemError ``bandwidth_*`` (app/hardware/bandwidth.py).
    """
    gbs = measure_ram_read_gbs(reading_cpus(snapshot.cpu), cancelled=cancelled, caches=cache_bytes(snapshot.cpu))
    trouble = keep_bandwidth(snapshot, gbs, _store(paths))
    measured = with_bandwidth(snapshot, gbs, datetime.now().astimezone().isoformat(timespec="seconds"))
    return measured if trouble is None else dataclasses.replace(measured, problems=(*measured.problems, trouble))


def only_engine_tells_free(snapshot: HardwareSnapshot) -> bool:
    """Is there a card that the engine uses and whose free memory no driver tells (RPC, Vulkan without a library)?"""
    return any(engine_tells_free(snapshot, i) and not gpu.is_asleep for i, gpu in enumerate(snapshot.gpus))


@dataclass(frozen=True, slots=True)
class MachineCalls:
    """What asks the drivers, the engine and the RAM, in one place: a test puts counting ones here."""

    look: Callable[[EngineBinary | None, Sequence[str]], HardwareSnapshot] = look_at_machine
    read_free: Callable[[HardwareSnapshot], FreeNow] = read_free
    ask_engine: Callable[[HardwareSnapshot, EngineBinary | None, Sequence[str]], HardwareSnapshot] = ask_engine
    measure: Callable[[HardwareSnapshot, Callable[[], bool]], HardwareSnapshot] = with_measured_ram


def with_free_now(
    snapshot: HardwareSnapshot,
    calls: MachineCalls,
    binary: EngineBinary | None = None,
    rpc_servers: Sequence[str] = (),
) -> HardwareSnapshot:
    """The same machine with the memory that is free now. With ``binary`` the engine is asked too, where it alone knows
    the figure of a card that is awake."""
    fresh = with_free(snapshot, calls.read_free(snapshot))
    if binary is None or not only_engine_tells_free(fresh):
        return fresh
    asked = calls.ask_engine(fresh, binary, rpc_servers)
    return dataclasses.replace(asked, problems=fresh.problems)  # the list that failed now has been told at the start


def _store(paths: AppPaths | None) -> LearnedStore:
    return LearnedStore((paths or app_paths()).learned_file)
