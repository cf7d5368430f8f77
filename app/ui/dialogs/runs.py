"""Kept runs: the list, one run's figures, or two side by side with their curves over each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.runs_words import LIST_COLUMNS, compare_rows, device_name, devices_of, list_texts, when_text
from app.ui.plots.chart import Chart
from app.ui.plots.data import FloatArray, highest
from app.ui.plots.scale import PlotUnit, stepped_maximum, y_ticks
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say
from app.words.catalogue import number_text
from app.work.run_history import RunRecord

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_SIZE = QSize(1180, 680)
_MOST_CHOSEN = 2
_COLORS = (0, 1)
_SWATCH = 10
Curve = tuple[FloatArray, FloatArray]


class RunCurves(CardFrame):
    """One still chart with a curve (or points) for each chosen run."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=9, spacing=2)
        self._theme = ThemeManager.of_app()
        self._title = SectionTitle("")
        self.chart = Chart()
        self.chart.setMinimumHeight(110)
        self._shown: tuple[str, PlotUnit, tuple[Curve, ...], bool] = ("", PlotUnit.SPEED, (), False)
        self.body.addWidget(self._title)
        self.body.addWidget(self.chart, 1)
        self._theme.theme_changed.connect(self._draw)

    def show_curves(self, title: str, unit: PlotUnit, curves: Sequence[Curve], *, are_points: bool = False) -> None:
        """x: seconds since the start, or tokens of depth for points."""
        self._shown = (title, unit, tuple(curves), are_points)
        self._draw()

    @Slot()
    def _draw(self) -> None:
        title, unit, curves, are_points = self._shown
        self._title.setText(title)
        self.chart.setAccessibleName(title)
        self.chart.set_curves(len(curves))
        tokens = self._theme.tokens
        colors = [tokens.series[_COLORS[i % len(_COLORS)]] for i in range(len(curves))]
        self.chart.set_colors(tokens, colors, tabular(scaled(self.font(), 0.85)))
        top = stepped_maximum(max((highest(ys) for _, ys in curves), default=0.0), unit)
        self.chart.set_y(top, y_ticks(top, unit))
        right = max((float(xs.max()) for xs, _ in curves if xs.size), default=1.0) or 1.0
        suffix = "" if are_points else " s"
        ticks = [(x, f"{number_text(round(x))}{suffix}") for x in (0.0, right / 2, right)]
        self.chart.set_x_from_zero(right, ticks)
        for i, (xs, ys) in enumerate(curves):
            (self.chart.set_points if are_points else self.chart.set_curve)(i, xs, ys)


