"""Draws a card: coloured edge, title, dim second line, size in figures of equal width."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem
from typing_extensions import override

from app.common.units import size_text
from app.planner.types import Card
from app.ui.board.budget import TOKENS, part_of_role
from app.ui.board.card_model import CARD_ROLE, CardModel
from app.ui.board.card_text import side_note, subtitle
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.icons import draw_icon
from app.ui.theme.manager import ThemeManager
from app.ui.theme.tokens import Tokens

Index = QModelIndex | QPersistentModelIndex

EDGE = 4
RADIUS = 5.0
SMALL = 0.9
BUTTON = 24
"""Side of the move button: the smallest target that WCAG 2.2 (2.5.8) allows."""


@dataclass(frozen=True, slots=True)
class CardShape:
    """Where the parts of one card lie, in the view's coordinates."""

    card: QRect
    chevron: QRect
    button: QRect
    text: QRect
    size: QRect


def card_shape(row: QRect, size_width: int, note_width: int, *, is_child: bool) -> CardShape:
    """Divide a row. ``size_width``: what the figures need; ``note_width``: what the dim text under them needs."""
    card = row.adjusted(1, 1, -2, -(3 if is_child else 5))
    chevron = QRect(card.left() + EDGE, card.top(), 24, card.height())
    size = QRect(card.right() - 10 - size_width, card.top(), size_width, card.height())
    right_part = card.right() - 10 - max(size_width, note_width)
    button = QRect(right_part - BUTTON - 6, card.center().y() - BUTTON // 2 + 1, BUTTON, BUTTON)
    text = QRect(chevron.right() + 2, card.top(), size.left() - chevron.right() - 12, card.height())
    return CardShape(card, chevron, button, text, size)


class CardDelegate(QStyledItemDelegate):
    """Paints rows of a ``CardModel``; holds no state but the fonts."""

    def __init__(self, font: QFont, parent: QObject) -> None:
        super().__init__(parent)
        self._font = font
        self._small = tabular(scaled(font, SMALL))
        self._figures = tabular(font)

    def shape(self, row: QRect, index: Index) -> CardShape:
        """The parts of a row, for painting and for the mouse."""
        card: Card = index.data(CARD_ROLE)
        is_child = index.parent().isValid()
        width = QFontMetrics(self._figures).horizontalAdvance(size_text(card.n_bytes)) + 2
        note = "" if is_child else self._side_note(card, index)
        note_width = QFontMetrics(self._small).horizontalAdvance(note) + 2 if note else 0
        return card_shape(row, width, note_width, is_child=is_child)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        line = QFontMetrics(self._font).height()
        if index.parent().isValid():
            return QSize(80, max(line + 8, BUTTON) + 4)
        return QSize(80, line + QFontMetrics(self._small).height() + 9 + 6)

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        card: Card | None = index.data(CARD_ROLE)
        if card is None:
            return
        row: QRect = option.rect
        state: QStyle.StateFlag = option.state
        tokens = ThemeManager.of_app().tokens
        shape = self.shape(row, index)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_frame(painter, shape, state, tokens, card)
        model = index.model()
        if model.rowCount(index) > 0:
            self._paint_chevron(painter, shape.chevron, tokens, is_open=bool(state & QStyle.StateFlag.State_Open))
        elif not card.movable and not index.parent().isValid():
            lock = QRectF(0, 0, 13, 13)
            lock.moveCenter(QPointF(shape.chevron.center()))
            draw_icon(painter, "lock", lock, tokens.color("text_dim"))
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        button = is_selected and card.movable
        if index.parent().isValid():
            self._paint_one_line(painter, shape, tokens, index, card, button=button)
        else:
            self._paint_two_lines(painter, shape, tokens, index, card, button=button)
        if button:
            self._paint_button(painter, shape.button, tokens)
        painter.restore()

    def _side_note(self, card: Card, index: Index) -> str:
        model = index.model()
        return side_note(card, model.facts) if isinstance(model, CardModel) else ""

    def _subtitle(self, card: Card, index: Index) -> str:
        model = index.model()
        return subtitle(card, model.facts) if isinstance(model, CardModel) else ""

    def _paint_frame(
        self, painter: QPainter, shape: CardShape, state: QStyle.StateFlag, tokens: Tokens, card: Card
    ) -> None:
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        focused = bool(state & QStyle.StateFlag.State_HasFocus)
        fill = "selection" if selected else "hover" if hovered else "panel"
        outline = QRectF(shape.card).adjusted(0.5, 0.5, -0.5, -0.5)
        path = QPainterPath()
        path.addRoundedRect(outline, RADIUS, RADIUS)
        painter.fillPath(path, tokens.color(fill))
        painter.save()
        painter.setClipPath(path)
        edge = QRectF(outline.left(), outline.top(), EDGE, outline.height())
        painter.fillRect(edge, tokens.color(TOKENS[part_of_role(card.role)]))
        painter.restore()
        width = 2.0 if focused else 1.0
        color = tokens.color("focus" if focused or selected else "line")
        inset = (width - 1) / 2
        painter.setPen(QPen(color, width))
        painter.drawRoundedRect(outline.adjusted(inset, inset, -inset, -inset), RADIUS, RADIUS)

    def _paint_chevron(self, painter: QPainter, rect: QRect, tokens: Tokens, *, is_open: bool) -> None:
        box = QRectF(0, 0, 14, 14)
        box.moveCenter(QRectF(rect).center())
        draw_icon(painter, "chevron-down" if is_open else "chevron-right", box, tokens.color("text_dim"))

    def _paint_button(self, painter: QPainter, rect: QRect, tokens: Tokens) -> None:
        painter.setPen(QPen(tokens.color("line"), 1))
        painter.setBrush(tokens.color("panel"))
        painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        draw_icon(painter, "move", QRectF(rect).adjusted(4, 4, -4, -4), tokens.color("accent"))

    def _paint_two_lines(
        self, painter: QPainter, shape: CardShape, tokens: Tokens, index: Index, card: Card, *, button: bool
    ) -> None:
        above = QFontMetrics(self._font).height()
        below = QFontMetrics(self._small).height()
        top = shape.card.top() + (shape.card.height() - above - below) // 2
        note = self._side_note(card, index)
        under = QRect(shape.card.right() - 10, top + above, 0, below)
        if note:
            under.setLeft(under.right() - QFontMetrics(self._small).horizontalAdvance(note) - 2)
        first = QRect(shape.text.left(), top, 0, above)
        first.setRight((shape.button.left() if button else shape.size.left()) - 8)
        second = QRect(shape.text.left(), top + above, 0, below)
        second.setRight((shape.button.left() if button else min(under.left(), shape.size.left())) - 8)
        size = QRect(shape.size.left(), top, shape.size.width(), above)
        if not note:
            size = QRect(shape.size.left(), shape.card.top(), shape.size.width(), shape.card.height())
        _text(painter, first, self._font, tokens.color("text"), str(index.data()))
        _text(painter, second, self._small, tokens.color("text_dim"), self._subtitle(card, index))
        _text(painter, size, self._figures, tokens.color("text"), size_text(card.n_bytes), right=True)
        if note:
            _text(painter, under, self._small, tokens.color("text_dim"), note, right=True)

    def _paint_one_line(
        self, painter: QPainter, shape: CardShape, tokens: Tokens, index: Index, card: Card, *, button: bool
    ) -> None:
        text = str(index.data())
        end = shape.button.left() - 6 if button else shape.size.left() - 10
        used = QFontMetrics(self._font).horizontalAdvance(text) + 10
        first = QRect(shape.text.left(), shape.card.top(), end - shape.text.left(), shape.card.height())
        _text(painter, first, self._font, tokens.color("text"), text)
        rest = first.adjusted(used, 0, 0, 0)
        if rest.width() > 40:
            _text(painter, rest, self._small, tokens.color("text_dim"), self._subtitle(card, index))
        _text(painter, shape.size, self._figures, tokens.color("text"), size_text(card.n_bytes), right=True)


def _text(painter: QPainter, rect: QRect, font: QFont, color: QColor, text: str, *, right: bool = False) -> None:
    """One line, vertically centred, shortened to fit."""
    painter.setFont(font)
    painter.setPen(color)
    shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, max(0, rect.width()))
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    painter.drawText(rect, int(side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), shown)
