"""The large figure beside a plot's title: painted, so that a change asks nobody for room."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.ui.theme.fonts import scaled, tabular


class ValueText(QWidget):
    """A short text at the right, with room for ``widest`` from the start. A label lays its whole panel out anew at each
    text, twice a second."""

    def __init__(self, widest: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFont(tabular(scaled(self.font(), 1.15, bold=True)))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._room = self.fontMetrics().horizontalAdvance(widest)
        self._text = "—"

    def text(self) -> str:
        """What is shown."""
        return self._text

    def setText(self, text: str) -> None:
        """Show another text; nothing is done for the same one."""
        if text == self._text:
            return
        self._text = text
        self.setAccessibleName(text)
        wider = self.fontMetrics().horizontalAdvance(text)
        if wider > self._room:
            self._room = wider
            self.updateGeometry()
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._room, self.fontMetrics().height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self._text)
