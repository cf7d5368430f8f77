"""Plans as files behind the window: saved, opened, recent, compared, exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.common.later import later
from app.common.problem import Problem, ProblemError, Severity, fail
from app.hardware.types import CpuInfo
from app.model.types import ModelInfo
from app.planner.types import Plan
from app.session.board_controller import BoardController
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.words import say, say_problem
from app.work.planning import plan_and_notes

if TYPE_CHECKING:
    from app.engine.locate import EngineBinary
    from app.planner.compare import PlanDifference, compare_plans
    from app.work.exporting import command_text, export_any, export_plan
    from app.work.plan_file import SavedPlan, read_plan_file
    from app.work.plan_opening import open_plan
    from app.work.plan_shelf import Labels, labels_of, write_labels
    from app.work.stress_stamp import StressStamp
else:
    compare_plans = later("app.planner.compare", "compare_plans")
    command_text = later("app.work.exporting", "command_text")
    export_any = later("app.work.exporting", "export_any")
    export_plan = later("app.work.exporting", "export_plan")
    read_plan_file = later("app.work.plan_file", "read_plan_file")
    open_plan = later("app.work.plan_opening", "open_plan")
    Labels = later("app.work.plan_shelf", "Labels")
    labels_of = later("app.work.plan_shelf", "labels_of")
    write_labels = later("app.work.plan_shelf", "write_labels")

_MOST_RECENT = 8


@dataclass(frozen=True, slots=True)
class Comparison:
    """The board's plan (``after``) beside another one. ``name`` None: the plan before the last step."""

    name: str | None
    before: Plan
    after: Plan
    difference: PlanDifference


