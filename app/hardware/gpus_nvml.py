"""NVIDIA cards through NVML (package nvidia-ml-py, module ``pynvml``).

On laptops single metrics answer "not supported" and the rest works, so every metric is asked apart: None is "not
known", never 0. One session is opened once and its handles are kept: opening and closing NVML wakes a sleeping card.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.common.problem import Problem, ProblemError, Severity
from app.hardware.types import GpuInfo

_LOST = (1, 9, 15, 999)
"""NVML_ERROR_UNINITIALIZED, DRIVER_NOT_LOADED, GPU_IS_LOST, UNKNOWN."""
_NEEDED = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetMemoryInfo", "NVMLError")


class NvmlSession:
    """NVML, opened once. ``ask`` returns None instead of raising and does not repeat an unsupported question.

    ``last_error``: why the last question had no answer. ``lost``: what the driver said when it went away while we
    asked (a card that fell off the bus, a driver update).
    """

    def __init__(self, module: Any) -> None:
        """Opens NVML. Raises the module's NVMLError when there is no library or no driver."""
        self._module = module
        self._refused: set[tuple[str, str]] = set()
        self.lost: str | None = None
        self.last_error: str | None = None
        module.nvmlInit()
        self._open = True

    def handles(self) -> tuple[Any, ...]:
        """A handle for each card, in NVML's (bus) order; a card that cannot be opened is left out."""
        count = self.ask("nvmlDeviceGetCount")
        found = [self.ask("nvmlDeviceGetHandleByIndex", i) for i in range(count or 0)]
        return tuple(handle for handle in found if handle is not None)

    def handle_of(self, uuid: str) -> Any | None:
        """The handle of the card with this UUID; None when it is gone."""
        return self.ask("nvmlDeviceGetHandleByUUID", uuid)

    def ask(self, function: str, *args: Any, about: str = "") -> Any | None:
        """One question; None when NVML cannot answer. ``about`` names the card whose unsupported metrics are noted."""
        if not self._open or (function, about) in self._refused:
            return None
        call: Callable[..., Any] | None = getattr(self._module, function, None)
        if call is None:
            return None
        self.last_error = None
        try:
            return call(*args)
        except self._module.NVMLError as error:
            self.last_error = str(error)
            value = getattr(error, "value", None)
            if value == getattr(self._module, "NVML_ERROR_NOT_SUPPORTED", 3) and about:
                self._refused.add((function, about))
            if value in _LOST:
                self.lost = str(error)
            return None
        except OSError as error:  # the library itself is gone
            self.lost = self.last_error = str(error)
            return None

    def memory(self, handle: Any, about: str = "") -> tuple[int | None, int | None, int | None]:
        """(total, free, used) bytes. Version 2 first: it keeps the driver's reserved memory out of ``used``."""
        version = getattr(self._module, "nvmlMemory_v2", None)
        info = None
        if version is not None:
            info = self.ask("nvmlDeviceGetMemoryInfo", handle, version, about=f"{about} v2" if about else "")
        if info is None:
            info = self.ask("nvmlDeviceGetMemoryInfo", handle, about=f"{about} v1" if about else "")
        if info is None:
            return None, None, None
        return int(info.total) or None, int(info.free), int(info.used)

    def reserved(self, handle: Any, about: str = "") -> int | None:
        """VRAM that the driver keeps for itself, bytes; only version 2 of the question tells it."""
        version = getattr(self._module, "nvmlMemory_v2", None)
        if version is None:
            return None
        info = self.ask("nvmlDeviceGetMemoryInfo", handle, version, about=f"{about} v2" if about else "")
        reserved = getattr(info, "reserved", None)
        return None if reserved is None else int(reserved)

    def processes(self, handle: Any, about: str = "") -> dict[int, int | None]:
        """pid -> bytes of every process on a card; None where the driver does not tell them (always under WDDM)."""
        found: dict[int, int | None] = {}
        for function in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
            for process in self.ask(function, handle, about=about) or ():
                used = getattr(process, "usedGpuMemory", None)
                known = found.get(int(process.pid))
                found[int(process.pid)] = known if used is None else max(int(used), known or 0)
        return found

    def constant(self, name: str, default: int) -> int:
        """A constant of the binding."""
        return int(getattr(self._module, name, default))

    def close(self) -> None:
        """Close NVML; a second call does nothing."""
        if self._open:
            self._open = False
            with contextlib.suppress(self._module.NVMLError):
                self._module.nvmlShutdown()


