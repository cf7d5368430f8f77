"""Opening model files, through the header cache of this user."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock

from app.common.paths import app_paths
from app.model.cache import read_model_cached
from app.model.types import ModelInfo

_KEPT = 4
_recent: dict[str, ModelInfo] = {}
_lock = Lock()


def open_model(path: str | os.PathLike[str], headers: Path | None = None) -> ModelInfo:
    """The header of a model: read once, remembered while its files stay the same. ``headers``: the cache's folder,
    this user's when None. Raises the ProblemErrors of ``read_model``.

    A file that reads the same as before is the same object again: what the planner has found out about it
    (``planner/compute.py`` keeps that by identity) need not be found out anew."""
    model = read_model_cached(path, app_paths().headers if headers is None else headers)
    with _lock:
        known = _recent.pop(model.path, None)
        _recent[model.path] = same = model if known is None or known != model else known
        while len(_recent) > _KEPT:
            del _recent[next(iter(_recent))]
    return same
