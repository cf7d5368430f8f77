"""The card for every day: starting with the system, and the plan that is launched then."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QWidget

from app.common.problem import ProblemError
from app.settings import EFFORTS_ON_BATTERY, EFFORTS_ON_MAINS
from app.ui.pages.settings_form import FormCard
from app.ui.widgets.combo import Combo
from app.words import say
from app.work.autostart import is_on, start_command, switch_off, switch_on

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_CONTROL_CHARACTERS = 24
_OFF, _PLAIN = "", "\0"
"""No path is one of these."""


class EverydayCard(FormCard):
    """Off unless the user says otherwise; what is shown is what the system really holds."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(say("everyday.title"), parent)
        self._session = session
        self.start = Combo()
        self.start.setMinimumWidth(self.fontMetrics().horizontalAdvance("0") * _CONTROL_CHARACTERS)
        self.add_row(say("everyday.start"), self.start, say("everyday.start_note"))
        self.mains = self._effort(EFFORTS_ON_MAINS, "mains")
        self.battery = self._effort(EFFORTS_ON_BATTERY, "battery", say("effort.note"))
        self.refresh()
        self.start.currentIndexChanged.connect(self._on_start)
        self.mains.currentIndexChanged.connect(self._on_effort)
        self.battery.currentIndexChanged.connect(self._on_effort)
        session.settings_changed.connect(self.refresh)

    def _effort(self, choices: tuple[str, ...], where: str, note: str = "") -> Combo:
        combo = Combo()
        combo.setMinimumWidth(self.start.minimumWidth())
        combo.set_choices([(say(f"effort.{choice}"), choice) for choice in choices], choices[0])
        self.add_row(say(f"effort.on_{where}"), combo, note)
        return combo

    @Slot()
    def refresh(self) -> None:
        """Show what holds now; the choices are the recent plans."""
        settings = self._session.settings
        plans = dict.fromkeys((*((settings.start_plan,) if settings.start_plan else ()), *settings.recent_plans))
        choices = [(say("everyday.start_off"), _OFF), (say("everyday.start_plain"), _PLAIN)]
        choices += [(say("everyday.start_plan", name=PurePath(path).stem), path) for path in plans]
        for combo, choice in ((self.mains, settings.effort_on_mains), (self.battery, settings.effort_on_battery)):
            with QSignalBlocker(combo):
                combo.setCurrentIndex(combo.findData(choice))
        self.start.set_choices(choices, (settings.start_plan or _PLAIN) if is_on() else _OFF)

    @Slot()
    def _on_effort(self) -> None:
        self._session.change_settings(
            effort_on_mains=self.mains.currentData(), effort_on_battery=self.battery.currentData()
        )

    @Slot()
    def _on_start(self) -> None:
        wish = self.start.currentData()
        plan = wish if isinstance(wish, str) and wish not in (_OFF, _PLAIN) else None
        try:
            if wish == _OFF:
                switch_off()
            else:
                switch_on(start_command(plan))
        except ProblemError as error:
            self._session.message_raised.emit(error.problem)
            self.refresh()
            return
        self._session.change_settings(start_plan=plan)
