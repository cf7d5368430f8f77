"""What a running server tells: one stream of frozen events, the end included.

They are sent from the server's owner thread, in order; ``Starting`` comes first and ``Exited`` is always the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from app.common.problem import Problem
from app.engine.logparse import EngineBuffer


class ServerState(StrEnum):
    """Where a server is in its life. ``EXITED`` is an end that was asked for (or exit code 0), ``FAILED`` any other."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    EXITED = "exited"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        """Is the process gone for good?"""
        return self in (ServerState.EXITED, ServerState.FAILED)


@dataclass(frozen=True, slots=True)
class Starting:
    """The process exists."""

    pid: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the server's output, without its line end."""

    text: str


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How much the process has read or mapped so far, in bytes; the engine itself reports no progress."""

    read_bytes: int


@dataclass(frozen=True, slots=True)
class BuffersKnown:
    """The engine has allocated everything for the weights that it really loads."""

    buffers: tuple[EngineBuffer, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """The server answers. Read back from the system, None where it does not tell: ``affinity``, the logical CPUs;
    ``full_speed``, is its power saving for background programs switched off? (None too where it may be slowed down.)"""

    url: str
    pid: int
    affinity: tuple[int, ...] | None
    buffers: tuple[EngineBuffer, ...]
    full_speed: bool | None = None


@dataclass(frozen=True, slots=True)
class Exited:
    """The end. ``code`` is None when the process never started; ``reason`` is None when the end was asked for."""

    code: int | None
    reason: Problem | None
    tail: tuple[str, ...]


EngineEvent = Starting | LogLine | LoadProgress | BuffersKnown | Ready | Exited
EventHandler = Callable[[EngineEvent], None]
