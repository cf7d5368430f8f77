"""Frames: cards, bands, hairlines."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget


class CardFrame(QFrame):
    """A panel with a hairline border and round corners; put things into ``body``."""

    def __init__(self, parent: QWidget | None = None, *, margin: int = 12, spacing: int = 6) -> None:
        super().__init__(parent)
        self.setProperty("look", "card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(margin, margin - 2, margin, margin)
        self.body.setSpacing(spacing)


class Rule(QFrame):
    """A horizontal hairline."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "rule")
