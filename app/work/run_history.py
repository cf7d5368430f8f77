"""Runs that are kept: samples made few, requests with their speed and depth, the command, the engine. For comparison.

One record is one JSON object of at most 60 KiB in ``runs.sqlite``; the newest hundred stay. Nothing of what was asked
or answered is in it: only counts of tokens and speeds.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePath

from app.common.jsonable import from_json, to_json
from app.common.paths import AppPaths
from app.engine.timings import Request, RequestLog
from app.monitor.sample import Values
from app.planner.argv import redact
from app.planner.types import RAM, Plan
from app.work.learned import LARGEST_VALUE, LearnedStore
from app.work.stress_stamp import command_of

KIND = "run"
MOST_RUNS = 100
MOST_POINTS = 240
MOST_REQUESTS = 300
LEAST_SECONDS = 5.0
"""A shorter run says nothing that anybody would compare."""
_ROOM = LARGEST_VALUE - 4096
_LONGEST_ARGV = 12000
_MEANS = ("tok.", "server.cpu")
_KEPT = ("ram.used", "swap.used", "server.rss", "server.cpu", "tok.decode", "tok.prompt", "ctx.used")
_KEPT_OF_GPU = ("used", "process", "dedicated", "shared", "util", "temperature", "power_w", "clock")
_BYTES = ("used", "process", "dedicated", "shared", "rss", "allocated")
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class RequestPoint:
    """One request: seconds since the start, tokens and tok/s of both halves (None: not told), tokens in the slot at
    its end."""

    seconds: float
    prompt_tokens: int | None
    prompt_tps: float | None
    decode_tokens: int | None
    decode_tps: float | None
    depth: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. ``columns``: key of ``app.work.watching`` -> values as long as ``times`` (seconds since the start); None
    is a gap. ``planned``: bytes per device. ``reason``: the code of what ended it, empty when it was asked for."""

    at: str
    model: str
    command: str
    argv: tuple[str, ...]
    engine_build: str
    seconds: float
    n_ctx: int
    planned: Mapping[str, int]
    planned_tps: float | None
    times: tuple[float, ...] = ()
    columns: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    requests: tuple[RequestPoint, ...] = ()
    reason: str = ""

    def peak(self, key: str) -> float | None:
        """The highest value of a key; None when nobody told."""
        return max((v for v in self.columns.get(key, ()) if v is not None), default=None)

    @property
    def prompt_tps(self) -> float | None:
        """The median over the requests."""
        return _median([r.prompt_tps for r in self.requests])

    @property
    def decode_tps(self) -> float | None:
        """The median over the requests."""
        return _median([r.decode_tps for r in self.requests])

    def device_key(self, device: str) -> str | None:
        """The best source that told of this device's memory."""
        if device == RAM:
            return "server.rss" if self.peak("server.rss") is not None else None
        wanted = [f"gpu.{device}.{what}" for what in ("used", "process", "dedicated")]
        return next((key for key in (*wanted, f"engine.{device}.allocated") if self.peak(key) is not None), None)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


class RunRecorder:
    """Takes samples and log lines of one run; its memory is bounded whatever the length of the run.

    ``started_at``: of the clock that the samples carry. One thread at a time.
    """

    def __init__(self, plan: Plan, model: str, engine_build: str, started_at: float) -> None:
        self._started_at = started_at
        self._requests = RequestLog()
        self._points: list[tuple[float, dict[str, float | None]]] = []
        self._told: list[RequestPoint] = []
        self._stride = 1
        self._n_samples = 0
        self.was_ready = False
        argv = redact(plan.argv)
        self._record = RunRecord(
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            model=model or PurePath(plan.model_path).name,
            command=command_of(plan.argv),
            argv=tuple(argv) if sum(map(len, argv)) <= _LONGEST_ARGV else (),
            engine_build=engine_build,
            seconds=0.0,
            n_ctx=plan.n_ctx,
            planned={d.device: d.total_bytes for d in plan.estimate.devices},
            planned_tps=plan.speed.decode_tps,
        )

    def on_sample(self, at: float, values: Values) -> None:
        """One sample; where there are too many, neighbours are merged: the highest of memory, the mean of speeds."""
        kept = {key: value for key, value in values.items() if _is_kept(key)}
        self._n_samples += 1
        if self._n_samples % self._stride and self._points:
            when, before = self._points[-1]
            self._points[-1] = (when, _merged(before, kept))
        else:
            self._points.append((at - self._started_at, kept))
        if len(self._points) > 2 * MOST_POINTS:
            self._points = _halved(self._points)
            self._stride *= 2

    def on_line(self, line: str, at: float) -> None:
        """One line of the engine's log."""
        request = self._requests.on_line(line)
        if request is not None:
            self._told.append(_point(request, at - self._started_at))
            del self._told[: max(0, len(self._told) - MOST_REQUESTS)]

    @property
    def requests(self) -> tuple[RequestPoint, ...]:
        """Those that have ended, the newest last."""
        return tuple(self._told)

    def record(self, at: float, reason: str = "") -> RunRecord | None:
        """The run so far; None for one that never got ready or was too short to be compared."""
        seconds = at - self._started_at
        if not self.was_ready or seconds < LEAST_SECONDS:
            return None
        points = self._points
        while len(points) > MOST_POINTS:
            points = _halved(points)
        keys = sorted({key for _, values in points for key, value in values.items() if value is not None})
        return replace(
            self._record,
            seconds=round(seconds, 1),
            times=tuple(round(when, 1) for when, _ in points),
            columns={key: tuple(values.get(key) for _, values in points) for key in keys},
            requests=tuple(self._told),
            reason=reason,
        )


