"""How long this computer has slept since it was started: the difference of two clocks, one of which counts sleep.

Nobody needs to be told of a sleep while it begins: the difference has grown afterwards. A changed wall clock does not
move either of the two.
"""

from __future__ import annotations

import sys
import time


def slept_s() -> float | None:
    """Seconds of sleep or hibernation since the start of the system; None where no pair of clocks tells.

    Linux: CLOCK_BOOTTIME counts sleep, CLOCK_MONOTONIC does not (clock_gettime(2)). Windows: GetTickCount64 counts it,
    QueryUnbiasedInterruptTime does not.
    """
    if sys.platform == "win32":
        import ctypes

        unbiased = ctypes.c_uint64()
        kernel = ctypes.WinDLL("kernel32")
        kernel.GetTickCount64.restype = ctypes.c_uint64
        if not kernel.QueryUnbiasedInterruptTime(ctypes.byref(unbiased)):
            return None
        return max(0.0, int(kernel.GetTickCount64()) / 1000 - unbiased.value / 1e7)
    counts_sleep = getattr(time, "CLOCK_BOOTTIME", None)
    if counts_sleep is None:
        return None
    return max(0.0, time.clock_gettime(counts_sleep) - time.clock_gettime(time.CLOCK_MONOTONIC))
