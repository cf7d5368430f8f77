"""One card of facts: label, value, source, how sure; an unknown value stands with what would reveal it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.ui.theme.fonts import scaled, tabular
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say
from app.work.machine_facts import Fact, FactGroup

_SELECTABLE = Qt.TextInteractionFlag.TextSelectableByMouse
_LABEL_WIDTH, _LONG_LABEL = 15, 22
_LINES, _GAP = 3, 6
"""A fact takes a line, one for its hint across the source, and a gap."""
_LIVE = ("free_bytes", "available_bytes")
"""Facts that grow old: their age stands beside them."""


class ConfidenceMark(QLabel):
    """A word in a rounded box: measured, estimated, unknown. What was simply told has none."""

    def __init__(self, confidence: str, parent: QWidget | None = None) -> None:
        super().__init__(say(f"confidence.{confidence}"), parent)
        self.setProperty("look", "chip")
        self.setFont(scaled(self.font(), 0.85))
        self.setToolTip(say(f"confidence.{confidence}.tip"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)


class FactCard(CardFrame):
    """Rows are made once; a new snapshot makes new cards."""

    def __init__(self, group: FactGroup, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=8)
        self._group = group
        self._ages: list[QLabel] = []
        self.setAccessibleName(group.title)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(SectionTitle(group.title))
        if group.subtitle:
            head.addWidget(DimLabel(group.subtitle))
        head.addStretch(1)
        self.body.addLayout(head)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        last_hint = ""
        for row, fact in enumerate(group.facts):
            self._add_row(row, fact, show_hint=fact.hint != last_hint)
            last_hint = fact.hint
        self.body.addLayout(self._grid)
        self._extra: dict[str, QWidget] = {}

    @property
    def group(self) -> FactGroup:
        """What the card shows."""
        return self._group

    def set_age(self, text: str) -> None:
        """How old the figures of free memory are; "" hides it."""
        for label in self._ages:
            label.setText(text)

    def set_extra(self, fact: Fact) -> None:
        """A line below the others for what is no part of a snapshot; a newer one takes the older one's place."""
        old = self._extra.pop(fact.key, None)
        if old is not None:
            self.body.removeWidget(old)
            old.hide()
            old.deleteLater()
        line = self._extra[fact.key] = QWidget()
        grid, self._grid = self._grid, QGridLayout(line)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        self._add_row(0, fact, show_hint=True)
        self._grid = grid
        self.body.addWidget(line)

    def _add_row(self, row: int, fact: Fact, *, show_hint: bool) -> None:
        """A hint that the line above has given already is spoken, but not shown again."""
        label = DimLabel(fact.label, wrap=len(fact.label) > _LONG_LABEL)
        label.setMinimumWidth(label.fontMetrics().horizontalAdvance("0") * _LABEL_WIDTH)
        top, first = Qt.AlignmentFlag.AlignTop, row * _LINES
        self._grid.addWidget(label, first, 0, top)
        self._grid.addLayout(self._value_cell(fact), first, 1)
        if fact.source:
            source = DimLabel(fact.source)
            source.setAlignment(Qt.AlignmentFlag.AlignRight | top)
            source.setToolTip(say(f"confidence.{fact.confidence}.tip"))
            self._grid.addWidget(source, first, 2, top)
        if fact.hint and show_hint:
            self._grid.addWidget(DimLabel(fact.hint, wrap=True), first + 1, 1, 1, 2)
        self._grid.setRowMinimumHeight(first + 2, _GAP)

    def _value_cell(self, fact: Fact) -> QHBoxLayout:
        value = QLabel(fact.value if fact.value is not None else "—")
        value.setFont(tabular(value.font()))
        value.setWordWrap(True)
        value.setTextInteractionFlags(_SELECTABLE)
        if fact.value is None:
            value.setProperty("look", "dim")
        shown = fact.value if fact.value is not None else say("machine.value.unknown")
        spoken = [f"{fact.label}: {shown}", fact.source, say(f"confidence.{fact.confidence}"), fact.hint]
        value.setAccessibleName(". ".join(part for part in spoken if part))
        cell = QHBoxLayout()
        cell.setContentsMargins(0, 0, 0, 0)
        cell.setSpacing(8)
        value.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        beside: list[QLabel] = []
        if fact.key.rpartition(".")[2] in _LIVE and fact.value is not None:
            beside.append(DimLabel())
            self._ages.append(beside[0])
        if fact.confidence != "told":
            beside.append(ConfidenceMark(fact.confidence))
        value.setWordWrap(not beside)
        cell.addWidget(value, 0 if beside else 1)
        for label in beside:
            cell.addWidget(label, 0, Qt.AlignmentFlag.AlignVCenter)
        if beside:
            cell.addStretch(1)
        return cell
