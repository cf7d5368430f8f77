"""One thread that asks all samplers at a steady pace."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from app.common.problem import Problem, Severity
from app.monitor.sample import Sample, Sampler


class Schedule:
    """Ticks at start + n x period. A tick that was missed is left out, so that delays never add up. Pure."""

    def __init__(self, start: float, period_s: float) -> None:
        if period_s <= 0:
            raise ValueError("period_s must be positive")
        self._start = start
        self._period = period_s
        self._number = 0

    @property
    def due(self) -> float:
        """When the next tick is due."""
        return self._start + self._number * self._period

    def advance(self, now: float) -> None:
        """One tick is done; the next is the first one after ``now``."""
        passed = math.floor((now - self._start) / self._period)
        self._number = max(self._number, passed) + 1


class MonitorLoop:
    """Calls every sampler once a period and hands over one ``Sample``.

    ``on_sample`` and ``on_problem`` are called in the loop's thread. A sampler that raises gives None for the keys it
    gave before and is reported once (``sampler_failed``); it is asked again the next time. ``start``, ``set_period``,
    ``pause`` and ``stop`` may be called from any thread.
    """

    def __init__(
        self,
        samplers: tuple[Sampler, ...],
        period_s: float,
        on_sample: Callable[[Sample], None],
        on_problem: Callable[[Problem], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if period_s <= 0:
            raise ValueError("period_s must be positive")
        self._samplers = samplers
        self._period_s = period_s
        self._on_sample = on_sample
        self._on_problem = on_problem
        self._clock = clock
        self._wake = threading.Condition()
        self._paused = False
        self._restart = False
        self._stopping = False
        self._keys: dict[int, tuple[str, ...]] = {}
        self._reported: set[int] = set()
        self._told: dict[int, str | None] = {}
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)

    def start(self) -> None:
        """Start the thread; the first sample comes at once. Only once."""
        self._thread.start()

    def set_period(self, period_s: float) -> None:
        """Another pace, with a sample at once; nothing happens for the same one."""
        if period_s <= 0:
            raise ValueError("period_s must be positive")
        with self._wake:
            if period_s != self._period_s:
                self._period_s = period_s
                self._restart = True
                self._wake.notify_all()

    def pause(self) -> None:
        """No sampler is asked any more; ``stop`` then gives them back."""
        with self._wake:
            self._paused = True
            self._wake.notify_all()

    def stop(self) -> None:
        """Stop, close the samplers and wait for the thread; from the loop's own callbacks it does not wait."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        try:
            schedule = self._wait(Schedule(self._clock(), self._period_s))
            while schedule is not None:
                self._on_sample(self.sample_once())
                schedule.advance(self._clock())
                schedule = self._wait(schedule)
        finally:
            self._close()

    def _wait(self, schedule: Schedule) -> Schedule | None:
        """Wait for the next tick; a fresh schedule at another pace; None when it is time to stop."""
        with self._wake:
            while not self._stopping:
                if self._paused:
                    self._wake.wait()
                    continue
                if self._restart:
                    self._restart = False
                    schedule = Schedule(self._clock(), self._period_s)
                left = schedule.due - self._clock()
                if left <= 0:
                    return schedule
                self._wake.wait(left)
            return None

    def sample_once(self) -> Sample:
        """Ask every sampler now."""
        taken_at = self._clock()
        values: dict[str, float | None] = {}
        for i, sampler in enumerate(self._samplers):
            try:
                told = dict(sampler.sample())
            except Exception as error:  # one sampler must not take the other curves with it
                told = dict.fromkeys(self._keys.get(i, ()))
                self._report(i, sampler.name, error)
            self._pass_on(i, sampler)
            self._keys[i] = tuple(told)
            values.update(told)
        return Sample(taken_at, values)

    def _pass_on(self, index: int, sampler: Sampler) -> None:
        """A sampler may say why it has nothing to tell (``problem``): each reason is passed on once in a row."""
        problem = getattr(sampler, "problem", None)
        code = problem.code if isinstance(problem, Problem) else None
        if code is not None and self._told.get(index) != code and isinstance(problem, Problem):
            self._on_problem(problem)
        self._told[index] = code

    def _report(self, index: int, name: str, error: Exception) -> None:
        if index not in self._reported:
            self._reported.add(index)
            evidence = (f"{type(error).__name__}: {error}",)
            self._on_problem(Problem("sampler_failed", Severity.WARNING, {"sampler": name}, evidence))

    def _close(self) -> None:
        for i, sampler in enumerate(self._samplers):
            try:
                sampler.close()
            except Exception as error:  # the others must be closed too
                self._report(i, sampler.name, error)
