"""Measures how fast the chosen cores read RAM: the figure that limits decoding when experts live there."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.common.problem import fail
from app.common.units import MIB
from app.hardware.ps import ram_now
from app.hardware.types import CpuInfo

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_WANTED_BYTES = 1024 * MIB
"""Far larger than the last-level caches of today (a desktop X3D has 128 MiB, a big server part about 512 MiB)."""
_LEAST_BYTES = 128 * MIB
_SHARE_OF_FREE = 8


def reading_cpus(cpu: CpuInfo) -> tuple[int, ...]:
    """One logical CPU of each recommended core: a second thread on a core adds nothing to reading."""
    allowed = set(cpu.recommended_cpus)
    firsts = [next((n for n in core.logical if n in allowed), None) for core in cpu.cores]
    return tuple(n for n in firsts if n is not None)[: cpu.recommended_threads] or cpu.recommended_cpus


def measure_ram_read_gbs(
    cpus: tuple[int, ...], seconds: float = 0.6, cancelled: Callable[[], bool] = lambda: False
) -> float:
    """Read bandwidth in decimal GB/s with one thread pinned to each of ``cpus``; the best of the passes that fit.

    Every pass reads all of a buffer that no cache holds; the best pass is the one that other programs disturbed least.
    ``seconds`` counts the passes; filling the buffer comes on top (0.2 to 0.5 s). Raises ProblemError
    ``bandwidth_cancelled`` or ``bandwidth_no_memory``.
    """
    cpus = cpus or (0,)
    size = min(_WANTED_BYTES, ram_now().available_bytes // _SHARE_OF_FREE)
    if size < _LEAST_BYTES:
        raise fail("bandwidth_no_memory", needed_bytes=_LEAST_BYTES * _SHARE_OF_FREE)
    readers = _Readers(cpus, size // len(cpus), cancelled)
    try:
        return readers.best_gbs(seconds)
    except MemoryError as error:
        raise fail("bandwidth_no_memory", needed_bytes=_LEAST_BYTES * _SHARE_OF_FREE) from error
    finally:
        readers.stop()


class _Readers:
    """Threads that wait at a barrier, each read their own part of the buffer, and meet at the barrier again.

    numpy lets go of the interpreter lock during a reduction, so the parts are read at the same time.
    """

    def __init__(self, cpus: tuple[int, ...], part_bytes: int, cancelled: Callable[[], bool]) -> None:
        self._part_bytes = part_bytes // 4096 * 4096
        self._cancelled = cancelled
        self._barrier = threading.Barrier(len(cpus) + 1)
        self._threads = [threading.Thread(target=self._work, args=(cpu,), daemon=True) for cpu in cpus]
        for thread in self._threads:
            thread.start()

    def best_gbs(self, seconds: float) -> float:
        """Run passes until the time is over (at least three) and return the best."""
        self._meet()  # every part is filled
        best, passes, started = 0.0, 0, time.perf_counter()
        while passes < 3 or time.perf_counter() - started < seconds:
            begin = time.perf_counter()
            self._meet()
            self._meet()
            best = max(best, self._part_bytes * len(self._threads) / (time.perf_counter() - begin) / 1e9)
            passes += 1
        return best

    def stop(self) -> None:
        """Let every thread go and wait for it."""
        self._barrier.abort()
        for thread in self._threads:
            thread.join()

    def _meet(self) -> None:
        if self._cancelled():
            raise fail("bandwidth_cancelled")
        try:
            self._barrier.wait()
        except threading.BrokenBarrierError as error:
            raise MemoryError from error

    def _work(self, cpu: int) -> None:
        import numpy

        pin_this_thread(cpu)
        try:
            part: NDArray[numpy.uint64] = numpy.ones(self._part_bytes // 8, dtype=numpy.uint64)
            self._barrier.wait()
            while True:
                self._barrier.wait()
                numpy.bitwise_or.reduce(part)
                self._barrier.wait()
        except threading.BrokenBarrierError:
            return
        except MemoryError:
            self._barrier.abort()


def pin_this_thread(cpu: int) -> bool:
    """Keep the calling thread on one logical CPU; False where the system refuses (the thread then runs anywhere)."""
    if sys.platform == "win32":
        import ctypes

        kernel = ctypes.WinDLL("kernel32")
        kernel.GetCurrentThread.restype = ctypes.c_void_p
        kernel.SetThreadAffinityMask.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        kernel.SetThreadAffinityMask.restype = ctypes.c_size_t
        return cpu < 64 and bool(kernel.SetThreadAffinityMask(kernel.GetCurrentThread(), 1 << cpu))
    elif sys.platform == "linux":
        try:
            os.sched_setaffinity(0, {cpu})  # 0: this thread, not the process
        except OSError:
            return False
        return True
    else:
        return False
