"""F1: every key of the window in one list."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QWidget

from app.ui.widgets.labels import Chip
from app.words import say

_BOARD_KEYS = (
    ("Alt+Left", "window.key.left"),
    ("Alt+Right", "window.key.right"),
    ("Return", "window.key.open_card"),
    ("Shift+Up", "window.key.select_more"),
    ("Menu", "window.key.menu"),
)


class ShortcutList(QDialog):
    """A small window beside the main one; not modal, Escape closes it."""

    def __init__(self, keys: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(say("window.keys"))
        self.setModal(False)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        grid = QGridLayout(self)
        grid.setContentsMargins(20, 16, 20, 18)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(6)
        native = QKeySequence.SequenceFormat.NativeText
        for row, (key, code) in enumerate((*keys, *_BOARD_KEYS)):
            grid.addWidget(Chip(QKeySequence(key).toString(native) or key), row, 0, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(QLabel(say(code)), row, 1)
