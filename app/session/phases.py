"""Where the engine, the server and an answer stand: names alone, for the window's frame, which is painted before
anything behind the session is imported."""

from __future__ import annotations

from enum import StrEnum


class EnginePhase(StrEnum):
    """Where the search for a llama-server stands."""

    LOOKING = "looking"
    MISSING = "missing"
    BUILDING = "building"
    READY = "ready"
    BROKEN = "broken"


class RunPhase(StrEnum):
    """The life of the server as the window shows it."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    FAILED = "failed"


class ChatPhase(StrEnum):
    """The life of one answer."""

    IDLE = "idle"
    PROMPT = "prompt"
    ANSWERING = "answering"
