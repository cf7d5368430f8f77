"""The stacked bar on top of a column, and the legend under it that says the same in words."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPainterPath, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from app.ui.board.budget import TOKENS, Budget, Part, Segment, legend_number
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.ui.theme.tokens import Tokens
from app.words import say

_RADIUS = 3.0
_HATCH_STEP = 6


def hatch(painter: QPainter, rect: QRectF, color: QColor, width: float = 1.4) -> None:
    """Fill a rectangle with diagonal lines."""
    painter.save()
    painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(color, width))
    x = rect.left() - rect.height()
    while x < rect.right():
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()))
        x += _HATCH_STEP
    painter.restore()


class BudgetBar(QWidget):
    """One device's memory as stacked segments; over-full shows red beyond a mark at the capacity.

    Signal: ``others_hovered`` somebody wants to know what the other programs are (``set_others_note``).
    """

    others_hovered = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._budget: Budget | None = None
        self._others_note = ""
        self._tip_at: QPoint | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def budget(self) -> Budget | None:
        """What is shown."""
        return self._budget

    def set_budget(self, budget: Budget, name: str) -> None:
        """Show a budget; ``name`` is the column's."""
        if budget == self._budget:
            return
        self._budget = budget
        self.setAccessibleName(say("board.bar.name", device=name))
        self.setAccessibleDescription(budget.description)
        # At once and not with the next round of events: the bar follows the hand.
        self.repaint()

    def set_others_note(self, text: str) -> None:
        """Which programs the others are; a tip about them that is open follows."""
        if text == self._others_note:
            return
        self._others_note = text
        others = next((s for s, _ in self.stretches() if s.part is Part.OTHERS), None)
        if others is not None and self._tip_at is not None and QToolTip.isVisible() and self.underMouse():
            QToolTip.showText(self._tip_at, self.tip_of(others), self)

    def tip_of(self, segment: Segment) -> str:
        """Name and size; for the other programs, who they are."""
        if segment.part is Part.OTHERS and self._others_note:
            return f"{segment.sentence}\n{self._others_note}"
        return segment.sentence

    def stretches(self) -> list[tuple[Segment, QRectF]]:
        """Where each segment lies; every segment that holds anything is at least 2 units wide."""
        if self._budget is None:
            return []
        width, scale = float(self.width()), self._budget.scale_bytes
        result: list[tuple[Segment, QRectF]] = []
        before, x = 0, 0.0
        for segment in self._budget.segments:
            before += segment.n_bytes
            right = min(width, max(x + 2, float(round(width * before / scale))))
            result.append((segment, QRectF(x, 0, right - x, self.height())))
            x = right
        return result

    def segment_at(self, x: float) -> Segment | None:
        """The segment under a horizontal position."""
        return next((s for s, rect in self.stretches() if rect.left() <= x < rect.right()), None)

    @override
    def sizeHint(self) -> QSize:
        return QSize(120, self.fontMetrics().height() + 5)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens = ThemeManager.of_app().tokens
        outline = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        path = QPainterPath()
        path.addRoundedRect(QRectF(self.rect()), _RADIUS, _RADIUS)
        painter.fillRect(self.rect(), tokens.color("panel"))
        painter.setClipPath(path)
        painter.fillRect(self.rect(), tokens.color("chip"))
        if self._budget is None:
            return
        for segment, rect in self.stretches():
            self._paint_segment(painter, segment, rect, tokens)
        if self._budget.over_bytes > 0:
            self._paint_over(painter, tokens)
            painter.setClipping(False)
            painter.setPen(QPen(tokens.color("error"), 1.5))
            painter.drawRoundedRect(outline, _RADIUS, _RADIUS)

    def _paint_segment(self, painter: QPainter, segment: Segment, rect: QRectF, tokens: Tokens) -> None:
        color = tokens.color(TOKENS[segment.part])
        inner = rect.adjusted(0, 0, -1 if rect.width() > 3 and segment.part is not Part.FREE else 0, 0)
        if segment.part is Part.RESERVE:
            painter.fillRect(inner, tokens.color("chip"))
            hatch(painter, inner, tokens.blend("text_dim", "chip", 0.55))
        elif segment.part is Part.PROMPT_CACHE:
            painter.fillRect(inner, tokens.blend("kv_cache", "panel", 0.55))
        elif segment.part is not Part.FREE:
            painter.fillRect(inner, color)
        if rect.right() < self.width() and segment.part is not Part.FREE:
            painter.fillRect(QRectF(rect.right() - 1, rect.top(), 1, rect.height()), tokens.color("panel"))

    def _paint_over(self, painter: QPainter, tokens: Tokens) -> None:
        assert self._budget is not None
        share = 1 - self._budget.over_bytes / self._budget.scale_bytes
        x = round(self.width() * share)
        beyond = QRectF(x, 0, self.width() - x, self.height())
        veil = tokens.color("panel")
        veil.setAlphaF(0.68)
        painter.fillRect(beyond, veil)
        hatch(painter, beyond, tokens.color("error"), 2.0)
        painter.fillRect(QRectF(x - 1, 0, 2, self.height()), tokens.color("error"))

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            segment = self.segment_at(event.pos().x())
            is_others = segment is not None and segment.part is Part.OTHERS
            self._tip_at = event.globalPos() if is_others else None
            if is_others:
                self.others_hovered.emit()
            if segment is not None:
                QToolTip.showText(event.globalPos(), self.tip_of(segment), self)
            return True
        return super().event(event)


