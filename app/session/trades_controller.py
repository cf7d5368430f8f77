"""Works out, in the background, what the plan on the board could have for something else, once it stops changing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.later import later
from app.planner.plan import PlanInputs
from app.planner.types import Plan
from app.session.jobs import JobRunner

if TYPE_CHECKING:
    from app.planner.second_gpu import SecondGpu, second_gpu
    from app.planner.trades import Trade, trades
else:
    second_gpu = later("app.planner.second_gpu", "second_gpu")
    trades = later("app.planner.trades", "trades")

_SETTLE_MS = 300
"""A drag makes many plans; each offer is a plan of its own, so only the one that stays is asked about."""


class TradesController(QObject):
    """``result`` and ``second_gpu`` (is it worth it; None with one card) belong to the plan that was given last;
    ``result`` is None until both are known. ``changed`` when they were replaced."""

    changed = Signal()

    def __init__(self, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.result: tuple[Trade, ...] | None = None
        self.second_gpu: SecondGpu | None = None
        self._inputs: PlanInputs | None = None
        self._plan: Plan | None = None
        self._is_working = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SETTLE_MS)
        self._timer.timeout.connect(self._work)

    def use(self, inputs: PlanInputs | None, plan: Plan | None) -> None:
        """The plan to work on, and what it was made of; None for no plan."""
        self._inputs, self._plan = inputs, plan
        if self.result is not None:
            self.result = None
            self.changed.emit()
        if plan is None or inputs is None:
            self._timer.stop()
        else:
            self._timer.start()

    @Slot()
    def _work(self) -> None:
        inputs, plan = self._inputs, self._plan
        if inputs is None or plan is None or self._is_working:
            return
        self._is_working = True
        self._jobs.run(
            lambda: (trades(inputs, plan), second_gpu(inputs, plan)),
            lambda result, error: self._on_done(plan, result, error),
        )

    def _on_done(
        self, plan: Plan, result: tuple[tuple[Trade, ...], SecondGpu | None] | None, error: Exception | None
    ) -> None:
        self._is_working = False
        if plan is not self._plan:
            self._work()
            return
        if error is not None:
            raise error  # a mistake of ours: the log and the window's handler of such tell it
        assert result is not None
        self.result, self.second_gpu = result
        self.changed.emit()
