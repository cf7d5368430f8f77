"""Mains or battery, and whether the system is told to save power: both halve speeds that nothing else explains."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from app.hardware.sysfs import read_text
from app.hardware.types import PowerInfo

_SAVING_PROFILES = ("low-power", "power-saver")
_AC_OFFLINE, _AC_ONLINE = 0, 1
_SAVER_ON = 1


class PowerStatus(ctypes.Structure):
    """SYSTEM_POWER_STATUS (winbase.h): 12 bytes."""

    _fields_ = (
        ("ac_line", ctypes.c_uint8),
        ("battery_flag", ctypes.c_uint8),
        ("battery_percent", ctypes.c_uint8),
        ("system_flag", ctypes.c_uint8),
        ("battery_seconds", ctypes.c_uint32),
        ("full_seconds", ctypes.c_uint32),
    )


def read_power(root: Path = Path("/")) -> PowerInfo:
    """What the system tells now; None for what it does not."""
    if sys.platform == "win32":
        status = PowerStatus()
        if not ctypes.WinDLL("kernel32").GetSystemPowerStatus(ctypes.byref(status)):
            return PowerInfo()
        return of_windows(bytes(status))
    else:
        return of_linux(root)


def of_windows(status: bytes) -> PowerInfo:
    """A SYSTEM_POWER_STATUS: ACLineStatus 0 or 1 (255 = unknown), SystemStatusFlag 1 while battery saver is on."""
    ac_line, saver = status[0], status[3]
    on_battery = {_AC_OFFLINE: True, _AC_ONLINE: False}.get(ac_line)
    return PowerInfo(on_battery, saver == _SAVER_ON)


def of_linux(root: Path) -> PowerInfo:
    """``/sys/class/power_supply`` and the firmware's platform profile.

    A machine with a battery that is discharging and no supply online runs on it; one without any battery does not tell
    of a supply at all. Batteries of mice and headsets have ``scope`` Device.
    """
    supplies = sorted((root / "sys/class/power_supply").glob("*"))
    own = [s for s in supplies if read_text(s / "scope") != "Device"]
    kinds = {s: read_text(s / "type") for s in own}
    batteries = [s for s in own if kinds[s] == "Battery"]
    online = [read_text(s / "online") for s in own if kinds[s] in ("Mains", "USB")]
    on_battery: bool | None = None
    if "1" in online:
        on_battery = False
    elif batteries:
        on_battery = any(read_text(s / "status") == "Discharging" for s in batteries)
    profile = read_text(root / "sys/firmware/acpi/platform_profile")
    return PowerInfo(on_battery, profile in _SAVING_PROFILES if profile else None)
