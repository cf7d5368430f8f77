"""The processor on Windows, from one call: GetLogicalProcessorInformationEx.

Layout (Microsoft, SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX; 64-bit): u32 relationship, u32 size, then for a core
(0): u8 flags @8 (1 = SMT), u8 efficiency class @9, u16 group count @30, GROUP_AFFINITY {u64 mask, u16 group, 6 bytes}
@32; for a cache (2): u8 level @8, u32 size @12, u32 type @16, u16 group count @38, GROUP_AFFINITY @40. A higher class
is faster; all equal means a uniform processor. Logical CPUs are numbered group * 64 + bit.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from app.hardware.cpu_choice import CpuLimits
from app.hardware.ps import own_affinity
from app.hardware.registry_windows import registry_text
from app.hardware.types import CoreKind, CpuCore

_VIRTUAL = ("virtual", "vmware", "qemu", "kvm", "bochs", "xen", "parallels", "bhyve", "google compute", "amazon ec2")


@dataclass(frozen=True, slots=True)
class CoreRecord:
    """One physical core as Windows describes it."""

    logical: tuple[int, ...]
    efficiency_class: int
    has_smt: bool


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """One cache: which logical CPUs share it."""

    level: int
    size_bytes: int
    logical: tuple[int, ...]


def parse_processor_information(data: bytes) -> tuple[tuple[CoreRecord, ...], tuple[CacheRecord, ...]]:
    """The records of GetLogicalProcessorInformationEx; a damaged tail ends the list, it raises nothing."""
    cores: list[CoreRecord] = []
    caches: list[CacheRecord] = []
    for relationship, record in _records(data):
        if relationship == 0 and len(record) >= 48:
            (groups,) = struct.unpack_from("<H", record, 30)
            logical = _logical(record, 32, groups)
            if logical:
                cores.append(CoreRecord(logical, record[9], bool(record[8] & 1)))
        elif relationship == 2 and len(record) >= 52:
            (size,) = struct.unpack_from("<I", record, 12)
            (groups,) = struct.unpack_from("<H", record, 38)
            caches.append(CacheRecord(record[8], size, _logical(record, 40, max(1, groups))))
    return tuple(cores), tuple(caches)


def classify_cores(records: tuple[CoreRecord, ...], caches: tuple[CacheRecord, ...]) -> tuple[CpuCore, ...]:
    """P = highest class, E = the rest; LP-E = outside the P cores' L3, or the lowest of three classes."""
    classes = sorted({record.efficiency_class for record in records})
    if len(classes) < 2:
        return tuple(sorted((CpuCore(r.logical, CoreKind.UNKNOWN) for r in records), key=lambda c: c.logical))
    fast = {n for r in records if r.efficiency_class == classes[-1] for n in r.logical}
    near = {n for cache in caches if cache.level == 3 and fast & set(cache.logical) for n in cache.logical}

    def kind(record: CoreRecord) -> CoreKind:
        if record.efficiency_class == classes[-1]:
            return CoreKind.P
        is_lowest = len(classes) > 2 and record.efficiency_class == classes[0]
        return CoreKind.LP_E if is_lowest or (near and not near & set(record.logical)) else CoreKind.E

    return tuple(sorted((CpuCore(r.logical, kind(r)) for r in records), key=lambda c: c.logical))


def is_virtual_product(manufacturer: str, product: str) -> bool | None:
    """Do the firmware's names belong to a virtual machine? None when it tells no names.

    The processor's hypervisor bit is no help on Windows: it is set on a plain PC with Hyper-V or core isolation.
    """
    names = f"{manufacturer} {product}".strip().lower()
    return any(word in names for word in _VIRTUAL) if names else None


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + 8 <= len(data):
        relationship, size = struct.unpack_from("<II", data, offset)
        if size < 8 or offset + size > len(data):
            return
        yield relationship, data[offset : offset + size]
        offset += size


def _logical(record: bytes, offset: int, groups: int) -> tuple[int, ...]:
    found: list[int] = []
    for i in range(groups):
        if offset + 16 * i + 16 > len(record):
            break
        mask, group = struct.unpack_from("<QH", record, offset + 16 * i)
        found += [group * 64 + bit for bit in range(64) if mask >> bit & 1]
    return tuple(sorted(found))


def read_processor_information() -> bytes:
    """Call GetLogicalProcessorInformationEx(RelationAll). Raises OSError, also on another system."""
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        call = ctypes.WinDLL("kernel32", use_last_error=True).GetLogicalProcessorInformationEx
        call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(wintypes.DWORD)]
        length = wintypes.DWORD(0)
        call(0xFFFF, None, ctypes.byref(length))
        buffer = ctypes.create_string_buffer(length.value)
        if not call(0xFFFF, buffer, ctypes.byref(length)):
            raise ctypes.WinError(ctypes.get_last_error())
        return buffer.raw[: length.value]
    else:
        raise OSError("not Windows")


def read_limits() -> CpuLimits:
    """The process's affinity mask; no limit where Windows has several processor groups (a mask covers one)."""
    if sys.platform == "win32":
        import ctypes

        if ctypes.WinDLL("kernel32").GetActiveProcessorGroupCount() > 1:
            return CpuLimits()
    return CpuLimits(own_affinity())


def read_name() -> str | None:
    """The processor's name from the registry."""
    return registry_text(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0", "ProcessorNameString")


def read_is_virtual_machine() -> bool | None:
    """Whether the firmware names a virtual machine."""
    key = r"HARDWARE\DESCRIPTION\System\BIOS"
    return is_virtual_product(
        registry_text(key, "SystemManufacturer") or "", registry_text(key, "SystemProductName") or ""
    )
