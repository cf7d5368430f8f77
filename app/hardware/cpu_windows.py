"""The processor on Windows: GetLogicalProcessorInformationEx, and CPU sets where that one tells no core.

Layout (Microsoft, SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX; 64-bit): u32 relationship, u32 size, then for a core
(0): u8 flags @8 (1 = SMT), u8 efficiency class @9, u16 group count @30, GROUP_AFFINITY {u64 mask, u16 group, 6 bytes}
@32; for a cache (2): u8 level @8, u32 size @12, u32 type @16, u16 group count @38, GROUP_AFFINITY @40. A higher class
is faster; all equal means a uniform processor. Logical CPUs are numbered group * 64 + bit.

SYSTEM_CPU_SET_INFORMATION: u32 size @0, u32 type @4 (0), u32 id @8, u16 group @12, u8 index within the group @14, u8
core @15, u8 last-level cache @16, u8 NUMA node @17, u8 efficiency class @18, u8 flags @19 (1 = parked).
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from app.hardware.cpu_choice import CpuLimits, kinds_by_cache
from app.hardware.ps import own_affinity
from app.hardware.registry_windows import registry_text
from app.hardware.types import CacheDomain, CoreKind, CpuCore

_AMD64, _ARM64 = 0x8664, 0xAA64
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


@dataclass(frozen=True, slots=True)
class CpuSet:
    """One logical CPU as Windows' scheduler sees it. ``cache``: which last-level cache; ``core``: which core."""

    logical: int
    core: tuple[int, int]
    cache: tuple[int, int]
    efficiency_class: int
    is_parked: bool


def parse_cpu_sets(data: bytes) -> tuple[CpuSet, ...]:
    """The entries of GetSystemCpuSetInformation; a damaged tail ends the list, it raises nothing."""
    found: list[CpuSet] = []
    offset = 0
    while offset + 8 <= len(data):
        size, kind = struct.unpack_from("<II", data, offset)
        if size < 8 or offset + size > len(data):
            break
        if kind == 0 and size >= 20:
            group, index, core, cache, _, efficiency, flags = struct.unpack_from("<HBBBBBB", data, offset + 12)
            if index < 64:
                found.append(CpuSet(group * 64 + index, (group, core), (group, cache), efficiency, bool(flags & 1)))
        offset += size
    return tuple(found)


def cores_of_sets(sets: tuple[CpuSet, ...]) -> tuple[CoreRecord, ...]:
    """The cores that the CPU sets describe: the fallback where the records tell none."""
    by_core: dict[tuple[int, int], list[CpuSet]] = {}
    for one in sets:
        by_core.setdefault(one.core, []).append(one)
    return tuple(
        CoreRecord(tuple(sorted(s.logical for s in members)), members[0].efficiency_class, len(members) > 1)
        for members in by_core.values()
    )


def l3_domains(caches: tuple[CacheRecord, ...]) -> tuple[CacheDomain, ...]:
    """The third-level caches, in the order of their CPUs."""
    known = {c.logical: c.size_bytes for c in caches if c.level == 3 and c.logical and c.size_bytes}
    return tuple(CacheDomain(logical, known[logical]) for logical in sorted(known))


def classify_cores(records: tuple[CoreRecord, ...], caches: tuple[CacheRecord, ...]) -> tuple[CpuCore, ...]:
    """P = highest class, E = the rest; LP-E = outside the P cores' L3, or the lowest of three classes.

    With one class for all, third-level caches of different sizes may still tell full cores from compact ones.
    """
    classes = sorted({record.efficiency_class for record in records})
    if len(classes) < 2:
        plain = tuple(sorted((CpuCore(r.logical, CoreKind.UNKNOWN) for r in records), key=lambda c: c.logical))
        by_cache = kinds_by_cache(plain, l3_domains(caches))
        return tuple(CpuCore(c.logical, by_cache.get(c.logical[0], CoreKind.UNKNOWN)) for c in plain)
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


def read_cpu_sets() -> bytes:
    """Call GetSystemCpuSetInformation. Raises OSError, also on another system."""
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        call = kernel.GetSystemCpuSetInformation
        call.argtypes = [
            ctypes.c_void_p,
            wintypes.ULONG,
            ctypes.POINTER(wintypes.ULONG),
            wintypes.HANDLE,
            wintypes.ULONG,
        ]
        length = wintypes.ULONG(0)
        call(None, 0, ctypes.byref(length), None, 0)
        buffer = ctypes.create_string_buffer(max(1, length.value))
        if not call(buffer, length.value, ctypes.byref(length), None, 0):
            raise ctypes.WinError(ctypes.get_last_error())
        return buffer.raw[: length.value]
    else:
        raise OSError("not Windows")


def read_group_count() -> int | None:
    """How many processor groups Windows has made; None on another system."""
    if sys.platform == "win32":
        import ctypes

        return int(ctypes.WinDLL("kernel32").GetActiveProcessorGroupCount()) or None
    return None


def is_emulated(native_machine: int, own_machine: int) -> bool | None:
    """Does a program for x64 run on an ARM64 Windows? Machines as IMAGE_FILE_MACHINE_* numbers; None: unknown."""
    if not native_machine or not own_machine:
        return None
    return native_machine != own_machine


def read_is_emulated() -> bool | None:
    """Compare what Windows runs on (IsWow64Process2) with what this program was built for; None: not told."""
    if sys.platform == "win32":
        import ctypes
        import sysconfig
        from ctypes import wintypes

        call = getattr(ctypes.WinDLL("kernel32"), "IsWow64Process2", None)  # Windows 10 1511 and newer
        if call is None:
            return None
        call.argtypes = [wintypes.HANDLE, ctypes.POINTER(ctypes.c_ushort), ctypes.POINTER(ctypes.c_ushort)]
        process, native = ctypes.c_ushort(), ctypes.c_ushort()
        own = {"win-amd64": _AMD64, "win-arm64": _ARM64}.get(sysconfig.get_platform(), 0)
        if not call(wintypes.HANDLE(-1), ctypes.byref(process), ctypes.byref(native)):
            return None
        return is_emulated(native.value, own)
    return None


def read_limits() -> CpuLimits:
    """The process's affinity mask; no limit where Windows has several processor groups (a mask covers one)."""
    if (read_group_count() or 1) > 1:
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
