"""RAM on Linux: modules from the firmware's table where this user may read it, else from what udev wrote down.

``/sys/firmware/dmi/tables/DMI`` and ``entries/17-*/raw`` are for root only; systemd's 70-memory.rules stores the same
facts in udev's database, readable by everyone (systemd src/udev/dmi_memory_id).
"""

from __future__ import annotations

import re
from pathlib import Path

from app.hardware.cgroup_linux import memory_limit
from app.hardware.memory_common import MemoryFacts
from app.hardware.ps import RamNow
from app.hardware.smbios import MemoryModule, parse_smbios
from app.hardware.sysfs import read_text

_UDEV_LINE = re.compile(r"^E:\s*MEMORY_DEVICE_(\d+)_([A-Z_]+)=(.*)$", re.MULTILINE)
_SOLDERED = ("row of chips", "die")


def read_modules(root: Path = Path("/")) -> MemoryFacts:
    """The modules and where they were read; empty with source None when nothing tells."""
    for source, modules in (("smbios", _from_dmi(root)), ("udev", _from_udev(root))):
        if any(m.is_populated for m in modules):
            return MemoryFacts(modules, source)
    return MemoryFacts((), None)


def parse_udev_dmi(text: str) -> tuple[MemoryModule, ...]:
    """The ``MEMORY_DEVICE_n_*`` properties of ``/run/udev/data/+dmi:id``; sizes are bytes, speeds MT/s."""
    slots: dict[int, dict[str, str]] = {}
    for number, key, value in _UDEV_LINE.findall(text):
        slots.setdefault(int(number), {})[key] = value.strip()
    return tuple(_udev_module(slots[n]) for n in sorted(slots))


def within_container(now: RamNow, root: Path = Path("/")) -> tuple[RamNow, bool]:
    """System memory cut to the container's limit, and whether there is one that matters."""
    limit = memory_limit(root)
    if limit is None or limit.limit_bytes >= now.total_bytes:
        return now, False
    left = limit.limit_bytes if limit.used_bytes is None else max(0, limit.limit_bytes - limit.used_bytes)
    return RamNow(limit.limit_bytes, min(now.available_bytes, left)), True


def _from_dmi(root: Path) -> tuple[MemoryModule, ...]:
    table = _read_bytes(root / "sys/firmware/dmi/tables/DMI")
    if table is not None:
        return parse_smbios(table)
    entries = root / "sys/firmware/dmi/entries"
    try:
        raw = [_read_bytes(folder / "raw") for folder in sorted(entries.glob("17-*"))]
    except OSError:
        return ()
    return tuple(module for data in raw if data for module in parse_smbios(data))


def _from_udev(root: Path) -> tuple[MemoryModule, ...]:
    return parse_udev_dmi(read_text(root / "run/udev/data/+dmi:id") or "")


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _udev_module(keys: dict[str, str]) -> MemoryModule:
    kind = keys.get("TYPE", "")
    return MemoryModule(
        size_bytes=0 if keys.get("PRESENT") == "0" else _number(keys.get("SIZE")),
        kind=kind if re.fullmatch(r"(LP)?DDR\d?|HBM\d?", kind) else None,
        is_soldered=keys.get("FORM_FACTOR", "").lower() in _SOLDERED,
        locator=keys.get("LOCATOR", ""),
        bank=keys.get("BANK_LOCATOR", ""),
        data_width_bits=_number(keys.get("DATA_WIDTH")),
        rated_mts=_number(keys.get("SPEED_MTS")) or None,
        configured_mts=_number(keys.get("CONFIGURED_SPEED_MTS")) or None,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None
