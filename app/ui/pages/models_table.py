"""The table of model files: sorted by any column, filtered by words, opened with Enter or a double click."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import (
    QModelIndex,
    QObject,
    QRegularExpression,
    QSortFilterProxyModel,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget
from typing_extensions import override

from app.common.units import size_text
from app.planner.file_verdict import RUNS, VerdictKind
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.words import say
from app.work.library.types import Entry, EntryRole
from app.work.library.words import entry_speed_words, entry_words, size_class

COLUMNS = ("name", "size", "quant", "params", "verdict", "speed", "source")
_RIGHT = frozenset({"size", "speed"})
_RANK = {kind: rank for rank, kind in enumerate(VerdictKind)}
_WORST = len(_RANK)
_STEP = 100_000.0
"""Between two verdicts in the order; within one, the fastest first, then those with the fewest experts in RAM."""
_SORT = Qt.ItemDataRole.UserRole
_WORDS = Qt.ItemDataRole.UserRole + 1
_OK, _SLOW, _BAD = "●", "◐", "✕"


class Shown(StrEnum):
    """Which files the table shows; ``models.shown.<value>`` are the words."""

    RUNNING = "running"
    MODELS = "models"
    ALL = "all"


class EntriesModel(QStandardItemModel):
    """The entries as rows.

    Everything a cell answers lies in Qt's own memory. A model that asks Python for each of a thousand cells waits every
    time until the search that runs beside it lets Python go, and a window that is drawn meanwhile stands still.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(0, len(COLUMNS), parent)
        self._rows: tuple[Entry, ...] = ()
        self.setHorizontalHeaderLabels([say(f"models.column.{name}") for name in COLUMNS])
        for section in range(len(COLUMNS)):
            self.horizontalHeaderItem(section).setTextAlignment(_alignment(section))

    def set_rows(self, rows: tuple[Entry, ...]) -> None:
        """Show these; new ones behind the known ones, and known ones with another verdict, leave the selection and the
        scroll bar where they are."""
        old = self._rows
        if len(rows) < len(old) or not all(map(_is_same_file, rows, old)):
            old = ()
            self.removeRows(0, self.rowCount())
        self._rows = rows
        changed = [row for row, (new, known) in enumerate(zip(rows, old, strict=False)) if new is not known]
        self._change([row for row in changed if rows[row] != old[row]])
        for entry in rows[len(old) :]:
            self.appendRow(_items(entry))

    def entry(self, row: int) -> Entry:
        """The entry of a row."""
        return self._rows[row]

    @Slot()
    def use_colors(self) -> None:
        """The theme has changed."""
        self._change(list(range(len(self._rows))))

    def _change(self, rows: list[int]) -> None:
        """Fill rows anew; told once for each stretch of neighbours, not for each value of each cell."""
        if not rows:
            return
        self.blockSignals(True)
        for row in rows:
            for column in range(len(COLUMNS)):
                _fill(self.item(row, column), self._rows[row], column)
        self.blockSignals(False)
        for first, last in _stretches(rows):
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))


def _items(entry: Entry) -> list[QStandardItem]:
    """One row."""
    made = []
    for column in range(len(COLUMNS)):
        item = QStandardItem()
        item.setEditable(False)
        item.setData(_alignment(column), Qt.ItemDataRole.TextAlignmentRole)
        _fill(item, entry, column)
        made.append(item)
    return made


def _fill(item: QStandardItem, entry: Entry, column: int) -> None:
    """Everything that one cell answers."""
    name = COLUMNS[column]
    text = _drawable(text_of(entry, name))
    item.setText(text)
    item.setData(_sort_key(entry, name, text), _SORT)
    item.setToolTip(_drawable(entry_words(entry) if name == "verdict" else "\n".join(entry.summary.files)))
    item.setAccessibleText(f"{say(f'models.column.{name}')}: {text}")
    if name == "verdict":
        item.setForeground(ThemeManager.of_app().tokens.color(_tone(entry)))
    if column == 0:
        item.setData(_haystack(entry), _WORDS)


def _is_same_file(new: Entry, known: Entry) -> bool:
    return new is known or (new.path == known.path and new.name == known.name)


def _stretches(rows: list[int]) -> list[tuple[int, int]]:
    """Neighbouring rows as (first, last)."""
    found: list[tuple[int, int]] = []
    for row in rows:
        if found and row == found[-1][1] + 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found


def text_of(entry: Entry, column: str) -> str:
    """What a cell says."""
    summary = entry.summary
    if column == "name":
        return entry.name
    if column == "size":
        return size_text(summary.file_bytes)
    if column == "quant":
        return summary.quant or "—"
    if column == "params":
        return size_class(summary.parameters, summary.active_parameters)
    if column == "verdict":
        return f"{_mark(entry)} {_short(entry)}"
    return entry_speed_words(entry) if column == "speed" else say(f"library.source.{entry.source.value}")


def _short(entry: Entry) -> str:
    """A problem's whole sentence is for the line below the table; here its kind is enough."""
    if entry.summary.problem is not None:
        return say(f"library.role.{entry.summary.role.value}")
    verdict = entry.verdict
    if verdict is not None and verdict.kind is VerdictKind.TOO_BIG and not verdict.is_first:
        return say("models.too_big", missing=verdict.missing_bytes)
    return entry_words(entry)


def _mark(entry: Entry) -> str:
    """A sign beside the colour."""
    if not entry.is_model or entry.verdict is None:
        return "·" if entry.summary.problem is None else _BAD
    if not entry.verdict.runs:
        return _BAD
    return _OK if entry.verdict.runs_well else _SLOW


