"""Graphics cards on Windows of any vendor: DXGI for name and memory, the PnP manager for the PCIe link. Pure half.

The calls are in ``gpus_windows_calls``. WMI's AdapterRAM is 32 bits wide and is not used.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

from app.common.units import GIB
from app.hardware.devices import looks_integrated
from app.hardware.gpu_use import luid_text
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
    device_id: int | None = None


@dataclass(frozen=True, slots=True)
class RegistryCard:
    """A display driver's own note in the registry: ``HardwareInformation.qwMemorySize``, 64 bits wide."""

    name: str
    vendor_id: int
    device_id: int
    memory_bytes: int


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


def registry_card(name: str | None, matching_id: str | None, memory: int | None) -> RegistryCard | None:
    r"""A note from its three values (DriverDesc, MatchingDeviceId ``pci\ven_1002&dev_7550...``, qwMemorySize)."""
    found = re.match(r"pci\\ven_([0-9a-f]{4})&dev_([0-9a-f]{4})", matching_id or "", re.IGNORECASE)
    if found is None or not name or not memory or memory < 0:
        return None
    return RegistryCard(name, int(found.group(1), 16), int(found.group(2), 16), memory)


def with_registry(adapters: tuple[Adapter, ...], cards: tuple[RegistryCard, ...]) -> tuple[Adapter, ...]:
    """DXGI's adapters, with the registry's figure where DXGI told no memory of a card that is not integrated.

    A card that DXGI does not list at all is added. An integrated adapter's 0 is a true figure and stays.
    """
    completed = []
    for adapter in adapters:
        note = next((card for card in cards if _is_same(adapter, card)), None)
        is_missing = adapter.dedicated_bytes == 0 and not looks_integrated(adapter.name)
        if note is not None and is_missing:
            adapter = dataclasses.replace(adapter, dedicated_bytes=note.memory_bytes)
        completed.append(adapter)
    unseen = [card for card in cards if not any(_is_same(adapter, card) for adapter in adapters)]
    completed += [Adapter(c.name, c.vendor_id, c.memory_bytes, 0, False, (-1 - i, -1)) for i, c in enumerate(unseen)]
    return tuple(completed)


def _is_same(adapter: Adapter, card: RegistryCard) -> bool:
    if adapter.device_id is not None:
        return (adapter.vendor_id, adapter.device_id) == (card.vendor_id, card.device_id)
    return adapter.name.casefold() == card.name.casefold()


def is_sleeping(power_data: bytes) -> bool | None:
    """CM_POWER_DATA {u32 size, u32 most recent power state: 1 = D0, 2..4 = D1..D3}; None when it is not told."""
    if len(power_data) < 8:
        return None
    state = int.from_bytes(power_data[4:8], "little")
    return state > 1 if 1 <= state <= 4 else None


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
        luid=luid_text(adapter.luid) if min(adapter.luid) >= 0 else None,
    )
