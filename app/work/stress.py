"""\"Safe at this context\": fill the context once with one long prompt and watch how much memory that takes.

The prompt is made of token numbers, so no text exists that could be kept; the prompt cache is left out of it.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError, fail
from app.engine.apikey import new_api_key
from app.engine.client import ServerClient
from app.engine.events import EngineEvent, Exited, Ready
from app.engine.locate import EngineBinary
from app.engine.logparse import EngineBuffer
from app.engine.process import ServerProcess, start_server
from app.engine.sse import ChatEvent, ChatTimings, PromptProgress
from app.hardware.types import HardwareSnapshot
from app.monitor.loop import MonitorLoop
from app.monitor.sample import Sample
from app.planner.types import RAM, DeviceEstimate, Plan
from app.work.launching import launch_spec
from app.work.stress_stamp import PeakUse, StressStamp, command_of
from app.work.watching import samplers_for

_PERIOD_S = 0.2
_N_PREDICT = 4
"""A few tokens behind the prompt: writing at full depth is a phase of its own."""
_SPARE = 8
"""Tokens of a slot that the prompt leaves alone, for those few."""
_FEWEST = 32
_SEED = 11434
_LOOK_S = 0.2
_STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class StressTarget:
    """A running server of the plan. ``buffers``: what its log has told so far."""

    url: str
    api_key: str | None
    pid: int
    buffers: Callable[[], Iterable[EngineBuffer]]


@dataclass(frozen=True, slots=True)
class StressProgress:
    """``phase``: ``loading``, ``filling``; tokens ``done`` of ``total`` (0: not known yet)."""

    phase: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class StressEngine:
    """Which engine it is; empty: unknown."""

    build: str = ""
    sha256: str = ""


class StressCancelledError(Exception):
    """The user ended the run."""


OnProgress = Callable[[StressProgress], None]


def stress_plan(
    plan: Plan,
    binary: EngineBinary,
    engine: StressEngine,
    snapshot: HardwareSnapshot,
    paths: AppPaths,
    depth: int | None,
    on_progress: OnProgress,
    stop: threading.Event,
) -> StressStamp:
    """Start a server of its own on a free port, fill its context, end it.

    ``depth``: tokens of the prompt, None = all that a slot holds. Raises ProblemError (the reason why the server did
    not start or ended), StressCancelledError.
    """
    key = new_api_key()
    spec = launch_spec(plan, binary, snapshot.cpu, paths, key, port=0)
    told: queue.SimpleQueue[EngineEvent] = queue.SimpleQueue()
    on_progress(StressProgress("loading"))
    server = start_server(replace(spec, log_file=None), told.put)
    try:
        ready = _wait_ready(told, stop)
        target = StressTarget(ready.url, key, ready.pid, lambda: server.buffers)
        return stress_server(plan, target, engine, snapshot, depth, on_progress, stop)
    except ProblemError as error:
        raise _better(error, server, told) from error
    finally:
        server.stop(grace_s=_STOP_S)
        server.wait()


def _wait_ready(told: queue.SimpleQueue[EngineEvent], stop: threading.Event) -> Ready:
    while not stop.is_set():
        try:
            event = told.get(timeout=_LOOK_S)
        except queue.Empty:
            continue
        if isinstance(event, Ready):
            return event
        if isinstance(event, Exited):
            raise ProblemError(event.reason or Problem("engine_exited", params={"code": event.code}))
    raise StressCancelledError


def _better(error: ProblemError, server: ServerProcess, told: queue.SimpleQueue[EngineEvent]) -> ProblemError:
    """A connection that broke because the server ended: the server's own reason says more."""
    if error.problem.code not in ("server_unreachable", "server_reply_broken") or not server.wait(_STOP_S):
        return error
    while not told.empty():
        event = told.get()
        if isinstance(event, Exited) and event.reason is not None:
            return ProblemError(event.reason)
    return error


