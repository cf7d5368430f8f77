"""Learns from the dry runs and launches of this window, and hands what was learned to its plans."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem
from app.monitor.sample import Sample
from app.planner.learned import NOTHING_LEARNED, Learned
from app.planner.types import Plan
from app.session.board_controller import BoardController
from app.session.engine_controller import EngineController
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.machine_controller import MachineController
from app.session.run_controller import RunController
from app.session.state import RunPhase

if TYPE_CHECKING:
    from app.diagnose.buffers import BufferRow
    from app.work.learned import LearnedStore
    from app.work.learned_launch import LaunchWatch, cards_used
    from app.work.learned_memory import (
        LoadedLearning,
        PlanContext,
        forget_memory,
        from_buffers,
        from_verification,
        learn_figures,
        learn_overheads,
        load_learned,
        plan_context,
    )
    from app.work.speed_history import learn_speeds
    from app.work.verifying import Verification
else:
    LaunchWatch = later("app.work.learned_launch", "LaunchWatch")
    cards_used = later("app.work.learned_launch", "cards_used")
    forget_memory = later("app.work.learned_memory", "forget_memory")
    from_buffers = later("app.work.learned_memory", "from_buffers")
    from_verification = later("app.work.learned_memory", "from_verification")
    learn_figures = later("app.work.learned_memory", "learn_figures")
    learn_overheads = later("app.work.learned_memory", "learn_overheads")
    load_learned = later("app.work.learned_memory", "load_learned")
    plan_context = later("app.work.learned_memory", "plan_context")
    learn_speeds = later("app.work.speed_history", "learn_speeds")
    LearnedStore = later("app.work.learned", "LearnedStore")

_BEFORE_S = 0.25
"""A look at the cards that takes longer may already see the server that is starting."""


@dataclass(slots=True)
class _Launch:
    """The server that runs now: its plan as it was launched, and what is seen of it."""

    context: PlanContext
    watch: LaunchWatch
    rows: tuple[BufferRow, ...] = ()
    was_ready: bool = False


class LearningController(QObject):
    """``learned`` is what this machine has taught; the board plans anew when that changes, and ``changed`` tells it.

    Reading and writing happen in jobs. ``failed(Problem)``: the file is damaged or cannot be written, told once each.
    """

    changed = Signal()
    failed = Signal(object)

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        board: BoardController,
        machine: MachineController,
        engine: EngineController,
        run: RunController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._paths = paths
        self._run = run
        self._board = board
        self._machine = machine
        self._engine = engine
        self._launch: _Launch | None = None
        self._told: set[str] = set()
        self.learned: Learned = NOTHING_LEARNED
        run.changed.connect(self._on_run_changed)
        run.sample_added.connect(self._on_sample)
        run.log_added.connect(self._on_log)

    @cached_property
    def _store(self) -> LearnedStore:
        """Made by the first job that reads or writes."""
        return LearnedStore(self._paths.learned_file)

    def load(self) -> None:
        """Read what was learned before."""
        self._jobs.run(lambda: load_learned(self._store), self._on_loaded)

    def verified(self, plan: Plan, verification: Verification) -> None:
        """The engine has answered: keep where our figures differ beyond tolerance, forget where they no longer do."""
        context = self._context_of(plan)
        if context is not None:
            told = from_verification(verification)
            self._learn(lambda: learn_figures(self._store, context, told))

    def forget(self) -> None:
        """Forget everything about memory; the next plans use the formulas and the usual constants."""

        def on_done(problem: Problem | None, error: Exception | None) -> None:
            if error is not None or problem is not None:
                self._tell(problem or problem_of(error))
            else:
                self._use(NOTHING_LEARNED)

        self._jobs.run(lambda: forget_memory(self._store), on_done)

    def _learn(self, work: Callable[[], bool]) -> None:
        def on_done(is_changed: bool | None, error: Exception | None) -> None:
            if error is not None:
                self._tell(problem_of(error))
            elif is_changed:
                self.load()

        self._jobs.run(work, on_done)

    def _on_loaded(self, loaded: LoadedLearning | None, error: Exception | None) -> None:
        if loaded is None:
            self._tell(problem_of(error))
            return
        if loaded.problem is not None:
            self._tell(loaded.problem)
        if loaded.learned != self.learned:
            self._use(loaded.learned)

    def _use(self, learned: Learned) -> None:
        self.learned = learned
        self._board.use_learned(self._usable)
        self.changed.emit()

    def _usable(self) -> Learned:
        """Nothing for the plans of another machine."""
        return NOTHING_LEARNED if self._machine.is_saved else self.learned

    def _context_of(self, plan: Plan) -> PlanContext | None:
        """None where nothing can be learned: a saved machine, no engine."""
        model, snapshot, handle = self._board.model, self._machine.hardware, self._engine.handle
        if model is None or snapshot is None or handle is None or self._machine.is_saved:
            return None
        return plan_context(plan, model, snapshot, handle)

    def _tell(self, problem: Problem) -> None:
        if problem.code not in self._told:
            self._told.add(problem.code)
            self.failed.emit(problem)

    # ---- a launch ---------------------------------------------------------------------------------------------------

    @Slot()
    def _on_run_changed(self) -> None:
        state = self._run.state
        if state.phase is RunPhase.STARTING and self._launch is None:
            self._begin()
        launch = self._launch
        if launch is None:
            return
        launch.rows = state.buffers or launch.rows
        launch.was_ready = launch.was_ready or state.phase is RunPhase.READY
        if state.phase in (RunPhase.STOPPED, RunPhase.FAILED):
            self._launch = None
            if launch.was_ready:
                self._learn(lambda: _learn_from(self._store, launch))

    def _begin(self) -> None:
        plan = self._run.plan
        context = self._context_of(plan) if plan is not None else None
        snapshot = self._machine.hardware
        if context is None or snapshot is None:
            return
        launch = self._launch = _Launch(context, LaunchWatch())
        asked_at = time.monotonic()

        def look() -> tuple[dict[str, float], float]:
            return cards_used(snapshot), time.monotonic()

        def on_done(found: tuple[dict[str, float], float] | None, _: Exception | None) -> None:
            if found is not None and found[1] - asked_at <= _BEFORE_S:
                launch.watch.before = found[0]

        self._jobs.run(look, on_done)

    @Slot(object)
    def _on_sample(self, sample: Sample) -> None:
        if self._launch is not None:
            self._launch.watch.on_sample(sample.values)

    @Slot(list)
    def _on_log(self, lines: list[str]) -> None:
        if self._launch is not None:
            for line in lines:
                self._launch.watch.on_line(line)


def _learn_from(store: LearnedStore, launch: _Launch) -> bool:
    """The lessons of a launch; True when either changed something."""
    plan = launch.context.plan
    context = launch.context
    has_figures = learn_figures(store, context, from_buffers(launch.rows, plan))
    has_speeds = learn_speeds(
        store, plan, context.model, context.machine, context.engine, context.keys, launch.watch.speed
    )
    overheads = launch.watch.overheads(launch.rows, plan)
    return learn_overheads(store, context, overheads) or has_figures or has_speeds
