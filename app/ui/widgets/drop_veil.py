"""What lies over the window while a file is held over it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.ui.theme.fonts import scaled
from app.ui.theme.icons import draw_icon
from app.ui.theme.manager import ThemeManager
from app.words import say

_ICON = 40


class DropVeil(QWidget):
    """A tint with one sentence; takes no mouse."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFont(scaled(self.font(), 1.5, bold=True))
        self.hide()

    def cover(self) -> None:
        """Lie over the whole parent."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tint = tokens.color("window")
        tint.setAlphaF(0.9)
        painter.fillRect(self.rect(), tint)
        painter.setPen(QPen(tokens.color("accent"), 2, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(14, 14, -14, -14), 12, 12)
        middle = QRectF(self.rect()).center()
        icon = QRectF(middle.x() - _ICON / 2, middle.y() - _ICON - 6, _ICON, _ICON)
        draw_icon(painter, "drop", icon, tokens.color("accent"))
        painter.setPen(tokens.color("text"))
        text = QRectF(0, middle.y() + 6, self.width(), self.fontMetrics().height() + 6)
        painter.drawText(text, int(Qt.AlignmentFlag.AlignCenter), say("window.drop"))
