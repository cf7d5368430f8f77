"""Processor, memory and process samplers; NVIDIA cards are in ``nvml``."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil  # type: ignore[import-untyped]  # ships no types

from app.hardware.commit import commit_free_bytes
from app.hardware.ps import ram_now
from app.monitor.sample import Values

_GONE = (psutil.Error, OSError)


class CpuSampler:
    """Load of each logical CPU in percent: ``cpu.0``, ``cpu.1``... since the last call; unknown on the first."""

    name = "cpu"

    def __init__(self) -> None:
        self._last: list[tuple[float, float]] | None = None

    def sample(self) -> Values:
        """Percent busy per logical CPU. psutil's own percentages depend on the calling thread, so we keep the times."""
        now = [(_busy(times), sum(times.values())) for times in map(_plain_times, psutil.cpu_times(percpu=True))]
        last, self._last = self._last, now
        if last is None or len(last) != len(now):
            return {f"cpu.{i}": None for i in range(len(now))}
        return {f"cpu.{i}": _percent(before, after) for i, (before, after) in enumerate(zip(last, now, strict=True))}

    def close(self) -> None:
        """Nothing to give back."""


class RamSampler:
    """System memory in bytes: ``ram.used`` (total - available), ``ram.available`` and ``swap.used``; where the system
    keeps to a limit of what it promises, also ``ram.commit_free``."""

    name = "ram"

    def __init__(self, commit: Callable[[], int | None] = commit_free_bytes) -> None:
        self._commit: Callable[[], int | None] | None = commit if _number_or_none(commit) is not None else None

    def sample(self) -> Values:
        """Bytes in use and available."""
        now = ram_now()
        more = {} if self._commit is None else {"ram.commit_free": _number_or_none(self._commit)}
        return {
            **more,
            "ram.used": float(now.total_bytes - now.available_bytes),
            "ram.available": float(now.available_bytes),
            "swap.used": _number(lambda: psutil.swap_memory().used),
        }

    def close(self) -> None:
        """Nothing to give back."""


class ProcessSampler:
    """The server's process: ``server.rss`` (bytes), ``server.cpu`` (100 = one CPU), ``server.read`` (bytes so far).

    After the process has ended, and for any figure that the system refuses, the values are None. A process number that
    is used again by another program is noticed.
    """

    name = "server process"
    KEYS = ("server.rss", "server.cpu", "server.read")

    def __init__(self, pid: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: tuple[float, float] | None = None
        try:
            self._process = psutil.Process(pid)
        except _GONE:
            self._process = None

    def sample(self) -> Values:
        """The process's figures now."""
        if self._process is None or not self._is_running():
            self._process = None
            return dict.fromkeys(self.KEYS)
        process = self._process
        return {
            "server.rss": _number(lambda: process.memory_info().rss),
            "server.cpu": self._cpu_percent(),
            "server.read": _number(lambda: process.io_counters().read_bytes),
        }

    def close(self) -> None:
        """Forget the process."""
        self._process = None

    def _is_running(self) -> bool:
        try:
            return bool(self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE)
        except _GONE:
            return False

    def _cpu_percent(self) -> float | None:
        process = self._process
        used = _number(lambda: sum(process.cpu_times()[:2]))
        if used is None:
            self._last = None
            return None
        now = self._clock()
        last, self._last = self._last, (now, used)
        if last is None or now <= last[0]:
            return None
        return max(0.0, 100.0 * (used - last[1]) / (now - last[0]))


def _number(read: Callable[[], float]) -> float | None:
    try:
        return float(read())
    except (AttributeError, RuntimeError, *_GONE):  # no such figure on this system, or no counter for it
        return None


def _number_or_none(read: Callable[[], int | None]) -> float | None:
    try:
        told = read()
    except OSError:
        return None
    return None if told is None else float(told)


def _plain_times(times: object) -> dict[str, float]:
    """The fields of psutil's named tuple; guest time is part of user time already."""
    fields = {name: float(getattr(times, name)) for name in getattr(times, "_fields", ())}
    return {name: value for name, value in fields.items() if name not in ("guest", "guest_nice")}


def _busy(times: dict[str, float]) -> float:
    return sum(value for name, value in times.items() if name not in ("idle", "iowait"))


def _percent(before: tuple[float, float], after: tuple[float, float]) -> float | None:
    """None when no time has passed; a counter that ran backwards (it happens with iowait) is cut to 0..100."""
    total = after[1] - before[1]
    return None if total <= 0 else min(100.0, max(0.0, 100.0 * (after[0] - before[0]) / total))
