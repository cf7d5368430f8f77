"""Windows' performance counters of cards: whose memory lies on them, how much is used, how busy they are.

"GPU Process Memory" and "GPU Engine" exist since Windows 10 1709 with a driver of WDDM 2.4; NVML cannot tell the first
under WDDM. No instance at all means that nobody uses a card.
"""

from __future__ import annotations

from app.hardware.gpu_load import CardLoad, loads_of_counters
from app.hardware.gpu_use import GpuUse, uses_of_counters
from app.hardware.pdh_windows import PdhQuery

_DEDICATED = r"\GPU Process Memory(*)\Dedicated Usage"
_SHARED = r"\GPU Process Memory(*)\Shared Usage"
_BUSY = r"\GPU Engine(*)\Utilization Percentage"
_USED = r"\GPU Adapter Memory(*)\Dedicated Usage"
_LENT = r"\GPU Adapter Memory(*)\Shared Usage"


class GpuCounters:
    """The memory of all processes on all cards."""

    def __init__(self) -> None:
        """Opens the query. Raises OSError when there are no such counters."""
        self._query = PdhQuery(_DEDICATED, _SHARED)

    def read(self) -> tuple[GpuUse, ...]:
        """Every process on every card now; () when nobody uses one. Raises OSError."""
        if not self._query.collect():
            return ()
        return uses_of_counters(self._query.numbers(0), self._query.numbers(1))

    def close(self) -> None:
        """Close the query; a second call does nothing."""
        self._query.close()


class LoadCounters:
    """How busy every card is and how much of its memory is in use: what Task Manager shows."""

    def __init__(self) -> None:
        """Opens the query. Raises OSError when there are no such counters."""
        self._query = PdhQuery(_BUSY, _USED, _LENT)

    def read(self, pid: int) -> dict[str, CardLoad]:
        """By LUID; loads cover the time since the call before. ``pid``: whose own share is told. Raises OSError."""
        if not self._query.collect():
            return {}
        return loads_of_counters(self._query.rates(0), self._query.numbers(1), self._query.numbers(2), pid)

    def close(self) -> None:
        """Close the query; a second call does nothing."""
        self._query.close()
