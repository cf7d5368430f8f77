"""The table of overrides: each ``-ot`` rule with what it hits in this file."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget
from typing_extensions import override

from app.planner.types import RAM, Override
from app.ui.theme.fonts import mono_font, scaled, tabular
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel
from app.words import say
from app.words.catalogue import number_text

Index = QModelIndex | QPersistentModelIndex

_NO_INDEX = QModelIndex()

_COLUMNS = ("pattern", "to", "hits", "mib", "checked")
_MAX_ROWS_SHOWN = 3


class OverrideModel(QAbstractTableModel):
    """The overrides of a plan."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Override, ...] = ()
        self._is_confirmed: bool | None = None
        self._mono = None if parent is None or not isinstance(parent, QWidget) else mono_font(parent.font())

    def set_rows(self, rows: tuple[Override, ...]) -> None:
        """Show these overrides."""
        if rows != self._rows:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def set_confirmed(self, is_confirmed: bool | None) -> None:
        """Did the engine's dry run put every moved tensor where the rules say? None: it has not been asked."""
        if is_confirmed is not self._is_confirmed:
            self._is_confirmed = is_confirmed
            if self._rows:
                last = len(_COLUMNS) - 1
                self.dataChanged.emit(self.index(0, last), self.index(len(self._rows) - 1, last))

    @override
    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(_COLUMNS)

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return say(f"plan.override.{_COLUMNS[section]}")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return None

    @override
    def data(self, index: Index, role: int = 0) -> object:
        if not index.isValid():
            return None
        rule = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(rule, index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 0:
            return rule.pattern
        if role == Qt.ItemDataRole.FontRole and index.column() == 0:
            return self._mono
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{say(f'plan.override.{_COLUMNS[index.column()]}')}: {self._text(rule, index.column())}"
        return None

    def _text(self, rule: Override, column: int) -> str:
        if column == 0:
            return rule.pattern
        if column == 1:
            return say("board.ram") if rule.device == RAM else rule.device
        if column == 2:
            return say("plan.override.tensors", n=rule.n_tensors)
        if column == 3:
            return mib_text(rule.n_bytes)
        if self._is_confirmed is None:
            return say("plan.override.unasked")
        return say("plan.override.confirmed" if self._is_confirmed else "plan.override.unconfirmed")


def mib_text(n_bytes: int) -> str:
    """MiB without the unit, with a decimal where whole ones would differ from the card's own figure: 7 722, 1.5."""
    mib = n_bytes / 1024**2
    return number_text(round(mib) if mib >= 10 else round(mib, 1))


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column >= 2 else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class OverridesCard(CardFrame):
    """The table, as high as its rows need (three at most), or a sentence when there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=6, spacing=0)
        self._none = DimLabel(say("plan.override.none"))
        self._none.setContentsMargins(6, 0, 6, 0)
        self.table = QTableView()
        self.table.setAccessibleName(say("plan.override.name"))
        self.model = OverrideModel(self.table)
        self.table.setModel(self.model)
        self._set_up_table()
        self.body.addWidget(self.table)
        self.body.addWidget(self._none)

    def _set_up_table(self) -> None:
        table = self.table
        table.setFont(tabular(scaled(self.font(), 0.95)))
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 6)
        table.verticalHeader().setMinimumSectionSize(8)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        table.setTabKeyNavigation(False)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(table.fontMetrics().horizontalAdvance("0") * 9)

    def show_rows(self, rows: tuple[Override, ...]) -> None:
        """Show the overrides of a plan."""
        self.model.set_rows(rows)
        self.table.setVisible(bool(rows))
        self._none.setVisible(not rows)
        shown = min(max(len(rows), 1), _MAX_ROWS_SHOWN)
        height = self.table.horizontalHeader().sizeHint().height()
        self.table.setFixedHeight(height + shown * self.table.verticalHeader().defaultSectionSize() + 3)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(200, super().minimumSizeHint().height())
