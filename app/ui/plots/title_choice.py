"""A plot's title that is a choice: the same figure over time, or against something else."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup, QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QMenu, QSizePolicy, QStackedLayout, QWidget
from typing_extensions import override

from app.ui.plots.button_ground import paint_ground
from app.ui.theme.fonts import scaled
from app.ui.theme.manager import ThemeManager
from app.words import say

_ARROW, _GAP, _PADDING = 8, 7, 4
_LEAST_WIDTH = 64


class TitleChoice(QAbstractButton):
    """The title in bold with a small arrow; a press opens the menu of the views. Signal ``chosen(int)``."""

    chosen = Signal(int)

    def __init__(self, theme: ThemeManager, title: str, views: Sequence[str], current: int) -> None:
        super().__init__()
        self._theme = theme
        self.setText(title)
        self.setFont(scaled(self.font(), 1.0, bold=True))
        self.setAccessibleName(say("plot.view_of", title=title, view=views[current]))
        self.setToolTip(say("plot.view_tip"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.menu = QMenu(self)
        self._group = QActionGroup(self)
        for index, name in enumerate(views):
            action = self.menu.addAction(name)
            action.setCheckable(True)
            action.setChecked(index == current)
            action.setData(index)
            self._group.addAction(action)
        self._current = current
        self._group.triggered.connect(self._on_triggered)
        self.clicked.connect(self.open_menu)
        theme.theme_changed.connect(self.update)

    @property
    def actions_of_menu(self) -> list[QAction]:
        """The views, as the menu shows them."""
        return self._group.actions()

    @Slot()
    def open_menu(self) -> None:
        """Show the views under the title."""
        self.menu.popup(self.mapToGlobal(self.rect().bottomLeft()))

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        """Each view has a title of its own: this one goes on saying where it stands."""
        index = int(action.data())
        self._group.actions()[self._current].setChecked(True)
        if index != self._current:
            self.chosen.emit(index)

    @override
    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self.text()) + _GAP + _ARROW + _PADDING  # in line with the legend below
        return QSize(width, max(24, metrics.height() + 2))

    @override
    def minimumSizeHint(self) -> QSize:
        """In a narrow window the title shortens before the figures do."""
        return QSize(_LEAST_WIDTH, self.sizeHint().height())

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens = self._theme.tokens
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        paint_ground(painter, self, frame, frame.adjusted(0.5, 0.5, -0.5, -0.5), tokens)
        painter.setPen(self.palette().color(self.foregroundRole()))
        room = self.width() - _GAP - _ARROW - _PADDING
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room + 1)
        painter.drawText(frame, Qt.AlignmentFlag.AlignVCenter, text)
        left = min(self.width() - _PADDING - _ARROW, self.fontMetrics().horizontalAdvance(text) + _GAP)
        middle = self.height() / 2
        painter.setPen(QPen(tokens.color("text_dim"), 1.4))
        painter.drawPolyline(
            [
                QPointF(left, middle - 1.5),
                QPointF(left + _ARROW / 2, middle + 2.5),
                QPointF(left + _ARROW, middle - 1.5),
            ]
        )


class ViewHolder(QWidget):
    """Shows one of several plots in the same place, each with a ``TitleChoice`` for a title."""

    def __init__(self, plots: Sequence[QWidget], titles: Sequence[TitleChoice]) -> None:
        super().__init__()
        self._titles = tuple(titles)
        self._stack = QStackedLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)
        for plot, title in zip(plots, titles, strict=True):
            self._stack.addWidget(plot)
            title.chosen.connect(self.show_view)

    @property
    def current(self) -> int:
        """Which one is shown."""
        return self._stack.currentIndex()

    @Slot(int)
    def show_view(self, index: int) -> None:
        """Show another one; the keyboard goes along to its title."""
        had_focus = self._titles[self.current].hasFocus()
        self._stack.setCurrentIndex(index)
        if had_focus:
            self._titles[index].setFocus(Qt.FocusReason.OtherFocusReason)
