"""Opening model files, through the header cache of this user."""

from __future__ import annotations

import os
from pathlib import Path

from app.common.paths import app_paths
from app.model.cache import read_model_cached
from app.model.types import ModelInfo


def open_model(path: str | os.PathLike[str], headers: Path | None = None) -> ModelInfo:
    """The header of a model: read once, remembered while its files stay the same. ``headers``: the cache's folder,
    this user's when None. Raises the ProblemErrors of ``read_model``."""
    return read_model_cached(path, app_paths().headers if headers is None else headers)
