"""The Windows calls behind ``gpus_windows``: DXGI and D3DKMT by ctypes, the PnP manager for the PCIe link.

COM methods are called by their place in the vtable: IDXGIFactory1.EnumAdapters1 12, IDXGIAdapter1.GetDesc1 10,
IDXGIAdapter3.QueryVideoMemoryInfo 14, IUnknown.QueryInterface 0 and Release 2. Other systems have none of this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from app.hardware.gpus_windows import Adapter, PcieLink, RegistryCard, is_sleeping, pci_id_of, registry_card
from app.hardware.registry_windows import registry_number, registry_text

_DISPLAY_CLASS = "{4d36e968-e325-11ce-bfc1-08002be10318}"
_MOST_DRIVERS = 32


def read_registry_cards() -> tuple[RegistryCard, ...]:
    """What the display drivers wrote about their cards; () on another system."""
    found = []
    for number in range(_MOST_DRIVERS):
        key = rf"SYSTEM\CurrentControlSet\Control\Class\{_DISPLAY_CLASS}\{number:04}"
        card = registry_card(
            registry_text(key, "DriverDesc"),
            registry_text(key, "MatchingDeviceId"),
            registry_number(key, "HardwareInformation.qwMemorySize"),
        )
        found += [card] if card is not None else []
    return tuple(found)


if sys.platform == "win32":
    import ctypes
    import uuid
    from ctypes import wintypes

    class _Guid(ctypes.Structure):
        _fields_ = [("data", ctypes.c_ubyte * 16)]  # ctypes wants a list

    class _Luid(ctypes.Structure):
        _fields_ = [("low", wintypes.DWORD), ("high", wintypes.LONG)]

    class _Desc1(ctypes.Structure):
        _fields_ = [
            ("name", ctypes.c_wchar * 128),
            ("vendor", ctypes.c_uint),
            ("device", ctypes.c_uint),
            ("subsystem", ctypes.c_uint),
            ("revision", ctypes.c_uint),
            ("dedicated", ctypes.c_size_t),
            ("dedicated_system", ctypes.c_size_t),
            ("shared", ctypes.c_size_t),
            ("luid", _Luid),
            ("flags", ctypes.c_uint),
        ]

    class _VideoMemory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint64) for name in ("budget", "usage", "available", "reserved")]

    class _OpenFromLuid(ctypes.Structure):
        _fields_ = [("luid", _Luid), ("handle", ctypes.c_uint)]

    class _QueryAdapter(ctypes.Structure):
        _fields_ = [
            ("handle", ctypes.c_uint),
            ("kind", ctypes.c_int),
            ("data", ctypes.c_void_p),
            ("size", ctypes.c_uint),
        ]

    class _Address(ctypes.Structure):
        _fields_ = [("bus", ctypes.c_uint), ("device", ctypes.c_uint), ("function", ctypes.c_uint)]

    class _Key(ctypes.Structure):
        _fields_ = [("guid", _Guid), ("pid", ctypes.c_ulong)]

    _FACTORY1 = "770aae78-f26f-4dba-a829-253c83d1b387"
    _ADAPTER3 = "645967a4-1392-4310-a798-8053ce3e93fd"
    _PCI_KEYS = "3ab22e31-8264-4b4e-9af5-a8d2d8e33e62"
    _DEVICE_KEYS = "a45c254e-df1c-4efd-8020-67d146a850e0"
    _POWER_DATA, _POWER_DATA_BYTES = 32, 64
    _CLASS_AND_PRESENT = 0x300
    _ADAPTER_ADDRESS = 6

    def _guid(text: str) -> _Guid:
        return _Guid.from_buffer_copy(uuid.UUID(text).bytes_le)

    def _com(pointer: ctypes.c_void_p, index: int, *arguments: int | ctypes.Structure | ctypes.c_void_p) -> int:
        """Call method ``index`` of a COM object: whole numbers by value, everything else by address; the HRESULT."""
        table = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_void_p))[0]
        address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[index]
        kinds = [ctypes.c_uint if isinstance(a, int) else ctypes.c_void_p for a in arguments]
        values = [a if isinstance(a, int) else ctypes.addressof(a) for a in arguments]
        method = ctypes.WINFUNCTYPE(ctypes.c_long, ctypes.c_void_p, *kinds)(address)
        return int(method(pointer, *values)) & 0xFFFFFFFF

    def read_adapters() -> tuple[Adapter, ...]:
        """Every adapter that DXGI lists, software ones included. Raises OSError when DXGI cannot be opened."""
        create = ctypes.WinDLL("dxgi").CreateDXGIFactory1
        create.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        factory, wanted = ctypes.c_void_p(), _guid(_FACTORY1)
        status = create(ctypes.byref(wanted), ctypes.byref(factory)) & 0xFFFFFFFF
        if status:
            raise OSError(f"CreateDXGIFactory1: {status:#010x}")
        found: list[Adapter] = []
        try:
            adapter = ctypes.c_void_p()
            while _com(factory, 12, len(found), adapter) == 0:
                try:
                    found.append(_read_adapter(adapter))
                finally:
                    _com(adapter, 2)
        finally:
            _com(factory, 2)
        return tuple(found)

    def _read_adapter(adapter: ctypes.c_void_p) -> Adapter:
        desc = _Desc1()
        _com(adapter, 10, desc)
        memory = _local_memory(adapter)
        return Adapter(
            name=desc.name.strip(),
            vendor_id=desc.vendor,
            dedicated_bytes=desc.dedicated,
            shared_bytes=desc.shared,
            is_software=bool(desc.flags & 2),
            luid=(desc.luid.low, desc.luid.high),
            budget_bytes=memory.budget if memory else None,
            usage_bytes=memory.usage if memory else None,
            pci_id=_pci_address(desc.luid),
            device_id=desc.device,
        )

    def _local_memory(adapter: ctypes.c_void_p) -> _VideoMemory | None:
        newer, wanted = ctypes.c_void_p(), _guid(_ADAPTER3)
        if _com(adapter, 0, wanted, newer):
            return None
        memory = _VideoMemory()
        status = _com(newer, 14, 0, 0, memory)  # node 0, segment group local
        _com(newer, 2)
        return memory if status == 0 else None

    def _pci_address(luid: _Luid) -> str | None:
        """The adapter's PCI address; None where gdi32 lacks the call (Wine 8 does) or does not tell."""
        gdi = ctypes.WinDLL("gdi32")
        query_call = getattr(gdi, "D3DKMTQueryAdapterInfo", None)
        adapter = _OpenFromLuid(luid, 0)
        if query_call is None or gdi.D3DKMTOpenAdapterFromLuid(ctypes.byref(adapter)):
            return None
        address = _Address()
        query = _QueryAdapter(adapter.handle, _ADAPTER_ADDRESS, ctypes.addressof(address), ctypes.sizeof(address))
        status = query_call(ctypes.byref(query))
        handle = ctypes.c_uint(adapter.handle)
        gdi.D3DKMTCloseAdapter(ctypes.byref(handle))
        return pci_id_of(address.bus, address.device, address.function) if status == 0 else None

    class _Device:
        """A display device that the PnP manager knows; reading its properties does not wake it."""

        def __init__(self, manager: ctypes.WinDLL, node: ctypes.c_ulong) -> None:
            self._manager = manager
            self._node = node

        def property(self, keys: str, pid: int, most_bytes: int) -> bytes:
            """The raw value of a property; b'' when the device has none."""
            key, kind, size = _Key(_guid(keys), pid), ctypes.c_ulong(), ctypes.c_ulong(most_bytes)
            buffer = ctypes.create_string_buffer(most_bytes)
            status = self._manager.CM_Get_DevNode_PropertyW(
                self._node, ctypes.byref(key), ctypes.byref(kind), buffer, ctypes.byref(size), 0
            )
            return buffer.raw[: size.value] if status == 0 else b""

        def number(self, keys: str, pid: int) -> int | None:
            """A 32-bit property."""
            value = self.property(keys, pid, 4)
            return int.from_bytes(value, "little") if len(value) == 4 else None

        def pci_id(self) -> str | None:
            """Its PCI address."""
            bus, address = self.number(_DEVICE_KEYS, 23), self.number(_DEVICE_KEYS, 30)
            return None if bus is None or address is None else pci_id_of(bus, address >> 16, address & 0xFFFF)

    def _devices() -> Iterator[_Device]:
        """Every display device that is present."""
        manager = ctypes.WinDLL("cfgmgr32")
        length = ctypes.c_ulong()
        kind = ctypes.c_wchar_p(_DISPLAY_CLASS)
        if manager.CM_Get_Device_ID_List_SizeW(ctypes.byref(length), kind, _CLASS_AND_PRESENT):
            return
        buffer = ctypes.create_unicode_buffer(max(1, length.value))
        if manager.CM_Get_Device_ID_ListW(kind, buffer, length, _CLASS_AND_PRESENT):
            return
        for name in ctypes.wstring_at(buffer, length.value).split("\0"):
            node = ctypes.c_ulong()
            if name and not manager.CM_Locate_DevNodeW(ctypes.byref(node), ctypes.c_wchar_p(name), 0):
                yield _Device(manager, node)

    def read_links() -> tuple[PcieLink, ...]:
        """The PCIe link of every display device that is present; a device without such properties is left out."""
        found = []
        for device in _devices():
            pci_id = device.pci_id()
            if pci_id is not None:
                now = device.number(_PCI_KEYS, 9) or None, device.number(_PCI_KEYS, 10) or None
                most = device.number(_PCI_KEYS, 11) or None, device.number(_PCI_KEYS, 12) or None
                found.append(PcieLink(pci_id, *now, *most))
        return tuple(found)

    def read_sleeping() -> dict[str, bool]:
        """PCI address -> does the device sleep (D1 to D3), from the PnP manager's note, without waking it."""
        found = {}
        for device in _devices():
            pci_id, asleep = device.pci_id(), is_sleeping(device.property(_DEVICE_KEYS, _POWER_DATA, _POWER_DATA_BYTES))
            if pci_id is not None and asleep is not None:
                found[pci_id] = asleep
        return found

else:

    def read_adapters() -> tuple[Adapter, ...]:
        """Every adapter that DXGI lists; there is no DXGI here, so this raises OSError."""
        raise OSError("not Windows")

    def read_links() -> tuple[PcieLink, ...]:
        """The PCIe links that Windows' PnP manager knows; there is none here."""
        return ()

    def read_sleeping() -> dict[str, bool]:
        """Power states that Windows' PnP manager knows; there is none here."""
        return {}
