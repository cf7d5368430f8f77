"""What may be dropped on the window: a model or a saved plan."""

from __future__ import annotations

from PySide6.QtCore import QMimeData

MODEL_ENDING = ".gguf"
PLAN_ENDING = ".json"


def dropped_file(data: QMimeData) -> str | None:
    """The first local model of a drag, else its first plan file; None when there is neither."""
    paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    for ending in (MODEL_ENDING, PLAN_ENDING):
        found = next((path for path in paths if path.lower().endswith(ending)), None)
        if found is not None:
            return found
    return None