def _is_kept(key: str) -> bool:
    if key in _KEPT:
        return True
    area, _, rest = key.partition(".")
    return area == "engine" or (area == "gpu" and rest.rpartition(".")[2] in _KEPT_OF_GPU)


def _merged(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> dict[str, float | None]:
    merged: dict[str, float | None] = dict(before)
    for key, value in after.items():
        old = merged.get(key)
        if value is None or old is None:
            merged[key] = old if value is None else value
        elif key.startswith(_MEANS) or key.endswith(".util"):
            merged[key] = (old + value) / 2
        else:
            merged[key] = max(old, value)
    return merged


def _halved(points: list[tuple[float, dict[str, float | None]]]) -> list[tuple[float, dict[str, float | None]]]:
    pairs = zip(points[::2], points[1::2], strict=False)
    halved = [(when, _merged(values, other)) for (when, values), (_, other) in pairs]
    return halved + (points[-1:] if len(points) % 2 else [])


def _point(request: Request, seconds: float) -> RequestPoint:
    prompt, decode = request.prompt, request.decode
    return RequestPoint(
        round(seconds, 1),
        None if prompt is None else prompt.tokens,
        None if prompt is None else prompt.tps,
        None if decode is None else decode.tokens,
        None if decode is None else decode.tps,
        request.n_context,
    )


def runs_store(paths: AppPaths) -> LearnedStore:
    """Where runs are kept."""
    return LearnedStore(paths.data / "runs.sqlite")


def keep_run(store: LearnedStore, record: RunRecord) -> None:
    """Keep a run. Raises ProblemError ``learned_not_saved``."""
    small = record
    while len(text := json.dumps(_scaled(small), ensure_ascii=False)) > _ROOM:
        small = _smaller(small)
    store.add(KIND, KIND, json.loads(text), keep=MOST_RUNS)


def _smaller(record: RunRecord) -> RunRecord:
    """Half the points and half the requests."""
    columns = {key: column[::2] for key, column in record.columns.items()}
    return replace(record, times=record.times[::2], columns=columns, requests=record.requests[1::2], argv=())


def kept_runs(store: LearnedStore) -> tuple[RunRecord, ...]:
    """The newest first; what cannot be read is left out."""
    found = []
    for observation in store.load(KIND).observations:
        try:
            record = from_json(RunRecord, observation.value)
        except (ValueError, TypeError, RecursionError):
            continue
        if all(len(column) == len(record.times) for column in record.columns.values()):
            found.append(replace(record, columns={k: _whole(k, c) for k, c in record.columns.items()}))
    return tuple(found)


def _scaled(record: RunRecord) -> dict[str, object]:
    """As JSON; bytes in MiB, other figures with one decimal."""
    columns = {
        key: tuple(None if v is None else round(v / (_MIB if _is_bytes(key) else 1), 1) for v in column)
        for key, column in record.columns.items()
    }
    told = to_json(replace(record, columns=columns))
    assert isinstance(told, dict)
    return told


def _whole(key: str, column: tuple[float | None, ...]) -> tuple[float | None, ...]:
    factor = _MIB if _is_bytes(key) else 1
    return tuple(None if v is None else v * factor for v in column)


def _is_bytes(key: str) -> bool:
    return key.rpartition(".")[2] in _BYTES and key != "ctx.used"
