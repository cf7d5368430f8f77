"""A splitter that shows as a gap between cards; its handle can be reached and moved with the keyboard."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle, QWidget
from typing_extensions import override

from app.ui.theme.manager import ThemeManager
from app.words import say

_GAP = 10
_GRIP = 28.0
_STEP = 16


class _GapHandle(QSplitterHandle):
    """Nothing but a short grip, which shows while the pointer or the focus is on it. Arrow keys move it."""

    def __init__(self, orientation: Qt.Orientation, parent: QSplitter) -> None:
        super().__init__(orientation, parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(say("run.splitter"))
        self.setToolTip(say("run.splitter"))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = ThemeManager.of_app().tokens
        strong = self.hasFocus() or self.underMouse()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tokens.color("focus" if strong else "line"))
        across = self.orientation() is Qt.Orientation.Horizontal
        width, height = (3.0, _GRIP) if across else (_GRIP, 3.0)
        grip = QRectF(self.width() / 2 - width / 2, self.height() / 2 - height / 2, width, height)
        painter.drawRoundedRect(grip, 1.5, 1.5)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        back, forth = (
            (Qt.Key.Key_Left, Qt.Key.Key_Right)
            if self.orientation() is Qt.Orientation.Horizontal
            else (Qt.Key.Key_Up, Qt.Key.Key_Down)
        )
        if event.key() not in (back, forth):
            super().keyPressEvent(event)
            return
        place = self.pos().x() if self.orientation() is Qt.Orientation.Horizontal else self.pos().y()
        self.moveSplitter(place + (_STEP if event.key() == forth else -_STEP))

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()


class GapSplitter(QSplitter):
    """Two widgets that share the room in the given proportion until the user moves the gap."""

    def __init__(self, orientation: Qt.Orientation, first: QWidget, second: QWidget, shares: tuple[int, int]) -> None:
        super().__init__(orientation)
        self.setHandleWidth(_GAP)
        self.setChildrenCollapsible(False)
        for index, (widget, share) in enumerate(zip((first, second), shares, strict=True)):
            self.addWidget(widget)
            self.setStretchFactor(index, share)
        self.setSizes([share * 1000 for share in shares])

    @override
    def createHandle(self) -> QSplitterHandle:
        return _GapHandle(self.orientation(), self)
