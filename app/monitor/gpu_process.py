"""What the server's own process uses on each card: ``gpu.<label>.dedicated`` and ``gpu.<label>.shared``, bytes.

Windows: the counters of "GPU Process Memory", joined by LUID. Linux: the DRM drivers' fdinfo, joined by PCI address
(AMD and Intel; NVIDIA's driver writes none). Unknown is None, never 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.hardware.gpu_counters_windows import GpuCounters
from app.hardware.gpu_use import GpuUse, read_process_use
from app.hardware.types import GpuInfo
from app.monitor.sample import Values

METRICS = ("dedicated", "shared")
Read = Callable[[int], Sequence[GpuUse]]


class GpuProcessSampler:
    """Values of one process. ``adapters``: LUID or PCI address -> label. Raises nothing that the loop cannot report."""

    name = "gpu process"

    def __init__(
        self, pid: int, adapters: Mapping[str, str], read: Read, on_close: Callable[[], None] = lambda: None
    ) -> None:
        self._pid = pid
        self._adapters = dict(adapters)
        self._read = read
        self._on_close = on_close

    def sample(self) -> Values:
        """The process's bytes on every known card."""
        values: dict[str, float | None] = {
            f"gpu.{label}.{metric}": None for label in self._adapters.values() for metric in METRICS
        }
        for use in self._read(self._pid):
            label = self._adapters.get(use.adapter)
            if use.pid == self._pid and label is not None:
                values[f"gpu.{label}.dedicated"] = _number(use.dedicated_bytes)
                values[f"gpu.{label}.shared"] = _number(use.shared_bytes)
        return values

    def close(self) -> None:
        """Give the system's counters back."""
        self._on_close()


def gpu_process_sampler(pid: int, gpus: Sequence[GpuInfo]) -> GpuProcessSampler | None:
    """The sampler for this system; None where nothing could tell: no such card, or no such counters."""
    if sys.platform == "win32":
        adapters = {g.luid: g.engine_name or g.name for g in gpus if g.luid is not None}
        return _from_counters(pid, adapters) if adapters else None
    # NVIDIA's driver writes no such figures; its cards are the ones that NVML gave a UUID.
    adapters = {g.pci_id: g.engine_name or g.name for g in gpus if g.pci_id is not None and g.uuid is None}
    return GpuProcessSampler(pid, adapters, lambda wanted: read_process_use(wanted, Path("/"))) if adapters else None


def _from_counters(pid: int, adapters: Mapping[str, str]) -> GpuProcessSampler | None:
    try:
        counters = GpuCounters()
    except OSError:
        return None
    return GpuProcessSampler(pid, adapters, lambda _: counters.read(), counters.close)


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