def stress_server(
    plan: Plan,
    target: StressTarget,
    engine: StressEngine,
    snapshot: HardwareSnapshot,
    depth: int | None,
    on_progress: OnProgress,
    stop: threading.Event,
) -> StressStamp:
    """Fill one slot of a running server; see ``stress_plan``. Other requests meanwhile would only make it slower."""
    peaks = _Peaks()
    with ServerClient(target.url, target.api_key, keep_alive=False) as client:
        slot_ctx = client.slot_context()
        wanted = _depth(depth, slot_ctx or plan.n_ctx)
        tokens = prompt_tokens(wanted, client.vocab_size())
        monitor = MonitorLoop(samplers_for(snapshot, target.pid, None, None, target.buffers), _PERIOD_S, peaks.take)
        started_at = time.monotonic()
        monitor.start()
        try:
            seen = _Seen(wanted, on_progress)
            is_whole = client.fill_context(tokens, _N_PREDICT, seen.take, stop)
        finally:
            monitor.stop()
        seconds = time.monotonic() - started_at
    if not is_whole:
        raise StressCancelledError
    if seen.timings is None or seen.timings.predicted_n < 1:
        raise fail("stress_cut_short", depth=wanted)
    return StressStamp(
        command=command_of(plan.argv),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        engine_build=engine.build,
        engine_sha256=engine.sha256,
        depth=wanted,
        slot_ctx=slot_ctx,
        seconds=round(seconds, 2),
        prompt_tps=seen.timings.prompt_tps,
        decode_tps=seen.timings.predicted_tps,
        peaks=peaks_of(plan, snapshot, peaks.highest, peaks.lowest, peaks.first),
    )


def _depth(wished: int | None, slot_ctx: int) -> int:
    """As wished, but never more than the slot holds."""
    most = max(1, slot_ctx - _SPARE)
    return most if wished is None else max(min(_FEWEST, most), min(wished, most))


def prompt_tokens(n: int, n_vocab: int | None) -> list[int]:
    """Tokens that are all different kinds of words, so that every expert is asked; always the same ones.

    The ends of a vocabulary hold control tokens; they are left out.
    """
    size = n_vocab if n_vocab is not None and n_vocab >= 16 else 256
    low, high = size // 8, size - size // 8
    choose = random.Random(_SEED)
    return [choose.randrange(low, high) for _ in range(n)]


class _Seen:
    """Progress and the last timings of the stream."""

    def __init__(self, total: int, on_progress: OnProgress) -> None:
        self._total, self._on_progress = total, on_progress
        self.timings: ChatTimings | None = None
        on_progress(StressProgress("filling", 0, total))

    def take(self, event: ChatEvent) -> None:
        """One event of the stream."""
        if isinstance(event, PromptProgress):
            self._on_progress(StressProgress("filling", min(event.done, self._total), self._total))
        elif isinstance(event, ChatTimings):
            self.timings = event


class _Peaks:
    """The highest, the lowest and the first value of every figure. Filled by the monitor's thread."""

    def __init__(self) -> None:
        self.highest: dict[str, float] = {}
        self.lowest: dict[str, float] = {}
        self.first: dict[str, float] = {}

    def take(self, sample: Sample) -> None:
        """One sample."""
        for key, value in sample.values.items():
            if value is not None:
                self.highest[key] = max(value, self.highest.get(key, value))
                self.lowest[key] = min(value, self.lowest.get(key, value))
                self.first.setdefault(key, value)


def peaks_of(
    plan: Plan,
    snapshot: HardwareSnapshot,
    highest: Mapping[str, float],
    lowest: Mapping[str, float],
    first: Mapping[str, float],
) -> tuple[PeakUse, ...]:
    """What each device of the plan held at most, by the best source that told."""
    return tuple(_peak(device, snapshot, highest, lowest, first) for device in plan.estimate.devices)


def _peak(
    device: DeviceEstimate,
    snapshot: HardwareSnapshot,
    highest: Mapping[str, float],
    lowest: Mapping[str, float],
    first: Mapping[str, float],
) -> PeakUse:
    planned = device.total_bytes
    if device.device == RAM:
        peak, left = highest.get("server.rss"), lowest.get("ram.available")
        return PeakUse(RAM, _whole(peak), _whole(left), planned, "system")
    names = [device.device, *(g.name for g in snapshot.gpus if g.engine_name == device.device)]
    spilled = _spilled(names, highest, first)
    used = _first_known(highest, names, "used")
    if used is not None and device.total_capacity_bytes is not None:
        return PeakUse(device.device, used, device.total_capacity_bytes - used, planned, "driver", spilled)
    own = _first_known(highest, names, "dedicated")
    source = "process" if own is not None else "engine"
    if own is None:
        own = _whole(highest.get(f"engine.{device.device}.allocated"))
    margin = None if own is None or device.free_bytes is None else device.free_bytes - own
    return PeakUse(device.device, own, margin, planned, source, spilled)


def _spilled(names: list[str], highest: Mapping[str, float], first: Mapping[str, float]) -> int | None:
    for name in names:
        key = f"gpu.{name}.shared"
        if key in highest:
            return round(highest[key] - first[key])
    return None


def _first_known(values: Mapping[str, float], names: list[str], what: str) -> int | None:
    return next((round(values[f"gpu.{n}.{what}"]) for n in names if f"gpu.{n}.{what}" in values), None)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
