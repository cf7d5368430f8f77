"""The raw answers behind a snapshot, for a bug report: bytes as hex, NVML's own words. Nothing is judged.

No serial number, UUID or name of a person is asked for. What cannot be read says why.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.common.jsonable import to_json
from app.common.problem import ProblemError
from app.hardware import cpu_windows, gpus_nvml, gpus_windows_calls, memory_windows
from app.hardware.gpu_counters_windows import GpuCounters
from app.hardware.gpus_nvml import NvmlSession, text_of
from app.hardware.smbios import without_names

_DMI = Path("/sys/firmware/dmi/tables/DMI")
_NVML_QUESTIONS = (
    "Name", "PciInfo", "MemoryInfo", "CudaComputeCapability", "MemoryBusWidth", "MaxPcieLinkGeneration",
    "CurrPcieLinkGeneration", "MaxPcieLinkWidth", "CurrPcieLinkWidth", "GpuMaxPcieLinkGeneration", "PcieSpeed",
    "DisplayActive", "DisplayMode", "UtilizationRates", "PowerUsage", "EnforcedPowerLimit", "PowerManagementLimit",
    "Architecture", "CurrentDriverModel", "PerformanceState", "PersistenceMode", "NumGpuCores",
)  # fmt: skip
"""Asked as ``nvmlDeviceGet...`` of each card."""


def read_raw() -> dict[str, Any]:
    """Everything of this system as JSON values; a part that failed is ``{"error": text}``."""
    parts: dict[str, Callable[[], Any]] = {"nvml": _nvml}
    if sys.platform == "win32":
        parts |= {
            "processor_information": lambda: cpu_windows.read_processor_information().hex(),
            "cpu_sets": lambda: cpu_windows.read_cpu_sets().hex(),
            "processor_groups": cpu_windows.read_group_count,
            "is_emulated": cpu_windows.read_is_emulated,
            "smbios": lambda: without_names(memory_windows.strip_header(memory_windows.read_firmware_table())).hex(),
            "dxgi": lambda: to_json(gpus_windows_calls.read_adapters()),
            "pcie_links": lambda: to_json(gpus_windows_calls.read_links()),
            "display_registry": lambda: to_json(gpus_windows_calls.read_registry_cards()),
            "sleeping": gpus_windows_calls.read_sleeping,
            "gpu_counters": _counters,
        }
    else:
        parts["smbios"] = lambda: without_names(_DMI.read_bytes()).hex()
    return {name: _attempt(read) for name, read in parts.items()}


def _attempt(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ProblemError as error:
        return {"error": error.problem.code, "evidence": list(error.problem.evidence)}
    except Exception as error:  # a report about a strange machine must not fail on it
        return {"error": f"{type(error).__name__}: {error}"}


def _nvml() -> dict[str, Any]:
    session = gpus_nvml.open_nvml()
    try:
        cards = [_card(session, handle) for handle in session.handles()]
        return {"driver": text_of(session.ask("nvmlSystemGetDriverVersion")), "cards": cards}
    finally:
        session.close()


def _card(session: NvmlSession, handle: Any) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for question in _NVML_QUESTIONS:
        answer = session.ask(f"nvmlDeviceGet{question}", handle)
        told[question] = {"error": session.last_error or "no such function"} if answer is None else _plain(answer)
    told["memory_reserved"] = session.reserved(handle)
    told["processes"] = len(session.processes(handle))
    return told


def _plain(value: Any) -> Any:
    """An answer of the binding (numbers, text, bytes, tuples, C structures) as JSON values."""
    if isinstance(value, bytes):
        return text_of(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    fields = [name for name, *_ in getattr(value, "_fields_", ())] or sorted(vars(value))
    return {name: _plain(getattr(value, name)) for name in fields}


def _counters() -> list[Mapping[str, Any]]:
    """Windows' GPU memory counters without the numbers of the processes."""
    counters = GpuCounters()
    try:
        return [{**dataclasses.asdict(use), "pid": 0} for use in counters.read()]
    finally:
        counters.close()
