"""Measures how fast the chosen cores read RAM: the figure that limits decoding when experts live there.

One thread is pinned to each core and reads its own part of a buffer that no cache holds; numpy lets go of the
interpreter lock while it reduces a chunk, so the parts are read at the same time and the window stays awake.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from app.common.problem import ProblemError, fail
from app.common.units import MIB
from app.hardware import memory_linux
from app.hardware.ps import ram_now
from app.hardware.types import CpuInfo

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_WANTED_BYTES = 512 * MIB
"""Where nobody tells the caches' size."""
_SMALLEST_BYTES, _LARGEST_BYTES = 256 * MIB, 1024 * MIB
_CACHES = 8
"""The buffer holds the last-level caches so many times: walking round it, nothing is left of the round before. A
smaller one is filled sooner, which on a slow or busy machine is most of the time."""
_LEAST_BYTES = 128 * MIB
_SHARE_OF_FREE = 8
_CHUNK_BYTES = 32 * MIB
"""What is read between two looks at the cancel flag: a few milliseconds on one core."""
_PASS_SECONDS = 0.006
"""Short enough that some passes fall between the disturbances of other programs."""
_PASS_SECONDS_PER_THREAD = 0.001
"""The threads start one after the other (some 50 microseconds each): the more there are, the longer a pass must be."""
_MOST_SEGMENTS = 32
_LEAST_PASSES = 3
_LONGEST_SECONDS = 3.0


def reading_cpus(cpu: CpuInfo) -> tuple[int, ...]:
    """One logical CPU of each recommended core: a second thread on a core adds nothing to reading."""
    allowed = set(cpu.recommended_cpus)
    firsts = [next((n for n in core.logical if n in allowed), None) for core in cpu.cores]
    return tuple(n for n in firsts if n is not None)[: cpu.recommended_threads] or cpu.recommended_cpus


def cache_bytes(cpu: CpuInfo) -> int | None:
    """All last-level caches together; None where nobody tells them, or a host shares its own (a virtual machine)."""
    if not cpu.l3 or cpu.is_virtual_machine:
        return None
    return sum(domain.size_bytes for domain in cpu.l3)