def open_nvml() -> NvmlSession:
    """Open NVML. Raises ProblemError: ``nvml_conflict``, ``nvml_missing`` (no library) or ``nvml_failed``."""
    try:
        module = importlib.import_module("pynvml")
    except ImportError as error:
        raise _problem("nvml_missing", str(error)) from error
    if any(not hasattr(module, name) for name in _NEEDED):
        raise _problem("nvml_conflict", f"{getattr(module, '__file__', '?')} is not nvidia-ml-py")
    try:
        return _open(module)
    except module.NVMLError as error:
        missing = getattr(error, "value", None) == module.NVML_ERROR_LIBRARY_NOT_FOUND
        raise _problem("nvml_missing" if missing else "nvml_failed", str(error)) from error


def read_gpus(session: NvmlSession) -> tuple[GpuInfo, ...]:
    """Every NVIDIA card with what NVML tells of it."""
    driver = text_of(session.ask("nvmlSystemGetDriverVersion"))
    return tuple(_read(session, handle, driver) for handle in session.handles())


def text_of(value: bytes | str | None) -> str | None:
    """NVML's names are bytes in older bindings and text in newer ones."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    return value.strip() or None if value is not None else None


def pci_id(bus_id: bytes | str | None) -> str | None:
    """'00000000:01:00.0' -> '0000:01:00.0', as Linux and our joins write it; None when it is no such text."""
    text = (text_of(bus_id) or "").lower()
    domain, _, rest = text.partition(":")
    try:
        return f"{int(domain, 16):04x}:{rest}" if rest.count(":") == 1 else None
    except ValueError:
        return None


def memory_bandwidth_gbs(bus_width_bits: int | None, max_memory_clock_mhz: int | None) -> float | None:
    """Peak VRAM bandwidth, decimal GB/s: width/8 bytes x clock x 2 (double data rate, as NVML counts the clock)."""
    if not bus_width_bits or not max_memory_clock_mhz:
        return None
    return round(bus_width_bits / 8 * max_memory_clock_mhz * 2 / 1000, 1)


def newest_driver_store_library(system32: Path) -> Path | None:
    """``nvml.dll`` of the newest display driver folder, for drivers that do not copy it to System32."""
    try:
        found = [(p.stat().st_mtime, p) for p in system32.glob("DriverStore/FileRepository/nv*/nvml.dll")]
    except OSError:
        return None
    return max(found)[1] if found else None


def _open(module: Any) -> NvmlSession:
    try:
        return NvmlSession(module)
    except module.NVMLError as error:
        if getattr(error, "value", None) != module.NVML_ERROR_LIBRARY_NOT_FOUND:
            raise
        windows = os.environ.get("WINDIR")
        library = newest_driver_store_library(Path(windows) / "System32") if windows else None
        if library is None:
            raise
        with contextlib.suppress(OSError):
            module.nvmlLib = ctypes.CDLL(str(library))
        return NvmlSession(module)


def _read(session: NvmlSession, handle: Any, driver: str | None) -> GpuInfo:
    ask = session.ask
    total, free, _ = session.memory(handle)
    pci = ask("nvmlDeviceGetPciInfo", handle)
    capability = ask("nvmlDeviceGetCudaComputeCapability", handle)
    clock = ask("nvmlDeviceGetMaxClockInfo", handle, session.constant("NVML_CLOCK_MEM", 2))
    shown = [ask(f"nvmlDeviceGetDisplay{what}", handle) for what in ("Active", "Mode")]
    return GpuInfo(
        name=text_of(ask("nvmlDeviceGetName", handle)) or "NVIDIA GPU",
        kind="gpu",
        engine_name=None,
        total_bytes=total,
        free_bytes=free,
        uuid=text_of(ask("nvmlDeviceGetUUID", handle)),
        pci_id=pci_id(pci.busId) if pci is not None else None,
        driver=driver,
        compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
        pcie_gen_max=ask("nvmlDeviceGetMaxPcieLinkGeneration", handle) or None,
        pcie_gen_now=ask("nvmlDeviceGetCurrPcieLinkGeneration", handle) or None,
        pcie_width_max=ask("nvmlDeviceGetMaxPcieLinkWidth", handle) or None,
        pcie_width_now=ask("nvmlDeviceGetCurrPcieLinkWidth", handle) or None,
        drives_display=None if shown == [None, None] else any(shown),
        memory_gbs=memory_bandwidth_gbs(ask("nvmlDeviceGetMemoryBusWidth", handle), clock),
        reserved_bytes=session.reserved(handle),
    )


def _problem(code: str, evidence: str) -> ProblemError:
    return ProblemError(Problem(code, Severity.WARNING, {}, (evidence,)))
