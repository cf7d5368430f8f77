"""A plot's numbers as a table: for screen readers, for copying, for exact reading."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Slot
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.ui.plots.data import FloatArray, Series
from app.ui.plots.scale import PlotUnit, value_text
from app.words import say

Numbers = tuple[tuple[Series, FloatArray, FloatArray], ...]
_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class NumbersModel(QAbstractTableModel):
    """Rows are moments, newest first; the first column is seconds before now."""

    def __init__(self, unit: PlotUnit) -> None:
        super().__init__()
        self._unit = unit
        self._titles: tuple[str, ...] = ()
        self._ages: FloatArray = np.empty(0)
        self._columns: tuple[FloatArray, ...] = ()

    def set_numbers(self, numbers: Numbers) -> None:
        """Take a new snapshot. Series are joined on the moments of all of them; a missing value is unknown."""
        self.beginResetModel()
        self._titles = tuple(series.label for series, _, _ in numbers)
        moments = [np.round(ages, 3) for _, ages, _ in numbers]
        self._ages = np.unique(np.concatenate(moments))[::-1] if moments else np.empty(0)
        self._columns = tuple(self._on_moments(at, values) for at, (_, _, values) in zip(moments, numbers, strict=True))
        self.endResetModel()

    def _on_moments(self, at: FloatArray, values: FloatArray) -> FloatArray:
        column = np.full(self._ages.size, np.nan)
        column[np.searchsorted(-self._ages, -at)] = values
        return column

    def text(self) -> str:
        """Everything as tab-separated text with plain numbers, for a spreadsheet."""
        head = "\t".join((say("plot.age_column"), *self._titles))
        rows = (
            "\t".join((f"{age:.1f}", *("" if np.isnan(c[i]) else f"{c[i]:.10g}" for c in self._columns)))
            for i, age in enumerate(self._ages)
        )
        return "\n".join((head, *rows)) + "\n"

    @override
    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else int(self._ages.size)

    @override
    def columnCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else 1 + len(self._columns)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return None
        if index.column() == 0:
            return f"{self._ages[index.row()]:.1f} s"
        return value_text(float(self._columns[index.column() - 1][index.row()]), self._unit)

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role != Qt.ItemDataRole.DisplayRole or orientation is not Qt.Orientation.Horizontal:
            return None
        return say("plot.age_column") if section == 0 else self._titles[section - 1]


class NumbersDialog(QDialog):
    """A window with the table; it shows one moment, so that rows do not run away under the reader."""

    def __init__(self, title: str, unit: PlotUnit, source: Callable[[], Numbers], parent: QWidget) -> None:
        super().__init__(parent)
        self._source = source
        self._model = NumbersModel(unit)
        self._model.setParent(self)
        self.setWindowTitle(say("plot.numbers_of", title=title))
        self._table = QTableView()
        self._table.setModel(self._model)
        self._table.setAccessibleName(say("plot.numbers_of", title=title))
        self._table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self._table.verticalHeader().hide()
        self._note = QLabel()
        self._note.setProperty("look", "dim")
        layout = QVBoxLayout(self)
        layout.addWidget(self._table, 1)
        layout.addLayout(self._buttons())
        QShortcut(QKeySequence.StandardKey.Copy, self, self.copy)
        metrics = self.fontMetrics()
        self.resize(metrics.horizontalAdvance("0") * 70, metrics.height() * 24)

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addWidget(self._note, 1)
        for code, slot in (("plot.refresh", self.refresh), ("page.copy", self.copy), ("page.close", self.close)):
            button = QPushButton(say(code))
            button.clicked.connect(slot)
            row.addWidget(button)
        return row

    @property
    def model(self) -> NumbersModel:
        """The table's content."""
        return self._model

    @Slot()
    def refresh(self) -> None:
        """Read the numbers again."""
        self._model.set_numbers(self._source())
        self._note.setText(say("plot.rows", n=self._model.rowCount()))

    @Slot()
    def copy(self) -> None:
        """Put all rows on the clipboard, ready for a spreadsheet."""
        QGuiApplication.clipboard().setText(self._model.text())
        self._note.setText(say("plot.rows_copied", n=self._model.rowCount()))
