"""How full the context is, as a bar: quiet while there is room, a warning when there is little left."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.ui.theme.manager import ThemeManager
from app.words import say
from app.words.catalogue import number_text

_LITTLE_LEFT = 0.85
_SIZE = QSize(72, 6)


class ContextMeter(QWidget):
    """``share`` is None while nothing is known; then nothing is drawn."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.share: float | None = None
        self._told: tuple[float | None, int | None] = (None, None)
        self.setFixedSize(_SIZE)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        ThemeManager.of_app().theme_changed.connect(self.update)

    def set_tokens(self, used: float | None, total: int | None) -> None:
        """Show ``used`` of ``total`` tokens."""
        if (used, total) == self._told:
            return
        self._told = used, total
        self.share = min(1.0, used / total) if used is not None and total else None
        words = ""
        if used is not None and total:
            words = say("chat.context", used=number_text(used), total=number_text(total))
        self.setToolTip(words)
        self.setAccessibleName(words)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self.share is None:
            return
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(tokens.color("line"))
        painter.setBrush(tokens.color("chip"))
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(frame, 2.5, 2.5)
        filled = QRectF(frame)
        filled.setWidth(max(2.0, frame.width() * self.share))
        colour = tokens.color("warning" if self.share >= _LITTLE_LEFT else "accent")
        painter.setPen(colour)
        painter.setBrush(colour)
        painter.drawRoundedRect(filled, 2.5, 2.5)
