"""NVIDIA cards while a server runs: memory, load, power, temperature. One open session, handles kept.

Do not sample when nothing runs: asking keeps the card of a hybrid laptop awake (20 W and more).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.common.problem import Problem, ProblemError
from app.hardware.gpus_nvml import NvmlSession, open_nvml
from app.monitor.sample import Values

METRICS = ("used", "free", "util", "memory_util", "power_w", "temp_c", "pcie_width", "pcie_gen")


class NvmlSampler:
    """Values ``gpu.<label>.<metric>`` of the given cards. Never raises; what NVML does not tell is None.

    The label is the card's UUID, or what ``labels`` calls it (the engine's name: CUDA0). Metrics: used and free in
    bytes, util (percent of the time that any kernel ran), memory_util (percent of the time that VRAM was read or
    written), power_w, temp_c, pcie_width and pcie_gen (of this moment). With ``pid`` also process: the bytes of that
    process (Linux tells; Windows tells nobody's under WDDM, and in a container the numbers of processes differ).
    """

    name = "nvml"

    def __init__(
        self,
        uuids: tuple[str, ...],
        labels: Mapping[str, str] | None = None,
        open_session: Callable[[], NvmlSession] = open_nvml,
        pid: int | None = None,
    ) -> None:
        self._pid = pid
        self._labels = {uuid: (labels or {}).get(uuid, uuid) for uuid in uuids}
        self._handles: dict[str, Any] = {}
        self._session: NvmlSession | None = None
        self.problem: Problem | None = None
        try:
            self._session = open_session()
        except ProblemError as error:
            self.problem = error.problem
        else:
            self._handles = {uuid: self._session.handle_of(uuid) for uuid in uuids}

    def sample(self) -> Values:
        """All metrics of all cards."""
        values: dict[str, float | None] = {}
        for uuid, label in self._labels.items():
            told = self._read(uuid)
            values.update({f"gpu.{label}.{metric}": told.get(metric) for metric in METRICS})
            if self._pid is not None:
                values[f"gpu.{label}.process"] = self._process(uuid, self._pid)
        return values

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
        sensor = session.constant("NVML_TEMPERATURE_GPU", 0)
        return {
            "used": _number(used),
            "free": _number(free),
            "util": _number(getattr(load, "gpu", None)),
            "memory_util": _number(getattr(load, "memory", None)),
            "power_w": None if milliwatts is None else milliwatts / 1000,
            "temp_c": _number(session.ask("nvmlDeviceGetTemperature", handle, sensor, about=uuid)),
            "pcie_width": _number(session.ask("nvmlDeviceGetCurrPcieLinkWidth", handle, about=uuid)),
            "pcie_gen": _number(session.ask("nvmlDeviceGetCurrPcieLinkGeneration", handle, about=uuid)),
        }

    def _process(self, uuid: str, pid: int) -> float | None:
        """Bytes of one process: a Vulkan server is a graphics process to NVML, a CUDA server a computing one."""
        session, handle = self._session, self._handles.get(uuid)
        if session is None or handle is None:
            return None
        found: list[float] = []
        for function in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
            for entry in session.ask(function, handle, about=uuid) or ():
                used = _number(getattr(entry, "usedGpuMemory", None))
                if getattr(entry, "pid", None) == pid and used is not None:
                    found.append(used)
        return max(found, default=None)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
