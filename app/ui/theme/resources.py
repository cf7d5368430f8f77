"""Finds the files of ``resources/``, in a source tree and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

import app

_PACKAGE = Path(app.__file__).parent


def resource(*parts: str) -> Path:
    """Path of one resource: the wheel carries them as ``app/_resources``, a source tree beside ``app``."""
    packed = _PACKAGE / "_resources"
    root = packed if packed.is_dir() else _PACKAGE.parent / "resources"
    return root.joinpath(*parts)
