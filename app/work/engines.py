"""The engine as one value: where it is and what it understands."""

from __future__ import annotations

from dataclasses import dataclass

from app.common.capabilities import Capabilities
from app.common.paths import AppPaths
from app.common.problem import Problem, Severity
from app.engine.capabilities import FALLBACK, read_capabilities
from app.engine.locate import EngineBinary, find_engine


@dataclass(frozen=True, slots=True)
class EngineHandle:
    """A llama-server that answered ``--help``."""

    binary: EngineBinary
    capabilities: Capabilities


def open_engine(explicit: str | None, paths: AppPaths) -> EngineHandle | None:
    """Find llama-server and read its options; None when there is none.

    Raises ProblemError ``engine_not_found`` (a named place holds none) or ``engine_broken`` (it does not answer).
    """
    binary = find_engine(explicit, paths)
    if binary is None:
        return None
    return EngineHandle(binary, read_capabilities(binary, paths.cache))


def capabilities_of(engine: EngineHandle | None) -> Capabilities:
    """The engine's options, or those of b11434 when there is no engine to ask."""
    return FALLBACK if engine is None else engine.capabilities


def engine_problems(engine: EngineHandle | None) -> tuple[Problem, ...]:
    """``engine_missing`` (a warning) when commands are written for an engine that nobody has seen."""
    return () if engine else (Problem("engine_missing", Severity.WARNING, {}),)
