"""RAM on Linux: modules from the firmware's table where this user may read it, else from what udev wrote down, else
from the driver of the memory controller (EDAC: only machines with error-correcting memory have it; it tells no speed).

``/sys/firmware/dmi/tables/DMI`` and ``entries/17-*/raw`` are for root only; systemd's 70-memory.rules stores the same
facts in udev's database, readable by everyone (systemd src/udev/dmi_memory_id).
"""

from __future__ import annotations

import re
from pathlib import Path

from app.common.units import MIB
from app.hardware.cgroup_linux import memory_limit
from app.hardware.memory_common import MemoryFacts
from app.hardware.ps import RamNow
from app.hardware.smbios import MemoryModule, parse_smbios, system_slots
from app.hardware.sysfs import read_int, read_text

_UDEV_LINE = re.compile(r"^E:\s*MEMORY_DEVICE_(\d+)_([A-Z_]+)=(.*)$", re.MULTILINE)
_SOLDERED = ("row of chips", "die")


def read_modules(root: Path = Path("/")) -> MemoryFacts:
    """The modules and where they were read; empty with source None when nothing tells."""
    for source, read in (("smbios", _from_dmi), ("udev", _from_udev), ("edac", _from_edac)):
        modules, slots = read(root)
        if any(m.is_populated for m in modules):
            return MemoryFacts(modules, source, slots)
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


def edac_module(label: str, location: str, size_mib: int | None, kind: str) -> MemoryModule:
    """One ``dimm*`` folder of EDAC from its label, location ('channel 1 slot 0'), size and memory type.

    The label is often only a number of the driver's own; the location always names the channel.
    """
    channel = re.search(r"channel (\d+)", location)
    found = re.search(r"(LP)?DDR\d?", kind)
    return MemoryModule(
        size_bytes=None if size_mib is None else size_mib * MIB,
        kind=found.group(0) if found else None,
        is_soldered=False,
        locator=f"Channel{channel.group(1)}" if channel else label,
        bank=label,
        data_width_bits=None,
        rated_mts=None,
        configured_mts=None,
    )


_Found = tuple[tuple[MemoryModule, ...], int | None]


def _from_dmi(root: Path) -> _Found:
    table = _read_bytes(root / "sys/firmware/dmi/tables/DMI")
    if table is not None:
        return parse_smbios(table), system_slots(table)
    entries = root / "sys/firmware/dmi/entries"
    try:
        raw = [_read_bytes(folder / "raw") for kind in (16, 17) for folder in sorted(entries.glob(f"{kind}-*"))]
    except OSError:
        return (), None
    table = b"".join(data for data in raw if data)
    return parse_smbios(table), system_slots(table)


def _from_udev(root: Path) -> _Found:
    text = read_text(root / "run/udev/data/+dmi:id") or ""
    slots = re.search(r"^E:\s*MEMORY_ARRAY_NUM_DEVICES=(\d{1,4})$", text, re.MULTILINE)
    return parse_udev_dmi(text), int(slots.group(1)) or None if slots else None


def _from_edac(root: Path) -> _Found:
    folders = sorted((root / "sys/devices/system/edac/mc").glob("mc*/dimm*"))
    modules = tuple(
        edac_module(
            f"{folder.parent.name} {read_text(folder / 'dimm_label') or ''}",
            f"{read_text(folder / 'dimm_location') or ''}",
            read_int(folder / "size"),
            read_text(folder / "dimm_mem_type") or "",
        )
        for folder in folders
    )
    return modules, None


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
