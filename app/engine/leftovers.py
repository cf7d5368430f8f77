"""Servers of an earlier Lanewise that crashed: found again by a file per running server, never by name alone.

Linux's parent-death signal and Windows' job object end the server with the app; this is the net below the net (macOS,
a kernel that refuses). A pid may belong to another program by now, so the start time must match too, and a server
whose Lanewise is still running is nobody's leftover.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no types

from app.common.jsonable import from_json, to_json
from app.common.paths import AppPaths

_SAME_START_S = 2.0
_KILL_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """One server as its file describes it. Start times are seconds since the epoch."""

    pid: int
    started_at: float
    program: str
    owner_pid: int
    owner_started_at: float


def remember_server(paths: AppPaths, pid: int, program: str) -> Path | None:
    """Write the file of a server that has just been started; None when it cannot be written or is gone already."""
    try:
        owner = psutil.Process()
        server = RunningServer(
            pid, psutil.Process(pid).create_time(), Path(program).name, owner.pid, owner.create_time()
        )
        folder = _folder(paths)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{pid}.json"
        file.write_text(json.dumps(to_json(server)), encoding="utf-8")
    except (OSError, psutil.Error):
        return None
    return file


def forget_server(file: Path | None) -> None:
    """Remove the file of a server that has ended; one that stays names a process that is not there any more."""
    if file is not None:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def leftover_servers(paths: AppPaths) -> tuple[RunningServer, ...]:
    """Servers that still run although the Lanewise that started them does not. Files without a process are removed."""
    return tuple(s for s in known_servers(paths) if not _is_alive(s.owner_pid, s.owner_started_at))


def known_servers(paths: AppPaths) -> tuple[RunningServer, ...]:
    """All running servers that a Lanewise of this user has started, those of open windows too."""
    try:
        files = sorted(_folder(paths).glob("*.json"))
    except OSError:
        return ()
    found = []
    for file in files:
        server = _read(file)
        if server is None or not _is_alive(server.pid, server.started_at):
            forget_server(file)
        else:
            found.append(server)
    return tuple(found)


def kill_leftover(server: RunningServer) -> bool:
    """End a server of ours and its children; True when it is gone. Does nothing to another program with its old pid."""
    if not _is_alive(server.pid, server.started_at):
        return True
    try:
        process = psutil.Process(server.pid)
        family = [*process.children(recursive=True), process]
    except psutil.Error:
        return True
    for member in family:
        try:
            member.kill()
        except psutil.Error:
            continue  # gone, or not ours to kill: the wait below tells
    _, alive = psutil.wait_procs(family, timeout=_KILL_WAIT_S)
    return bool(process not in alive)


def _folder(paths: AppPaths) -> Path:
    return paths.cache / "running"


def _read(file: Path) -> RunningServer | None:
    try:
        return from_json(RunningServer, json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _is_alive(pid: int, started_at: float) -> bool:
    """Is it the same process (a pid may be used again, a pid and a start time are not), and no zombie?"""
    try:
        process = psutil.Process(pid)
        same = abs(float(process.create_time()) - started_at) <= _SAME_START_S
        return same and process.status() != str(psutil.STATUS_ZOMBIE)
    except (psutil.Error, ValueError, OverflowError):
        return False
