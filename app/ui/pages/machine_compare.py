"""Two machines side by side: every fact of both, what differs marked, both verdicts."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.diagnose.machine import judgement_sentences
from app.diagnose.machine_upgrades import Judgement
from app.hardware.types import HardwareSnapshot
from app.ui.theme.fonts import tabular
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.frames import Rule, ScrollCard
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.ui.widgets.tick_box import TickBox
from app.words import say, sentences
from app.work.machine_compare import CompareRow, compare_machines
from app.work.machine_facts import Fact

_SIZE = QSize(1000, 640)
_MARK = "≠"


class CompareMachines(QDialog):
    """The shown machine on the left, the file's on the right. Rows that differ carry a mark and bold values, so that
    colour is not needed to see them."""

    def __init__(
        self, shown: HardwareSnapshot, other: HardwareSnapshot, path: str, *, is_here: bool, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.rows = compare_machines(shown, other)
        self._names = (
            say("compare_machines.here" if is_here else "compare_machines.shown"),
            PurePath(path.replace("\\", "/")).name,
        )
        self._machines = (shown, other)
        self.setWindowTitle(say("compare_machines.title"))
        self.setModal(False)
        self.resize(_SIZE.boundedTo(parent.window().size() - QSize(40, 60)))
        n = sum(row.differs for row in self.rows)
        count = say("compare_machines.count", n=n, total=len(self.rows)) if n else say("compare_machines.same")
        self.only_differences = TickBox(say("compare_machines.only_differences"))
        self.only_differences.setChecked(n > 0)
        self.only_differences.toggled.connect(self._fill)
        close = PlainButton(say("compare_machines.close"))
        close.clicked.connect(self.close)
        top = QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(DimLabel(count))
        top.addStretch(1)
        top.addWidget(self.only_differences)
        top.addWidget(close)
        self._card = ScrollCard(say("compare_machines.title"))
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 16)
        column.setSpacing(8)
        column.addLayout(top)
        column.addWidget(self._card, 1)
        self._verdicts: tuple[str, ...] = ("…", "…")
        self._fill()

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Both verdicts, left and right."""
        return self._verdicts

    def show_verdicts(self, judgements: tuple[Judgement, ...]) -> None:
        """The verdicts have been worked out."""
        pairs = zip(self._machines, judgements, strict=True)
        self._verdicts = tuple(
            sentences(say(s.code, **s.params) for s in judgement_sentences(machine, judgement))
            for machine, judgement in pairs
        )
        self._fill()

    @Slot()
    def _fill(self) -> None:
        shown = [row for row in self.rows if row.differs or not self.only_differences.isChecked()]
        self._card.set_content(_Table(self._names, self._verdicts, shown))


class _Table(QWidget):
    """Mark, fact, left, right."""

    def __init__(self, names: tuple[str, str], verdicts: tuple[str, ...], rows: list[CompareRow]) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(14, 10, 14, 14)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(5)
        for column, share in enumerate((0, 3, 5, 5)):
            self._grid.setColumnStretch(column, share)
        self._row = 0
        self._add(("", "", *names), is_head=True)
        self._add(("", say("compare_machines.verdict"), *verdicts))
        group = ""
        for row in rows:
            if row.group != group:
                group = row.group
                self._grid.addWidget(Rule(), self._row, 0, 1, 4)
                self._grid.addWidget(SectionTitle(group), self._row + 1, 0, 1, 4)
                self._row += 2
            self._add((_MARK if row.differs else "", row.label, _text(row.left), _text(row.right)), bold=row.differs)
        self._grid.setRowStretch(self._row, 1)

    def _add(self, texts: tuple[str, ...], *, is_head: bool = False, bold: bool = False) -> None:
        for column, text in enumerate(texts):
            label: QLabel = SectionTitle(text) if is_head or (bold and column != 1) else QLabel(text)
            if column == 1:
                label = DimLabel(text)
            label.setFont(tabular(label.font()))
            label.setWordWrap(column > 1)
            label.setTextFormat(Qt.TextFormat.PlainText)  # names out of a file are no markup
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._grid.addWidget(label, self._row, column, Qt.AlignmentFlag.AlignTop)
        self._row += 1


def _text(fact: Fact | None) -> str:
    if fact is None:
        return say("compare_machines.none")
    return say("machine.value.unknown") if fact.value is None else fact.value
