"""The wishes: context for everybody, the rest under Details."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.ui.pages import plan_choices as choices
from app.ui.pages.plan_companions import CompanionsButton
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.combo import Combo
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.labels import set_look
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class Wish(QWidget):
    """A label and a combo box. ``chosen(value)`` fires only when the user chose another value.

    ``parse`` reads a typed text of an editable box; a text it cannot read is put back.
    """

    chosen = Signal(object)

    def __init__(self, name: str, tip: str, parse: Callable[[str], object | None] | None = None) -> None:
        super().__init__()
        self._parse = parse
        self.combo = Combo(editable=parse is not None)
        self.combo.setAccessibleName(name)
        self.combo.setToolTip(tip)
        label = QLabel(name)
        set_look(label, "dim")
        label.setBuddy(self.combo)
        label.setToolTip(tip)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        line.addWidget(label)
        line.addWidget(self.combo)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._current: object = None
        self._hint = QSize()
        self.combo.activated.connect(self._on_activated)
        edit = self.combo.lineEdit()
        if edit is not None:
            edit.editingFinished.connect(self._on_typed)

    def show_value(self, offered: list[choices.Choice], current: object) -> None:
        """Offer these values and show the one in use; fires nothing."""
        self._current = current
        self.combo.set_choices(offered, current)
        if self.combo.sizeHint() != self._hint:  # also after the user's own choice, which stood before this call
            self._hint = self.combo.sizeHint()
            self.combo.updateGeometry()

    @Slot(int)
    def _on_activated(self, index: int) -> None:
        self._tell(self.combo.itemData(index))

    @Slot()
    def _on_typed(self) -> None:
        if self._parse is None:
            return
        value = self._parse(self.combo.currentText())
        if value is None:
            self.combo.setCurrentIndex(self.combo.findData(self._current))
            self.combo.setEditText(self.combo.itemText(self.combo.findData(self._current)))
            return
        self._tell(value)

    def _tell(self, value: object) -> None:
        if value != self._current:
            self._current = value
            self.chosen.emit(value)


class WishesRow(QWidget):
    """All wishes in one wrapping row. ``details_toggled(open)`` when the user folds or unfolds."""

    details_toggled = Signal(bool)

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.context = _wish("context", choices.parse_context)
        self.kv = _wish("kv")
        self.slots = _wish("slots")
        self.reserve = _wish("reserve", choices.parse_number)
        self.keep_ram = _wish("keep_ram", choices.parse_number)
        self.prompt_cache = _wish("prompt_cache", choices.parse_prompt_cache)
        self.ubatch = _wish("ubatch")
        self.threads = _wish("threads")
        self.effort = _wish("effort")
        self.preset = _wish("preset")
        self.companions = CompanionsButton(session)
        self.details = PlainButton(say("plan.details"), look="fold")
        self.details.setCheckable(True)
        self.details.setToolTip(say("plan.details.tip"))
        self._build()
        self._connect()

    def _detailed(self) -> tuple[QWidget, ...]:
        """What is folded away with the details, in its order."""
        memory = (self.kv, self.slots, self.reserve, self.keep_ram, self.prompt_cache)
        return (*memory, self.ubatch, self.threads, self.effort, self.companions)

    def _build(self) -> None:
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(10)
        left = QWidget()
        flow = FlowLayout(left, gap=12)
        for wish in (self.context, self.preset, *self._detailed()):
            flow.addWidget(wish)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        left.setSizePolicy(policy)
        outer.addWidget(left, 1)
        outer.addWidget(self.details, 0, Qt.AlignmentFlag.AlignTop)

    def _connect(self) -> None:
        self.context.chosen.connect(self._on_context)
        self.kv.chosen.connect(self._on_kv)
        self.slots.chosen.connect(self._on_slots)
        self.reserve.chosen.connect(self._on_reserve)
        self.keep_ram.chosen.connect(self._on_keep_ram)
        self.prompt_cache.chosen.connect(self._on_prompt_cache)
        self.ubatch.chosen.connect(self._on_ubatch)
        self.threads.chosen.connect(self._on_threads)
        self.effort.chosen.connect(self._on_effort)
        self.preset.chosen.connect(self._on_preset)
        self.details.toggled.connect(self._on_details)

    def refresh(self) -> None:
        """Show the wishes of the plan."""
        plan = self._session.plan
        self.setEnabled(plan is not None)
        if plan is None:
            return
        self.context.show_value(choices.context_choices(self._session.model, plan), plan.n_ctx)
        self.kv.show_value(choices.kv_choices(plan), choices.kv_value(plan))
        self.slots.show_value(choices.slot_choices(plan), plan.n_slots)
        self.reserve.show_value(choices.reserve_choices(plan), choices.reserve_mib(plan))
        self.reserve.setEnabled(bool(plan.devices.gpus))
        self.keep_ram.show_value(choices.keep_ram_choices(plan), choices.keep_ram_mib(plan))
        self.prompt_cache.show_value(choices.prompt_cache_choices(plan), choices.prompt_cache_value(plan))
        self.ubatch.show_value(choices.ubatch_choices(plan), plan.wishes.n_ubatch)
        self.threads.show_value(choices.thread_choices(plan, self._session.hardware), plan.wishes.n_threads)
        self.effort.show_value(choices.effort_choices(), plan.wishes.is_quiet)
        self.companions.refresh(plan)
        offered = choices.preset_choices()
        if plan.is_edited:
            offered.append((say("plan.preset.edited"), "edited"))
        self.preset.show_value(offered, "edited" if plan.is_edited else plan.wishes.preset)

    def show_details(self, shown: bool) -> None:
        """Fold or unfold everything but context and preset."""
        self.details.setChecked(shown)
        self._arrange_details(shown)

    def _arrange_details(self, shown: bool) -> None:
        for wish in self._detailed():
            wish.setVisible(shown)
        self.details.set_icon("chevron-down" if shown else "chevron-right", "text_dim", 14)

    @Slot(bool)
    def _on_details(self, shown: bool) -> None:
        self._arrange_details(shown)
        self.details_toggled.emit(shown)

    @Slot(object)
    def _on_context(self, value: int) -> None:
        self._session.set_wishes(n_ctx=value)

    @Slot(object)
    def _on_kv(self, value: str) -> None:
        first, second = value.split("/")
        self._session.set_wishes(cache_type_k=first, cache_type_v=second)

    @Slot(object)
    def _on_slots(self, value: int) -> None:
        self._session.set_wishes(n_slots=value)

    @Slot(object)
    def _on_reserve(self, value: int) -> None:
        self._session.set_wishes(reserve_mib=value)

    @Slot(object)
    def _on_keep_ram(self, value: int) -> None:
        self._session.set_wishes(keep_ram_mib=value)

    @Slot(object)
    def _on_prompt_cache(self, value: int | str) -> None:
        self._session.set_wishes(prompt_cache_mib=None if value == choices.AUTO else value)

    @Slot(object)
    def _on_ubatch(self, value: int) -> None:
        self._session.set_wishes(n_ubatch=value)

    @Slot(object)
    def _on_threads(self, value: int | None) -> None:
        self._session.set_wishes(n_threads=value)

    @Slot(object)
    def _on_effort(self, value: bool) -> None:
        self._session.set_wishes(is_quiet=value)

    @Slot(object)
    def _on_preset(self, value: str) -> None:
        if value != "edited":
            self._session.apply_preset(value)


def _wish(name: str, parse: Callable[[str], object | None] | None = None) -> Wish:
    return Wish(say(f"plan.wish.{name}"), say(f"plan.wish.{name}.tip"), parse)
