"""Renaming what an antivirus program may be looking at: on Windows that fails for some seconds after a file is new."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 10.0
_PAUSE_S = 0.1


def rename_patiently(
    source: Path,
    target: Path,
    *,
    is_windows: bool = sys.platform == "win32",
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """``os.replace``, tried for ten seconds where a program that only reads can forbid it. Raises OSError."""
    tries = int(PATIENCE_S / _PAUSE_S) if is_windows else 1
    for left in reversed(range(tries)):
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if not left:
                raise
            sleep(_PAUSE_S)
