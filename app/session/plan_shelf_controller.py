"""The kept plans of the open model: listed in the background, kept, named, opened, deleted, exported together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.common.paths import AppPaths
from app.common.problem import ParamValue, Problem, ProblemError, Severity
from app.session.board_controller import BoardController
from app.session.jobs import JobRunner
from app.session.plan_files_controller import PlanFilesController
from app.work.engines import capabilities_of
from app.work.plan_shelf import (
    Labels,
    ShelfPlan,
    export_router,
    lost_models,
    new_plan_path,
    plans_of,
    remove_plan,
    router_command,
    write_labels,
)


class PlanShelfController(QObject):
    """Signal ``changed`` when ``plans`` is another list."""

    changed = Signal()

    def __init__(
        self,
        jobs: JobRunner,
        paths: AppPaths,
        board: BoardController,
        plan_files: PlanFilesController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._paths = paths
        self._board = board
        self._plan_files = plan_files
        self.plans: tuple[ShelfPlan, ...] = ()
        self.shows_all = False
        """Are the plans of every model listed, or those of the open one?"""

    @Slot()
    def look(self) -> None:
        """List them anew, for the model on the board or for all."""
        model, shows_all = self._board.model, self.shows_all
        if model is None and not shows_all:
            self._show(())
            return

        def on_done(plans: tuple[ShelfPlan, ...] | None, _error: Exception | None) -> None:
            if (self._board.model, self.shows_all) == (model, shows_all):
                self._show(plans or ())

        self._jobs.run(lambda: plans_of(self._paths, None if shows_all else model), on_done)

    def show_all(self, on: bool) -> None:
        """List the plans of every model, or of the open one."""
        self.shows_all = on
        self.look()

    def keep(self, labels: Labels) -> None:
        """Keep the plan on the board under a new name."""
        path = new_plan_path(self._paths, labels.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._plan_files.save(str(path)):
            self.relabel(str(path), labels)

    def relabel(self, path: str, labels: Labels) -> None:
        """Another name or note for a kept plan."""
        self._try(lambda: write_labels(Path(path), labels))

    def remove(self, path: str) -> None:
        """Delete a kept plan."""
        self._try(lambda: remove_plan(Path(path)))

    def open(self, path: str) -> None:
        """Put a kept plan on the board, with its own model where another one is open."""
        plan = next((plan for plan in self.plans if plan.path == path), None)
        model = self._board.model
        if plan is None or plan.model_path is None or (model is not None and plan.is_of(model)) or not self.shows_all:
            self._plan_files.open(path)
        else:
            self._plan_files.open_with_model(path, plan.model_path)

    def export_router(self, paths: tuple[str, ...], target: str) -> None:
        """One preset file for the engine's router with a section for each of these plans."""
        inputs = self._board.inputs
        chosen = [plan for plan in self.plans if plan.path in paths]
        capabilities = capabilities_of(None) if inputs is None else inputs.capabilities
        names: list[str] = []
        if not chosen or not self._try(lambda: names.extend(export_router(Path(target), chosen, capabilities))):
            return
        params: dict[str, ParamValue] = {"path": target, "names": ", ".join(names)}
        params["command"] = router_command(Path(target))
        self._board.message_raised.emit(Problem("router_exported", Severity.INFO, params))
        lost = lost_models(chosen)
        if lost:
            self._board.message_raised.emit(Problem("router_lost", Severity.WARNING, {"paths": ", ".join(lost)}))

    def _try(self, act: Callable[[], None]) -> bool:
        try:
            act()
        except ProblemError as error:
            self._board.message_raised.emit(error.problem)
            return False
        finally:
            self.look()
        return True

    def _show(self, plans: tuple[ShelfPlan, ...]) -> None:
        if plans != self.plans:
            self.plans = plans
            self.changed.emit()
