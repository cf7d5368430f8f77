"""What may be dropped on the window: a model, a saved plan, or another program's settings."""

from __future__ import annotations

from PySide6.QtCore import QMimeData

from app.common.file_endings import PLAN_ENDING, SETTINGS_ENDINGS
from app.ui.file_paths import dropped_paths

MODEL_ENDING = ".gguf"


def dropped_file(data: QMimeData) -> str | None:
    """The first local model of a drag, else its first plan file, else other settings; None when there is neither."""
    paths = dropped_paths(data)
    for ending in (MODEL_ENDING, PLAN_ENDING, *SETTINGS_ENDINGS):
        found = next((path for path in paths if path.lower().endswith(ending)), None)
        if found is not None:
            return found
    return None
