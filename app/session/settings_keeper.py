"""The settings of one window: changed, saved, and overridden for one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.common.problem import ProblemError
from app.settings import Settings, changed, load, save_settings


class SettingsKeeper(QObject):
    """Signals: ``changed`` other settings hold; ``failed(Problem)`` they could not be written. ``start_problem``: what
    was wrong with the file at the start."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        loaded = load(path)
        self._path = path
        self.settings: Settings = loaded.settings
        self._stored = loaded.settings
        self.start_problem = loaded.problem

    def override(self, **changes: Any) -> None:
        """Other settings for this run only (``--lang``, ``--theme``); they are not saved by themselves."""
        self.settings = changed(self.settings, **changes)

    def change(self, **changes: Any) -> None:
        """Change and save settings; a file that cannot be written is told, the change holds all the same."""
        before = self.settings
        self.settings = changed(before, **changes)
        self._stored = changed(self._stored, **changes)
        if self.settings == before:
            return
        try:
            save_settings(self._path, self._stored)
        except ProblemError as error:
            self.failed.emit(error.problem)
        self.changed.emit()