class Legend(QWidget):
    """Swatch, name and number of every segment, wrapping to the width."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._font = tabular(scaled(self.font(), 0.88))
        self._items: tuple[tuple[Part, str], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_budget(self, budget: Budget) -> None:
        """Show the numbers of a budget."""
        items = tuple(
            (s.part, f"{s.label} {legend_number(s.n_bytes, with_unit=i == 0)}") for i, s in enumerate(budget.segments)
        )
        if items == self._items:
            return
        self._items = items
        self.setAccessibleName("; ".join(text for _, text in items))
        self._fit_height()
        self.update()

    @property
    def texts(self) -> tuple[str, ...]:
        """The words that are drawn."""
        return tuple(text for _, text in self._items)

    def _placed(self, width: int) -> list[tuple[Part, str, QRect]]:
        metrics = QFontMetrics(self._font)
        swatch, line = metrics.ascent() - 3, self._line_height()
        placed: list[tuple[Part, str, QRect]] = []
        x = y = 0
        for part, text in self._items:
            need = swatch + 5 + metrics.horizontalAdvance(text)
            if x > 0 and x + need > width:
                x, y = 0, y + line
            placed.append((part, text, QRect(x, y, need, line)))
            x += need + 12
        return placed

    def _fit_height(self) -> None:
        """Exactly as high as the wrapped lines; a height-for-width policy would share spare room between siblings."""
        placed = self._placed(self.width())
        height = placed[-1][2].bottom() + 1 if placed else self._line_height()
        if height != self.height():
            self.setFixedHeight(height)

    def _line_height(self) -> int:
        return QFontMetrics(self._font).height() + 1

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_height()

    @override
    def sizeHint(self) -> QSize:
        return QSize(200, self._line_height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, self._line_height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._font)
        tokens = ThemeManager.of_app().tokens
        side = QFontMetrics(self._font).ascent() - 3
        for part, text, rect in self._placed(self.width()):
            box = QRectF(rect.left(), rect.center().y() - side / 2 + 1, side, side)
            self._paint_swatch(painter, part, box, tokens)
            painter.setPen(tokens.color("text_dim"))
            painter.drawText(rect.adjusted(side + 5, 0, 4, 0), int(Qt.AlignmentFlag.AlignVCenter), text)

    def _paint_swatch(self, painter: QPainter, part: Part, box: QRectF, tokens: Tokens) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        path = QPainterPath()
        path.addRoundedRect(box, 2, 2)
        if part is Part.PROMPT_CACHE:
            painter.fillPath(path, tokens.blend("kv_cache", "panel", 0.55))
        elif part in (Part.RESERVE, Part.FREE):
            painter.fillPath(path, tokens.color("chip"))
            if part is Part.RESERVE:
                hatch(painter, box, tokens.blend("text_dim", "chip", 0.55))
            painter.setPen(QPen(tokens.color("line"), 1))
            painter.drawPath(path)
        else:
            painter.fillPath(path, tokens.color(TOKENS[part]))
