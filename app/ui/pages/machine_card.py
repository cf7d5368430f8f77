"""One card of facts: label, value, source; an unknown value stands with what would reveal it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.ui.pages.machine_facts import Fact, FactGroup
from app.ui.theme.fonts import tabular
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say

_SELECTABLE = Qt.TextInteractionFlag.TextSelectableByMouse


class FactCard(CardFrame):
    """Rows are made once; a new snapshot makes new cards."""

    def __init__(self, group: FactGroup, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=8)
        self._group = group
        self.setAccessibleName(group.title)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(SectionTitle(group.title))
        if group.subtitle:
            head.addWidget(DimLabel(group.subtitle))
        head.addStretch(1)
        self.body.addLayout(head)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        last_hint = ""
        for row, fact in enumerate(group.facts):
            self._add_row(row, fact, show_hint=fact.hint != last_hint)
            last_hint = fact.hint
        self.body.addLayout(self._grid)

    @property
    def group(self) -> FactGroup:
        """What the card shows."""
        return self._group

    def _add_row(self, row: int, fact: Fact, *, show_hint: bool) -> None:
        """A hint that the line above has given already is spoken, but not shown again."""
        label = DimLabel(fact.label)
        label.setMinimumWidth(label.fontMetrics().horizontalAdvance("0") * 16)
        value = QLabel(fact.value if fact.value is not None else say("machine.value.unknown"))
        value.setFont(tabular(value.font()))
        value.setWordWrap(True)
        value.setTextInteractionFlags(_SELECTABLE)
        value.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        if fact.value is None:
            value.setProperty("look", "dim")
        spoken = [f"{fact.label}: {value.text()}", fact.source, fact.hint]
        value.setAccessibleName(". ".join(part for part in spoken if part))
        source = DimLabel(fact.source)
        source.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        cell = QGridLayout()
        cell.setContentsMargins(0, 0, 0, 0)
        cell.setSpacing(0)
        cell.addWidget(value, 0, 0)
        if fact.hint and show_hint:
            hint = DimLabel(fact.hint, wrap=True)
            cell.addWidget(hint, 1, 0)
        top = Qt.AlignmentFlag.AlignTop
        self._grid.addWidget(label, row, 0, top)
        self._grid.addLayout(cell, row, 1)
        self._grid.addWidget(source, row, 2, top)
