"""NVIDIA cards while a server runs: memory, load, power, temperature. One open session, handles kept.

Do not sample when nothing runs: asking keeps the card of a hybrid laptop awake (20 W and more).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from app.common.problem import Problem, ProblemError, Severity
from app.hardware.gpus_nvml import NvmlSession, open_nvml
from app.monitor.held_back import TROUBLE
from app.monitor.sample import Values

METRICS = (
    "used", "free", "util", "mem_util", "power_w", "power_limit_w", "temperature", "clock", "pcie_width", "pcie_gen",
    "held_back",
)  # fmt: skip
REOPEN_S = 10.0
"""How long a driver that went away is left alone before its library is opened anew."""


class NvmlSampler:
    """Values ``gpu.<label>.<metric>`` of the given cards. Never raises; what NVML does not tell is None.

    The label is the card's UUID, or what ``labels`` calls it (the engine's name: CUDA0). Metrics: used and free in
    bytes, util (percent of the time that any kernel ran), mem_util (percent of the time that VRAM was read or
    written), power_w and power_limit_w, temperature (degrees Celsius), clock (MHz), pcie_width and pcie_gen (of this
    moment), held_back (the bits of what keeps the clock down, see held_back.py; 0: nothing). With ``pid`` also
    process: the bytes of that process (Linux tells; Windows tells nobody's under WDDM, and in a container the numbers
    of processes differ). ``problem``: why there is nothing to tell, also while the driver is away.
    """

    name = "nvml"

    def __init__(
        self,
        uuids: tuple[str, ...],
        labels: Mapping[str, str] | None = None,
        open_session: Callable[[], NvmlSession] = open_nvml,
        pid: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pid = pid
        self._clock = clock
        self._open_session = open_session
        self._limits: dict[str, float | None] = {}
        self._reopen_at: float | None = None
        self._labels = {uuid: (labels or {}).get(uuid, uuid) for uuid in uuids}
        self._handles: dict[str, Any] = {}
        self._session: NvmlSession | None = None
        self.problem: Problem | None = None
        self._open()

    def _open(self) -> None:
        try:
            self._session = self._open_session()
        except ProblemError as error:
            self.problem = error.problem
        else:
            self._handles = {uuid: self._session.handle_of(uuid) for uuid in self._labels}

    def sample(self) -> Values:
        """All metrics of all cards."""
        self._open_again_after_a_while()
        values: dict[str, float | None] = {}
        for uuid, label in self._labels.items():
            told = self._read(uuid)
            values.update({f"gpu.{label}.{metric}": told.get(metric) for metric in METRICS})
            if self._pid is not None:
                values[f"gpu.{label}.process"] = self._process(uuid, self._pid)
        self._note_loss()
        return values

    def _note_loss(self) -> None:
        """A driver that went away (update, a card that fell off the bus) is a problem until it answers again."""
        lost = None if self._session is None else self._session.lost
        if lost is not None and self._reopen_at is None:
            self.problem = Problem("nvml_lost", Severity.WARNING, {}, (lost,))
            self._reopen_at = self._clock() + REOPEN_S
        elif lost is None and self._reopen_at is not None and self._session is not None:
            self.problem, self._reopen_at = None, None
        if self._session is not None:
            self._session.lost = None

    def _open_again_after_a_while(self) -> None:
        if self._reopen_at is not None and self._clock() >= self._reopen_at:
            self.close()
            self._reopen_at = self._clock() + REOPEN_S
            self._open()

    def close(self) -> None:
        """Close the session; later samples are all None."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _read(self, uuid: str) -> Mapping[str, float | None]:
        session, handle = self._session, self._handles.get(uuid)
        if session is None or handle is None:
            return {}
        _, free, used = session.memory(handle, about=uuid)
        load = session.ask("nvmlDeviceGetUtilizationRates", handle, about=uuid)
        milliwatts = _number(session.ask("nvmlDeviceGetPowerUsage", handle, about=uuid))
        graphics = session.constant("NVML_CLOCK_GRAPHICS", 0)
        sensor = session.constant("NVML_TEMPERATURE_GPU", 0)
        return {
            "used": _number(used),
            "free": _number(free),
            "util": _number(getattr(load, "gpu", None)),
            "mem_util": _number(getattr(load, "memory", None)),
            "power_w": None if milliwatts is None else milliwatts / 1000,
            "power_limit_w": self._power_limit(session, handle, uuid),
            "clock": _number(session.ask("nvmlDeviceGetClockInfo", handle, graphics, about=uuid)),
            "temperature": _number(session.ask("nvmlDeviceGetTemperature", handle, sensor, about=uuid)),
            "pcie_width": _number(session.ask("nvmlDeviceGetCurrPcieLinkWidth", handle, about=uuid)),
            "pcie_gen": _number(session.ask("nvmlDeviceGetCurrPcieLinkGeneration", handle, about=uuid)),
            "held_back": _held_back(session, handle, uuid),
        }

    def _power_limit(self, session: NvmlSession, handle: Any, uuid: str) -> float | None:
        """What the card may draw. Laptops refuse the set limit and tell the one in force; asked once."""
        if session.lost is not None:
            return None
        if uuid not in self._limits:
            questions = ("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit")
            told = (_number(session.ask(question, handle, about=uuid)) for question in questions)
            milliwatts = next((value for value in told if value is not None), None)
            self._limits[uuid] = None if milliwatts is None else milliwatts / 1000
        return self._limits[uuid]

    def _process(self, uuid: str, pid: int) -> float | None:
        """Bytes of one process: a Vulkan server is a graphics process to NVML, a CUDA server a computing one."""
        session, handle = self._session, self._handles.get(uuid)
        if session is None or handle is None:
            return None
        return _number(session.processes(handle, about=uuid).get(pid))


def _held_back(session: NvmlSession, handle: Any, uuid: str) -> float | None:
    """The newer name of the question first; drivers before 535 know only the older one."""
    for question in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        mask = session.ask(question, handle, about=uuid)
        if mask is not None:
            return float(int(mask) & TROUBLE)
    return None


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
