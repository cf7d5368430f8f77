"""A check box that shows its tick: a fill of colour alone does not say "on" to everybody."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QStyle, QStyleOptionButton
from typing_extensions import override

from app.ui.theme.manager import ThemeManager


class TickBox(QCheckBox):
    """``QCheckBox`` of the style sheet, with a tick in the theme's colour when it is on."""

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.isChecked():
            return
        option = QStyleOptionButton()
        self.initStyleOption(option)
        box = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = ThemeManager.of_app().tokens.color("accent_text")
        painter.setPen(QPen(color, 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        corners = ((0.24, 0.53), (0.43, 0.71), (0.77, 0.31))
        painter.drawPolyline([QPointF(box.x() + x * box.width(), box.y() + y * box.height()) for x, y in corners])
