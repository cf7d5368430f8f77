"""Quiet or full speed: new plans begin as the user chose for mains or battery, and a launch asks when that changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.hardware.types import HardwareSnapshot, PowerInfo
from app.planner.types import Plan
from app.session.board_controller import BoardController
from app.settings import Settings
from app.work.effort import MAKE_QUIET, asks_for, effort_question, wants_quiet

if TYPE_CHECKING:
    from app.work.before_launch import LaunchQuestion


class EffortController(QObject):
    """``hardware`` None: nothing is known of the battery, or the plan is for a saved machine."""

    def __init__(
        self,
        board: BoardController,
        settings: Callable[[], Settings],
        hardware: Callable[[], HardwareSnapshot | None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._board = board
        self._settings = settings
        self._hardware = hardware
        self._chosen = self._choice()
        self._is_for_battery = False
        board.changed.connect(self._follow_board)

    def begins_quiet(self) -> bool:
        """How a plan that is made now begins."""
        power = self._power()
        is_quiet = wants_quiet(self._settings(), power)
        self._is_for_battery = is_quiet and power.on_battery is True
        return is_quiet

    @Slot()
    def _follow_board(self) -> None:
        """A plan that is at full speed again and then made quiet by hand is no longer so because of the battery."""
        plan = self._board.plan
        if plan is not None and not plan.wishes.is_quiet:
            self._is_for_battery = False

    @Slot()
    def follow_settings(self) -> None:
        """The user chose otherwise: the plan on the board follows, as one step of undo."""
        if self._choice() == self._chosen:
            return
        self._chosen = self._choice()
        if self._board.plan is not None:
            self._board.set_wishes(is_quiet=self.begins_quiet())

    def question(self, plan: Plan) -> LaunchQuestion | None:
        """What to ask before this plan is launched; None when it is as the user chose."""
        power, inputs = self._power(), self._board.inputs
        is_quiet = plan.wishes.is_quiet
        answer = asks_for(self._settings(), power, is_quiet=is_quiet, was_for_battery=self._is_for_battery)
        other = None if answer is None or inputs is None else self._board.plan_with(is_quiet=not is_quiet)
        if answer is None or inputs is None or other is None:
            return None
        return effort_question(answer, plan, other, inputs.capabilities)

    def take(self, answer: str) -> None:
        """Change the plan as the user answered, as one step of undo."""
        is_quiet = answer == MAKE_QUIET
        self._is_for_battery = is_quiet
        self._board.set_wishes(is_quiet=is_quiet)

    def _power(self) -> PowerInfo:
        hardware = self._hardware()
        return PowerInfo() if hardware is None else hardware.power

    def _choice(self) -> tuple[str, str]:
        settings = self._settings()
        return settings.effort_on_mains, settings.effort_on_battery
