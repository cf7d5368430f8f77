"""Windows' "efficiency mode" (EcoQoS) of a process: switched off for the engine, and read back.

Left to itself, Windows moves a program whose windows are all in the background to slow cores and low clocks
(PROCESS_POWER_THROTTLING_STATE of SetProcessInformation; Windows 10 1709). The reading half is pure.
"""

from __future__ import annotations

import sys

EXECUTION_SPEED = 0x1


def is_full_speed(control_mask: int, state_mask: int) -> bool:
    """Was it decided that the process is not slowed down? Without the control bit Windows may decide to."""
    return bool(control_mask & EXECUTION_SPEED) and not state_mask & EXECUTION_SPEED


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _PROCESS_POWER_THROTTLING = 4
    _VERSION = 1

    class _State(ctypes.Structure):
        _fields_ = (("version", wintypes.ULONG), ("control_mask", wintypes.ULONG), ("state_mask", wintypes.ULONG))

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)

    def ask_full_speed(handle: int) -> None:
        """Ask for no throttling. A Windows without the call, or that refuses, has nothing to switch off or says so
        when it is read back."""
        call = getattr(_kernel, "SetProcessInformation", None)
        if call is not None:
            call.argtypes = [wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD]
            state = _State(_VERSION, EXECUTION_SPEED, 0)
            call(handle, _PROCESS_POWER_THROTTLING, ctypes.byref(state), ctypes.sizeof(state))

    def full_speed(handle: int) -> bool | None:
        """What Windows says of the process now; None where it does not tell."""
        call = getattr(_kernel, "GetProcessInformation", None)
        if call is None:
            return None
        call.argtypes = [wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD]
        state = _State(_VERSION, 0, 0)
        if not call(handle, _PROCESS_POWER_THROTTLING, ctypes.byref(state), ctypes.sizeof(state)):
            return None
        return is_full_speed(state.control_mask, state.state_mask)
