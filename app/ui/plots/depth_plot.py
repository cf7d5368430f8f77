"""Decode speed against depth: a point for each request of this run, with the same numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.plots.chart import Chart
from app.ui.plots.empty_note import EmptyNote
from app.ui.plots.legend import Legend, LegendEntry
from app.ui.plots.numbers import NumbersDialog, RowsModel
from app.ui.plots.numbers_button import NumbersButton
from app.ui.plots.scale import PlotUnit, stepped_maximum, value_text, y_ticks
from app.ui.plots.value import ValueText
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.words import say
from app.words.catalogue import number_text
from app.work.run_history import RequestPoint

_COLOR = 2
_LEAST_DEPTH = 256
_COLUMNS = ("depth", "decode_tps", "decode_tokens", "prompt_tps", "prompt_tokens")


def deepest_shown(depths: Sequence[int], n_ctx: int | None) -> int:
    """The right end of the axis: the first power of two that holds the deepest request, at most the context. Pure."""
    deepest = max(depths, default=0)
    end = _LEAST_DEPTH
    while end < deepest:
        end *= 2
    return max(deepest, min(end, n_ctx)) if n_ctx else end


class DepthPlot(QWidget):
    """Draws only while it is seen: otherwise it keeps what it is given.

    A request's depth is the number of tokens in its slot at its end; its speed is the engine's own figure.
    """

    def __init__(self, head: QWidget, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._requests: tuple[RequestPoint, ...] = ()
        self._predicted: float | None = None
        self._n_ctx: int | None = None
        self._is_stale = True
        self._dialog: NumbersDialog | None = None
        self._title = say("run.plot_depth")
        self._value = ValueText("88.8 tok/s")
        self._button = NumbersButton(theme, say("plot.numbers_of", title=self._title))
        self._button.clicked.connect(self.show_numbers)
        self._legend = Legend(theme)
        self._chart = Chart(self)
        self._chart.set_curves(1)
        self._empty = EmptyNote(self._chart, say("run.depth_empty"))
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(head)
        row.addStretch(1)
        row.addWidget(self._value)
        row.addWidget(self._button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(row)
        column.addWidget(self._legend)
        column.addWidget(self._chart, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self._title)
        theme.theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    @property
    def chart(self) -> Chart:
        """The drawing surface."""
        return self._chart

    @property
    def words(self) -> str:
        """What the plot says now (also its accessible description)."""
        return self._legend.words

    def set_plan(self, predicted: float | None, n_ctx: int | None) -> None:
        """The plan's decode speed, drawn as a dashed line, and its context."""
        if (predicted, n_ctx) != (self._predicted, self._n_ctx):
            self._predicted, self._n_ctx = predicted, n_ctx
            self._changed()

    def set_requests(self, requests: Sequence[RequestPoint]) -> None:
        """The requests of this run so far, the newest last."""
        self._requests = tuple(r for r in requests if r.decode_tps is not None)
        self._changed()

    def _changed(self) -> None:
        self._is_stale = True
        if self.isVisible():
            self._draw()

    def _draw(self) -> None:
        self._is_stale = False
        depths = np.array([r.depth for r in self._requests], dtype=np.float64)
        speeds = np.array([r.decode_tps for r in self._requests], dtype=np.float64)
        end = deepest_shown([r.depth for r in self._requests], self._n_ctx)
        top = stepped_maximum(max(float(speeds.max(initial=0.0)), self._predicted or 0.0), PlotUnit.SPEED)
        self._chart.set_y(top, y_ticks(top, PlotUnit.SPEED))
        self._chart.set_x_from_zero(end, [(x, number_text(round(x))) for x in (0, end / 2, end)])
        self._chart.set_points(0, depths, speeds)
        self._chart.set_line(0, self._predicted)
        self._empty.setVisible(not self._requests)
        self._tell()

    def _tell(self) -> None:
        newest = self._requests[-1] if self._requests else None
        label = say("run.depth_newest", depth=newest.depth) if newest else ""
        value = value_text(newest.decode_tps if newest else None, PlotUnit.SPEED)
        predicted = f"{say('plot.plan')} {value_text(self._predicted, PlotUnit.SPEED)}" if self._predicted else None
        entry = LegendEntry(_COLOR, label, value, predicted=predicted, is_main=True)
        self._legend.set_entries([entry] if label or predicted else [])
        self._value.setText(value)
        self.setAccessibleDescription(self._legend.words)

    def rows(self) -> list[tuple[tuple[str, str], ...]]:
        """The table, the newest request first: (as words, as a plain number) of each column."""
        return [
            (
                (number_text(r.depth), str(r.depth)),
                _speed(r.decode_tps),
                _count(r.decode_tokens),
                _speed(r.prompt_tps),
                _count(r.prompt_tokens),
            )
            for r in reversed(self._requests)
        ]

    @Slot()
    def show_numbers(self) -> None:
        """Open the table (not modal; a second call brings it to the front with new numbers)."""
        if self._dialog is None:
            model = RowsModel([say(f"run.depth_column.{name}") for name in _COLUMNS])
            self._dialog = NumbersDialog(self._title, model, lambda: model.set_rows(self.rows()), self)
        self._dialog.open_anew()

    @Slot()
    def _on_theme_changed(self) -> None:
        tokens = self._theme.tokens
        self._chart.set_colors(tokens, [tokens.series[_COLOR]], tabular(scaled(self.font(), 0.85)))

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self._draw()


def _speed(value: float | None) -> tuple[str, str]:
    return value_text(value, PlotUnit.SPEED), "" if value is None else f"{value:.10g}"


def _count(value: int | None) -> tuple[str, str]:
    return ("—", "") if value is None else (number_text(value), str(value))
