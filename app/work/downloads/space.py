"""Is there room on the disk?"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable
from pathlib import Path

from app.common.problem import ProblemError, fail

KEEP_FREE_BYTES = 200 << 20
"""What stays free on a disk: a full one breaks other programs."""

_WINDOWS_FULL = (39, 112)
_WINDOWS_TOO_LARGE = 223


def no_room(error: OSError) -> bool:
    """Does this error say that the disk is full (or the user's share of it used up)?"""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) or getattr(error, "winerror", None) in _WINDOWS_FULL


def too_large(error: OSError) -> bool:
    """Does this file system (FAT32: 4 GiB), or a limit of this user, allow no file so large?"""
    return error.errno == errno.EFBIG or getattr(error, "winerror", None) == _WINDOWS_TOO_LARGE


def free_bytes(folder: Path) -> int | None:
    """Free bytes where ``folder`` is or will be; None when the system does not tell."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except (OSError, ValueError):
            continue
    return None


def room_problem(folder: Path, needed_bytes: int | None) -> ProblemError:
    """The problem that says how much is missing."""
    return fail("download_no_space", folder=str(folder), needed=needed_bytes, free=free_bytes(folder))


def check_room(needs: Iterable[tuple[Path, int]]) -> None:
    """Raise ProblemError ``download_no_space`` for the first folder whose disk cannot take what is meant for it.

    Several folders on one disk count together.
    """
    sums: dict[tuple[int, int] | str, tuple[Path, int]] = {}
    for folder, n_bytes in needs:
        disk = _disk_of(folder)
        first, so_far = sums.get(disk, (folder, 0))
        sums[disk] = (first, so_far + n_bytes)
    for folder, n_bytes in sums.values():
        free = free_bytes(folder)
        if n_bytes and free is not None and free < n_bytes + KEEP_FREE_BYTES:
            raise room_problem(folder, n_bytes + KEEP_FREE_BYTES)


def _disk_of(folder: Path) -> tuple[int, int] | str:
    for place in (folder, *folder.parents):
        try:
            return (place.stat().st_dev, 0)
        except (OSError, ValueError):
            continue
    return str(folder)
