"""One column of the board: head, budget bar, legend, status line, cards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelection, QModelIndex, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from app.common.later import later
from app.common.units import size_text
from app.hardware.types import HardwareSnapshot
from app.planner.types import Card, Device, DeviceEstimate
from app.ui.board.budget import make_budget
from app.ui.board.budget_bar import BudgetBar, Legend
from app.ui.board.card_model import CardModel, MoveRules, decode_ids
from app.ui.board.card_text import ModelFacts
from app.ui.board.card_view import CardView
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import ElidedLabel, SectionTitle, set_look
from app.words import Language, current_language, say

if TYPE_CHECKING:
    from app.work.learned_memory import is_taken_over
    from app.work.verifying import VerifiedDevice
else:
    is_taken_over = later("app.work.learned_memory", "is_taken_over")

_MARKS = {"ok": "check", "error": "error"}
_MAKERS_WORDS = re.compile(r"^NVIDIA (?:GeForce )?|^AMD (?=Radeon)|\((?:R|TM)\)|(?<=Laptop) GPU$")


def short_name(name: str) -> str:
    """A card's name as people say it, "RTX 4080 Laptop": the column's head has more to tell than who made it."""
    return _MAKERS_WORDS.sub("", name).strip() or name


def device_title(device: Device) -> str:
    """The name in a column's head: RAM, or the graphics card's own name without the maker's."""
    return say("board.ram") if device.is_ram else (short_name(device.description) or device.name)


def in_sentence(name: str) -> str:
    """A name for the middle of a sentence: Chinese sets Latin names apart with a space, Chinese ones not."""
    return f" {name}" if current_language() is Language.ZH_CN and name[:1].isascii() else name


def device_facts(device: Device, hardware: HardwareSnapshot | None = None) -> str:
    """The dim line beside the name: engine name, size, what the memory or the link is; only what is known."""
    pieces = [] if device.is_ram or not device.description else [device.name]
    if device.total_bytes is not None:
        pieces.append(say("board.head.size", size=device.total_bytes / 1024**3))
    if device.is_ram:
        pieces.extend(_ram_facts(hardware))
    else:
        pieces.extend(_gpu_facts(device, hardware))
    return " · ".join(pieces)


def _ram_facts(hardware: HardwareSnapshot | None) -> list[str]:
    if hardware is None:
        return []
    memory = hardware.memory
    pieces: list[str] = []
    if memory.kind is not None:
        pieces.append(memory.kind if memory.speed_mts is None else f"{memory.kind}-{memory.speed_mts}")
    if memory.channels is not None:
        pieces.append(say("board.head.channels", n=memory.channels))
    if memory.measured_gbs is not None:
        pieces.append(say("board.head.measured", gbs=round(memory.measured_gbs)))
    return pieces


def _gpu_facts(device: Device, hardware: HardwareSnapshot | None) -> list[str]:
    gpu = next((g for g in hardware.gpus if g.engine_name == device.name), None) if hardware is not None else None
    if gpu is None or gpu.pcie_gen_max is None or gpu.pcie_width_max is None:
        return []
    return [say("board.head.pcie", gen=gpu.pcie_gen_max, width=gpu.pcie_width_max)]