def measure_ram_read_gbs(
    cpus: tuple[int, ...],
    seconds: float = 0.6,
    cancelled: Callable[[], bool] = lambda: False,
    caches: int | None = None,
) -> float:
    """Read bandwidth in decimal GB/s with one thread pinned to each of ``cpus``; the best of the passes that fit.

    The passes walk over a buffer of 256 MiB to 1 GiB (``caches``: bytes of the last-level caches), or an eighth of the
    free memory if that is less; the best pass is the one that other programs disturbed least. ``seconds`` counts the
    passes; filling the buffer comes on top (0.1 to 0.5 s).
    ``cancelled`` is asked from the reading threads every few milliseconds. Raises ProblemError ``bandwidth_cancelled``,
    ``bandwidth_no_memory``, ``bandwidth_no_numpy`` (numpy is missing or does not run on this processor) or
    ``bandwidth_failed``.
    """
    cpus = cpus or (0,)
    wanted = _WANTED_BYTES if caches is None else max(_SMALLEST_BYTES, min(_LARGEST_BYTES, _CACHES * caches))
    size = min(wanted, _free_bytes() // _SHARE_OF_FREE)
    if size < _LEAST_BYTES:
        raise _no_memory()
    readers = _Readers(_numpy(), cpus, size // len(cpus), cancelled)
    try:
        return readers.best_gbs(seconds)
    finally:
        readers.stop()


def _free_bytes() -> int:
    """Free memory, a container's limit counted."""
    now = ram_now()
    return now.available_bytes if sys.platform == "win32" else memory_linux.within_container(now)[0].available_bytes


def _no_memory() -> ProblemError:
    return fail("bandwidth_no_memory", needed_bytes=_LEAST_BYTES * _SHARE_OF_FREE)


def _numpy() -> ModuleType:
    """numpy; a build for newer processors raises RuntimeError, one that misses a library OSError or ImportError."""
    try:
        return importlib.import_module("numpy")
    except (ImportError, OSError, RuntimeError) as error:
        raise fail("bandwidth_no_numpy", (f"{type(error).__name__}: {error}",)) from error


class _Readers:
    """Threads that wait at a barrier, each read the same share of their part of the buffer, and meet again."""

    def __init__(
        self, numpy_module: ModuleType, cpus: tuple[int, ...], part_bytes: int, cancelled: Callable[[], bool]
    ) -> None:
        self._numpy = numpy_module
        self._part_words = part_bytes // 4096 * 512
        self._cancelled = cancelled
        self._failure: Exception | None = None
        self._segment = (0, self._part_words)
        self._spans: list[tuple[float, float]] = []
        self._barrier = threading.Barrier(len(cpus) + 1)
        self._threads = [threading.Thread(target=self._work, args=(cpu,), daemon=True) for cpu in cpus]
        for thread in self._threads:
            thread.start()

    def best_gbs(self, seconds: float) -> float:
        """Run passes until the time is over (at least three) and return the best."""
        self._meet()  # every part is filled
        started = time.perf_counter()
        whole = self._pass(0, 1)
        wanted = _PASS_SECONDS + _PASS_SECONDS_PER_THREAD * len(self._threads)
        n_segments = max(1, min(_MOST_SEGMENTS, int(whole / wanted)))
        best, passes, elapsed = self._rate(whole, 1), 1, time.perf_counter() - started
        while (passes < _LEAST_PASSES or elapsed < seconds) and elapsed < _LONGEST_SECONDS:
            taken = self._pass(passes % n_segments, n_segments)
            best = max(best, self._rate(taken, n_segments))
            passes += 1
            elapsed = time.perf_counter() - started
        return best

    def stop(self) -> None:
        """Let every thread go and wait for it."""
        self._barrier.abort()
        for thread in self._threads:
            thread.join()

    def _rate(self, taken_s: float, n_segments: int) -> float:
        return self._part_words // n_segments * 8 * len(self._threads) / max(taken_s, 1e-9) / 1e9

    def _pass(self, index: int, n_segments: int) -> float:
        """Read one of ``n_segments`` equal segments of every part; seconds from the first start to the last end."""
        length = self._part_words // n_segments
        self._segment = (index * length, (index + 1) * length)
        self._spans = []
        self._meet()
        self._meet()
        return max(end for _, end in self._spans) - min(begin for begin, _ in self._spans)

    def _meet(self) -> None:
        try:
            self._barrier.wait()
        except threading.BrokenBarrierError as error:
            raise self._reason() from error

    def _reason(self) -> Exception:
        failure = self._failure
        if failure is None or isinstance(failure, ProblemError):
            return failure or fail("bandwidth_cancelled")
        if isinstance(failure, MemoryError):
            return _no_memory()
        return fail("bandwidth_failed", (f"{type(failure).__name__}: {failure}",))

    def _work(self, cpu: int) -> None:
        pin_this_thread(cpu)
        try:
            part: NDArray[numpy.uint64] = self._numpy.empty(self._part_words, dtype=self._numpy.uint64)
            self._in_chunks(0, self._part_words, lambda a, b: part[a:b].fill(1))
            self._barrier.wait()
            while True:
                self._barrier.wait()
                begin = time.perf_counter()
                self._in_chunks(*self._segment, lambda a, b: self._numpy.bitwise_or.reduce(part[a:b]))
                self._spans.append((begin, time.perf_counter()))
                self._barrier.wait()
        except threading.BrokenBarrierError:
            return
        except Exception as error:  # told by the thread that waits for the figure
            self._failure = error
            self._barrier.abort()

    def _in_chunks(self, first: int, last: int, touch: Callable[[int, int], object]) -> None:
        step = _CHUNK_BYTES // 8
        for begin in range(first, last, step):
            if self._cancelled():
                raise fail("bandwidth_cancelled")
            touch(begin, min(begin + step, last))


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
