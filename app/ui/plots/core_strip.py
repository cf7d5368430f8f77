"""CPU load per logical CPU: one small bar each, grouped by kind of core, the server's cores underlined."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from app.hardware.types import CoreKind, CpuCore
from app.ui.plots.scale import cpu_list_text
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.ui.theme.tokens import Tokens
from app.words import say

_ORDER = (CoreKind.P, CoreKind.E, CoreKind.LP_E, CoreKind.UNKNOWN)
_UNDERLINE = 3.0
_CORE_GAP = 0.45
_GROUP_GAP = 2.0
_SMALLEST_CELL = 3.0


def kind_text(kind: CoreKind) -> str:
    """The mark of a kind of core: P, E, LP-E, or 'CPU' where the system does not tell."""
    return "CPU" if kind is CoreKind.UNKNOWN else kind.value


def grouped(cores: Iterable[CpuCore]) -> tuple[tuple[CoreKind, tuple[CpuCore, ...]], ...]:
    """Cores by kind, fast ones first, each group in the order of its CPU numbers."""
    everything = sorted(cores, key=lambda core: core.logical)
    groups = ((kind, tuple(core for core in everything if core.kind is kind)) for kind in _ORDER)
    return tuple((kind, members) for kind, members in groups if members)


@dataclass(frozen=True, slots=True)
class _Cell:
    cpu: int
    row: int
    x: float
    """In cell widths from the left end of its row."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where each CPU's bar is: the strip wraps into rows when there are too many for one."""

    cells: tuple[_Cell, ...]
    labels: tuple[tuple[CoreKind, int, float], ...]
    rows: int
    units: float


def _width_of(members: Sequence[CpuCore]) -> float:
    return sum(len(core.logical) + _CORE_GAP for core in members) - _CORE_GAP


def _lay_out(cores: Sequence[CpuCore], most_units: float) -> _Layout:
    """All kinds in one row if they fit, else each kind begins a row of its own and wraps where it must."""
    groups = grouped(cores)
    needed = sum(_width_of(members) for _, members in groups) + _GROUP_GAP * (len(groups) - 1)
    is_one_row = needed <= most_units
    cells: list[_Cell] = []
    labels: list[tuple[CoreKind, int, float]] = []
    row, x, widest = 0, 0.0, 1.0
    for kind, members in groups:
        if x:
            row, x = (row, x - _CORE_GAP + _GROUP_GAP) if is_one_row else (row + 1, 0.0)
        labels.append((kind, row, x))
        for core in members:
            if x and not is_one_row and x + len(core.logical) > most_units:
                row, x = row + 1, 0.0
            cells.extend(_Cell(cpu, row, x + i) for i, cpu in enumerate(core.logical))
            x += len(core.logical) + _CORE_GAP
            widest = max(widest, x - _CORE_GAP)
    return _Layout(tuple(cells), tuple(labels), row + 1, widest)


@dataclass(frozen=True, slots=True)
class _Paint:
    """The colours of one painting, made once and not for each of a hundred cells."""

    fast: QColor
    slow: QColor
    line: QColor
    empty: QColor
    mark: QColor

    @classmethod
    def of(cls, tokens: Tokens) -> _Paint:
        fast, slow = tokens.series[:2]
        return cls(fast, slow, tokens.color("line"), tokens.color("chip"), tokens.color("text"))


