"""RAM on Windows: the firmware's SMBIOS table by GetSystemFirmwareTable('RSMB'); no WMI, no administrator."""

from __future__ import annotations

import struct
import sys

from app.hardware.memory_common import MemoryFacts
from app.hardware.smbios import parse_smbios, system_slots

_RSMB = 0x52534D42


def read_modules() -> MemoryFacts:
    """The modules of the firmware's table. Raises OSError when Windows does not hand it out."""
    table = strip_header(read_firmware_table())
    return MemoryFacts(parse_smbios(table), "smbios", system_slots(table))


def strip_header(data: bytes) -> bytes:
    """RawSMBIOSData {u8 calling method, u8 major, u8 minor, u8 DMI revision, u32 length} -> the table itself."""
    if len(data) < 8:
        return b""
    (length,) = struct.unpack_from("<I", data, 4)
    return data[8 : 8 + length]


def read_firmware_table() -> bytes:
    """Call GetSystemFirmwareTable. Raises OSError, also on another system."""
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        call = ctypes.WinDLL("kernel32", use_last_error=True).GetSystemFirmwareTable
        call.argtypes = [wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p, wintypes.DWORD]
        call.restype = wintypes.UINT
        size = call(_RSMB, 0, None, 0)
        if not size:
            raise ctypes.WinError(ctypes.get_last_error())
        buffer = ctypes.create_string_buffer(size)
        written = call(_RSMB, 0, buffer, size)
        return buffer.raw[: min(written, size)]
    else:
        raise OSError("not Windows")
