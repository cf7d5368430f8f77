"""Graphics cards on Linux from /sys/class/drm: AMD's memory figures, PCI link and display of every vendor.

Reading these files does not wake a sleeping card. Intel's driver tells no memory size here; the engine does.
"""

from __future__ import annotations

import re
from pathlib import Path

from app.common.units import GIB
from app.hardware.devices import looks_integrated
from app.hardware.sysfs import read_int, read_text, real_path
from app.hardware.types import GpuInfo

VENDORS = {0x10DE: "NVIDIA", 0x1002: "AMD", 0x8086: "Intel"}
"""Vendors whose cards the engine can use; adapters of virtual machines (1af4, 1234, 15ad, 1414...) cannot compute."""

_SPEEDS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_NAMES = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")
_INTEL_INTEGRATED = "0000:00:02.0"
_AMD_INTEGRATED = re.compile(
    r"renoir|lucienne|cezanne|barcelo|rembrandt|raphael|mendocino|phoenix|hawk ?point|strix|krackan|granite ridge"
    r"|dragon range|van ?gogh|raven|picasso|dali|kaveri|carrizo|stoney|radeon graphics|\bradeon [678]\d0m\b",
    re.IGNORECASE,
)


def read_gpus(root: Path = Path("/")) -> tuple[GpuInfo, ...]:
    """One entry for each real graphics card, in the order of their PCI addresses."""
    folders = [p for p in (root / "sys/class/drm").glob("card*") if re.fullmatch(r"card\d+", p.name)]
    names = next((text for n in _NAMES if (text := read_text(root / n))), "") if folders else ""
    found = [gpu for folder in folders if (gpu := _read(folder, names)) is not None]
    return tuple(sorted(found, key=lambda g: g.pci_id or ""))


def parse_link_speed(text: str | None) -> int | None:
    """'16.0 GT/s PCIe' -> 4, the PCIe generation; None for 'Unknown' and the like."""
    found = re.match(r"\s*([\d.]+) GT/s", text or "")
    return _SPEEDS.get(float(found.group(1))) if found else None


def pci_name(pci_ids: str, vendor: int, device: int) -> str | None:
    """The device's name in the text of a ``pci.ids`` file."""
    start = re.search(rf"^{vendor:04x} ", pci_ids, re.MULTILINE)
    if start is None:
        return None
    end = re.compile(r"^[0-9a-f]{4} ", re.MULTILINE).search(pci_ids, start.end())
    block = pci_ids[start.end() : end.start() if end else len(pci_ids)]
    found = re.search(rf"^\t{device:04x}\s+(.+)$", block, re.MULTILINE)
    return found.group(1).strip() if found else None


def _read(folder: Path, names: str) -> GpuInfo | None:
    device = folder / "device"
    vendor, number = read_int(device / "vendor"), read_int(device / "device")
    if vendor not in VENDORS or number is None:
        return None
    slot = re.search(r"^PCI_SLOT_NAME=(\S+)$", read_text(device / "uevent") or "", re.MULTILINE)
    pci_id = slot.group(1).lower() if slot else None
    known = pci_name(names, vendor, number)
    total, used = read_int(device / "mem_info_vram_total"), read_int(device / "mem_info_vram_used")
    integrated = _is_integrated(vendor, pci_id, known, total)
    if integrated and total is not None:
        shared, shared_used = read_int(device / "mem_info_gtt_total"), read_int(device / "mem_info_gtt_used")
        total, used = total + (shared or 0), None if used is None else used + (shared_used or 0)
    link = _links(device)
    return GpuInfo(
        name=f"{VENDORS[vendor]} {known or f'{vendor:04x}:{number:04x}'}",
        kind="igpu" if integrated else "gpu",
        engine_name=None,
        total_bytes=total or None,
        free_bytes=None if not total or used is None else max(0, total - used),
        pci_id=pci_id,
        pcie_gen_max=None if integrated else link["max_gen"],
        pcie_gen_now=None if integrated else link["current_gen"],
        pcie_width_max=None if integrated else link["max_width"],
        pcie_width_now=None if integrated else link["current_width"],
        drives_display=_drives_display(folder),
    )


def _is_integrated(vendor: int, pci_id: str | None, name: str | None, total: int | None) -> bool:
    """Intel's sits at 00:02.0; AMD's has a processor's code name or hardly any memory of its own; NVIDIA makes none."""
    if vendor == 0x8086:
        return pci_id == _INTEL_INTEGRATED
    if vendor == 0x1002:
        named = name is not None and (_AMD_INTEGRATED.search(name) is not None or looks_integrated(name))
        return named or (total is not None and total < GIB)
    return False


def _links(device: Path) -> dict[str, int | None]:
    """Width and generation, the smallest of the card's and of every bridge above it (cards have one of their own)."""
    found: dict[str, list[int]] = {"max_width": [], "current_width": [], "max_gen": [], "current_gen": []}
    folder = real_path(device)
    while re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", folder.name):
        for which in ("max", "current"):
            width = read_int(folder / f"{which}_link_width")
            gen = parse_link_speed(read_text(folder / f"{which}_link_speed"))
            found[f"{which}_width"] += [width] if width and width <= 32 else []
            found[f"{which}_gen"] += [gen] if gen else []
        folder = folder.parent
    return {key: min(values, default=None) for key, values in found.items()}


def _drives_display(folder: Path) -> bool | None:
    states = [read_text(p / "status") for p in folder.glob(f"{folder.name}-*")]
    known = [s for s in states if s]
    return any(s == "connected" for s in known) if known else None
