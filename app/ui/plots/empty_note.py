"""What stands in the middle of a chart while there is nothing to draw."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMargins, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel
from typing_extensions import override

from app.ui.plots.chart import Chart


class EmptyNote(QLabel):
    """A quiet sentence over a chart; it stays in the middle of the axes."""

    def __init__(self, chart: Chart, text: str) -> None:
        super().__init__(text, chart)
        self._chart = chart
        self.setProperty("look", "dim")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setWordWrap(True)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Base)
        chart.installEventFilter(self)

    def say(self, text: str) -> None:
        """Another sentence."""
        self.setText(text)
        self._place()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize:
            self._place()
        return bool(super().eventFilter(watched, event))

    def _place(self) -> None:
        area = self._chart.plot_area()
        size = self.sizeHint().boundedTo(area.size()).grownBy(QMargins(6, 2, 6, 2))
        box = QRect(QPoint(0, 0), size)
        self.setGeometry(box.translated(area.center() - box.center()))
