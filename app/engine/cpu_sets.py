"""Windows' CPU sets: which cores a program should prefer, without forbidding it the others. The parsers are pure.

A hard affinity mask keeps threads on its CPUs whatever happens; a default CPU set only tells the scheduler where they
belong, so that a busy machine may still lend them another core.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator

from app.hardware.cpu_windows import read_cpu_sets

_MOST_SETS = 1024


def ids_of(data: bytes, cpus: Iterable[int]) -> tuple[int, ...]:
    """The ids of these logical CPUs (64 x group + index) in the entries of GetSystemCpuSetInformation."""
    wanted = set(cpus)
    return tuple(cpu_set for cpu_set, cpu in _entries(data) if cpu in wanted)


def cpus_of(data: bytes, ids: Iterable[int]) -> tuple[int, ...]:
    """The logical CPUs of these ids, in order."""
    wanted = set(ids)
    return tuple(sorted(cpu for cpu_set, cpu in _entries(data) if cpu_set in wanted))


def _entries(data: bytes) -> Iterator[tuple[int, int]]:
    """(id, logical CPU) of SYSTEM_CPU_SET_INFORMATION entries; a damaged tail ends them."""
    offset = 0
    while offset + 8 <= len(data):
        size, kind = struct.unpack_from("<II", data, offset)
        if size < 16 or offset + size > len(data):
            return
        if kind == 0:
            cpu_set, group, index = struct.unpack_from("<IHB", data, offset + 8)
            yield cpu_set, group * 64 + index
        offset += size


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)

    def prefer(handle: int, cpus: Iterable[int]) -> bool:
        """Tell Windows that the process belongs on these CPUs. False where it has no such call (before 10)."""
        call = getattr(_kernel, "SetProcessDefaultCpuSets", None)
        try:
            ids = ids_of(read_cpu_sets(), cpus)
        except (OSError, AttributeError):
            return False
        if call is None or not ids:
            return False
        call.argtypes = [wintypes.HANDLE, ctypes.POINTER(wintypes.ULONG), wintypes.ULONG]
        return bool(call(handle, (wintypes.ULONG * len(ids))(*ids), len(ids)))

    def preferred(handle: int) -> tuple[int, ...] | None:
        """The CPUs that the process is told to prefer, read back; None where Windows does not tell or none are set."""
        call = getattr(_kernel, "GetProcessDefaultCpuSets", None)
        if call is None:
            return None
        call.argtypes = [
            wintypes.HANDLE,
            ctypes.POINTER(wintypes.ULONG),
            wintypes.ULONG,
            ctypes.POINTER(wintypes.ULONG),
        ]
        ids, count = (wintypes.ULONG * _MOST_SETS)(), wintypes.ULONG(0)
        if not call(handle, ids, _MOST_SETS, ctypes.byref(count)) or not 0 < count.value <= _MOST_SETS:
            return None
        try:
            return cpus_of(read_cpu_sets(), list(ids)[: count.value]) or None
        except (OSError, AttributeError):
            return None