class BoardColumn(CardFrame):
    """Shows one device. Signals carry the device's name, so that receivers need no closures.

    ``move_requested(ids, device)`` from a drop here; ``step_requested(device, -1 or 1)``, ``menu_requested(device,
    position)``, ``selection_changed(device)``, ``hover_requested(ids, device)``, ``switch_requested(device)``.
    """

    move_requested = Signal(object, str)
    step_requested = Signal(str, int)
    menu_requested = Signal(str, QPoint)
    selection_changed = Signal(str)
    hover_requested = Signal(object, str)
    switch_requested = Signal(str)

    def __init__(self, device: Device, rules: MoveRules, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=10, spacing=5)
        self.setAcceptDrops(True)
        self._device = device.name
        self._status: tuple[str, str] = ("", "dim")
        self._title = SectionTitle()
        self._facts = ElidedLabel()
        self._facts.setProperty("look", "dim")
        self._switch = IconButton("power", say("board.switch.off"), bare=True)
        self._switch.clicked.connect(self._on_switch)
        self._switch.setVisible(not device.is_ram)
        self.bar = BudgetBar()
        self.legend = Legend()
        self._line = QLabel()
        self._mark = QLabel()
        self._line.setWordWrap(True)
        self._check = QLabel()
        self._check.hide()
        self.model = CardModel(device.name, rules, self)
        self.view = CardView(self.model)
        self._build()
        self._connect()

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._title)
        head.addWidget(self._facts, 1)
        head.addWidget(self._switch)
        self._switch.setFixedHeight(self._title.sizeHint().height() + 4)
        self._title.setFixedHeight(self._switch.height())
        self.body.addLayout(head)
        self.body.addWidget(self.bar)
        self.body.addWidget(self.legend)
        status = QHBoxLayout()
        status.setSpacing(5)
        status.addWidget(self._mark, 0, Qt.AlignmentFlag.AlignVCenter)
        status.addWidget(self._line, 1)
        status.addWidget(self._check, 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(status)
        self.body.addSpacing(1)
        self.body.addWidget(self.view, 1)

    def _connect(self) -> None:
        ThemeManager.of_app().theme_changed.connect(self._refresh_mark)
        self.model.move_requested.connect(self.move_requested)
        self.view.step_requested.connect(self._on_step)
        self.view.menu_requested.connect(self._on_menu)
        self.view.drag_hovered.connect(self._on_hover)
        self.view.drag_left.connect(self.clear_hint)
        self.view.selectionModel().selectionChanged.connect(self._on_selection)

    @property
    def device(self) -> str:
        """The device's name."""
        return self._device

    @property
    def check(self) -> str:
        """What the engine said about this column; empty while it has not been asked."""
        return "" if self._check.isHidden() else self._check.text()

    @property
    def status_label(self) -> QLabel:
        """The status line."""
        return self._line

    def show_check(self, told: VerifiedDevice | None, estimate: DeviceEstimate | None = None) -> None:
        """The engine's own figure for this column beside ours; None takes it away (the board has changed).

        ``estimate``: what the board shows now; the engine's figures, once they were learned from this very answer.
        """
        if told is None or told.engine is None or told.difference is None:
            self._check.hide()
            return
        gap = f"{'+' if told.difference >= 0 else '−'}{size_text(abs(told.difference))}"
        is_taken = estimate is not None and is_taken_over(told, estimate)
        code = "board.check.agrees" if told.agrees else "board.check.taken" if is_taken else "board.check.differs"
        _set_text(self._check, say(code, engine=told.engine.total, gap=gap))
        self._check.setToolTip(say("board.check.tip", ours=told.ours.total, engine=told.engine.total))
        set_look(self._check, "dim" if told.agrees or is_taken else "error")
        self._check.show()

    @property
    def status(self) -> str:
        """The status line as it reads now."""
        return self._line.text()

    def show_estimate(self, device: Device, estimate: DeviceEstimate) -> None:
        """Repaint the bar for a new estimate, at once."""
        self.bar.set_budget(make_budget(estimate), device_title(device))

    def refresh(
        self, device: Device, cards: Sequence[Card], facts: ModelFacts, hardware: HardwareSnapshot | None
    ) -> None:
        """Show new values in the widgets that are there, and say in words what the bar shows."""
        name = device_title(device)
        _set_text(self._title, name)
        self._title.setToolTip(device.description if device.description != name else "")
        _set_text(self._facts, device_facts(device, hardware))
        self.view.setAccessibleName(say("board.cards.name", device=name))
        budget = self.bar.budget
        if budget is not None:
            self.legend.set_budget(budget)
            self._status = (budget.status, budget.status_look)
            self.clear_hint()
            self.body.activate()  # a legend of more lines: nothing is painted over the line below it meanwhile
        self.model.set_cards(cards, facts)

    def show_hint(self, text: str, look: str) -> None:
        """Show what a drop here would mean in place of the status line."""
        self._show_line(text, look)
        set_look(self, "card-over" if look == "error" else "card-target")

    @Slot()
    def clear_hint(self) -> None:
        """Show the status line again."""
        self._show_line(*self._status)
        set_look(self, "card")

    def _show_line(self, text: str, look: str) -> None:
        _set_text(self._line, text)
        set_look(self._line, look)
        if self._mark.property("mark") != look:
            self._mark.setProperty("mark", look)
            self._refresh_mark()

    @Slot()
    def _refresh_mark(self) -> None:
        """A tick or a cross beside the words, so that the colour is never alone."""
        look = str(self._mark.property("mark"))
        self._mark.setVisible(look in _MARKS)
        if look in _MARKS:
            icon = ThemeManager.of_app().icon(_MARKS[look], look, 14)
            self._mark.setPixmap(icon.pixmap(QSize(14, 14), self.devicePixelRatioF()))

    @Slot()
    def _on_switch(self) -> None:
        self.switch_requested.emit(self._device)

    @Slot(int)
    def _on_step(self, direction: int) -> None:
        self.step_requested.emit(self._device, direction)

    @Slot(QPoint)
    def _on_menu(self, position: QPoint) -> None:
        self.menu_requested.emit(self._device, position)

    @Slot(object)
    def _on_hover(self, ids: tuple[str, ...]) -> None:
        self.hover_requested.emit(ids, self._device)

    @Slot(QItemSelection, QItemSelection)
    def _on_selection(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        self.selection_changed.emit(self._device)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        """The legend has wrapped to the new width by now: what is below it moves before anything is painted."""
        super().resizeEvent(event)
        self.body.activate()

    # Cards may be dropped anywhere on the column, also on its head and bar. (Over the cards the view answers.)

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._answer_drag(event)

    @override
    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._answer_drag(event)

    @override
    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.clear_hint()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        self.clear_hint()
        taken = self.model.dropMimeData(event.mimeData(), Qt.DropAction.CopyAction, -1, -1, QModelIndex())
        event.setDropAction(Qt.DropAction.CopyAction)
        event.setAccepted(taken)

    def _answer_drag(self, event: QDragMoveEvent) -> None:
        """Ours is accepted as a copy where the move is allowed; the reason shows either way."""
        ids = decode_ids(event.mimeData())
        if not ids:
            event.ignore()
            return
        self._on_hover(ids)
        event.setDropAction(Qt.DropAction.CopyAction)
        is_enter = isinstance(event, QDragEnterEvent)  # an enter that is refused would get no moves to refuse
        copy, root = Qt.DropAction.CopyAction, QModelIndex()
        event.setAccepted(is_enter or self.model.canDropMimeData(event.mimeData(), copy, -1, -1, root))


def _set_text(label: QLabel, text: str) -> None:
    """setText that costs nothing when nothing changed."""
    if label.text() != text:
        label.setText(text)
        label.setTextFormat(Qt.TextFormat.PlainText)
