"""Texts: section titles, dim notes, figures, long names that shorten."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget
from typing_extensions import override

from app.ui.theme.fonts import scaled, tabular


def set_look(widget: QWidget, look: str) -> None:
    """Change the look of a widget (the style sheet's ``look`` property) and let the style see it."""
    if widget.property("look") == look:
        return
    widget.setProperty("look", look)
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.update()


class SectionTitle(QLabel):
    """The heading of a card or a group."""

    def __init__(self, text: str = "", parent: QWidget | None = None, *, factor: float = 1.0) -> None:
        super().__init__(text, parent)
        self.setFont(scaled(self.font(), factor, bold=True))


class DimLabel(QLabel):
    """A quieter, smaller text; wraps when asked."""

    def __init__(self, text: str = "", parent: QWidget | None = None, *, wrap: bool = False) -> None:
        super().__init__(text, parent)
        self.setProperty("look", "dim")
        self.setFont(tabular(scaled(self.font(), 0.93)))
        self.setWordWrap(wrap)


class Figure(QLabel):
    """A number to be read from afar, in figures of equal width."""

    def __init__(self, text: str = "", parent: QWidget | None = None, *, factor: float = 1.8) -> None:
        super().__init__(text, parent)
        self.setFont(tabular(scaled(self.font(), factor, bold=True)))


class Chip(QLabel):
    """A fact in a rounded box."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setProperty("look", "chip")
        self.setFont(tabular(scaled(self.font(), 0.93)))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)


class ElidedLabel(QLabel):
    """One line that shortens with an ellipsis; the whole text is the tooltip while it is shortened."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(text, parent)
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def is_elided(self) -> bool:
        """Is the text too long for the width it has?"""
        return self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().averageCharWidth() * 6, super().minimumSizeHint().height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        rect = self.contentsRect()
        text = self.fontMetrics().elidedText(self.text(), self._mode, rect.width())
        painter.drawText(rect, int(self.alignment() | Qt.TextFlag.TextSingleLine), text)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip:
            self.setToolTip(self.text() if self.is_elided() else "")
        return super().event(event)
