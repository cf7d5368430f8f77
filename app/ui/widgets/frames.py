"""Frames: cards, bands, hairlines."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget


class CardFrame(QFrame):
    """A panel with a hairline border and round corners; put things into ``body``."""

    def __init__(self, parent: QWidget | None = None, *, margin: int = 12, spacing: int = 6) -> None:
        super().__init__(parent)
        self.setProperty("look", "card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(margin, margin - 2, margin, margin)
        self.body.setSpacing(spacing)


class ScrollCard(CardFrame):
    """A card whose content scrolls up and down; its ground is the card's own."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """``name``: what a screen reader calls it."""
        super().__init__(parent, margin=2, spacing=0)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.setAccessibleName(name)
        self.area.viewport().setAutoFillBackground(False)
        self.body.addWidget(self.area)

    def set_content(self, widget: QWidget) -> None:
        """Show this widget; the one before is deleted."""
        self.area.setWidget(widget)
        widget.setAutoFillBackground(False)  # QScrollArea switches it on


class Rule(QFrame):
    """A horizontal hairline."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "rule")
