"""The tree of one column: mouse, keyboard, drag and drop. Moves nothing itself, asks."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QDrag,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractItemView, QTreeView, QWidget
from typing_extensions import override

from app.planner.types import Card
from app.ui.board.card_delegate import CardDelegate, CardShape
from app.ui.board.card_model import CARD_ROLE, CardModel, decode_ids, encode_ids
from app.ui.theme.manager import ThemeManager
from app.words import say


class CardView(QTreeView):
    """Shows a ``CardModel``.

    Signals: ``step_requested(-1 or 1)`` move the selection to the device on the left or right; ``menu_requested`` with
    a global position; ``drag_hovered(ids)`` while cards are held over this column, ``drag_left`` when they are gone.
    """

    step_requested = Signal(int)
    menu_requested = Signal(QPoint)
    drag_hovered = Signal(object)
    drag_left = Signal()

    def __init__(self, model: CardModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "cards")
        self._delegate = CardDelegate(self.font(), self)
        self.setItemDelegate(self._delegate)
        self.setModel(model)
        self._set_up_look()
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.CopyAction)
        self.setDropIndicatorShown(False)
        self.setAutoScroll(True)

    def _set_up_look(self) -> None:
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(18)
        self.setAnimated(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.viewport().setAutoFillBackground(False)

    @property
    def cards(self) -> CardModel:
        """The model."""
        model = self.model()
        assert isinstance(model, CardModel)
        return model

    def selected_ids(self) -> tuple[str, ...]:
        """Ids of the selected cards, in the order of the column."""
        return self.cards.ids(self.selectionModel().selectedIndexes())

    def movable_ids(self) -> tuple[str, ...]:
        """Ids of the selected cards that may be moved at all."""
        indexes = self.selectionModel().selectedIndexes()
        return self.cards.ids(i for i in indexes if self.cards.flags(i) & Qt.ItemFlag.ItemIsDragEnabled)

    def select_only(self, index: QModelIndex) -> None:
        """Make a row current, selected and visible, and put the keyboard there."""
        self.setCurrentIndex(index)
        self.scrollTo(index)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def shape_at(self, index: QModelIndex | QPersistentModelIndex) -> CardShape:
        """Where the parts of a row's card lie."""
        return self._delegate.shape(self.visualRect(index), index)

    # Qt overrides.

    @override
    def drawBranches(self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex) -> None:
        """Nothing: the card draws its own arrow."""

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            shape = self.shape_at(index)
            at = event.position().toPoint()
            if shape.chevron.contains(at) and self.cards.rowCount(index) > 0:
                self.setExpanded(index, not self.isExpanded(index))
                event.accept()
                return
            card: Card = index.data(CARD_ROLE)
            if shape.button.contains(at) and card.movable and self.selectionModel().isSelected(index):
                self.menu_requested.emit(self.viewport().mapToGlobal(shape.button.bottomLeft()))
                event.accept()
                return
        super().mousePressEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if alt and key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.step_requested.emit(1 if key == Qt.Key.Key_Right else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.setExpanded(self.currentIndex(), not self.isExpanded(self.currentIndex()))
        else:
            super().keyPressEvent(event)
            return
        event.accept()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.selected_ids():
            at = event.globalPos()
            if event.reason() is QContextMenuEvent.Reason.Keyboard:
                at = self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center())
            self.menu_requested.emit(at)
        event.accept()

    @override
    def startDrag(self, supportedActions: Qt.DropAction) -> None:
        ids = self.movable_ids()
        if not ids:
            return
        drag = QDrag(self)
        drag.setMimeData(encode_ids(ids))
        drag.setPixmap(self._drag_picture(len(ids)))
        drag.setHotSpot(QPoint(16, 16))
        drag.exec(Qt.DropAction.CopyAction)

    def _drag_picture(self, n_cards: int) -> QPixmap:
        """A small label that travels with the pointer: the card's title, or how many cards."""
        tokens = ThemeManager.of_app().tokens
        text = str(self.currentIndex().data()) if n_cards == 1 else say("board.drag.many", n=n_cards)
        metrics = QFontMetrics(self.font())
        width, height = metrics.horizontalAdvance(text) + 24, metrics.height() + 14
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(round(width * ratio), round(height * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self.font())
        painter.setBrush(tokens.color("selection"))
        painter.setPen(QPen(tokens.color("focus"), 1))
        painter.drawRoundedRect(QRect(0, 0, width - 1, height - 1), 6, 6)
        painter.setPen(tokens.color("text"))
        painter.drawText(QRect(0, 0, width, height), int(Qt.AlignmentFlag.AlignCenter), text)
        painter.end()
        return pixmap

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        super().dragEnterEvent(event)
        self._tell_hover(event)

    @override
    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        self._tell_hover(event)

    @override
    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self.drag_left.emit()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        super().dropEvent(event)
        self.drag_left.emit()

    def _tell_hover(self, event: QDragMoveEvent) -> None:
        ids = decode_ids(event.mimeData())
        if ids:
            self.drag_hovered.emit(ids)
