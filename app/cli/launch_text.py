"""The events of ``launch`` for people: what is worth a line."""

from __future__ import annotations

from app.cli.console import ranges_text, table
from app.cli.launch_events import Event
from app.common.units import size_text
from app.words import say


def event_lines(event: Event) -> list[str]:
    """Lines for a terminal; none for log lines and samples, which JSON readers get, nor for findings, which go to
    standard error."""
    match event["event"]:
        case "starting":
            return [say("cli.launch.starting", pid=event["pid"])]
        case "ready":
            return _ready(event)
        case "timing":
            code = f"cli.launch.timing_{event['kind']}"
            tps = event["tok_per_s"]
            return [
                say(code, n=event["tokens"], s=round(event["seconds"], 2), tps=None if tps is None else round(tps, 1))
            ]
        case "exited" if event["reason"] is None:
            return [say("cli.launch.stopped")]
        case _:
            return []


def _ready(event: Event) -> list[str]:
    affinity = event["affinity"]
    lines = [
        say("cli.launch.ready", url=event["url"], seconds=round(event["seconds"], 1)),
        say("cli.launch.key", key=event["api_key"]),
        say("cli.launch.cpus", cpus=say("machine.value.unknown") if affinity is None else ranges_text(affinity)),
        "",
    ]
    rows = [("", "", say("cli.column.plan"), say("cli.column.engine"), "")]
    rows += [
        (
            buffer["device"],
            say(f"cli.column.{buffer['what']}"),
            size_text(buffer["predicted"]),
            size_text(buffer["actual"]),
            _judgement(buffer["agrees"]),
        )
        for buffer in event["buffers"]
    ]
    return [*lines, *table(rows, right=frozenset({2, 3})), "", say("cli.launch.how_to_stop")]


def _judgement(agrees: bool | None) -> str:
    if agrees is None:
        return say("cli.agrees.unknown")
    return say("cli.agrees.yes") if agrees else say("cli.agrees.no")
