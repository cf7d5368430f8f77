"""Graphics cards on Windows of any vendor: DXGI for name and memory, the PnP manager for the PCIe link. Pure half.

The calls are in ``gpus_windows_calls``. WMI's AdapterRAM is 32 bits wide and is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.common.units import GIB
from app.hardware.devices import looks_integrated
from app.hardware.types import GpuInfo

_MICROSOFT = 0x1414
_COMPUTE_VENDORS = (0x10DE, 0x1002, 0x8086, 0x4D4F4351, 0x5143)  # NVIDIA, AMD, Intel, Qualcomm (two ids)


@dataclass(frozen=True, slots=True)
class Adapter:
    """DXGI_ADAPTER_DESC1 and what was found for its LUID.

    ``budget_bytes``/``usage_bytes``: QueryVideoMemoryInfo of the local segment for this process; budget - usage is what
    Windows would let a new program take.
    """

    name: str
    vendor_id: int
    dedicated_bytes: int
    shared_bytes: int
    is_software: bool
    luid: tuple[int, int]
    budget_bytes: int | None = None
    usage_bytes: int | None = None
    pci_id: str | None = None


@dataclass(frozen=True, slots=True)
class PcieLink:
    """DEVPKEY_PciDevice_* of one display device; None where the driver does not tell."""

    pci_id: str
    gen_now: int | None
    width_now: int | None
    gen_max: int | None
    width_max: int | None


def pci_id_of(bus: int, device: int, function: int) -> str | None:
    """'0000:01:00.0' of a PCI address; None for numbers that are none (virtual adapters say 0xFFFFFFFF)."""
    if not (0 <= bus <= 255 and 0 <= device <= 31 and 0 <= function <= 7):
        return None
    return f"0000:{bus:02x}:{device:02x}.{function}"


def gpus_of(adapters: tuple[Adapter, ...], links: tuple[PcieLink, ...]) -> tuple[GpuInfo, ...]:
    """The cards among DXGI's adapters: no software renderer, no virtual display, none twice."""
    by_address = {link.pci_id: link for link in links}
    seen: set[tuple[int, int]] = set()
    found = []
    for adapter in adapters:
        if adapter.is_software or adapter.vendor_id == _MICROSOFT or adapter.vendor_id not in _COMPUTE_VENDORS:
            continue
        if adapter.luid in seen:
            continue
        seen.add(adapter.luid)
        found.append(_gpu(adapter, by_address.get(adapter.pci_id or "")))
    return tuple(found)


def _gpu(adapter: Adapter, link: PcieLink | None) -> GpuInfo:
    """An integrated adapter's real limit is the shared memory; its small (or zero) dedicated part is a true figure."""
    integrated = looks_integrated(adapter.name) or adapter.dedicated_bytes < GIB
    total = adapter.dedicated_bytes + adapter.shared_bytes if integrated else adapter.dedicated_bytes
    free = None
    if adapter.budget_bytes is not None and adapter.usage_bytes is not None:
        free = min(total, max(0, adapter.budget_bytes - adapter.usage_bytes))
    if integrated:
        link = None
    return GpuInfo(
        name=adapter.name,
        kind="igpu" if integrated else "gpu",
        engine_name=None,
        total_bytes=total or None,
        free_bytes=free,
        pci_id=adapter.pci_id,
        pcie_gen_max=link.gen_max if link else None,
        pcie_gen_now=link.gen_now if link else None,
        pcie_width_max=link.width_max if link else None,
        pcie_width_now=link.width_now if link else None,
    )
