"""Launch in steps: free memory anew, the engine's hash, a last look at what stands in the way, then the server.

What stands in the way becomes a question of the window; nothing is launched before it is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem, Severity
from app.hardware.types import HardwareSnapshot
from app.planner.types import Plan
from app.session.board_controller import BoardController
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.machine_controller import FreeReason, MachineController
from app.session.run_controller import RunController
from app.words import say
from app.work.effort import MAKE_FULL, MAKE_QUIET, STAY

if TYPE_CHECKING:
    from app.engine.leftovers import RunningServer, kill_leftover
    from app.engine.locate import EngineBinary
    from app.work.before_launch import LaunchAnswer, LaunchLook, LaunchQuestion, fits_now, look_before_launch
    from app.work.doctor_text import fix_sentence
else:
    kill_leftover = later("app.engine.leftovers", "kill_leftover")
    fits_now = later("app.work.before_launch", "fits_now")
    look_before_launch = later("app.work.before_launch", "look_before_launch")
    fix_sentence = later("app.work.doctor_text", "fix_sentence")


@dataclass(frozen=True, slots=True)
class LaunchCalls:
    """What the controller asks of the session. ``check_engine``: look at the engine's hash, then go on; ``is_quiet``:
    no server of ours runs; ``look``: a test may hand over its own. ``ask_effort`` and ``take_effort``: is the plan as
    quiet as it should be, and the answer (``work.effort``)."""

    binary: Callable[[], EngineBinary | None]
    check_engine: Callable[[Callable[[], None]], None]
    is_quiet: Callable[[], bool]
    look: Callable[..., LaunchLook] = look_before_launch
    ask_effort: Callable[[Plan], LaunchQuestion | None] = lambda _plan: None
    take_effort: Callable[[str], None] = lambda _answer: None


class LaunchController(QObject):
    """``question``: what the user is asked before this launch, or None.

    Signals: ``changed`` the question; ``message_raised(Problem)``.
    """

    changed = Signal()
    message_raised = Signal(object)

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        board: BoardController,
        machine: MachineController,
        run: RunController,
        calls: LaunchCalls,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs, self._paths = jobs, paths
        self._board, self._machine, self._run = board, machine, run
        self.calls = calls
        self.question: LaunchQuestion | None = None
        self._number = 0
        self._fitted: bool | None = None
        self._may_be_over = False

    def launch(self) -> None:
        """Run the plan on the board, unless something stands in the way."""
        self._may_be_over = False
        self._begin(asks_effort=True)

    def _begin(self, *, asks_effort: bool) -> None:
        """``asks_effort`` False: that question was answered a moment ago, and the launch only looks once more."""
        plan = self._board.plan
        if plan is None or self._machine.hardware is None or not self.calls.is_quiet():
            return
        if self.calls.binary() is None:
            self.message_raised.emit(Problem("engine_missing", Severity.WARNING, {}))
            return
        if self._machine.is_saved:
            self.message_raised.emit(Problem("saved_machine_not_launched", Severity.WARNING, {}))
            return
        self.dismiss()
        self._machine.cancel_measuring()
        fitted = None if self._may_be_over else fits_now(plan)
        number = self._number

        def look() -> None:
            if number != self._number or self._board.plan is None:
                return
            self.question, self._fitted = self.calls.ask_effort(self._board.plan) if asks_effort else None, fitted
            if self.question is not None:
                self.changed.emit()
            else:
                self._look(fitted=fitted)

        self._machine.refresh_free(FreeReason.LAUNCH, lambda: self.calls.check_engine(look))

    def answer(self, answer: LaunchAnswer) -> None:
        """Go on in this way; ignored for an answer of a question that is gone."""
        if self.question is None or answer not in self.question.answers:
            return
        self.dismiss()
        if answer.server is not None:
            self._end(answer.server)
        elif answer.fix is not None:
            fix, inputs = answer.fix, self._board.inputs
            if inputs is not None:
                told = replace(inputs, wishes=fix.wishes, devices=fix.plan.devices)
                self._board.load(told, fix.placement, say("undo.launch_fix", what=fix_sentence(fix)))
                self._look(fitted=None)
        elif answer.code in (MAKE_QUIET, MAKE_FULL, STAY):
            if answer.code != STAY:
                self.calls.take_effort(answer.code)
            self._look(fitted=self._fitted)
        elif answer.code == "other_port":
            self._look(fitted=None, port=int(answer.params["port"] or 0))
        else:
            self._may_be_over = True
            self._look(fitted=None)

    def dismiss(self) -> None:
        """Do not launch; also ends a look on its way."""
        self._number += 1
        if self.question is not None:
            self.question = None
            self.changed.emit()

    def _end(self, server: RunningServer) -> None:
        def on_done(gone: bool | None, error: Exception | None) -> None:
            if error is not None:
                self.message_raised.emit(problem_of(error))
            elif not gone:
                self.message_raised.emit(Problem("server_not_ended", Severity.ERROR, {"pid": server.pid}))
            else:
                self._begin(asks_effort=False)

        self._jobs.run(lambda: kill_leftover(server), on_done)

    def _look(self, *, fitted: bool | None, port: int | None = None) -> None:
        plan, inputs, snapshot, paths = self._board.plan, self._board.inputs, self._machine.hardware, self._paths
        if plan is None or snapshot is None:
            return
        number, look = self._number, self.calls.look

        def on_done(found: LaunchLook | None, error: Exception | None) -> None:
            if number != self._number:
                return
            if found is None:
                self.message_raised.emit(problem_of(error))
                return
            for remark in found.remarks:
                self.message_raised.emit(remark)
            self.question = found.question
            if found.question is not None:
                self.changed.emit()
            else:
                self._start(plan, snapshot, port)

        self._jobs.run(lambda: look(plan, inputs, snapshot, paths, fitted=fitted, port=port), on_done)

    def _start(self, plan: Plan, snapshot: HardwareSnapshot, port: int | None) -> None:
        """The board may have moved on while it was looked: then nothing is launched that the user does not see."""
        binary = self.calls.binary()
        if binary is None or not self.calls.is_quiet() or self._board.plan is None:
            return
        if self._board.plan.argv != plan.argv:
            self._begin(asks_effort=False)
            return
        inputs = self._board.inputs
        key = inputs.api_key if inputs is not None and inputs.api_key else self._board.api_key
        self._run.launch(plan, binary, snapshot, key, port)
