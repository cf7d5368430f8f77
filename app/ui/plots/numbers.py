"""A plot's numbers as a table: for screen readers, for copying, for exact reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


class TableModel(QAbstractTableModel):
    """Something with rows that can be copied into a spreadsheet."""

    def __init__(self) -> None:
        super().__init__()
        self._titles: tuple[str, ...] = ()

    def text(self) -> str:
        """Everything as tab-separated text with plain numbers."""
        raise NotImplementedError

    def words_at(self, row: int, column: int) -> str:
        """One cell for people."""
        raise NotImplementedError

    def rows_told(self, n_rows: int) -> str:
        """How many rows there are, in words."""
        raise NotImplementedError

    @override
    def columnCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._titles)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return None
        return self.words_at(index.row(), index.column())

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role != Qt.ItemDataRole.DisplayRole or orientation is not Qt.Orientation.Horizontal:
            return None
        return self._titles[section]


class RowsModel(TableModel):
    """Fixed columns, a row for each thing; each cell in words and as a plain number."""

    def __init__(self, titles: Sequence[str]) -> None:
        super().__init__()
        self._titles = tuple(titles)
        self._rows: tuple[tuple[tuple[str, str], ...], ...] = ()

    def set_rows(self, rows: Sequence[tuple[tuple[str, str], ...]]) -> None:
        """Take a new snapshot."""
        self.beginResetModel()
        self._rows = tuple(rows)
        self.endResetModel()

    @override
    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def words_at(self, row: int, column: int) -> str:
        return self._rows[row][column][0]

    @override
    def rows_told(self, n_rows: int) -> str:
        return say("plot.request_rows", n=n_rows)

    @override
    def text(self) -> str:
        rows = ("\t".join(plain for _, plain in row) for row in self._rows)
        return "\n".join(("\t".join(self._titles), *rows)) + "\n"


class NumbersModel(TableModel):
    """Rows are moments, newest first; the first column is seconds before now."""

    def __init__(self, unit: PlotUnit) -> None:
        super().__init__()
        self._unit = unit
        self._units: tuple[PlotUnit, ...] = ()
        self._ages: FloatArray = np.empty(0)
        self._columns: tuple[FloatArray, ...] = ()

    def set_numbers(self, numbers: Numbers) -> None:
        """Take a new snapshot. Series are joined on the moments of all of them; a missing value is unknown."""
        self.beginResetModel()
        self._titles = (say("plot.age_column"), *(series.label for series, _, _ in numbers))
        self._units = tuple(series.unit or self._unit for series, _, _ in numbers)
        moments = [np.round(ages, 3) for _, ages, _ in numbers]
        self._ages = np.unique(np.concatenate(moments))[::-1] if moments else np.empty(0)
        self._columns = tuple(self._on_moments(at, values) for at, (_, _, values) in zip(moments, numbers, strict=True))
        self.endResetModel()

    def _on_moments(self, at: FloatArray, values: FloatArray) -> FloatArray:
        column = np.full(self._ages.size, np.nan)
        column[np.searchsorted(-self._ages, -at)] = values
        return column

    @override
    def text(self) -> str:
        head = "\t".join(self._titles)
        rows = (
            "\t".join((f"{age:.1f}", *("" if np.isnan(c[i]) else f"{c[i]:.10g}" for c in self._columns)))
            for i, age in enumerate(self._ages)
        )
        return "\n".join((head, *rows)) + "\n"

    @override
    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else int(self._ages.size)

    @override
    def words_at(self, row: int, column: int) -> str:
        if column == 0:
            return f"{self._ages[row]:.1f} s"
        return value_text(float(self._columns[column - 1][row]), self._units[column - 1])

    @override
    def rows_told(self, n_rows: int) -> str:
        return say("plot.rows", n=n_rows)


class NumbersDialog(QDialog):
    """A window with the table; it shows one moment, so that rows do not run away under the reader."""

    def __init__(self, title: str, model: TableModel, read: Callable[[], None], parent: QWidget) -> None:
        """``read`` puts the newest numbers into ``model``."""
        super().__init__(parent)
        self._read = read
        self._model = model
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
    def model(self) -> TableModel:
        """The table's content."""
        return self._model

    @Slot()
    def refresh(self) -> None:
        """Read the numbers again."""
        self._read()
        self._note.setText(self._model.rows_told(self._model.rowCount()))

    def open_anew(self) -> None:
        """With the newest numbers, in front of everything."""
        self.refresh()
        self.show()
        self.raise_()
        self.activateWindow()

    @Slot()
    def copy(self) -> None:
        """Put all rows on the clipboard, ready for a spreadsheet."""
        QGuiApplication.clipboard().setText(self._model.text())
        self._note.setText(say("plot.rows_copied", n=self._model.rowCount()))
