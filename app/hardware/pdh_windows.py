"""Windows' performance counters by their English names: one query, opened once and kept.

``PdhAddEnglishCounterW`` exists because counter names are translated. Known answers: 0xC0000BB8 no such object and
0xC0000BB9 no such counter (an older Windows, or an older driver), 0x800007D1 and 0x800007D5 no instance or no data,
0xC0000BC6 no valid data: a rate before its second look.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _DOUBLE, _LARGE = 0x200, 0x400
    _MORE_DATA = 0x800007D2
    _NO_INSTANCE = (0x800007D1, 0x800007D5, 0xC0000BC6)
    _VALID = (0, 1)  # PDH_CSTATUS_VALID_DATA, PDH_CSTATUS_NEW_DATA

    class _Value(ctypes.Union):
        _fields_ = (("large", ctypes.c_int64), ("double", ctypes.c_double))

    class _Item(ctypes.Structure):
        _fields_ = (
            ("name", wintypes.LPWSTR),
            ("status", wintypes.DWORD),
            ("padding", wintypes.DWORD),
            ("value", _Value),
        )

    class PdhQuery:
        """Some counters that are read together. Not for several threads at once."""

        def __init__(self, *paths: str) -> None:
            """Opens the query. Raises OSError when Windows has no such counter."""
            self._pdh = ctypes.WinDLL("pdh")
            self._query = ctypes.c_void_p()
            self._check(self._pdh.PdhOpenQueryW(None, ctypes.c_size_t(0), ctypes.byref(self._query)), "PdhOpenQuery")
            try:
                self._counters = tuple(self._add(path) for path in paths)
            except OSError:
                self.close()
                raise

        def _add(self, path: str) -> ctypes.c_void_p:
            counter = ctypes.c_void_p()
            status = self._pdh.PdhAddEnglishCounterW(self._query, path, ctypes.c_size_t(0), ctypes.byref(counter))
            self._check(status, f"PdhAddEnglishCounter {path}")
            return counter

        def collect(self) -> bool:
            """Look at all counters now; False when there is no instance at all. Raises OSError."""
            status = self._pdh.PdhCollectQueryData(self._query) & 0xFFFFFFFF
            if status in _NO_INSTANCE:
                return False
            self._check(status, "PdhCollectQueryData")
            return True

        def numbers(self, index: int) -> dict[str, int]:
            """Whole numbers of a counter, by instance; those without valid data are left out. Raises OSError."""
            return {item.name: item.value.large for item in self._items(index, _LARGE)}

        def rates(self, index: int) -> dict[str, float]:
            """Rates of a counter over the time since the look before, by instance; {} after the first look. Raises
            OSError."""
            return {item.name: item.value.double for item in self._items(index, _DOUBLE)}

        def _items(self, index: int, kind: int) -> list[_Item]:
            size, count, counter = wintypes.DWORD(0), wintypes.DWORD(0), self._counters[index]
            read = self._pdh.PdhGetFormattedCounterArrayW
            status = read(counter, kind, ctypes.byref(size), ctypes.byref(count), None) & 0xFFFFFFFF
            if status in _NO_INSTANCE or not size.value:
                return []
            if status != _MORE_DATA:
                self._check(status, "PdhGetFormattedCounterArray")
            self._buffer = ctypes.create_string_buffer(size.value)  # the names lie in it
            status = read(counter, kind, ctypes.byref(size), ctypes.byref(count), self._buffer) & 0xFFFFFFFF
            if status in _NO_INSTANCE:
                return []
            self._check(status, "PdhGetFormattedCounterArray")
            items = ctypes.cast(self._buffer, ctypes.POINTER(_Item))
            return [items[i] for i in range(count.value) if items[i].status in _VALID]

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

    class PdhQuery:
        """There are no such counters on this system."""

        def __init__(self, *paths: str) -> None:
            raise OSError("not Windows")

        def collect(self) -> bool:
            """Nothing."""
            return False

        def numbers(self, index: int) -> dict[str, int]:
            """Nothing."""
            return {}

        def rates(self, index: int) -> dict[str, float]:
            """Nothing."""
            return {}

        def close(self) -> None:
            """Nothing to close."""
