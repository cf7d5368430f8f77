"""Plan against engine: each buffer that the plan predicted beside the one that the engine reported."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QHeaderView, QLabel, QTableView, QWidget
from typing_extensions import override

from app.common.problem import Problem
from app.common.units import KIB, MIB, size_text
from app.diagnose.buffers import BufferRow
from app.ui.pages.run_words import Told
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import SectionTitle, set_look
from app.words import ENTRIES, say, say_problem

_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_COLUMNS = ("device", "what", "predicted", "actual", "difference", "check")
_NUMBERS = (2, 3, 4)
_SHOWN_IN_KIB = MIB // 10


def difference_text(row: BufferRow) -> str:
    """'+2.0 MiB', '0', or an em dash when the engine did not say."""
    if row.actual_bytes is None:
        return "—"
    difference = row.actual_bytes - row.predicted_bytes
    if difference == 0:
        return "0"
    sign = "+" if difference > 0 else "−"
    if abs(difference) < _SHOWN_IN_KIB:
        return f"{sign}{max(1, round(abs(difference) / KIB))} KiB"
    return f"{sign}{size_text(abs(difference))}"


def check_told(row: BufferRow) -> Told:
    """Tick or cross, in words."""
    if row.actual_bytes is None:
        return Told(say("run.check_unknown"), "dim")
    if row.agrees is None:
        return Told(say("run.check_not_judged"), "dim")
    return Told(say("run.check_agrees"), "ok") if row.agrees else Told(say("run.check_differs"), "error")


def summary_told(rows: Sequence[BufferRow]) -> Told:
    """One sentence over all rows."""
    judged = [row for row in rows if row.agrees is not None]
    if not rows:
        return Told("")
    if not judged:
        return Told(say("run.checks_none"), "dim")
    wrong = sum(1 for row in judged if not row.agrees)
    if wrong:
        return Told(say("run.checks_differ", wrong=wrong, n=len(judged)), "error")
    return Told(say("run.checks_agree", n=len(judged)), "ok")


class BufferModel(QAbstractTableModel):
    """The rows as cached texts."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[BufferRow, ...] = ()
        self._texts: list[tuple[str, ...]] = []
        self._tones: list[str] = []

    def set_rows(self, rows: Sequence[BufferRow]) -> None:
        """Replace all rows; nothing is done when they are the same."""
        if tuple(rows) == self._rows:
            return
        self.beginResetModel()
        self._rows = tuple(rows)
        self._texts = [_texts(row) for row in rows]
        self._tones = [check_told(row).tone for row in rows]
        self.endResetModel()

    def refresh_colors(self) -> None:
        """The theme changed."""
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(_COLUMNS) - 1))

    @override
    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(_COLUMNS)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._texts[index.row()][index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == len(_COLUMNS) - 1:
            token = {"dim": "text_dim"}.get(self._tones[index.row()], self._tones[index.row()])
            return QBrush(ThemeManager.of_app().tokens.color(token))
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return say(f"run.column_{_COLUMNS[section]}")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return None


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in _NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _texts(row: BufferRow) -> tuple[str, ...]:
    code = f"run.what_{row.what}"
    what = say(code) if code in ENTRIES else row.what
    actual = size_text(row.actual_bytes)
    return (row.device, what, size_text(row.predicted_bytes), actual, difference_text(row), check_told(row).text)


class BufferPane(CardFrame):
    """The table with its one-sentence result."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=10, spacing=4)
        self._model = BufferModel()
        self._model.setParent(self)
        self._summary = QLabel()
        self._empty = QLabel(say("run.buffers_empty"))
        self._empty.setProperty("look", "dim")
        self._empty.setWordWrap(True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._table = self._make_table()
        self._findings = QLabel()
        self._findings.setWordWrap(True)
        self._findings.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_look(self._findings, "warning")
        head = QHBoxLayout()
        head.addWidget(SectionTitle(say("run.buffers")))
        head.addStretch(1)
        head.addWidget(self._summary)
        self.body.addLayout(head)
        self.body.addWidget(self._findings)
        self.body.addWidget(self._empty, 1)
        self.body.addWidget(self._table, 1)
        self.set_rows(())
        ThemeManager.of_app().theme_changed.connect(self._model.refresh_colors)

    def _make_table(self) -> QTableView:
        table = QTableView()
        table.setModel(self._model)
        table.setFont(tabular(scaled(self.font(), 0.95)))
        table.setAccessibleName(say("run.buffers"))
        table.setShowGrid(False)
        table.setFrameShape(QTableView.Shape.NoFrame)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setTabKeyNavigation(False)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 4)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # a figure is never shortened
        header.setSectionResizeMode(_COLUMNS.index("what"), QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)
        return table

    @property
    def model(self) -> BufferModel:
        """The rows."""
        return self._model

    @property
    def findings(self) -> str:
        """What else is otherwise than planned; empty when nothing is."""
        return self._findings.text()

    @property
    def summary(self) -> str:
        """The result in words."""
        return self._summary.text()

    def set_rows(self, rows: Sequence[BufferRow], findings: Sequence[Problem] = ()) -> None:
        """Show these; none = the run has not told yet. ``findings``: what else is otherwise than planned."""
        self._model.set_rows(rows)
        told = summary_told(rows)
        self._findings.setText("\n".join(say_problem(problem) for problem in findings))
        self._findings.setVisible(bool(findings))
        self._summary.setText(told.text)
        set_look(self._summary, told.tone)
        self._empty.setVisible(not rows)
        self._table.setVisible(bool(rows))
