"""AMD's, Intel's and Qualcomm's cards on Windows while a server runs: load, memory, temperature, power and clock.

Load and memory are Windows' own counters, as in Task Manager; temperature, power and clock are the driver's figures for
Windows. NVIDIA's cards have NVML, and come here only where its library is missing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence

from app.hardware.gpu_counters_windows import LoadCounters
from app.hardware.gpu_load import CardLoad, CardSensors
from app.hardware.gpu_sensors_windows import read_sensors
from app.hardware.types import GpuInfo
from app.monitor.sample import Values

METRICS = ("used", "util", "own_util", "temperature", "power_percent", "clock")
LEAST_S = 1.0
"""The counters hold every engine of every process, so they are asked once a second at most; their figures are means
over that time anyway."""

_NOBODY = CardLoad(None, None, None, None)


class WindowsCardSampler:
    """Values ``gpu.<label>.<metric>``: bytes, percent, degrees Celsius, percent of the card's power, MHz. ``own_util``
    is the server's share of the load. Raises nothing that the loop cannot report."""

    name = "windows card"

    def __init__(
        self,
        pid: int,
        adapters: Mapping[str, str],
        read_loads: Callable[[int], Mapping[str, CardLoad]],
        read_sensors: Callable[[str], CardSensors],
        on_close: Callable[[], None] = lambda: None,
        integrated: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``adapters``: LUID -> label; ``integrated``: LUIDs of cards whose memory is the system's."""
        self._pid, self._adapters = pid, dict(adapters)
        self._read_loads, self._read_sensors = read_loads, read_sensors
        self._on_close, self._integrated, self._clock = on_close, integrated, clock
        self._due: float | None = None
        self._told: dict[str, float | None] = {}

    def sample(self) -> Values:
        """All metrics of all cards; within a second the same as before."""
        now = self._clock()
        if self._due is None or now >= self._due:
            self._due = now + LEAST_S
            self._told = self._read()
        return self._told

    def _read(self) -> dict[str, float | None]:
        loads = self._read_loads(self._pid)
        values: dict[str, float | None] = {}
        for luid, label in self._adapters.items():
            load = loads.get(luid, _NOBODY)
            # A card that the server has open is awake; asking the driver of another one may wake it.
            sensors = CardSensors() if load.own_percent is None else self._read_sensors(luid)
            told = (
                self._used(luid, load),
                load.percent,
                load.own_percent,
                sensors.temperature,
                sensors.power_percent,
                sensors.clock,
            )
            values.update(zip((f"gpu.{label}.{metric}" for metric in METRICS), told, strict=True))
        return values

    def _used(self, luid: str, load: CardLoad) -> float | None:
        """A processor's own card is given RAM as well, and the engine counts it."""
        if load.used_bytes is None:
            return None
        return float(load.used_bytes + ((load.shared_bytes or 0) if luid in self._integrated else 0))

    def close(self) -> None:
        """Give the system's counters back."""
        self._on_close()


def windows_card_sampler(pid: int, gpus: Sequence[GpuInfo]) -> WindowsCardSampler | None:
    """The sampler of this computer's cards; None on another system, without such a card, and without the counters."""
    if sys.platform == "win32":
        others = [g for g in gpus if g.uuid is None]
        adapters = {g.luid: g.engine_name or g.name for g in others if g.luid is not None}
        integrated = frozenset(g.luid for g in others if g.luid is not None and g.kind == "igpu")
        return _from_counters(pid, adapters, integrated) if adapters else None
    return None


def _from_counters(pid: int, adapters: Mapping[str, str], integrated: frozenset[str]) -> WindowsCardSampler | None:
    try:
        counters = LoadCounters()
    except OSError:
        return None
    return WindowsCardSampler(pid, adapters, counters.read, read_sensors, counters.close, integrated)
