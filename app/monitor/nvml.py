"""NVIDIA cards while a server runs: memory, load, power, temperature. One open session, handles kept.

Do not sample when nothing runs: asking keeps the card of a hybrid laptop awake (20 W and more).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.common.problem import Problem, ProblemError
from app.hardware.gpus_nvml import NvmlSession, open_nvml
from app.monitor.sample import Values

METRICS = (
    "used_bytes",
    "free_bytes",
    "util_percent",
    "memory_util_percent",
    "power_w",
    "temp_c",
    "pcie_width",
    "pcie_gen",
)


class NvmlSampler:
    """Values ``gpu.<uuid>.<metric>`` of the given cards. Never raises; what NVML does not tell is None.

    Metrics: used_bytes, free_bytes, util_percent (any kernel ran), memory_util_percent (VRAM was read or written),
    power_w, temp_c, pcie_width and pcie_gen (of this moment).
    """

    name = "nvml"

    def __init__(self, uuids: tuple[str, ...], open_session: Callable[[], NvmlSession] = open_nvml) -> None:
        self._uuids = uuids
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
        for uuid in self._uuids:
            told = self._read(uuid)
            values.update({f"gpu.{uuid}.{metric}": told.get(metric) for metric in METRICS})
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
            "used_bytes": _number(used),
            "free_bytes": _number(free),
            "util_percent": _number(getattr(load, "gpu", None)),
            "memory_util_percent": _number(getattr(load, "memory", None)),
            "power_w": None if milliwatts is None else milliwatts / 1000,
            "temp_c": _number(session.ask("nvmlDeviceGetTemperature", handle, sensor, about=uuid)),
            "pcie_width": _number(session.ask("nvmlDeviceGetCurrPcieLinkWidth", handle, about=uuid)),
            "pcie_gen": _number(session.ask("nvmlDeviceGetCurrPcieLinkGeneration", handle, about=uuid)),
        }


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
