"""The doctor behind the window: gathers facts, examines them in the background, applies a fix as one step of undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.capabilities import Capabilities
from app.common.problem import Problem
from app.hardware.types import HardwareSnapshot
from app.monitor.ring import RingBuffer
from app.monitor.sample import Sample
from app.session.board_controller import BoardController
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.run_controller import RunController
from app.session.state import ChatPhase, ChatState, RunPhase
from app.words import say

if TYPE_CHECKING:  # the doctor is called when something is wrong or asked: its rules are imported then
    from app.diagnose.doctor.log_facts import LogFacts
    from app.diagnose.doctor.types import Answer, Facts, Finding

_WINDOW_S = 60.0
_LOOK_S = 5.0
"""The figures come twice a second, or at the slow pace while nobody looks; they are looked at every five seconds."""
_PAUSE_MS = 400
"""A drag on the board sends many plans; one look after it is enough."""

Around = Callable[[], tuple[HardwareSnapshot | None, Capabilities]]


@dataclass(frozen=True, slots=True)
class DoctorState:
    """What the page shows. ``log_name``: a log from elsewhere is judged ("" for pasted text), None for this machine,
    plan and run. ``was_run``: a run of this session is part of it."""

    findings: tuple[Finding, ...] = ()
    log_name: str | None = None
    was_run: bool = False
    is_busy: bool = False
    problem: Problem | None = None
    may_launch_again: bool = False


class DoctorController(QObject):
    """Examines on request, and by itself when a run has failed.

    Signals: ``changed`` the state; ``failure_explained`` once the findings of a failed run are there;
    ``warned(Problem)`` once a run for each trouble that its figures show (memory spilled, RAM full, heat). At most one
    retry follows a failure, and never with a command that has failed: ``may_launch_again`` tells.
    """

    changed = Signal()
    failure_explained = Signal()
    warned = Signal(object)

    def __init__(
        self,
        jobs: JobRunner,
        board: BoardController,
        run: RunController,
        around: Around,
        launch: Callable[[], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs, self._board, self._run = jobs, board, run
        self._around, self._launch = around, launch
        self.engine_problems: Callable[[], tuple[Problem, ...]] = lambda: ()
        """What is wrong with the engine in use; the session tells."""
        self.state = DoctorState()
        self._facts: Facts | None = None
        self._other_log: LogFacts | None = None
        self._phase = run.state.phase
        self._tried: frozenset[tuple[str, ...]] = frozenset()
        self._retried = False
        self._job = 0
        self._is_watched = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self.examine)
        self._look_at = 0.0
        self._told: set[str] = set()
        run.changed.connect(self._on_run_changed)
        run.sample_added.connect(self._on_sample)

    def watch(self, on: bool) -> None:
        """The page is in front: follow the plan and the machine; otherwise only failures are looked at."""
        self._is_watched = on
        if on:
            self.examine()

    @Slot()
    def look_again(self) -> None:
        """Something has changed: examine once it is quiet, if anybody is looking."""
        if self._is_watched:
            self._timer.start()

    @Slot()
    def examine(self) -> None:
        """Judge what is known now."""
        facts = self._gather()
        run_log = None if self._other_log is not None else self._run_log()

        def work() -> tuple[Facts, tuple[Finding, ...]]:
            from app.diagnose.doctor.examine import examine
            from app.diagnose.doctor.log_facts import read_log
            from app.work.doctor_facts import machine_state

            told = replace(facts, state=machine_state()) if self._other_log is None else facts
            if run_log is not None:
                told = replace(told, log=read_log(run_log))
            return told, examine(told)

        self._start(work)

    def open_log(self, path: str) -> None:
        """Judge a log from elsewhere, with the plan on the board for its fixes."""
        from app.work.doctor_log import log_facts_of_file

        self._examine_other(Path(path).name, lambda: log_facts_of_file(Path(path)))

    def read_text(self, text: str) -> None:
        """Judge a pasted log."""
        from app.work.doctor_log import facts_of, log_from_text

        self._examine_other("", lambda: facts_of(log_from_text(text)))

    def close_log(self) -> None:
        """Back to this machine, plan and run."""
        self._other_log = None
        self._tell(log_name=None, problem=None)
        self.examine()

    def apply(self, index: int) -> bool:
        """Take the fix of a finding: the changed plan on the board, as one step of undo. False without a fix."""
        from app.work.doctor_text import fix_sentence

        inputs = self._board.inputs
        if not 0 <= index < len(self.state.findings) or inputs is None:
            return False
        fix = self.state.findings[index].fix
        if fix is None:
            return False
        told = replace(inputs, wishes=fix.wishes, devices=fix.plan.devices, port=fix.port or inputs.port)
        self._board.load(told, fix.placement, say("undo.fix", what=fix_sentence(fix)))
        return True

    def apply_and_launch(self, index: int) -> None:
        """Take the fix and launch it; once after a failure, and never a command that has failed."""
        if not self.state.may_launch_again or not self.apply(index):
            return
        if self._board.plan is None or self._board.plan.argv in self._tried:
            return
        self._retried = True
        self._launch()

    def report(self) -> str:
        """Everything that was found, without keys and names, to be copied."""
        from app.diagnose.doctor.types import Facts
        from app.work.doctor_facts import user_names
        from app.work.doctor_text import report_text

        return report_text(self.state.findings, self._facts or Facts(), user_names())

    # ---- inside -----------------------------------------------------------------------------------------------------

    @Slot(object)
    def _on_sample(self, sample: Sample) -> None:
        """Every few seconds: does the last minute show trouble? Cheap; the page in front is brought up to date too."""
        if sample.t_monotonic < self._look_at or self._run.state.phase is not RunPhase.READY:
            return
        self._look_at = sample.t_monotonic + _LOOK_S
        from app.diagnose.doctor.run_rules import live_findings
        from app.diagnose.doctor.types import Facts

        snapshot, _ = self._around()
        facts = Facts(snapshot=snapshot, samples=_last_samples(self._run.history))
        for finding in live_findings(facts):
            if finding.code not in self._told:
                self._told.add(finding.code)
                self.warned.emit(finding.problem)
        if self._is_watched and self._other_log is None and not self.state.is_busy:
            self.examine()

    @Slot()
    def _on_run_changed(self) -> None:
        before, self._phase = self._phase, self._run.state.phase
        if self._phase is before:
            return
        if self._phase is RunPhase.STARTING:
            self._told.clear()
        if self._phase is RunPhase.FAILED:
            plan = self._run.plan
            if plan is not None:
                self._tried |= {plan.argv}
            self._other_log = None
            self.examine()
        elif self._phase is RunPhase.READY:
            self._tried, self._retried = frozenset(), False
            self.look_again()
        else:
            self.look_again()

    def _gather(self) -> Facts:
        """What is known without asking anybody; for a log from elsewhere only the plan, to make fixes with."""
        from app.diagnose.doctor.types import Facts

        snapshot, capabilities = self._around()
        facts = Facts(
            snapshot=snapshot,
            inputs=self._board.inputs,
            plan=self._board.plan,
            capabilities=capabilities,
            engine_problems=self.engine_problems(),
            tried=self._tried,
        )
        if self._other_log is not None:
            return replace(facts, snapshot=None, engine_problems=(), log=self._other_log)
        run, plan = self._run.state, self._run.plan
        if plan is None or (run.phase is RunPhase.STOPPED and run.exit_code is None):
            return facts
        inputs = self._board.inputs
        is_same_model = self._board.plan is not None and self._board.plan.model_path == plan.model_path
        if inputs is not None and is_same_model:
            facts = replace(facts, plan=plan, inputs=replace(inputs, wishes=plan.wishes, devices=plan.devices))
        else:
            facts = replace(facts, plan=None, inputs=None)  # another model is open: its plan cannot cure this run
        return replace(
            facts,
            log_is_of_plan=is_same_model,
            exit_code=run.exit_code if run.phase is RunPhase.FAILED else None,
            reason=run.problem,
            samples=_last_samples(self._run.history),
            answer=_answer(self._run.chat, plan.n_ctx),
        )

    def _run_log(self) -> list[str] | None:
        text = self._run.log_text() if self._run.plan is not None else ""
        return text.split("\n") if text else None

    def _examine_other(self, name: str, read: Callable[[], LogFacts]) -> None:
        facts = replace(self._gather(), snapshot=None, samples=(), reason=None, exit_code=None, log_is_of_plan=False)
        facts = replace(facts, inputs=self._board.inputs, plan=self._board.plan, answer=None, engine_problems=())

        def work() -> tuple[Facts, tuple[Finding, ...]]:
            from app.diagnose.doctor.examine import examine

            told = replace(facts, log=read())
            return told, examine(told)

        self._start(work, name)

    def _start(self, work: Callable[[], tuple[Facts, tuple[Finding, ...]]], name: str | None = None) -> None:
        self._timer.stop()
        self._tell(is_busy=True)
        self._job = self._jobs.run(work, lambda result, error: self._on_done(job, name, result, error))
        job = self._job

    def _on_done(
        self, job: int, name: str | None, result: tuple[Facts, tuple[Finding, ...]] | None, error: Exception | None
    ) -> None:
        if job != self._job:
            return
        if result is None:
            self._tell(is_busy=False, problem=problem_of(error))
            return
        facts, findings = result
        self._facts = facts
        if name is not None:
            self._other_log = facts.log
        has_failed = self._other_log is None and self._run.state.phase is RunPhase.FAILED
        self._tell(
            findings=findings,
            log_name=name if name is not None else self.state.log_name if self._other_log is not None else None,
            was_run=self._other_log is None and facts.log is not None,
            is_busy=False,
            problem=None,
            may_launch_again=has_failed and not self._retried,
        )
        if has_failed:
            self.failure_explained.emit()

    def _tell(self, **changes: object) -> None:
        state = replace(self.state, **changes)  # type: ignore[arg-type]  # the callers name fields of the state
        if state != self.state:
            self.state = state
            self.changed.emit()


def _last_samples(history: RingBuffer) -> tuple[Sample, ...]:
    """The last minute of the curves as samples."""
    times = history.times()
    if not len(times):
        return ()
    first = next(i for i, t in enumerate(times) if times[-1] - t <= _WINDOW_S)
    columns = {key: history.column(key) for key in history.keys()}  # noqa: SIM118  # a method, not a mapping
    return tuple(
        Sample(times[i], {key: _known(column[i]) for key, column in columns.items()}) for i in range(first, len(times))
    )


def _known(value: float) -> float | None:
    return None if value != value else value


def _answer(chat: ChatState, n_ctx: int) -> Answer | None:
    """The last answer, once it is complete."""
    from app.diagnose.doctor.types import Answer

    if chat.phase is not ChatPhase.IDLE or chat.finish_reason is None:
        return None
    return Answer(
        finish_reason=chat.finish_reason,
        answer_characters=len(chat.answer),
        reasoning_characters=len(chat.reasoning),
        prompt_tokens=chat.prompt_total,
        decoded_tokens=chat.decoded_tokens,
        n_ctx=n_ctx,
    )