class CoreStrip(QWidget):
    """Bars for the load (0..100 %), an outline where it is unknown, a line under each CPU the server runs on.

    With ``show_load`` off it is a map of the cores alone (the machine page): every CPU is a cell with its number.
    """

    def __init__(self, theme: ThemeManager, *, show_load: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._show_load = show_load
        self._cores: tuple[CpuCore, ...] = ()
        self._marked: frozenset[int] = frozenset()
        self._load: dict[int, float | None] = {}
        self._kind_of: dict[int, CoreKind] = {}
        self._layout: tuple[int, _Layout] | None = None
        self.setFont(tabular(scaled(self.font(), 0.82)))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(say("plot.cores"))
        theme.theme_changed.connect(self.update)

    def set_cores(self, cores: Sequence[CpuCore]) -> None:
        """The cores of this machine."""
        self._cores = tuple(cores)
        self._layout = None
        self._kind_of = {cpu: core.kind for core in cores for cpu in core.logical}
        self._describe()
        self.update()

    def set_marked(self, cpus: Iterable[int]) -> None:
        """The CPUs the server runs on (as read back), or should run on."""
        marked = frozenset(cpus)
        if marked != self._marked:
            self._marked = marked
            self._describe()
            self.update()

    def set_load(self, load: Mapping[int, float | None]) -> None:
        """Percent busy of each logical CPU; a missing one is unknown."""
        new = dict(load)
        if new != self._load:
            self._load = new
            if QAccessible.isActive():  # else nobody hears thirty figures twice a second
                self._describe()
            self.update()

    @property
    def words(self) -> str:
        """'P-cores 0-11: 96 %; E-cores 12-19: 4 %; the server runs on 0-11': also the accessible description."""
        parts = []
        for kind, members in grouped(self._cores):
            cpus = [cpu for core in members for cpu in core.logical]
            loads = [value for cpu in cpus if (value := self._load.get(cpu)) is not None]
            mean = f"{sum(loads) / len(loads):.0f} %" if loads else "—"
            code = "plot.group_load" if self._show_load else "plot.group"
            parts.append(say(code, kind=kind_text(kind), cpus=cpu_list_text(cpus), load=mean))
        if self._marked:
            parts.append(say("plot.server_cpus", cpus=cpu_list_text(sorted(self._marked))))
        return "; ".join(parts)

    def _describe(self) -> None:
        self.setAccessibleDescription(self.words)

    def _row_rect(self, layout: _Layout, row: int) -> QRectF:
        label = self.fontMetrics().height()
        height = self.height() / layout.rows
        return QRectF(0, row * height + label, self.width(), max(4.0, height - label - 2))

    def _unit(self, layout: _Layout) -> float:
        """The width of one CPU: the strip is filled, but few cores do not become slabs."""
        return min(self.width() / layout.units, self.fontMetrics().horizontalAdvance("0") * 5.0)

    def _layout_now(self) -> _Layout:
        if self._layout is None or self._layout[0] != self.width():
            self._layout = self.width(), _lay_out(self._cores, max(8.0, self.width() / self._smallest_cell()))
        return self._layout[1]

    def _smallest_cell(self) -> float:
        """A bar needs a few units, a numbered cell needs its number."""
        return _SMALLEST_CELL if self._show_load else self.fontMetrics().horizontalAdvance("00") + 6.0

    def _cell_rect(self, layout: _Layout, cell: _Cell) -> QRectF:
        return self._cell_in(self._row_rect(layout, cell.row), self._unit(layout), cell)

    @staticmethod
    def _cell_in(row: QRectF, unit: float, cell: _Cell) -> QRectF:
        return QRectF(cell.x * unit, row.top(), unit, row.height())

    def height_for(self, width: int) -> int:
        """The height that a map needs at a width, so that its numbers stay readable."""
        rows = _lay_out(self._cores, max(8.0, width / self._smallest_cell())).rows
        return rows * (self.fontMetrics().height() * 2 + 12)

    @override
    def sizeHint(self) -> QSize:
        line = self.fontMetrics().height()
        return QSize(self.fontMetrics().horizontalAdvance("0") * 40, line * (5 if self._show_load else 3))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance("0") * 16, self.fontMetrics().height() * 3)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        layout, paint = self._layout_now(), _Paint.of(self._theme.tokens)
        rows = [self._row_rect(layout, row) for row in range(layout.rows)]
        unit, metrics = self._unit(layout), self.fontMetrics()
        for cell in layout.cells:
            self._paint_cell(painter, self._cell_in(rows[cell.row], unit, cell), cell.cpu, paint)
        painter.setPen(self._theme.tokens.color("text_dim"))
        for kind, row, x in layout.labels:
            base = rows[row].top() - metrics.height() + metrics.ascent()
            left = min(x * unit, self.width() - metrics.horizontalAdvance(kind_text(kind)))
            painter.drawText(QPointF(left, base), kind_text(kind))

    def _paint_cell(self, painter: QPainter, rect: QRectF, cpu: int, paint: _Paint) -> None:
        color = paint.fast if self._kind_of[cpu] in (CoreKind.P, CoreKind.UNKNOWN) else paint.slow
        gap = 1.0 if rect.width() > 3 else 0.0
        body = rect.adjusted(0, 0, -gap, -_UNDERLINE - 1)
        value = self._load.get(cpu) if self._show_load else 0.0
        if value is None:
            painter.setPen(QPen(paint.line, 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(body.adjusted(0.5, 0.5, -0.5, -0.5))
        else:
            painter.fillRect(body, paint.empty)
            share = min(100.0, max(0.0, value)) / 100
            painter.fillRect(body.adjusted(0, body.height() * (1 - share), 0, 0), color)
        if not self._show_load:
            painter.setPen(color)
            painter.drawText(body, Qt.AlignmentFlag.AlignCenter, str(cpu))
        if cpu in self._marked:
            line = QRectF(rect.left(), rect.bottom() - _UNDERLINE, rect.width() - gap, _UNDERLINE)
            painter.fillRect(line, paint.mark)

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self._tip_at(QPointF(event.pos())), self)
            return True
        return bool(super().event(event))

    def _tip_at(self, point: QPointF) -> str:
        layout = self._layout_now()
        for cell in layout.cells:
            if self._cell_rect(layout, cell).contains(point):
                load = self._load.get(cell.cpu)
                text = "—" if load is None or math.isnan(load) else f"{load:.0f} %"
                code = "plot.cpu_tip" if self._show_load else "plot.cpu_tip_map"
                return say(code, cpu=cell.cpu, kind=kind_text(self._kind_of[cell.cpu]), load=text)
        return self.words
