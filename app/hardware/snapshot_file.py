"""Saves a ``HardwareSnapshot`` as JSON and reads it back: ``machine --json``, ``--hardware FILE``, bug reports.

The file is the snapshot's own fields plus ``version``. A newer version's unknown fields are ignored; one that cannot be
understood at all is named as such.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, NoReturn

from app.common.jsonable import from_json, to_json
from app.common.problem import fail
from app.hardware.types import HardwareSnapshot

VERSION = 1
_LARGEST_FILE = 4 * 1024 * 1024


def snapshot_to_json(snapshot: HardwareSnapshot) -> dict[str, Any]:
    """The snapshot as JSON values, with the version of this layout."""
    return {"version": VERSION, **to_json(snapshot)}


def save_snapshot(path: Path, snapshot: HardwareSnapshot) -> None:
    """Write the file whole or not at all. Raises ProblemError ``snapshot_not_saved``."""
    text = json.dumps(snapshot_to_json(snapshot), indent=2, ensure_ascii=False, allow_nan=False)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise fail("snapshot_not_saved", (str(error),), path=str(path)) from error


def load_snapshot(path: Path) -> HardwareSnapshot:
    """Read a file. Raises ProblemError ``snapshot_missing``, ``snapshot_unreadable`` or ``snapshot_newer``."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except FileNotFoundError as error:
        raise fail("snapshot_missing", path=str(path)) from error
    except OSError as error:
        raise fail("snapshot_unreadable", (str(error),), path=str(path)) from error
    if len(data) > _LARGEST_FILE:
        raise fail("snapshot_unreadable", ("more than 4 MiB",), path=str(path))
    try:
        return snapshot_from_text(data.decode("utf-8-sig"))
    except _NewerVersionError as error:
        raise fail("snapshot_newer", (str(error),), path=str(path), version=error.version) from error
    except (ValueError, RecursionError) as error:
        raise fail("snapshot_unreadable", (str(error) or type(error).__name__,), path=str(path)) from error


def snapshot_from_text(text: str) -> HardwareSnapshot:
    """Parse the JSON of one snapshot. Raises ValueError that names the field."""
    data = json.loads(text, parse_constant=_reject)
    if not isinstance(data, dict):
        raise ValueError("expected an object")
    version = data.get("version", VERSION)
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("version: expected a whole number")
    try:
        snapshot = from_json(HardwareSnapshot, data)
        _check(snapshot)
    except ValueError as error:
        if version > VERSION:
            raise _NewerVersionError(version, str(error)) from error
        raise
    return snapshot


class _NewerVersionError(ValueError):
    def __init__(self, version: int, reason: str) -> None:
        super().__init__(reason)
        self.version = version


def _reject(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _check(snapshot: HardwareSnapshot) -> None:
    """The few facts that a calculation would trip over."""
    if snapshot.cpu.recommended_threads < 1:
        raise ValueError("cpu.recommended_threads: expected at least 1")
    if (
        any(n < 0 for core in snapshot.cpu.cores for n in core.logical)
        or min(snapshot.cpu.recommended_cpus, default=0) < 0
    ):
        raise ValueError("cpu: logical CPU numbers start at 0")
    sizes = [snapshot.memory.total_bytes, snapshot.memory.available_bytes]
    for gpu in snapshot.gpus:
        sizes += [gpu.total_bytes, gpu.free_bytes, gpu.engine_free_bytes]
    if any(size is not None and size < 0 for size in sizes):
        raise ValueError("a memory size is negative")
    rates = [snapshot.memory.theoretical_gbs, snapshot.memory.measured_gbs, *(g.memory_gbs for g in snapshot.gpus)]
    if any(rate is not None and not (math.isfinite(rate) and rate > 0) for rate in rates):
        raise ValueError("a bandwidth is not positive")
