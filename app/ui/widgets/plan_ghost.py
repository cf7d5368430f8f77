"""The plan page's outline, without words: what the window shows for the moment until there is a page to show."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.ui.theme.manager import ThemeManager

_MARGIN, _GAP = 16, 12
_HEAD, _FOOT, _SIDE = 109, 112, 266
"""Heights of the page's head and command line, width of its side, in logical pixels."""
_RADIUS = 6


class PlanGhost(QWidget):
    """Takes the focus, so that no button of the rail shows its ring before anybody has touched a key."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width, height = self.width(), self.height()
        painter.setPen(QPen(tokens.color("line"), 1))
        for y in (_HEAD, height - _FOOT):
            painter.drawLine(0, y, width, y)
        painter.setBrush(tokens.color("panel"))
        for frame in self._frames(width, height):
            painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tokens.color("chip"))
        for bar in self._bars(width, height):
            painter.drawRoundedRect(bar, _RADIUS, _RADIUS)

    @staticmethod
    def _frames(width: int, height: int) -> tuple[QRectF, ...]:
        """The board, the speeds, the selected card."""
        top, bottom = _HEAD + 9.0, height - _FOOT - 9.0
        side = float(width - _MARGIN - _SIDE)
        return (
            QRectF(_MARGIN, top, side - _GAP - _MARGIN, bottom - top),
            QRectF(side, top, _SIDE, 180),
            QRectF(side, top + 192, _SIDE, max(bottom - top - 192, 0)),
        )

    @staticmethod
    def _bars(width: int, height: int) -> tuple[QRectF, ...]:
        """Where the name, the verdict, the memory, the cards and the command will stand."""
        top, board = _HEAD + 20.0, float(width - 2 * _MARGIN - _SIDE - _GAP - 22)
        cards = tuple(QRectF(_MARGIN + 11, top + 76 + 52 * n, board, 44) for n in range(4))
        return (
            QRectF(_MARGIN, 15, 190, 20),
            QRectF(_MARGIN, 48, 130, 16),
            QRectF(_MARGIN, 76, 340, 22),
            QRectF(_MARGIN + 11, top, 110, 14),
            QRectF(_MARGIN + 11, top + 26, board, 24),
            *(card for card in cards if card.bottom() < height - _FOOT - 20),
            QRectF(_MARGIN + 6, height - _FOOT + 34, max(width - 2 * _MARGIN - 320, 0), 62),
        )
