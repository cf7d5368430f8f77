"""Where a model file lies, as far as that decides whether and how fast the engine can open it."""

from __future__ import annotations

import ntpath
import os
import re
import sys
from functools import lru_cache

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity

_REMOTE_TYPES = re.compile(
    r"(nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|lustre|glusterfs|beegfs|fuse\.(sshfs|rclone|s3fs|smb))"
)
_DRIVE_REMOTE = 4
_LONGEST = 259
"""Characters of a path that Windows programs open without knowing of long ones (MAX_PATH without its end)."""


def place_problems(
    path: str, capabilities: Capabilities, *, is_windows: bool = sys.platform == "win32"
) -> tuple[Problem, ...]:
    """Warnings about the path itself: ``file_on_network``, ``path_too_long``, ``path_not_ascii``.

    Letters outside ASCII are a matter of old builds on Windows alone: servers from before mid-2026 took their arguments
    in the code page (ggml-org/llama.cpp#18571); those with ``--load-mode`` (September 2026) do not.
    """
    found: list[Problem] = []
    if is_remote(path, is_windows):
        found.append(Problem("file_on_network", Severity.WARNING, {"path": path}))
    if is_windows and len(ntpath.abspath(path)) > _LONGEST:
        params: dict[str, ParamValue] = {"path": path, "length": len(ntpath.abspath(path)), "limit": _LONGEST}
        found.append(Problem("path_too_long", Severity.WARNING, params))
    if is_windows and not path.isascii() and capabilities.first("-lm", "--load-mode") is None:
        found.append(Problem("path_not_ascii", Severity.WARNING, {"path": path}))
    return tuple(found)


@lru_cache(maxsize=64)
def is_remote(path: str, is_windows: bool) -> bool:
    """Does the file lie on another machine? False where nobody can tell."""
    if is_windows:
        return _is_remote_windows(path)
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            kind = filesystem_type(os.path.realpath(path), file.read())
    except OSError:
        return False
    return kind is not None and _REMOTE_TYPES.fullmatch(kind) is not None


def filesystem_type(path: str, mountinfo: str) -> str | None:
    """The type of the file system that holds an absolute path, from ``/proc/self/mountinfo`` (proc(5)): the mount point
    that is the longest beginning of it, the last one mounted there."""
    best, kind = "", None
    for line in mountinfo.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind


def _is_remote_windows(path: str) -> bool:
    r"""``\\server\share``, or a drive letter that stands for one."""
    drive = ntpath.splitdrive(ntpath.abspath(path))[0]
    plain = drive.replace("/", "\\")
    if plain.startswith("\\\\"):
        return not plain.startswith(("\\\\?\\", "\\\\.\\")) or plain.upper().startswith("\\\\?\\UNC\\")
    if sys.platform == "win32":
        import ctypes

        return bool(drive) and int(ctypes.windll.kernel32.GetDriveTypeW(f"{drive}\\")) == _DRIVE_REMOTE
    return False
