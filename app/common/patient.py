"""Files that another program has open: on Windows even one that only reads forbids a rename over them meanwhile, and
the moment of a rename forbids reading."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

PATIENCE_S = 10.0
"""For large new files and folders, which an antivirus program looks through for some seconds."""
SHORT_S = 0.5
"""For small files, which are read in a moment; the window may be waiting."""
_T = TypeVar("_T")
_PAUSE_S = 0.1
_SHORT_PAUSE_S = 0.02


def rename_patiently(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    is_windows: bool = sys.platform == "win32",
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """``os.replace``, tried for ten seconds where a program that only reads can forbid it. Raises OSError."""
    _try(lambda: os.replace(source, target), round(PATIENCE_S / _PAUSE_S), _PAUSE_S, is_windows, sleep)


def replace_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    is_windows: bool = sys.platform == "win32",
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """The same for half a second: a small file that somebody may be reading just now. Raises OSError."""
    _try(lambda: os.replace(source, target), round(SHORT_S / _SHORT_PAUSE_S), _SHORT_PAUSE_S, is_windows, sleep)


def read_file(
    path: Path, *, is_windows: bool = sys.platform == "win32", sleep: Callable[[float], None] = time.sleep
) -> bytes:
    """All of a small file that another Lanewise may be replacing just now. Raises OSError."""
    return _try(path.read_bytes, round(SHORT_S / _SHORT_PAUSE_S), _SHORT_PAUSE_S, is_windows, sleep)


def _try(action: Callable[[], _T], tries: int, pause_s: float, is_windows: bool, sleep: Callable[[float], None]) -> _T:
    for _ in range(tries - 1 if is_windows else 0):
        try:
            return action()
        except PermissionError:
            sleep(pause_s)
    return action()
