"""Saves a ``HardwareSnapshot`` as JSON and reads it back: ``machine --json``, ``--hardware FILE``, bug reports.

The file is the snapshot's own fields plus ``version``. A newer version's unknown fields are ignored; one that cannot be
understood at all is named as such.
"""

from __future__ import annotations

import json
import math
import re
import stat
from pathlib import Path
from typing import Any, NoReturn

from app.common.jsonable import from_json, to_json
from app.common.problem import fail
from app.common.whole_file import SHARED, write_whole
from app.hardware.cpu_choice import CpuLimits, choose_cpus
from app.hardware.types import CoreKind, CpuCore, HardwareSnapshot
from app.hardware.vram_speeds import with_spec_bandwidths

VERSION = 1
_LARGEST_FILE = 4 * 1024 * 1024
_LARGEST_SIZE = 1 << 60
_MOST_CPUS = 1 << 16
_KINDS = ("gpu", "igpu", "rpc")
_REASONS = ("p_cores", "physical_cores", "all_cpus", "limited")
_ENGINE_NAME = re.compile(r"(?!RAM$|CPU$)[A-Za-z][\w.:-]{0,99}")


def snapshot_to_json(snapshot: HardwareSnapshot) -> dict[str, Any]:
    """The snapshot as JSON values, with the version of this layout."""
    return {"version": VERSION, **to_json(snapshot)}


def save_snapshot(path: Path, snapshot: HardwareSnapshot) -> None:
    """Write the file whole or not at all. Raises ProblemError ``snapshot_not_saved``."""
    text = json.dumps(snapshot_to_json(snapshot), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        # what is no Unicode comes out as JSON's own escapes
        write_whole(path, f"{text}\n".encode("utf-8", "backslashreplace"), mode=SHARED)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise fail("snapshot_not_saved", (str(error),), path=str(path)) from error


def load_snapshot(path: Path) -> HardwareSnapshot:
    """Read a file; published bandwidths of cards are added, which older versions did not know. Raises ProblemError
    ``snapshot_missing``, ``snapshot_unreadable`` or ``snapshot_newer``."""
    try:
        data = _read(path)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # ValueError: a NUL in the name
        raise fail("snapshot_missing", path=str(path)) from error
    except OSError as error:
        raise fail("snapshot_unreadable", (str(error),), path=str(path)) from error
    if len(data) > _LARGEST_FILE:
        raise fail("snapshot_unreadable", ("more than 4 MiB",), path=str(path))
    try:
        return with_spec_bandwidths(snapshot_from_text(data.decode("utf-8-sig")))
    except _NewerVersionError as error:
        raise fail("snapshot_newer", (str(error),), path=str(path), version=error.version) from error
    except (ValueError, RecursionError) as error:
        raise fail("snapshot_unreadable", (str(error) or type(error).__name__,), path=str(path)) from error


def _read(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
        raise OSError("no regular file")
    with path.open("rb") as file:
        return file.read(_LARGEST_FILE + 1)


def snapshot_from_text(text: str) -> HardwareSnapshot:
    """Parse the JSON of one snapshot. Raises ValueError that names the field."""
    data = json.loads(text, parse_constant=_reject)
    if not isinstance(data, dict):
        raise ValueError("expected an object")
    version = data.get("version", VERSION)
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("version: expected a whole number")
    try:
        snapshot = from_json(HardwareSnapshot, _understood(data) if version > VERSION else data)
        _check(snapshot)
    except ValueError as error:
        if version > VERSION:
            raise _NewerVersionError(version, str(error)) from error
        raise
    return snapshot


def _understood(data: dict[str, Any]) -> dict[str, Any]:
    """A newer file without what only it knows: devices of an unknown kind go, kinds of cores become unknown, and the
    reason for the chosen CPUs is worked out again."""
    cpu, gpus = data.get("cpu"), data.get("gpus")
    if isinstance(gpus, list):
        kept = [gpu for gpu in gpus if not isinstance(gpu, dict) or gpu.get("kind") in _KINDS]
        data = {
            **data,
            "gpus": kept,
            "sources": _without_gpus(data.get("sources")) if kept != gpus else data.get("sources", {}),
        }
    if isinstance(cpu, dict) and isinstance(cpu.get("cores"), list):
        known = tuple(kind.value for kind in CoreKind)
        cores = [
            {**core, "kind": core["kind"] if core.get("kind") in known else CoreKind.UNKNOWN.value}
            if isinstance(core, dict) and "kind" in core
            else core
            for core in cpu["cores"]
        ]
        reason = cpu.get("reason") if cpu.get("reason") in _REASONS else _reason(cores)
        data = {**data, "cpu": {**cpu, "cores": cores, "reason": reason}}
    return data


def _without_gpus(sources: Any) -> Any:
    """Their numbers have changed, so their sources say nothing any more."""
    if not isinstance(sources, dict):
        return sources
    return {key: source for key, source in sources.items() if not str(key).startswith("gpus.")}


def _reason(cores: list[Any]) -> str:
    return choose_cpus(tuple(from_json(CpuCore, core) for core in cores), CpuLimits()).reason


class _NewerVersionError(ValueError):
    def __init__(self, version: int, reason: str) -> None:
        super().__init__(reason)
        self.version = version


def _reject(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _check(snapshot: HardwareSnapshot) -> None:
    """The few facts that a calculation, a sentence or a command would trip over."""
    if not 1 <= snapshot.cpu.recommended_threads <= _MOST_CPUS:
        raise ValueError("cpu.recommended_threads: expected at least 1, and no more than there are CPUs")
    numbers = [*snapshot.cpu.recommended_cpus, *(n for core in snapshot.cpu.cores for n in core.logical)]
    if any(not 0 <= n < _MOST_CPUS for n in numbers):
        raise ValueError("cpu: logical CPU numbers start at 0")
    if snapshot.cpu.reason not in _REASONS:
        raise ValueError("cpu.reason: unknown")
    _check_gpus(snapshot)
    sizes = [snapshot.memory.total_bytes, snapshot.memory.available_bytes]
    for gpu in snapshot.gpus:
        sizes += [gpu.total_bytes, gpu.free_bytes, gpu.engine_free_bytes]
    if any(size is not None and not 0 <= size <= _LARGEST_SIZE for size in sizes):
        raise ValueError("a memory size is negative or absurd")
    rates = [snapshot.memory.theoretical_gbs, snapshot.memory.measured_gbs, *(g.memory_gbs for g in snapshot.gpus)]
    if any(rate is not None and not (math.isfinite(rate) and rate > 0) for rate in rates):
        raise ValueError("a bandwidth is not positive")


def _check_gpus(snapshot: HardwareSnapshot) -> None:
    names = [gpu.engine_name for gpu in snapshot.gpus if gpu.engine_name is not None]
    if any(gpu.kind not in _KINDS for gpu in snapshot.gpus):
        raise ValueError("gpus: unknown kind")
    if len(set(names)) != len(names) or not all(_ENGINE_NAME.fullmatch(name) for name in names):
        raise ValueError("gpus: an engine_name is not one that a command can hold, or is there twice")
