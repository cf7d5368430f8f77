"""A flat combo box whose arrow follows the theme."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QComboBox, QWidget
from typing_extensions import override

from app.ui.theme.fonts import tabular
from app.ui.theme.manager import ThemeManager

_PADDING = 36
"""Room around the text: paddings, border and arrow of the style sheet."""


class Combo(QComboBox):
    """A choice of few values, each with words and data. The wheel scrolls the page, it does not change values."""

    def __init__(self, parent: QWidget | None = None, *, editable: bool = False) -> None:
        super().__init__(parent)
        self.setFont(tabular(self.font()))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if editable:
            self.setEditable(True)
            self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)

    def set_choices(self, choices: Sequence[tuple[str, object]], current: object) -> None:
        """Replace the choices (words, data) and select ``current`` without any signal.

        Does nothing when the same choices stand already, so that an open list or a half-typed text is not disturbed.
        """
        with QSignalBlocker(self):
            same = self.count() == len(choices) and all(
                self.itemText(i) == text and self.itemData(i) == data for i, (text, data) in enumerate(choices)
            )
            if not same:
                self.clear()
                for text, data in choices:
                    self.addItem(text, data)
            index = self.findData(current)
            if index != self.currentIndex() or not same:
                self.setCurrentIndex(index)

    @override
    def sizeHint(self) -> QSize:
        """As wide as the text in use, not as the longest choice: a row of wishes stays short."""
        hint = super().sizeHint()
        return QSize(self.fontMetrics().horizontalAdvance(self.currentText()) + _PADDING, hint.height())

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def showPopup(self) -> None:
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + _PADDING)
        super().showPopup()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = tokens.color("text_dim" if self.isEnabled() else "line")
        painter.setPen(QPen(color, 1.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        x, y = self.width() - 12.0, self.height() / 2
        painter.drawPolyline([QPointF(x - 3.5, y - 1.75), QPointF(x, y + 1.75), QPointF(x + 3.5, y - 1.75)])

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()