class PlanFilesController(QObject):
    """Knows which file the board's plan is saved in.

    Signals: ``changed`` the file or whether it is up to date; ``comparison_changed``; ``message_raised(Problem)``;
    ``file_used(path)`` a plan was saved or opened; ``model_wanted(path)`` a plan was opened before any model, and this
    is its file.
    """

    changed = Signal()
    comparison_changed = Signal()
    message_raised = Signal(object)
    file_used = Signal(str)
    model_wanted = Signal(str)
    _is_closed = True
    """What holds for an object that Python has emptied already, when the stack tells of its end."""

    def __init__(self, jobs: JobRunner, board: BoardController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._board = board
        self.binary: EngineBinary | None = None
        self.cpu_of: Callable[[], CpuInfo | None] = lambda: None
        self.hash_of: Callable[[str | None], str | None] = lambda path: None
        self.stamp_of: Callable[[Plan | None], StressStamp | None] = lambda plan: None
        self.on_stamp: Callable[[StressStamp | None], None] = lambda stamp: None
        self.path: str | None = None
        self.comparison: Comparison | None = None
        self.last_model: str | None = None
        self._waiting: SavedPlan | None = None
        self._waits_for: str | None = None
        """The model that the waiting plan needs; None where only the machine is missing."""
        self._against: tuple[str | None, Plan] | None = None
        self._is_closed = False
        board.undo_stack.cleanChanged.connect(self._on_clean)
        board.changed.connect(self._on_board)

    @property
    def is_modified(self) -> bool:
        """Has the board moved on since the plan was saved or opened?"""
        return self.path is not None and not self._board.undo_stack.isClean()

    def close(self) -> None:
        """Tell nobody any more: the stack tells of its own end, when nobody can be asked about it."""
        self._is_closed = True

    @Slot()
    def _on_clean(self) -> None:
        if not self._is_closed:
            self.changed.emit()

    def forget(self) -> None:
        """Another model is on the board: what is there is no saved plan."""
        self._against = None
        self._set_comparison(None)
        self.path = None
        self.changed.emit()
        if self._waiting is not None:
            saved, self._waiting = self._waiting, None
            if self._waits_for is None or _is_same_file(self._waits_for, self._board.model):
                self._show(saved)

    # ---- saving and opening -----------------------------------------------------------------------------------------

    def save(self, path: str | None = None) -> bool:
        """Write the board's plan; into the file it came from when no other is named. False when it could not."""
        target = path or self.path
        plan, inputs = self._board.plan, self._board.inputs
        if target is None or plan is None or inputs is None:
            return False
        try:
            labels = labels_of(Path(target))  # a name and a note outlive the plan's next version
            engine = self.hash_of(None if self.binary is None else self.binary.path)
            export_plan(Path(target), plan, inputs.model, inputs.capabilities, engine, self.stamp_of(plan))
            if labels != Labels():
                write_labels(Path(target), labels)
        except ProblemError as error:
            self.message_raised.emit(error.problem)
            return False
        self._is_in(target)
        self.message_raised.emit(Problem("plan_saved", Severity.INFO, {"path": target}))
        return True

    def open(self, path: str) -> None:
        """Read a plan file in the background and put it on the board as one step of undo."""

        def on_read(saved: SavedPlan | None, error: Exception | None) -> None:
            if saved is None:
                self.message_raised.emit(problem_of(error))
            else:
                self._show(saved)

        self._jobs.run(lambda: read_plan_file(Path(path)), on_read)

    def open_with_model(self, path: str, model: str) -> None:
        """The same with the plan's own model, which is opened first."""

        def on_read(saved: SavedPlan | None, error: Exception | None) -> None:
            if saved is None:
                self.message_raised.emit(problem_of(error))
            else:
                self._waiting, self._waits_for = saved, model
                self.model_wanted.emit(model)

        self._jobs.run(lambda: read_plan_file(Path(path)), on_read)

    def _show(self, saved: SavedPlan) -> None:
        inputs = self._board.inputs_for(saved.wishes)
        if inputs is None:
            self._wait_for_model(saved)
            return
        name = PurePath(saved.path).name
        opened = open_plan(saved, inputs)
        self._board.load(opened.inputs, opened.placement, say("undo.open_plan", name=name))
        self._is_in(saved.path)
        self.on_stamp(saved.stamp)
        problems = (*opened.problems, *self._other_engine(saved))
        if problems:
            lost = tuple(say_problem(problem) for problem in problems)
            params: dict[str, str | int | float | bool | None] = {"name": name, "n": len(lost)}
            self.message_raised.emit(Problem("plan_opened", Severity.WARNING, params, lost))

    def _other_engine(self, saved: SavedPlan) -> tuple[Problem, ...]:
        """Was the plan saved with another llama-server than the one in use?"""
        now = self.hash_of(None if self.binary is None else self.binary.path)
        if now is None or not saved.engine.sha256 or saved.engine.sha256 == now:
            return ()
        return (Problem("plan_file_other_engine", Severity.INFO, {"build": saved.engine.build or "—"}),)

    def _wait_for_model(self, saved: SavedPlan) -> None:
        """The plan's model beside the plan or beside the last model; else the user must say which."""
        if self._board.model is not None:  # only the machine is missing: it comes by itself
            self._waiting, self._waits_for = saved, None
            return
        folders = [PurePath(place).parent for place in (saved.path, self.last_model) if place]
        found = [Path(folder) / saved.model.file_name for folder in folders] if saved.model.file_name else []
        model = next((path for path in found if path.is_file()), None)
        if model is None:
            params: dict[str, str | int | float | bool | None] = {
                "name": PurePath(saved.path).name,
                "model": saved.model.name or saved.model.file_name or "—",
            }
            self.message_raised.emit(Problem("plan_needs_model", Severity.WARNING, params))
            return
        self._waiting, self._waits_for = saved, str(model)
        self.model_wanted.emit(str(model))

    def _is_in(self, path: str) -> None:
        self.path = path
        self._board.undo_stack.setClean()
        self.file_used.emit(path)
        self.changed.emit()

    # ---- comparing --------------------------------------------------------------------------------------------------

    def compare_with_before(self) -> None:
        """Compare the board with what it was before the last step."""
        state = self._board.state_before()
        try:
            plan = None if state is None else self._board.plan_of(state)
        except ProblemError as error:
            self.message_raised.emit(error.problem)
            return
        if plan is None:
            self.message_raised.emit(Problem("compare_no_plan", Severity.INFO))
            return
        self._compare_with(None, plan)

    def compare_with_file(self, path: str) -> None:
        """Compare the board with a saved plan, read in the background, on this machine and for the open model."""

        def on_read(saved: SavedPlan | None, error: Exception | None) -> None:
            if saved is None:
                self.message_raised.emit(problem_of(error))
                return
            try:
                self._compare_with(PurePath(path).name, self._plan_of(saved))
            except ProblemError as failed:
                self.message_raised.emit(failed.problem)

        self._jobs.run(lambda: read_plan_file(Path(path)), on_read)

    def stop_comparing(self) -> None:
        """Nobody looks at the comparison any more."""
        self._against = None
        self._set_comparison(None)

    def _plan_of(self, saved: SavedPlan) -> Plan:
        inputs = self._board.inputs_for(saved.wishes)
        if inputs is None:
            raise fail("plan_needs_model", name=PurePath(saved.path).name, model=saved.model.name)
        opened = open_plan(saved, inputs)
        return plan_and_notes(opened.inputs, (), opened.placement)[0]

    def _compare_with(self, name: str | None, plan: Plan) -> None:
        self._against = (name, plan)
        self._on_board()

    @Slot()
    def _on_board(self) -> None:
        """The board moved on: the comparison follows, and a plan that waited for the machine is shown."""
        if self._waiting is not None and self._waits_for is None and self._board.inputs is not None:
            saved, self._waiting = self._waiting, None
            self._show(saved)
        plan, inputs = self._board.plan, self._board.inputs
        if self._against is None or plan is None or inputs is None:
            return
        name, before = self._against
        difference = compare_plans(before, plan, inputs.model, inputs.capabilities)
        self._set_comparison(Comparison(name, before, plan, difference))

    def _set_comparison(self, comparison: Comparison | None) -> None:
        if comparison is not self.comparison:
            self.comparison = comparison
            self.comparison_changed.emit()

    # ---- exporting --------------------------------------------------------------------------------------------------

    def export(self, path: str, kind: str) -> None:
        """Write the plan as ``cmd``, ``powershell``, ``bash``, ``preset``, ``llama-swap`` or ``transformers``."""
        plan, inputs = self._board.plan, self._board.inputs
        if plan is None or inputs is None:
            return
        program = None if self.binary is None else self.binary.path
        try:
            notes = export_any(Path(path), kind, program, plan, inputs, self.cpu_of())
        except ProblemError as error:
            self.message_raised.emit(error.problem)
            return
        evidence = tuple(say_problem(note) for note in notes)
        self.message_raised.emit(Problem("exported", Severity.INFO, {"path": path}, evidence))

    def command_text(self, argv: tuple[str, ...], shell: str) -> str:
        """A command in a shell's spelling; where the shell cannot carry it, a comment of that shell says so."""
        try:
            return command_text(None if self.binary is None else self.binary.path, argv, shell)
        except ProblemError as error:
            return f"{'rem' if shell == 'cmd' else '#'} {say_problem(error.problem)}"


def with_recent(recent: tuple[str, ...], path: str) -> tuple[str, ...]:
    """The recent plan files with this one in front."""
    return (path, *(other for other in recent if other != path))[:_MOST_RECENT]


def _is_same_file(wanted: str, model: ModelInfo | None) -> bool:
    """Is this the model that was asked for, in whatever folder?"""
    return model is not None and PurePath(model.path).name.casefold() == PurePath(wanted).name.casefold()
