"""What all painted buttons of a plot have in common: the ground under the pointer and the ring of the focus."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QAbstractButton

from app.ui.theme.tokens import Tokens

_RADIUS = 4


def paint_ground(painter: QPainter, button: QAbstractButton, frame: QRectF, ring: QRectF, tokens: Tokens) -> None:
    """Paint hover and focus; afterwards the brush is empty."""
    if button.underMouse() or button.isDown():
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tokens.color("hover"))
        painter.drawRoundedRect(frame, _RADIUS, _RADIUS)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if button.hasFocus():
        painter.setPen(QPen(tokens.color("focus"), 2))
        painter.drawRoundedRect(ring, _RADIUS, _RADIUS)
