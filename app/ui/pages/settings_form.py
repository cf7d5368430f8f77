"""The parts that the settings page is made of: cards with labelled rows."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QLayout, QWidget

from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, SectionTitle

_LABEL_CHARACTERS = 16
_WHOLE_CELL = Qt.AlignmentFlag(0)


class FormCard(CardFrame):
    """A title and rows: a label, its control, and a note under it. The label is the control's buddy and name."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=8)
        self.setAccessibleName(title)
        self.body.addWidget(SectionTitle(title))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(1, 1)
        self.body.addLayout(self._grid)

    def add_row(self, label: str, control: QWidget | QLayout, note: str = "") -> QLabel:
        """Add a row; returns its label."""
        row = self._grid.rowCount()
        caption = QLabel(label)
        caption.setMinimumWidth(caption.fontMetrics().horizontalAdvance("0") * _LABEL_CHARACTERS)
        self._grid.addWidget(caption, row, 0)
        if isinstance(control, QWidget):
            caption.setBuddy(control)
            control.setAccessibleName(label)
            self._grid.addWidget(control, row, 1, _WHOLE_CELL if _wraps(control) else Qt.AlignmentFlag.AlignLeft)
        else:
            self._grid.addLayout(control, row, 1)
        if note:
            self._grid.addWidget(DimLabel(note, wrap=True), row + 1, 1)
        return caption

    def add_wide(self, widget: QWidget) -> None:
        """Add something that needs the whole width."""
        self.body.addWidget(widget)


def _wraps(control: QWidget) -> bool:
    """Is it text, or does it hold text? Aligned, that would wrap at its first guess and be cut off."""
    layout = control.layout()
    return isinstance(control, QLabel) or (layout is not None and layout.hasHeightForWidth())
