"""A device that is switched off: a slim column with its name and a switch."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget
from typing_extensions import override

from app.planner.types import Device
from app.ui.board.column import device_facts, device_title
from app.ui.theme.icons import draw_icon
from app.ui.theme.manager import ThemeManager
from app.words import say


class OffColumn(QAbstractButton):
    """Click, Space or Enter switches the device on: ``switch_requested(device)``."""

    switch_requested = Signal(str)

    def __init__(self, device: Device, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._device = device.name
        self._text = say("board.off.title", device=device_title(device))
        self.setText(self._text)
        self.setToolTip(say("board.off.tip", device=device_title(device), facts=device_facts(device)))
        self.setAccessibleName(say("board.switch.on", device=device_title(device)))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.clicked.connect(self._on_clicked)

    @property
    def device(self) -> str:
        """The device's name."""
        return self._device

    @Slot()
    def _on_clicked(self) -> None:
        self.switch_requested.emit(self._device)

    @override
    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().height() + 18, 120)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setBrush(tokens.color("hover" if self.underMouse() else "window"))
        focused = self.hasFocus()
        painter.setPen(QPen(tokens.color("focus" if focused else "line"), 2 if focused else 1, Qt.PenStyle.SolidLine))
        painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5) if focused else frame, 8, 8)
        icon = QRectF(0, 0, 15, 15)
        icon.moveCenter(QRectF(0, 0, self.width(), 36).center())
        draw_icon(painter, "power", icon, tokens.color("text_dim"))
        painter.setPen(tokens.color("text_dim"))
        painter.translate(0, self.height())
        painter.rotate(-90)
        room = QRectF(12, 0, self.height() - 54, self.width())
        text = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), text)
