"""What a server's log says of its requests: how many tokens each half took and how long, and what ran beside it. Pure.

tools/server/server-context.cpp:680-686 (timings), ``launch_slot_`` and ``release`` around each task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

_TIMING = re.compile(
    r"print_timing: id\s+(?P<slot>\d{1,9}) \| task (?P<task>-?\d{1,12}) \|\s+(?P<prompt>prompt )?eval time =\s*"
    r"(?P<ms>\d{1,12}\.\d+) ms /\s*(?P<n>\d{1,12}) tokens \(.*?,\s*(?P<tps>[\d.]+|inf|nan|-nan) tokens per second\)"
)
_BEGIN = re.compile(r"launch_slot_: id\s+\d{1,9} \| task (?P<task>\d{1,12}) \| processing task")
_END = re.compile(r"release: id\s+\d{1,9} \| task (?P<task>\d{1,12}) \| stop processing: n_tokens = (?P<n>\d{1,12})")


@dataclass(frozen=True, slots=True)
class Timing:
    """The engine's own figures for one half of a request: reading the prompt, or decoding the answer.

    ``tps`` is None where the engine divides by nothing.
    """

    slot: int
    task: int
    kind: str
    tokens: int
    seconds: float
    tps: float | None


def parse_timing(line: str) -> Timing | None:
    """The timing that a line of the log states, or None."""
    if "eval time" not in line or (match := _TIMING.search(line)) is None:
        return None
    told = match["tps"]
    tps = float(told) if told[0].isdigit() else None
    kind = "prompt" if match["prompt"] else "decode"
    return Timing(
        int(match["slot"]), int(match["task"]), kind, int(match["n"]), round(float(match["ms"]) / 1000, 6), tps
    )


@dataclass(frozen=True, slots=True)
class Request:
    """One finished request. ``n_context``: tokens in its slot at the end, what was cached before included.
    ``was_alone``: no other request ran at any time of it. ``number``: the first of a server is 0."""

    number: int
    prompt: Timing | None
    decode: Timing | None
    n_context: int
    was_alone: bool


@dataclass(slots=True)
class _Open:
    number: int
    prompt: Timing | None = None
    decode: Timing | None = None
    was_alone: bool = True


@dataclass(slots=True)
class RequestLog:
    """Takes the log's lines as they come; ``on_line`` gives a request when it has just ended."""

    _open: dict[int, _Open] = field(default_factory=dict)
    _n_begun: int = 0

    @property
    def is_busy(self) -> bool:
        """Is a request being worked on?"""
        return bool(self._open)

    def on_line(self, line: str) -> Request | None:
        """One line of the server's output."""
        if "launch_slot_" in line and (begin := _BEGIN.search(line)):
            self._begin(int(begin["task"]))
        elif (timing := parse_timing(line)) is not None:
            request = self._open.get(timing.task)
            if request is not None and timing.kind == "prompt":
                request.prompt = timing
            elif request is not None:
                request.decode = timing
        elif "stop processing" in line and (end := _END.search(line)):
            request = self._open.pop(int(end["task"]), None)
            if request is not None:
                return Request(request.number, request.prompt, request.decode, int(end["n"]), request.was_alone)
        return None

    def _begin(self, task: int) -> None:
        for other in self._open.values():
            other.was_alone = False
        self._open[task] = _Open(self._n_begun, was_alone=not self._open)
        self._n_begun += 1


def without_prompt(request: Request) -> Request:
    """The same request with nothing said of its prompt."""
    return replace(request, prompt=None)
