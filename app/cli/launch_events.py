"""What a running server tells, as the JSON lines of ``launch`` (docs/cli.md). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from app.common.problem import ParamValue, Problem, Severity, told_params
from app.diagnose.buffers import BufferRow
from app.engine.timings import Timing
from app.planner.types import Plan

Event = Mapping[str, Any]

TAIL_LINES = 20
_IDLE = "update_slots: all slots are idle"


def is_idle_line(line: str) -> bool:
    """The engine says so after every look at ``/slots``, so that our own looking would fill the log."""
    return line.endswith(_IDLE)


def starting_event(pid: int, command: Iterable[str]) -> Event:
    """The process exists."""
    return {"event": "starting", "pid": pid, "command": list(command)}


def ready_event(
    url: str,
    pid: int,
    affinity: Iterable[int] | None,
    rows: Iterable[BufferRow],
    api_key: str | None,
    seconds: float,
    full_speed: bool | None = None,
) -> Event:
    """The server answers. ``buffers`` compares each buffer that the engine allocated with the plan."""
    return {
        "event": "ready",
        "url": url,
        "pid": pid,
        "affinity": None if affinity is None else list(affinity),
        "full_speed": full_speed,
        "buffers": [_buffer_json(row) for row in rows],
        "api_key": api_key,
        "seconds": round(seconds, 3),
    }


def _buffer_json(row: BufferRow) -> Event:
    return {
        "device": row.device,
        "what": row.what,
        "predicted": row.predicted_bytes,
        "actual": row.actual_bytes,
        "agrees": row.agrees,
    }


def timing_event(timing: Timing) -> Event:
    """One half of a request that has ended."""
    return {
        "event": "timing",
        "slot": timing.slot,
        "task": timing.task,
        "kind": timing.kind,
        "tokens": timing.tokens,
        "seconds": timing.seconds,
        "tok_per_s": timing.tps,
    }


def sample_event(seconds: float, values: Mapping[str, float | None]) -> Event:
    """Live figures (names: ``app.work.watching``) so many seconds after the server was ready; unknown is null."""
    known = {name: None if value is None or not math.isfinite(value) else value for name, value in values.items()}
    return {"event": "sample", "seconds": round(seconds, 3), "values": known}


def log_event(line: str) -> Event:
    """One line of the engine's output."""
    return {"event": "log", "text": line}


def finding_event(problem: Problem) -> Event:
    """Something that the user should know."""
    return {
        "event": "finding",
        "code": problem.code,
        "severity": problem.severity.value,
        "params": told_params(problem.params),
    }


def exited_event(code: int | None, reason: Problem | None, tail: Iterable[str]) -> Event:
    """The end, always the last event. ``reason`` is null when the end was asked for; ``tail`` only tells failures."""
    return {
        "event": "exited",
        "code": code,
        "reason": None
        if reason is None
        else {"code": reason.code, "severity": reason.severity.value, "params": told_params(reason.params)},
        "tail": [] if reason is None else list(tail)[-TAIL_LINES:],
    }


def readiness_findings(
    plan: Plan,
    wanted_cpus: tuple[int, ...],
    affinity: tuple[int, ...] | None,
    rows: Iterable[BufferRow],
    full_speed: bool | None = None,
) -> tuple[Problem, ...]:
    """Where the running server is not what the plan said: other CPUs, less than full speed, other buffers. ``plan``
    names the devices."""
    found = []
    if affinity is not None and wanted_cpus and affinity != tuple(sorted(wanted_cpus)):
        got, wanted = (",".join(map(str, cpus)) for cpus in (affinity, sorted(wanted_cpus)))
        found.append(Problem("affinity_differs", Severity.WARNING, {"got": got, "wanted": wanted}))
    if full_speed is False:
        found.append(Problem("efficiency_mode_on", Severity.WARNING))
    known = {device.name for device in plan.devices.all}
    for row in rows:
        if row.agrees is not False:
            continue
        code = f"buffer_differs_{row.what}" if row.device in known else "buffer_unplanned"
        params: dict[str, ParamValue] = {
            "device": row.device,
            "what": row.what,
            "predicted_bytes": row.predicted_bytes,
            "actual_bytes": row.actual_bytes,
        }
        found.append(Problem(code, Severity.WARNING, params))
    return tuple(found)
