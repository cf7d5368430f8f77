"""What a card's driver tells Windows of temperature, power and clock (WDDM 2.4; D3DKMTQueryAdapterInfo by ctypes)."""

from __future__ import annotations

import sys

from app.hardware.gpu_load import CardSensors, sensors_of

if sys.platform == "win32":
    import ctypes
    import struct

    _NODE_PERF, _ADAPTER_PERF = 61, 62  # KMTQAITYPE_NODEPERFDATA and KMTQAITYPE_ADAPTERPERFDATA of d3dkmthk.h
    _ADAPTER_BYTES = 64
    _NODE_BYTES = (64, 56)
    """With and without the reserved field of newer headers: Windows takes the exact size only."""

    class _OpenFromLuid(ctypes.Structure):
        _fields_ = (("low", ctypes.c_uint), ("high", ctypes.c_int), ("handle", ctypes.c_uint))

    class _Query(ctypes.Structure):
        _fields_ = (
            ("handle", ctypes.c_uint),
            ("kind", ctypes.c_int),
            ("data", ctypes.c_void_p),
            ("size", ctypes.c_uint),
        )

    def read_sensors(luid: str) -> CardSensors:
        """The sensors of a card ('0xHIGH_0xLOW'); all None where Windows or the driver does not tell. Asking may wake a
        card that sleeps. Raises nothing."""
        gdi = ctypes.WinDLL("gdi32")
        ask = getattr(gdi, "D3DKMTQueryAdapterInfo", None)
        high, _, low = luid.partition("_")
        adapter = _OpenFromLuid(int(low, 16), ctypes.c_int(int(high, 16)).value, 0)
        if ask is None or gdi.D3DKMTOpenAdapterFromLuid(ctypes.byref(adapter)):
            return CardSensors()
        try:
            whole = _asked(ask, adapter.handle, _ADAPTER_PERF, _ADAPTER_BYTES)
            nodes = (_asked(ask, adapter.handle, _NODE_PERF, size) for size in _NODE_BYTES)
            return sensors_of(whole, next((node for node in nodes if node), b""))
        finally:
            gdi.D3DKMTCloseAdapter(ctypes.byref(ctypes.c_uint(adapter.handle)))

    def _asked(ask: ctypes._NamedFuncPointer, handle: int, kind: int, size: int) -> bytes:
        """Node 0 of the first part is the engine for 3D and computing; b'' when Windows refuses."""
        buffer = ctypes.create_string_buffer(struct.pack("<II", 0, 0), size)
        status = ask(ctypes.byref(_Query(handle, kind, ctypes.addressof(buffer), size)))
        return buffer.raw if status == 0 else b""

else:

    def read_sensors(luid: str) -> CardSensors:
        """Nothing tells this way on this system."""
        return CardSensors()
