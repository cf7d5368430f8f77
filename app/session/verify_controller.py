"""Asks the engine about the plan on the board, in the background, once it has stopped changing. Newest wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem
from app.engine.locate import EngineBinary
from app.planner.types import Plan
from app.session.errors import problem_of
from app.session.jobs import JobRunner

if TYPE_CHECKING:
    from app.work.verifying import Verification, verify_plan
else:
    verify_plan = later("app.work.verifying", "verify_plan")

_SETTLE_MS = 350
"""A drag sends many plans; the engine is asked about the one that stays."""


class VerifyController(QObject):
    """``result`` belongs to the plan that was given last, or is None; ``problem`` tells why the engine refused it.

    Signal ``changed`` when either was replaced. One question at a time: a plan that changed meanwhile is asked next.
    """

    changed = Signal()

    def __init__(self, jobs: JobRunner, paths: AppPaths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._paths = paths
        self.result: Verification | None = None
        self.problem: Problem | None = None
        self._plan: Plan | None = None
        self._binary: EngineBinary | None = None
        self._is_asking = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SETTLE_MS)
        self._timer.timeout.connect(self._ask)

    def use(self, plan: Plan | None, binary: EngineBinary | None) -> None:
        """The plan to ask about; None for either asks nothing (no engine, a saved machine, a server that runs)."""
        if plan is not None and self._plan is not None and plan.argv == self._plan.argv and binary == self._binary:
            return
        self._plan, self._binary = plan, binary
        if self.result is not None or self.problem is not None:
            self.result, self.problem = None, None
            self.changed.emit()
        if plan is None or binary is None:
            self._timer.stop()
        else:
            self._timer.start()

    @Slot()
    def _ask(self) -> None:
        plan, binary = self._plan, self._binary
        if plan is None or binary is None or self._is_asking:
            return
        self._is_asking = True
        self._jobs.run(
            lambda: verify_plan(plan, binary, self._paths), lambda result, error: self._on_done(plan, result, error)
        )

    def _on_done(self, plan: Plan, result: Verification | None, error: Exception | None) -> None:
        self._is_asking = False
        if plan is not self._plan:
            self._ask()
            return
        self.result = result
        self.problem = problem_of(error) if error is not None else None
        self.changed.emit()