def _tone(entry: Entry) -> str:
    return {_OK: "ok", _SLOW: "warning", _BAD: "error"}.get(_mark(entry), "text_dim")


def _sort_key(entry: Entry, column: str, text: str) -> float | str:
    """Numbers of one kind in a column: Qt compares by the kind of the left one."""
    summary, verdict = entry.summary, entry.verdict
    if column == "size":
        return float(summary.file_bytes)
    if column == "params":
        return float(summary.parameters or 0)
    if column == "speed":
        return 0.0 if verdict is None or verdict.decode_tps is None else verdict.decode_tps
    if column == "verdict":
        if not entry.is_model:
            return (_WORST + list(EntryRole).index(summary.role) + 1) * _STEP
        if verdict is None:
            return _WORST * _STEP
        slowness = _STEP - 1 - min(verdict.decode_tps or 0.0, _STEP - 2)
        return _RANK[verdict.kind] * _STEP + slowness + min(verdict.expert_layers_in_ram or 0, 999) / 1000
    return text.lower()


def _haystack(entry: Entry) -> str:
    """What words are looked for in, behind the marks of the kinds that show the entry."""
    marks = "".join(_mark_of(shown) for shown in Shown if _is_shown(entry, shown))
    words = (marks, entry.path, *(text_of(entry, column) for column in COLUMNS), entry.summary.title)
    return _drawable(" ".join(words))


def _drawable(text: str) -> str:
    """Without what is no text (a name that is not UTF-8): Qt neither draws nor searches it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _mark_of(shown: Shown) -> str:
    """No key types this character."""
    return f"\x01{shown.value}\x01"


def _alignment(section: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if COLUMNS[section] in _RIGHT else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class EntryFilter(QSortFilterProxyModel):
    """Rows that hold every word, of the kind that is shown. Qt sorts and filters by itself (see ``EntriesModel``)."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setSortRole(_SORT)
        self.setFilterRole(_WORDS)
        self.setFilterKeyColumn(0)
        self.setDynamicSortFilter(True)
        self.set_filter("", Shown.MODELS)

    def set_filter(self, text: str, shown: Shown) -> None:
        """Words in any order; which kinds."""
        parts = (_mark_of(shown), *text.split())
        pattern = "^" + "".join(f"(?=.*{QRegularExpression.escape(part)})" for part in parts)
        options = QRegularExpression.PatternOption
        flags = options.CaseInsensitiveOption | options.DotMatchesEverythingOption
        self.setFilterRegularExpression(QRegularExpression(pattern, flags))


def _is_shown(entry: Entry, shown: Shown) -> bool:
    if shown is Shown.ALL:
        return True
    if shown is Shown.RUNNING:
        return entry.is_model and entry.verdict is not None and entry.verdict.kind in RUNS
    return entry.summary.role in (EntryRole.MODEL, EntryRole.UNFINISHED, EntryRole.UNREADABLE)


class ModelsTable(QTableView):
    """``opened(path: str)``: Enter or a double click on a model. ``selected`` when another row is current.
    ``seen(paths)``: the rows that can be seen are others."""

    opened = Signal(object)  # Qt's text would lose a name that is no text
    selected = Signal()
    seen = Signal(tuple)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries = EntriesModel(self)
        self.filter = EntryFilter(self)
        self.filter.setSourceModel(self.entries)
        self.setModel(self.filter)
        self.setAccessibleName(say("models.table"))
        self.setFont(tabular(scaled(self.font(), 0.96)))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSortingEnabled(True)
        self.sortByColumn(COLUMNS.index("verdict"), Qt.SortOrder.AscendingOrder)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 10)
        self._set_up_header()
        self._last_seen: tuple[str, ...] = ()
        ThemeManager.of_app().theme_changed.connect(self.entries.use_colors)
        self.doubleClicked.connect(self._on_double_click)
        self.selectionModel().currentRowChanged.connect(self.selected)

    def _set_up_header(self) -> None:
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setResizeContentsPrecision(40)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(self.fontMetrics().horizontalAdvance("0") * 7)

    @property
    def current(self) -> Entry | None:
        """The entry of the current row."""
        index = self.currentIndex()
        return self.entries.entry(self.filter.mapToSource(index).row()) if index.isValid() else None

    def fit_columns(self) -> None:
        """As wide as what they hold. Not left to the header, which would measure all cells with every new row."""
        for column in range(1, len(COLUMNS)):
            self.resizeColumnToContents(column)

    def tell_seen(self) -> None:
        """Say which files can be seen now, where that has changed."""
        bottom = self.viewport().height()
        first, last = self.rowAt(0), self.rowAt(max(0, bottom - 1))
        rows = range(max(0, first), self.filter.rowCount() if last < 0 else last + 1)
        source = (self.filter.mapToSource(self.filter.index(row, 0)).row() for row in rows)
        paths = tuple(self.entries.entry(row).path for row in source)
        if paths != self._last_seen:
            self._last_seen = paths
            self.seen.emit(paths)

    @override
    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        if dy:
            self.tell_seen()

    @Slot(QModelIndex)
    def _on_double_click(self, _: QModelIndex) -> None:
        self.open_current()

    def open_current(self) -> None:
        """Open the model of the current row; another kind of file is not opened."""
        entry = self.current
        if entry is not None and entry.is_model:
            self.opened.emit(entry.path)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_current()
            return
        super().keyPressEvent(event)
