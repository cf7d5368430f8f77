"""A live chart with its title, its newest values in words, and the same numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QElapsedTimer, QSize, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.plots.chart import Chart
from app.ui.plots.data import FloatArray, Newest, Series, SeriesReader, highest, newest
from app.ui.plots.empty_note import EmptyNote
from app.ui.plots.legend import Legend, LegendEntry
from app.ui.plots.numbers import NumbersDialog, NumbersModel
from app.ui.plots.numbers_button import NumbersButton
from app.ui.plots.scale import PlotUnit, capacity_maximum, stepped_maximum, value_text, x_ticks, y_ticks
from app.ui.plots.value import ValueText
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.words import say

DEFAULT_SPAN_S = 120.0
_MOST_STILL_MS = 900
"""Curves that move by less than a pixel are drawn about once a second all the same: a new value is soon seen."""

_WIDEST = {PlotUnit.BYTES: "8 888 MiB", PlotUnit.SPEED: "88.8 tok/s", PlotUnit.PERCENT: "100 %"}
"""Room for the value from the start, so that the first number does not move its neighbours."""


class LivePlot(QWidget):
    """Draws the last minutes of a few series.

    Whoever knows of a new sample calls ``take_sample``, and only while the plot is seen. It owns no numbers: the reader
    is asked each time. ``capacity`` fixes the range (VRAM, RAM); without it the range moves in steps.
    ``head``: stands where the title would.
    """

    def __init__(
        self,
        title: str,
        unit: PlotUnit,
        reader: SeriesReader,
        theme: ThemeManager,
        parent: QWidget | None = None,
        *,
        head: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._title_text = title
        self._unit = unit
        self._reader = reader
        self._theme = theme
        self._series: tuple[Series, ...] = ()
        self._capacity: float | None = None
        self._maximum: float | None = None
        self._span_s = DEFAULT_SPAN_S
        self._is_live = True
        self._dialog: NumbersDialog | None = None
        self._drawn: list[tuple[FloatArray, FloatArray]] = []
        self._moved = QElapsedTimer()
        self._told: tuple[object, ...] = ()
        self._predicted: tuple[str | None, ...] = ()
        self._build(head)
        theme.theme_changed.connect(self._on_theme_changed)
        self.set_span(DEFAULT_SPAN_S)
        self._on_theme_changed()

    def _build(self, head: QWidget | None) -> None:
        title = head
        if title is None:
            title = QLabel(self._title_text)
            title.setFont(scaled(self.font(), 1.0, bold=True))
        self._value = ValueText(_WIDEST[self._unit])
        self._button = NumbersButton(self._theme, say("plot.numbers_of", title=self._title_text))
        self._button.clicked.connect(self.show_numbers)
        self._legend = Legend(self._theme)
        self._chart = Chart(self)
        self._empty = EmptyNote(self._chart, say("plot.no_data"))
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(title)
        row.addStretch(1)
        row.addWidget(self._value)
        row.addWidget(self._button)
        self._column = layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(row)
        layout.addWidget(self._legend)
        layout.addWidget(self._chart, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self._title_text)

    @property
    def chart(self) -> Chart:
        """The drawing surface."""
        return self._chart

    @property
    def maximum(self) -> float:
        """The upper end of the y axis."""
        return self._maximum or 0.0

    @property
    def words(self) -> str:
        """What the plot says now, as one line of text (also its accessible description)."""
        return self._legend.words

    def set_series(self, series: Sequence[Series], capacity: float | None = None) -> None:
        """Choose the curves; ``capacity`` is the size of what is measured, for a range that never moves."""
        self._series = tuple(series)
        self._capacity = capacity
        self._maximum = None
        self._predicted = tuple(self._predicted_text(one) for one in self._series)
        self._chart.set_curves(len(self._series))
        for i, one in enumerate(self._series):
            self._chart.set_line(i, one.predicted)
        self._on_theme_changed()
        self._draw_anew()

    def set_empty_text(self, text: str) -> None:
        """What stands in the chart while there is nothing to draw."""
        self._empty.say(text)

    def set_span(self, seconds: float) -> None:
        """Show the last ``seconds``."""
        self._span_s = seconds
        self._chart.set_x(seconds, x_ticks(seconds, is_over=not self._is_live))
        self._draw_anew()

    def set_live(self, is_live: bool) -> None:
        """The last picture of a finished run, or of one that goes on."""
        if is_live != self._is_live:
            self._is_live = is_live
            self._chart.set_x(self._span_s, x_ticks(self._span_s, is_over=not is_live))
            self._drawn, self._told = [], ()  # the words beside the curves are other ones too
        self.redraw()

    @Slot()
    def take_sample(self) -> None:
        """There is a new sample. The curves are drawn once they have moved by a pixel, and at least once a second; the
        figures beside them are always the newest."""
        pixel_ms = 1000 * self._span_s / max(1, self._chart.width())
        has_curves = self._moved.isValid() and any(values.size for _, values in self._drawn)
        if has_curves and not self._moved.hasExpired(round(min(pixel_ms, _MOST_STILL_MS))):
            self._show_values([newest(*self._reader(one.key, self._span_s)) for one in self._series])
        else:
            self.redraw()

    @Slot()
    def redraw(self) -> None:
        """Ask the reader for the newest numbers and draw them, unless the picture would be the same."""
        read = [self._reader(one.key, self._span_s) for one in self._series]
        if self._looks_the_same(read):
            return
        self._moved.start()
        self._drawn = read
        for i, (ages, values) in enumerate(read):
            self._chart.set_curve(i, ages, values)
        self._fit_range([values for _, values in read])
        self._show_values([newest(ages, values) for ages, values in read])
        is_empty = not any(values.size for _, values in read)
        if is_empty is self._empty.isHidden():
            self._empty.setVisible(is_empty)

    def _looks_the_same(self, read: Sequence[tuple[FloatArray, FloatArray]]) -> bool:
        """The same values, moved by less than a pixel: most redraws between two samples."""
        if len(read) != len(self._drawn) or not read:
            return False
        pixel_s = self._span_s / max(1, self._chart.width())
        return all(
            new.size == old.size
            and (new.size == 0 or abs(new[-1] - old[-1]) < pixel_s)
            and np.array_equal(values, old_values, equal_nan=True)
            for (new, values), (old, old_values) in zip(read, self._drawn, strict=True)
        )

    def _draw_anew(self) -> None:
        """Draw in any case: the curves, the range or the colours are other ones."""
        self._drawn, self._told = [], ()
        self.redraw()

    def numbers(self) -> tuple[tuple[Series, FloatArray, FloatArray], ...]:
        """The same numbers that are drawn: (series, seconds before now, values)."""
        return tuple((one, *self._reader(one.key, self._span_s)) for one in self._series)

    @Slot()
    def show_numbers(self) -> None:
        """Open the table of the numbers (not modal; a second call brings it to the front with new numbers)."""
        if self._dialog is None:
            model = NumbersModel(self._unit)
            self._dialog = NumbersDialog(self._title_text, model, lambda: model.set_numbers(self.numbers()), self)
        self._dialog.open_anew()

    def _fit_range(self, columns: Sequence[FloatArray]) -> None:
        peaks = [highest(values) for values in columns]
        peaks += [one.predicted for one in self._series if one.predicted is not None]
        peak = max(peaks, default=0.0)
        if self._capacity is not None:
            wanted = capacity_maximum(peak, self._capacity, self._maximum)
        else:
            wanted = stepped_maximum(peak, self._unit, self._maximum)
        if wanted != self._maximum:
            self._maximum = wanted
            self._chart.set_y(wanted, y_ticks(wanted, self._unit))

    def _show_values(self, values: Sequence[Newest]) -> None:
        """The first curve's value stands large; the legend tells the other ones, and every one to screen readers."""
        told = tuple((value_text(v.value, self._unit), v.is_current, v.is_current or f"{v.age_s:.0f}") for v in values)
        if told == self._told:
            return
        self._told = told
        entries = [
            self._entry(one, value, self._predicted[i], is_main=i == 0)
            for i, (one, value) in enumerate(zip(self._series, values, strict=True))
        ]
        self._legend.set_entries(entries)
        self._value.setText(entries[0].value if entries else "—")
        if self.accessibleDescription() != self._legend.words:
            self.setAccessibleDescription(self._legend.words)

    def _entry(self, series: Series, newest: Newest, predicted: str | None, *, is_main: bool) -> LegendEntry:
        """A level (bytes, percent) that is not read any more is unknown; a speed stays true of its moment."""
        is_shown = newest.is_current or self._unit is PlotUnit.SPEED
        value = newest.value if is_shown else None
        label = series.label
        if value is not None and not newest.is_current:
            label = say("plot.last" if self._is_live else "plot.last_before_end", ago=f"{newest.age_s:.0f}")
        elif series.is_moment and not self._is_live:
            label = say("plot.at_end")
        return LegendEntry(series.color_index, label, value_text(value, self._unit), series.note, predicted, is_main)

    def _predicted_text(self, series: Series) -> str | None:
        if series.predicted is None:
            return None
        return f"{series.predicted_name or say('plot.plan')} {value_text(series.predicted, self._unit)}"

    @Slot()
    def _on_theme_changed(self) -> None:
        tokens = self._theme.tokens
        colors = [tokens.series[one.color_index % len(tokens.series)] for one in self._series]
        self._chart.set_colors(tokens, colors, tabular(scaled(self.font(), 0.85)))

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw_anew()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._column.minimumSize().width(), self.fontMetrics().height() * 7)

    @override
    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance("0") * 26, metrics.height() * 9)
