"""Sampled figures of any kind as one table, for what is shown in words or bars and has no curve of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.ui.plots.data import Series, SeriesReader
from app.ui.plots.numbers import NumbersDialog, NumbersModel
from app.ui.plots.scale import PlotUnit

SPAN_S = 600.0
"""What the table goes back: as far as the longest curve."""


class FiguresTable(QObject):
    """Opens the table over ``owner``; ``series`` is asked each time, since devices come and go with the plan."""

    def __init__(
        self, title: str, series: Callable[[], Sequence[Series]], reader: SeriesReader, owner: QWidget
    ) -> None:
        super().__init__(owner)
        self._title, self._series, self._reader, self._owner = title, series, reader, owner
        self.dialog: NumbersDialog | None = None

    @Slot()
    def show(self) -> None:
        """Open it, or bring it to the front with new numbers."""
        if self.dialog is None:
            model = NumbersModel(PlotUnit.PERCENT)
            self.dialog = NumbersDialog(self._title, model, lambda: self._fill(model), self._owner)
        self.dialog.open_anew()

    def _fill(self, model: NumbersModel) -> None:
        model.set_numbers(tuple((one, *self._reader(one.key, SPAN_S)) for one in self._series()))
