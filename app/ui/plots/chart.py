"""The one place that draws with pyqtgraph: a still, flat chart of a few curves over the last minutes.

The settings are measured ones (docs/architecture.md, "Plots"): opaque pens of one pixel, no fills, fixed ranges, peak
downsampling. Two-pixel antialiased pens cost up to a hundred times as much.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.ui.plots.curve import Curve
from app.ui.plots.data import FloatArray
from app.ui.theme.tokens import Tokens

_WIDEST_TICK = "888 GiB"


class Chart(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph ships no types
    """Axes, grid lines, curves and dashed lines; it knows neither words nor units."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None, enableMenu=False)
        self.setAntialiasing(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(self.Shape.NoFrame)
        self._item = self.getPlotItem()
        self._item.setMouseEnabled(x=False, y=False)
        self._item.hideButtons()
        self._item.disableAutoRange()
        self._item.layout.setContentsMargins(0, 4, 14, 0)
        self._axes = (self._item.getAxis("left"), self._item.getAxis("bottom"))
        for axis in self._axes:
            axis.setStyle(tickLength=0, autoExpandTextSpace=False, hideOverlappingLabels=40)
            axis.enableAutoSIPrefix(False)
        self._grid = [pg.InfiniteLine(angle=0, movable=False) for _ in range(2)]
        for line in self._grid:
            line.setZValue(-10)
            self._item.addItem(line)
        self._curves: list[Curve] = []
        self._lines: list[pg.InfiniteLine] = []
        self._colors: list[QColor] = []

    def set_curves(self, count: int) -> None:
        """Have exactly this many curves, each with one dashed line (hidden until it gets a height)."""
        while len(self._curves) > count:
            self._item.removeItem(self._curves.pop())
            self._item.removeItem(self._lines.pop())
        while len(self._curves) < count:
            curve = Curve()
            curve.set_room(self._room())
            line = pg.InfiniteLine(angle=0, movable=False)
            line.setVisible(False)
            for item in (line, curve):
                self._item.addItem(item, ignoreBounds=True)
            self._curves.append(curve)
            self._lines.append(line)

    def set_colors(self, tokens: Tokens, curve_colors: Sequence[QColor], tick_font: QFont) -> None:
        """Take the theme's colours for axes, grid, curves and dashed lines."""
        dim = tokens.color("text_dim")
        self.setBackground(tokens.color("panel"))
        for axis in self._axes:
            axis.setPen(pg.mkPen(tokens.color("line"), width=1))
            axis.setTextPen(pg.mkPen(dim))
            axis.setTickFont(tick_font)
        metrics = QFontMetrics(tick_font)
        self._axes[0].setWidth(metrics.horizontalAdvance(_WIDEST_TICK) + 6)
        self._axes[1].setHeight(metrics.height() + 4)
        for line in self._grid:
            line.setPen(pg.mkPen(tokens.blend("line", "panel", 0.6), width=1))
        for curve, line, color in zip(self._curves, self._lines, curve_colors, strict=True):
            curve.set_color(color)
            line.setPen(pg.mkPen(color, width=1, style=Qt.PenStyle.DashLine))

    def set_y(self, maximum: float, ticks: list[tuple[float, str]]) -> None:
        """Fix the y range to 0..maximum, with a grid line at the middle and at the top."""
        self._item.setYRange(0, maximum, padding=0.02)
        self._fit_curves()
        self._axes[0].setTicks([ticks])
        self._grid[0].setPos(maximum / 2)
        self._grid[1].setPos(maximum)

    def set_x(self, span_s: float, ticks: list[tuple[float, str]]) -> None:
        """Fix the time window to the last ``span_s`` seconds."""
        self._item.setXRange(-span_s, 0, padding=0.004)
        self._fit_curves()
        self._axes[1].setTicks([ticks])

    def set_x_from_zero(self, maximum: float, ticks: list[tuple[float, str]]) -> None:
        """A finished run's own time, or another quantity, from 0 on."""
        self._item.setXRange(0, maximum * 1.05, padding=0.004)
        self._fit_curves()
        self._axes[1].setTicks([ticks])

    def set_points(self, index: int, xs: FloatArray, ys: FloatArray) -> None:
        """Replace a curve by separate points in its colour."""
        self._curves[index].set_data(xs, ys, self.width(), are_points=True)

    def _room(self) -> QRectF:
        (left, right), (bottom, top) = self._item.getViewBox().viewRange()
        return QRectF(left, bottom, right - left, top - bottom)

    def _fit_curves(self) -> None:
        room = self._room()
        for curve in self._curves:
            curve.set_room(room)

    def plot_area(self) -> QRect:
        """The inside of the axes, in this widget's coordinates."""
        left, bottom = int(self._axes[0].width()), int(self._axes[1].height())
        return QRect(left, 0, int(self.width()) - left, int(self.height()) - bottom)

    def set_curve(self, index: int, ages: FloatArray, values: FloatArray) -> None:
        """Replace a curve's points."""
        self._curves[index].set_data(ages, values, self.width())

    def set_line(self, index: int, height: float | None) -> None:
        """Show a curve's dashed line at a height, or hide it."""
        self._lines[index].setVisible(height is not None)
        if height is not None:
            self._lines[index].setPos(height)

    @override
    def sizeHint(self) -> QSize:
        return QSize(240, 120)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(120, 60)
