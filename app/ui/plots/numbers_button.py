"""The small button at a plot that opens its numbers; its picture is painted, so it needs no file."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget
from typing_extensions import override

from app.ui.plots.button_ground import paint_ground
from app.ui.theme.manager import ThemeManager

_SIDE = 24


class NumbersButton(QAbstractButton):
    """A table as an icon; 24 units wide at least (WCAG target size), reachable with Tab."""

    def __init__(self, theme: ThemeManager, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(_SIDE, _SIDE)
        theme.theme_changed.connect(self.update)

    @override
    def sizeHint(self) -> QSize:
        return QSize(_SIDE, _SIDE)

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens = self._theme.tokens
        frame = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        paint_ground(painter, self, frame, frame, tokens)
        painter.setPen(QPen(tokens.color("text_dim"), 1.2))
        table = QRectF(6, 7, 12, 10)
        painter.drawRoundedRect(table, 1.5, 1.5)
        for y in (10.5, 13.7):
            painter.drawLine(QPointF(table.left(), y), QPointF(table.right(), y))
        painter.drawLine(QPointF(10.5, table.top()), QPointF(10.5, table.bottom()))
