"""The keys of the window: the list that F1 shows, and the shortcuts themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

KEYS = (
    ("Ctrl+O", "window.key.open"),
    ("Ctrl+S", "window.key.save_plan"),
    ("Ctrl+Shift+O", "window.key.open_plan"),
    ("Ctrl+Shift+V", "window.key.paste"),
    ("Ctrl+D", "window.key.compare"),
    ("Ctrl+Z", "window.key.undo"),
    ("Ctrl+Shift+Z", "window.key.redo"),
    ("Ctrl+L", "window.key.launch"),
    ("Ctrl+Shift+C", "window.key.copy"),
    ("Ctrl+Q", "window.key.close"),
    ("Ctrl+1", "window.key.pages"),
    ("F1", "window.keys"),
)
"""What F1 lists."""


def add_shortcuts(window: QWidget, slots: Mapping[str, Callable[[], object]]) -> None:
    """Make each key call its slot, whichever page is in front."""
    for keys, slot in slots.items():
        QShortcut(QKeySequence(keys), window).activated.connect(slot)
