"""The line under a plot's title: swatch, name, newest value and the plan's figure of each curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager

_SWATCH = 8
_GAP = 8


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One curve in words. ``predicted`` is the dashed line as text ("plan 11.0 GiB"), None when there is none.

    ``is_main``: its value stands large beside the plot's title, so the line does not repeat it.
    """

    color_index: int
    label: str
    value: str
    note: str = ""
    predicted: str | None = None
    is_main: bool = False

    @property
    def words(self) -> str:
        """'CUDA0 10.9 GiB, allocated · plan 11.0 GiB'."""
        text = f"{self.label} {self.value}" + (f" {self.note}" if self.note else "")
        return text if self.predicted is None else f"{text} · {self.predicted}"


class Legend(QWidget):
    """Painted, not made of labels: it changes twice a second and must never move its neighbours."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: tuple[LegendEntry, ...] = ()
        self.setFont(tabular(scaled(self.font(), 0.88)))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.theme_changed.connect(self.update)

    @property
    def words(self) -> str:
        """Every entry in one line of text."""
        return "; ".join(entry.words for entry in self._entries)

    def set_entries(self, entries: Sequence[LegendEntry]) -> None:
        """Show these; nothing is done when nothing changed."""
        if tuple(entries) == self._entries:
            return
        self._entries = tuple(entries)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance("0") * 24, self.fontMetrics().height() + 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip:  # made when somebody asks, not at each change
            self.setToolTip("\n".join(entry.words for entry in self._entries))
        return bool(super().event(event))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = 0.0
        colors = self._theme.tokens.series
        for entry in self._entries:
            if x >= self.width():
                break
            x = self._paint_entry(painter, entry, x, colors[entry.color_index % len(colors)])

    def _paint_entry(self, painter: QPainter, entry: LegendEntry, x: float, color: QColor) -> float:
        middle = self.height() / 2
        shown = (entry.label, "" if entry.is_main else entry.value, entry.note)
        words = " ".join(part for part in shown if part)
        if words:  # a colour alone says nothing
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawRoundedRect(QRectF(x, middle - _SWATCH / 2, _SWATCH, _SWATCH), 2, 2)
            x = self._paint_text(painter, words, x + _SWATCH + 4)
        if entry.predicted is not None:
            x += 6 if words else 0
            painter.setPen(QPen(color, 1.5, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, middle), QPointF(x + 11, middle))
            x = self._paint_text(painter, entry.predicted, x + 14)
        return x + _GAP

    def _paint_text(self, painter: QPainter, text: str, x: float) -> float:
        room = int(self.width() - x)
        shown = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(0, room))
        painter.setPen(self._theme.tokens.color("text_dim"))
        box = QRectF(x, 0, max(0, room), self.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        return x + self.fontMetrics().horizontalAdvance(shown)