class RunsDialog(QDialog):
    """Follows the session's kept runs while it is open."""

    def __init__(self, session: AppSession, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._runs: tuple[RunRecord, ...] = ()
        self.setWindowTitle(say("runs.title"))
        self.setModal(False)
        self.resize(_SIZE.boundedTo(parent.window().size() - QSize(40, 40)))
        self.list = _table(say("runs.title"), [say(f"runs.column.{code}") for code in LIST_COLUMNS])
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table = _table(say("runs.table_name"), ["", "", "", say("runs.difference")])
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.empty = DimLabel(say("runs.empty"), wrap=True)
        self.decode, self.depths = RunCurves(), RunCurves()
        self.memory = (RunCurves(), RunCurves())
        self.forget = PlainButton(say("runs.forget"))
        self.close_button = PlainButton(say("ui.close"))
        self._lay_out()
        self.list.itemSelectionChanged.connect(self.show_chosen)
        self.forget.clicked.connect(session.runs.forget)
        self.close_button.clicked.connect(self.close)
        session.runs.changed.connect(self.refresh)
        ThemeManager.of_app().theme_changed.connect(self._mark_colors)
        session.runs.load()
        self.refresh()

    def _lay_out(self) -> None:
        charts = QGridLayout()
        charts.setSpacing(8)
        for i, chart in enumerate((self.decode, self.depths, *self.memory)):
            charts.addWidget(chart, i // 2, i % 2)
        lower = QHBoxLayout()
        lower.setSpacing(12)
        lower.addWidget(self.table, 5)
        lower.addLayout(charts, 7)
        last = QHBoxLayout()
        last.setSpacing(8)
        last.addWidget(self.forget)
        last.addStretch(1)
        last.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 14)
        column.setSpacing(8)
        column.addWidget(DimLabel(say("runs.note"), wrap=True))
        column.addWidget(self.empty)
        column.addWidget(self.list, 2)
        column.addLayout(lower, 5)
        column.addLayout(last)

    @property
    def chosen(self) -> tuple[RunRecord, ...]:
        """At most two, the older first."""
        rows = sorted({index.row() for index in self.list.selectedIndexes()})[:_MOST_CHOSEN]
        return tuple(self._runs[row] for row in reversed(rows) if row < len(self._runs))

    @Slot()
    def refresh(self) -> None:
        """Show the kept runs; the newest two are chosen first, so that there is something to see."""
        self._runs = self._session.runs.runs
        self.empty.setVisible(not self._runs)
        self.forget.setEnabled(bool(self._runs))
        self.list.clearContents()
        self.list.setRowCount(len(self._runs))
        for row, record in enumerate(self._runs):
            for column, text in enumerate(list_texts(record)):
                self.list.setItem(row, column, _item(text, is_number=column in (3, 4, 5)))
        self.list.clearSelection()
        for row in range(min(_MOST_CHOSEN, len(self._runs))):
            for column in range(len(LIST_COLUMNS)):
                item = self.list.item(row, column)
                if item is not None:
                    item.setSelected(True)
        self.show_chosen()

    @Slot()
    def show_chosen(self) -> None:
        """Table and curves of what is selected."""
        chosen = self.chosen
        self._show_table(chosen)
        self.decode.show_curves(
            say("runs.plot.decode"), PlotUnit.SPEED, [_column(record, "tok.decode") for record in chosen]
        )
        self.depths.show_curves(
            say("runs.plot.depth"), PlotUnit.SPEED, [_depths(record) for record in chosen], are_points=True
        )
        devices = devices_of(*chosen)
        for panel, device in zip(self.memory, (devices[0], devices[-1]) if devices else ("", ""), strict=True):
            title = say("runs.plot.memory", device=device_name(device)) if device else ""
            panel.show_curves(title, PlotUnit.BYTES, [_column(r, r.device_key(device) or "") for r in chosen])

    @Slot()
    def _mark_colors(self, n_chosen: int | None = None) -> None:
        """The head of each run's column carries the colour of its curves."""
        series = ThemeManager.of_app().tokens.series
        for i in range(len(self.chosen) if n_chosen is None else n_chosen):
            head = self.table.horizontalHeaderItem(1 + i)
            if head is not None:
                head.setIcon(_swatch(series[_COLORS[i]]))

    def _show_table(self, chosen: tuple[RunRecord, ...]) -> None:
        rows = compare_rows(chosen[0], chosen[-1]) if chosen else ()
        is_pair = len(chosen) == _MOST_CHOSEN
        names = ["", ""]
        for i, record in enumerate(chosen):
            names[i] = when_text(record)
        self.table.setHorizontalHeaderLabels(["", *names, say("runs.difference") if is_pair else ""])
        self._mark_colors(len(chosen))
        self.table.setColumnHidden(2, not is_pair)
        self.table.setColumnHidden(3, not is_pair)
        self.table.setRowCount(len(rows))
        for i, row in enumerate(rows):
            for column, text in enumerate((row.what, row.first, row.second, row.difference)):
                self.table.setItem(i, column, _item(text, is_number=column > 0))


def _swatch(color: QColor) -> QIcon:
    """The colour of a run's curves."""
    pixmap = QPixmap(_SWATCH, _SWATCH)
    pixmap.fill(color)
    return QIcon(pixmap)


def _column(record: RunRecord, key: str) -> Curve:
    values = record.columns.get(key, ())
    return (
        np.array(record.times[: len(values)], dtype=np.float64),
        np.array([np.nan if v is None else v for v in values], dtype=np.float64),
    )


def _depths(record: RunRecord) -> Curve:
    told = [(r.depth, r.decode_tps) for r in record.requests if r.decode_tps is not None]
    return np.array([d for d, _ in told], dtype=np.float64), np.array([t for _, t in told], dtype=np.float64)


def _item(text: str, *, is_number: bool) -> QTableWidgetItem:
    item = QTableWidgetItem(text)
    side = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
    return item


def _table(name: str, heads: list[str]) -> QTableWidget:
    table = QTableWidget(0, len(heads))
    table.setHorizontalHeaderLabels(heads)
    table.setAccessibleName(name)
    table.setFont(tabular(scaled(table.font(), 0.95)))
    table.setShowGrid(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 6)
    header = table.horizontalHeader()
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
    header.setHighlightSections(False)
    return table
