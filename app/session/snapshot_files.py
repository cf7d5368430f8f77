"""The machine as a file, for the window: what became of it is always a problem that can be shown."""

from __future__ import annotations

from pathlib import Path

from app.common.problem import Problem, ProblemError, Severity
from app.hardware.snapshot_file import load_snapshot, save_snapshot
from app.hardware.types import HardwareSnapshot


def saved_machine(path: str, hardware: HardwareSnapshot) -> Problem:
    """Write the machine to a file and say what became of it."""
    try:
        save_snapshot(Path(path), hardware)
    except ProblemError as error:
        return error.problem
    return Problem("exported", Severity.INFO, {"path": path})


def read_machine(path: str) -> HardwareSnapshot | Problem:
    """A saved machine, or why it cannot be used."""
    try:
        return load_snapshot(Path(path))
    except ProblemError as error:
        return error.problem
