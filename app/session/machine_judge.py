"""Judges the machine in the background for whoever shows the verdict, once model and machine have stopped changing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.later import later
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.devices import DeviceWishes
from app.planner.types import Wishes
from app.session.errors import problem_of
from app.session.jobs import JobRunner

if TYPE_CHECKING:
    from app.diagnose.machine_upgrades import Judgement
    from app.work.machine_verdict import judge_machine
else:
    judge_machine = later("app.work.machine_verdict", "judge_machine")

_SETTLE_MS = 400

Question = tuple[HardwareSnapshot, ModelInfo | None, Wishes | None, DeviceWishes]


class JudgeController(QObject):
    """``result`` is for what was asked last; None until it is known. A judgement is a plan for each thing that could be
    changed about the machine, so it is made only while somebody looks at it (``ask``)."""

    changed = Signal()

    def __init__(self, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.result: Judgement | None = None
        self._question: Callable[[], Question | None] = lambda: None
        self._asked: Question | None = None
        self._is_working = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SETTLE_MS)
        self._timer.timeout.connect(self._work)

    def set_question(self, question: Callable[[], Question | None]) -> None:
        """Where the present machine and model come from; None while there is no machine."""
        self._question = question

    def ask(self) -> None:
        """The verdict is looked at: judge what is there now, unless that has been done."""
        question = self._question()
        if question is None or question == self._asked:
            return
        if self.result is not None and self._asked is not None and question[0] != self._asked[0]:
            self.result = None
            self.changed.emit()
        self._timer.start()

    def judge_each(self, machines: tuple[HardwareSnapshot, ...], then: Callable[[tuple[Judgement, ...]], None]) -> None:
        """Judge these machines with the open model (or the well-known one), then call ``then``."""
        question = self._question()
        model, wishes, devices = question[1:] if question is not None else (None, None, DeviceWishes())

        def on_done(result: tuple[Judgement, ...] | None, error: Exception | None) -> None:
            if result is not None:
                then(result)
            else:
                problem_of(error)

        self._jobs.run(lambda: tuple(judge_machine(m, model, wishes, devices) for m in machines), on_done)

    @Slot()
    def _work(self) -> None:
        question = self._question()
        if question is None or question == self._asked or self._is_working:
            return
        self._is_working, self._asked = True, question
        self._jobs.run(lambda: judge_machine(*question), lambda result, error: self._on_done(question, result, error))

    def _on_done(self, question: Question, result: Judgement | None, error: Exception | None) -> None:
        self._is_working = False
        if question != self._question():
            self._work()
            return
        if error is not None:
            problem_of(error)  # a mistake of ours goes to the log; wishes that no engine takes are told by the plan
        self.result = result
        self.changed.emit()
