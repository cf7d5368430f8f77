"""A file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from app.common.patient import replace_file

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
OWN = 0o600
"""Permissions of a file that only this user may read; ``SHARED`` leaves it to the system's umask."""
SHARED = 0o666
_MOST_OF_NAME = 40


def write_whole(
    path: Path,
    data: bytes,
    *,
    mode: int = OWN,
    is_lasting: bool = False,
) -> None:
    """Write beside the file, then rename over it: who reads finds the old one or the new one, and so does everybody
    after a failure. ``is_lasting``: on the disk before the rename, for what nobody could make again.

    The folder must be there. Raises OSError, and ValueError for a NUL in the name.
    """
    # no longer than a disk allows (255 bytes), however long the file's own name is
    unfinished = path.with_name(f"{path.name[:_MOST_OF_NAME]}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        unfinished.unlink(missing_ok=True)  # of a process with the same number that was ended
        with os.fdopen(os.open(unfinished, _NEW_FILE, mode), "wb") as file:
            file.write(data)
            if is_lasting:
                file.flush()
                os.fsync(file.fileno())
        replace_file(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError, ValueError):  # the folder is gone or cannot be written
            unfinished.unlink(missing_ok=True)
        raise
