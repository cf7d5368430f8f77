"""Windows' performance counters of GPU memory: "GPU Process Memory", by its English name on every Windows.

``PdhAddEnglishCounterW`` exists because counter names are translated; NVML cannot tell these figures under WDDM. One
query is opened and kept. Known answers: 0xC0000BB8 no such object and 0xC0000BB9 no such counter (a Windows before 10
1709, or a driver before WDDM 2.4), 0x800007D1 and 0x800007D5 no instance or no data: nobody uses a card.
"""

from __future__ import annotations

import sys

from app.hardware.gpu_use import GpuUse, uses_of_counters

_DEDICATED = r"\GPU Process Memory(*)\Dedicated Usage"
_SHARED = r"\GPU Process Memory(*)\Shared Usage"

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _LARGE = 0x400
    _MORE_DATA = 0x800007D2
    _NO_INSTANCE = (0x800007D1, 0x800007D5, 0xC0000BC6)
    _VALID = (0, 1)  # PDH_CSTATUS_VALID_DATA, PDH_CSTATUS_NEW_DATA

    class _Item(ctypes.Structure):
        _fields_ = (
            ("name", wintypes.LPWSTR),
            ("status", wintypes.DWORD),
            ("padding", wintypes.DWORD),
            ("value", ctypes.c_int64),
        )

    class GpuCounters:
        """The two counters of all processes."""

        def __init__(self) -> None:
            """Opens the query. Raises OSError when Windows has no such counter."""
            self._pdh = ctypes.WinDLL("pdh")
            self._query = ctypes.c_void_p()
            self._check(self._pdh.PdhOpenQueryW(None, ctypes.c_size_t(0), ctypes.byref(self._query)), "PdhOpenQuery")
            try:
                self._counters = tuple(self._add(path) for path in (_DEDICATED, _SHARED))
            except OSError:
                self.close()
                raise

        def _add(self, path: str) -> ctypes.c_void_p:
            counter = ctypes.c_void_p()
            status = self._pdh.PdhAddEnglishCounterW(self._query, path, ctypes.c_size_t(0), ctypes.byref(counter))
            self._check(status, f"PdhAddEnglishCounter {path}")
            return counter

        def read(self) -> tuple[GpuUse, ...]:
            """Every process on every card now; () when nobody uses one. Raises OSError."""
            status = self._pdh.PdhCollectQueryData(self._query) & 0xFFFFFFFF
            if status in _NO_INSTANCE:
                return ()
            self._check(status, "PdhCollectQueryData")
            dedicated, shared = (self._values(counter) for counter in self._counters)
            return uses_of_counters(dedicated, shared)

        def _values(self, counter: ctypes.c_void_p) -> dict[str, int]:
            size, count = wintypes.DWORD(0), wintypes.DWORD(0)
            read = self._pdh.PdhGetFormattedCounterArrayW
            status = read(counter, _LARGE, ctypes.byref(size), ctypes.byref(count), None) & 0xFFFFFFFF
            if status in _NO_INSTANCE or not size.value:
                return {}
            if status != _MORE_DATA:
                self._check(status, "PdhGetFormattedCounterArray")
            buffer = ctypes.create_string_buffer(size.value)
            status = read(counter, _LARGE, ctypes.byref(size), ctypes.byref(count), buffer)
            self._check(status, "PdhGetFormattedCounterArray")
            items = ctypes.cast(buffer, ctypes.POINTER(_Item))
            return {items[i].name: items[i].value for i in range(count.value) if items[i].status in _VALID}

        def close(self) -> None:
            """Close the query; a second call does nothing."""
            if self._query:
                self._pdh.PdhCloseQuery(self._query)
                self._query = ctypes.c_void_p()

        @staticmethod
        def _check(status: int, call: str) -> None:
            if status & 0xFFFFFFFF:
                raise OSError(f"{call}: {status & 0xFFFFFFFF:#010x}")

else:

    class GpuCounters:
        """There are no such counters on this system."""

        def __init__(self) -> None:
            raise OSError("not Windows")

        def read(self) -> tuple[GpuUse, ...]:
            """Nothing."""
            return ()

        def close(self) -> None:
            """Nothing to close."""
