"""What a file is opened as, by the end of its name. Light: the window needs it before its first paint."""

from __future__ import annotations

PLAN_ENDING = ".json"
SETTINGS_ENDINGS = (".kcpps", ".kcppt", ".gguf.json", ".preset.json", "modelfile", ".modelfile")
"""Settings of KoboldCpp, LM Studio and Ollama (``app.work.foreign_settings``)."""


def is_foreign(path: str) -> bool:
    """Does the name look like another program's settings?"""
    return path.lower().endswith(SETTINGS_ENDINGS)
