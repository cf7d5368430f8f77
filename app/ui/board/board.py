"""The board: one column per active device and RAM, slim ones for devices that are off. A view of the session's plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from app.common.later import later
from app.planner.types import RAM, Card, Plan
from app.ui.board.card_text import ModelFacts, title
from app.ui.board.column import BoardColumn, device_title, in_sentence
from app.ui.board.free_age import FreeAge
from app.ui.board.off_column import OffColumn
from app.words import say, say_problem

if TYPE_CHECKING:
    from app.session.app_session import AppSession
    from app.work.vram_users import users_text
else:
    users_text = later("app.work.vram_users", "users_text")


@dataclass(frozen=True, slots=True)
class _Pending:
    """A move that was asked for: where the focus goes once the plan has followed."""

    ids: tuple[str, ...]
    tensor_names: frozenset[str]
    device: str
    text: str


class Board(QWidget):
    """Sends wishes (moves, switches) to the session and follows ``plan_changed``.

    Signals: ``announced(text)`` what a move led to; ``selection_changed`` after ``selected_cards`` changed.
    """

    announced = Signal(str)
    selection_changed = Signal()

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._columns: dict[str, BoardColumn] = {}
        self._off: dict[str, OffColumn] = {}
        self._pending: _Pending | None = None
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(12)
        self._menu = QMenu(self)
        self._menu.triggered.connect(self._on_menu_action)
        session.verification_changed.connect(self.refresh_verification)
        session.vram_users.changed.connect(self._show_users)

    @property
    def columns(self) -> tuple[BoardColumn, ...]:
        """The active columns, left to right."""
        return tuple(self._columns.values())

    @property
    def off_columns(self) -> tuple[OffColumn, ...]:
        """The slim columns of devices that are off."""
        return tuple(self._off.values())

    def column(self, device: str) -> BoardColumn:
        """The active column of a device; KeyError when there is none."""
        return self._columns[device]

    def selected_cards(self) -> tuple[Card, ...]:
        """The selected cards; they lie in one column."""
        for column in self._columns.values():
            cards = [column.model.card(i) for i in column.view.selectionModel().selectedIndexes()]
            if cards:
                return tuple(card for card in cards if card is not None)
        return ()

    def refresh(self) -> None:
        """Follow the session's plan: new values in the widgets that are there; new widgets only for new devices."""
        plan = self._session.plan
        if plan is None:
            return
        self._match_columns(plan)
        # All bars first: repainting one paints whatever else is waiting, so nothing else may be waiting yet.
        for device in plan.devices.all:
            self._columns[device.name].show_estimate(device, plan.estimate.get(device.name))
        facts = ModelFacts.of(self._session.model)
        for device in plan.devices.all:
            cards = self._session.cards(device.name)
            self._columns[device.name].refresh(device, cards, facts, self._session.hardware)
        self.refresh_verification()  # what was learned from the answer changes the plan, not the answer
        self._follow_moved_card(plan)

    @Slot()
    def refresh_verification(self) -> None:
        """Show the engine's answer about this board, or that it is not valid any more."""
        result = self._session.verification
        told = {device.name: device for device in result.devices} if result is not None else {}
        plan = self._session.plan
        shown = {d.device: d for d in plan.estimate.devices} if plan is not None else {}
        for name, column in self._columns.items():
            column.show_check(told.get(name), shown.get(name))

    def request_move(self, ids: tuple[str, ...], device: str) -> None:
        """Ask the session to move cards; the keyboard, the menu, the panel and a drop all come here."""
        refusal = self._session.can_move(ids, device)
        if refusal is None:
            cards = [card for card in map(self._card_of, ids) if card is not None]
            names = frozenset(name for card in cards for name in card.tensor_names)
            self._pending = _Pending(ids, names, device, self._moved_text(cards))
        else:
            self._announce(say_problem(refusal))  # on screen the session's message says it
        self._session.move_cards(ids, device)

    # Columns.

    def _match_columns(self, plan: Plan) -> None:
        """Make and drop columns so that they are those of the plan, in its order."""
        wanted = [device.name for device in plan.devices.all]
        wanted_off = [device.name for device in plan.devices.off]
        if wanted == list(self._columns) and wanted_off == list(self._off):
            return
        for name in [n for n in self._columns if n not in wanted]:
            _drop(self._layout, self._columns.pop(name))
        for name in [n for n in self._off if n not in wanted_off]:
            _drop(self._layout, self._off.pop(name))
        for device in plan.devices.all:
            if device.name not in self._columns:
                self._columns[device.name] = self._connected(BoardColumn(device, self._session, self))
        for device in plan.devices.off:
            if device.name not in self._off:
                self._off[device.name] = OffColumn(device, self)
                self._off[device.name].switch_requested.connect(self._on_switch_on)
        self._columns = {name: self._columns[name] for name in wanted}
        self._off = {name: self._off[name] for name in wanted_off}
        for place, column in enumerate(self._columns.values()):
            self._layout.insertWidget(place, column, 1)
        for off in self._off.values():
            self._layout.addWidget(off)

    @Slot()
    def _on_others_hovered(self) -> None:
        self._session.vram_users.ask()
        self._show_users()

    @Slot()
    def _show_users(self) -> None:
        """Who the other programs in VRAM are, for the tips of the bars."""
        users = self._session.vram_users
        for name, column in self._columns.items():
            told = users.of(name)
            asking = say("vram_users.asking") if users.is_asking and name != RAM else ""
            column.bar.set_others_note(asking if told is None else users_text(told))

    def _connected(self, column: BoardColumn) -> BoardColumn:
        column.bar.others_hovered.connect(self._on_others_hovered)
        FreeAge(self._session, column.device, column.status_label)
        column.move_requested.connect(self.request_move)
        column.step_requested.connect(self._on_step)
        column.menu_requested.connect(self._on_menu)
        column.hover_requested.connect(self._on_hover)
        column.switch_requested.connect(self._on_switch_off)
        column.selection_changed.connect(self._on_selection)
        return column

    # Wishes.

    @Slot(str, int)
    def _on_step(self, device: str, direction: int) -> None:
        names = list(self._columns)
        target = names.index(device) + direction
        ids = self._columns[device].view.movable_ids()
        if not 0 <= target < len(names):
            return
        if ids:
            self.request_move(ids, names[target])
        elif self._columns[device].view.selected_ids():
            self._say(say("board.fixed"))

    @Slot(str, QPoint)
    def _on_menu(self, device: str, position: QPoint) -> None:
        self.fill_menu(self._menu, device)
        self._menu.popup(position)

    def fill_menu(self, menu: QMenu, device: str) -> None:
        """Offer every other device for the selected cards of a column, with what it would take."""
        menu.clear()
        plan = self._session.plan
        ids = self._columns[device].view.movable_ids()
        if plan is None or not ids:
            action = menu.addAction(say("board.fixed"))
            action.setEnabled(False)
            return
        for other in plan.devices.all:
            if other.name != device:
                text, allowed = self.move_words(ids, other.name, device_title(other))
                action = menu.addAction(text)
                action.setEnabled(allowed)
                action.setData((ids, other.name))

    def move_words(self, ids: tuple[str, ...], device: str, name: str) -> tuple[str, bool]:
        """'Move to RAM' with what it needs, and whether it is allowed."""
        name = in_sentence(name)
        refusal = self._session.can_move(ids, device)
        if refusal is not None:
            return say("board.move.refused", device=name, reason=say_problem(refusal)), False
        cost = self._session.move_cost(ids, device)
        if cost is not None and cost > 0:
            return say("board.move.over", device=name, over=cost), True
        return say("board.move.to", device=name), True

    @Slot(QAction)
    def _on_menu_action(self, action: QAction) -> None:
        ids, device = action.data()
        self.request_move(tuple(ids), device)

    @Slot(object, str)
    def _on_hover(self, ids: tuple[str, ...], device: str) -> None:
        column = self._columns[device]
        if all(column.model.find(card_id).isValid() for card_id in ids):
            column.clear_hint()
            return
        refusal = self._session.can_move(ids, device)
        if refusal is not None:
            column.show_hint(say_problem(refusal), "error")
            return
        cost = self._session.move_cost(ids, device)
        if cost is not None and cost > 0:
            column.show_hint(say("board.hover.over", over=cost), "error")
        else:
            column.show_hint(say("board.hover.fits"), "ok")

    @Slot(str)
    def _on_switch_on(self, device: str) -> None:
        self._session.set_device_enabled(device, True)

    @Slot(str)
    def _on_switch_off(self, device: str) -> None:
        self._session.set_device_enabled(device, False)

    @Slot(str)
    def _on_selection(self, device: str) -> None:
        """One column at a time holds the selection, so that 'move to' has one meaning."""
        chosen = self._columns.get(device)
        if chosen is not None and chosen.view.selectionModel().hasSelection():
            for column in self._columns.values():
                if column is not chosen:
                    column.view.clearSelection()
        self.selection_changed.emit()

    # After a move.

    def _card_of(self, card_id: str) -> Card | None:
        for column in self._columns.values():
            index = column.model.find(card_id)
            if index.isValid():
                return column.model.card(index)
        return None

    def _moved_text(self, cards: list[Card]) -> str:
        return title(cards[0]) if len(cards) == 1 else say("board.drag.many", n=len(cards))

    def _follow_moved_card(self, plan: Plan) -> None:
        pending, self._pending = self._pending, None
        if pending is None or pending.device not in self._columns:
            return
        column = self._columns[pending.device]
        index = column.model.find(pending.ids[0])
        if not index.isValid() or (index.parent().isValid() and not column.view.isExpanded(index.parent())):
            index = column.model.find_holding(pending.tensor_names)
        if index.isValid():
            column.view.select_only(index)
        device = plan.devices.get(pending.device)
        self._say(say("board.moved", what=pending.text, device=device_title(device), status=column.status))

    def _say(self, text: str) -> None:
        """Tell the result in the status line and to a screen reader."""
        self.announced.emit(text)
        self._announce(text)

    def _announce(self, text: str) -> None:
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))


def _drop(layout: QHBoxLayout, widget: QWidget) -> None:
    layout.removeWidget(widget)
    widget.hide()
    widget.deleteLater()
