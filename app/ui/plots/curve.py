"""One curve of a chart: drawn as it comes, with nothing worked out that the chart knows already.

pyqtgraph's own curve looks for the range of its numbers, of its pixels and of its neighbours at each change; a live
chart has fixed ranges, so that was most of the cost of a redraw.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget
from typing_extensions import override

from app.ui.plots.data import FloatArray

_POINT, _LONE = 6.0, 3.0
"""Diameters in pixels: of points that are wanted as such, and of a value between two gaps."""


def thinned(xs: FloatArray, ys: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """At most the lowest and the highest value of each pixel column: what a line through all of them looks like. NaN
    stays where a column knows nothing else. Pure."""
    per_column = xs.size // max(1, columns)
    if per_column <= 2:
        return xs, ys
    starts = np.arange(0, xs.size, per_column)
    low, high = np.fmin.reduceat(ys, starts), np.fmax.reduceat(ys, starts)
    return np.repeat(xs[starts], 2), np.stack((low, high), axis=1).ravel()


def pieces(xs: FloatArray, ys: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """The runs of known values, without what is unknown between them. Pure."""
    is_known = np.isfinite(ys)
    if is_known.all():
        return [(xs, ys)] if xs.size else []
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_known, [False])).astype(np.int8)))
    return [(xs[a:b], ys[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True)]


class Curve(pg.GraphicsObject):  # type: ignore[misc]  # pyqtgraph ships no types
    """A line of one pixel through what is known, a gap where nothing is; or separate points."""

    def __init__(self) -> None:
        super().__init__()
        self._room = QRectF(0, 0, 1, 1)
        self._pen = QPen()
        self._lines: list[QPolygonF] = []
        self._points = QPolygonF()
        self._point_size = _LONE
        self.xs: FloatArray = np.empty(0)
        self.ys: FloatArray = np.empty(0)

    def set_room(self, room: QRectF) -> None:
        """All that the chart shows, in the units of its axes."""
        if room != self._room:
            self.prepareGeometryChange()
            self._room = room

    def set_color(self, color: QColor) -> None:
        """The colour of line and points."""
        self._pen = pg.mkPen(color, width=1)
        self.update()

    def set_data(self, xs: FloatArray, ys: FloatArray, columns: int, *, are_points: bool = False) -> None:
        """Draw other numbers. ``columns``: pixels that there are for them."""
        self.xs, self.ys = xs, ys
        found = pieces(*(thinned(xs, ys, columns) if not are_points else (xs, ys)))
        lone = [(x, y) for x, y in found if x.size == 1 or are_points]
        self._lines = [_polygon(x, y) for x, y in found if x.size > 1 and not are_points]
        self._points = QPolygonF([QPointF(float(a), float(b)) for x, y in lone for a, b in zip(x, y, strict=True)])
        self._point_size = _POINT if are_points else _LONE
        self.update()

    @override
    def boundingRect(self) -> QRectF:
        return self._room

    @override
    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        painter.setPen(self._pen)
        for line in self._lines:
            painter.drawPolyline(line)
        if not self._points.isEmpty():
            dot = QPen(self._pen.color(), self._point_size, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
            dot.setCosmetic(True)
            painter.setPen(dot)
            painter.drawPoints(self._points)


def _polygon(xs: FloatArray, ys: FloatArray) -> QPolygonF:
    polygon = pg.functions.create_qpolygonf(xs.size)
    memory = pg.functions.ndarray_from_qpolygonf(polygon)
    memory[:, 0], memory[:, 1] = xs, ys
    assert isinstance(polygon, QPolygonF)
    return polygon
