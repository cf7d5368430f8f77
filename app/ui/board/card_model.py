"""The cards of one column as a tree model: card > block > gate / up / down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol

from PySide6.QtCore import (
    QAbstractItemModel,
    QByteArray,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from typing_extensions import override

from app.common.problem import Problem
from app.planner.types import Card
from app.ui.board.card_diff import match_cards
from app.ui.board.card_text import ModelFacts, spoken, subtitle, title

_NO_INDEX = QModelIndex()

MIME_TYPE = "application/x-lanewise-cards"
CARD_ROLE = int(Qt.ItemDataRole.UserRole) + 1

Index = QModelIndex | QPersistentModelIndex


class MoveRules(Protocol):
    """What the model asks before a drop; the session answers."""

    def can_move(self, ids: tuple[str, ...], device: str) -> Problem | None:
        """Why a move would be refused; None when it is fine."""


def encode_ids(ids: Iterable[str]) -> QMimeData:
    """Card ids as drag data."""
    data = QMimeData()
    data.setData(MIME_TYPE, QByteArray(json.dumps(list(ids)).encode("utf-8")))
    return data


def decode_ids(data: QMimeData) -> tuple[str, ...]:
    """The card ids of drag data; empty for anything that is not ours, whatever it calls itself."""
    if not data.hasFormat(MIME_TYPE):
        return ()
    try:
        ids = json.loads(bytes(data.data(MIME_TYPE).data()).decode("utf-8"))
    except (ValueError, RecursionError):
        return ()
    return tuple(str(card_id) for card_id in ids) if isinstance(ids, list) else ()


class _Node:
    """One row. Indexes carry ``key``, a plain number: nothing dangles when Python collects a node."""

    __slots__ = ("card", "children", "key", "parent")

    def __init__(self, key: int, card: Card | None, parent: _Node | None) -> None:
        self.key = key
        self.card = card
        self.parent = parent
        self.children: list[_Node] = []


class CardModel(QAbstractItemModel):
    """Shows cards, changes nothing: a drop becomes ``move_requested(ids, device)`` and the session decides.

    ``set_cards`` inserts, removes and changes rows and never resets, so open cards stay open.
    """

    move_requested = Signal(object, str)

    def __init__(self, device: str, rules: MoveRules, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._device = device
        self._rules = rules
        self._facts = ModelFacts()
        self._root = _Node(0, None, None)
        self._nodes: dict[int, _Node] = {0: self._root}
        self._next_key = 1

    @property
    def device(self) -> str:
        """The column's device."""
        return self._device

    @property
    def facts(self) -> ModelFacts:
        """What the cards' words need of the model."""
        return self._facts

    def set_cards(self, cards: Sequence[Card], facts: ModelFacts) -> None:
        """Show these cards, with as few row changes as possible."""
        words_changed = facts != self._facts
        self._facts = facts
        self._sync(self._root, cards, words_changed)

    def card(self, index: Index) -> Card | None:
        """The card of a row."""
        return self._node(index).card

    def ids(self, indexes: Iterable[Index]) -> tuple[str, ...]:
        """The ids of rows, each once, in the order of the column."""
        rows = {index.internalId(): index for index in indexes if index.isValid()}
        ordered = sorted(rows.values(), key=self._path)
        return tuple(card.id for card in map(self.card, ordered) if card is not None)

    def find(self, card_id: str) -> QModelIndex:
        """The row of an id at any level; an invalid index when the column has none."""
        for node in self._nodes.values():
            if node.card is not None and node.card.id == card_id:
                return self._index_of(node)
        return QModelIndex()

    def find_holding(self, tensor_names: Iterable[str]) -> QModelIndex:
        """The top-level row that holds any of these tensors: where a moved card went when it joined its neighbours."""
        wanted = set(tensor_names)
        for node in self._root.children:
            if node.card is not None and not wanted.isdisjoint(node.card.tensor_names):
                return self._index_of(node)
        return QModelIndex()

    # Model interface.

    @override
    def index(self, row: int, column: int, parent: Index = _NO_INDEX) -> QModelIndex:
        children = self._node(parent).children
        if column != 0 or not 0 <= row < len(children):
            return QModelIndex()
        return self.createIndex(row, 0, children[row].key)

    @override
    def parent(self, index: Index = _NO_INDEX) -> QModelIndex:  # type: ignore[override]
        # QObject.parent() and QAbstractItemModel.parent(index) share a name; Qt means the latter here.
        above = self._node(index).parent if index.isValid() else None
        return QModelIndex() if above is None else self._index_of(above)

    @override
    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return len(self._node(parent).children)

    @override
    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 1

    @override
    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        card = self.card(index)
        if card is None:
            return None
        is_child = index.parent().isValid()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return title(card, is_child=is_child)
            case Qt.ItemDataRole.ToolTipRole:
                return subtitle(card, self._facts)
            case Qt.ItemDataRole.AccessibleTextRole:
                return spoken(card, self._facts, self._device, is_child=is_child)
            case _ if role == CARD_ROLE:
                return card
        return None

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        card = self.card(index)
        if card is None:
            return Qt.ItemFlag.ItemIsDropEnabled
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDropEnabled
        return flags | Qt.ItemFlag.ItemIsDragEnabled if card.movable else flags

    # Drag and drop: copies only, so that the view never deletes the rows it thinks it moved.

    @override
    def mimeTypes(self) -> list[str]:
        return [MIME_TYPE]

    @override
    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        return encode_ids(self.ids(indexes))

    @override
    def supportedDragActions(self) -> Qt.DropAction:
        return Qt.DropAction.CopyAction

    @override
    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.CopyAction

    @override
    def canDropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        ids = decode_ids(data)
        if not ids or action is not Qt.DropAction.CopyAction or self._holds_all(ids):
            return False
        return self._rules.can_move(ids, self._device) is None

    @override
    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        if not self.canDropMimeData(data, action, row, column, parent):
            return False
        self.move_requested.emit(decode_ids(data), self._device)
        return True

    def _holds_all(self, ids: tuple[str, ...]) -> bool:
        """Do all these cards lie in this column already?"""
        here = {node.card.id for node in self._nodes.values() if node.card is not None}
        return here.issuperset(ids)

    # Rows.

    def _node(self, index: Index) -> _Node:
        return self._nodes.get(index.internalId(), self._root) if index.isValid() else self._root

    def _index_of(self, node: _Node) -> QModelIndex:
        if node.parent is None:
            return QModelIndex()
        return self.createIndex(node.parent.children.index(node), 0, node.key)

    def _path(self, index: Index) -> tuple[int, ...]:
        node: _Node | None = self._node(index)
        rows: list[int] = []
        while node is not None and node.parent is not None:
            rows.append(node.parent.children.index(node))
            node = node.parent
        return tuple(reversed(rows))

    def _sync(self, node: _Node, cards: Sequence[Card], words_changed: bool) -> None:
        old = [child.card for child in node.children if child.card is not None]
        matched = match_cards(old, cards)
        kept = {i for i in matched if i is not None}
        self._remove(node, [row for row in range(len(old)) if row not in kept])
        self._insert(node, [j for j, i in enumerate(matched) if i is None], cards)
        for child, card, i in zip(node.children, cards, matched, strict=True):
            if i is None:
                continue
            before, child.card = child.card, card
            if before == card and not words_changed:
                continue
            index = self._index_of(child)
            self.dataChanged.emit(index, index)
            self._sync(child, card.children, words_changed)

    def _remove(self, node: _Node, rows: list[int]) -> None:
        for first, last in reversed(list(_stretches(rows))):
            self.beginRemoveRows(self._index_of(node), first, last)
            for child in node.children[first : last + 1]:
                self._forget(child)
            del node.children[first : last + 1]
            self.endRemoveRows()

    def _insert(self, node: _Node, rows: list[int], cards: Sequence[Card]) -> None:
        for first, last in _stretches(rows):
            self.beginInsertRows(self._index_of(node), first, last)
            node.children[first:first] = [self._make(card, node) for card in cards[first : last + 1]]
            self.endInsertRows()

    def _make(self, card: Card, parent: _Node) -> _Node:
        node = _Node(self._next_key, card, parent)
        self._next_key += 1
        self._nodes[node.key] = node
        node.children = [self._make(child, node) for child in card.children]
        return node

    def _forget(self, node: _Node) -> None:
        del self._nodes[node.key]
        for child in node.children:
            self._forget(child)


def _stretches(rows: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Ascending row numbers as (first, last) stretches of neighbours."""
    for _, group in groupby(enumerate(rows), key=lambda pair: pair[1] - pair[0]):
        members = [row for _, row in group]
        yield members[0], members[-1]
