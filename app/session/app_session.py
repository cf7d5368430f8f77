"""The state of one window and everything that may change it. No widgets.

The window never changes a value itself: it calls a wish below, the session asks the pure core, stores the new frozen
value, and tells with a signal. Undo holds whole ``BoardState`` values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QUndoStack

from app.common.later import later
from app.common.paths import AppPaths, app_paths
from app.common.problem import Problem, Severity
from app.session.board_controller import BoardController
from app.session.doctor_controller import DoctorController
from app.session.engine_controller import EngineController
from app.session.engines_controller import EnginesController
from app.session.errors import problem_of
from app.session.first_run_controller import FirstRunController
from app.session.history_controller import HistoryController
from app.session.jobs import JobRunner
from app.session.launch_controller import LaunchCalls
from app.session.launch_parts import launch_parts
from app.session.learning_controller import LearningController
from app.session.machine_controller import FreeReason, MachineController
from app.session.machine_judge import JudgeController
from app.session.other_apps_controller import OtherAppsController
from app.session.paste_controller import PasteController
from app.session.plan_files_controller import PlanFilesController, with_recent
from app.session.plan_shelf_controller import PlanShelfController
from app.session.run_controller import RunController
from app.session.settings_keeper import SettingsKeeper
from app.session.state import EnginePhase, EngineState, RunPhase
from app.session.stress_controller import StressController
from app.session.trades_controller import TradesController
from app.session.updates_controller import UpdatesController
from app.session.verify_controller import VerifyController
from app.session.vram_users_controller import VramUsersController
from app.session.wishes import BoardWishes, MachineWishes, PlanAnswers, RunWishes
from app.settings import Settings
from app.work.engines import capabilities_of

if TYPE_CHECKING:
    from app.common.capabilities import Capabilities
    from app.engine.build import remove_remains
    from app.engine.launcher import end_tools
    from app.engine.leftovers import RunningServer, leftover_servers
    from app.engine.locate import EngineBinary
    from app.hardware.types import HardwareSnapshot
    from app.model.demo import ensure_demo_model
    from app.model.types import ModelInfo
    from app.session.hub_controller import HubController
    from app.session.library_controller import LibraryController
    from app.session.models_parts import ModelsParts, models_parts
    from app.session.snapshot_files import read_machine, saved_machine
    from app.work.models import open_model
    from app.work.stress import StressEngine
else:
    remove_remains = later("app.engine.build", "remove_remains")
    end_tools = later("app.engine.launcher", "end_tools")
    leftover_servers = later("app.engine.leftovers", "leftover_servers")
    ensure_demo_model = later("app.model.demo", "ensure_demo_model")
    models_parts = later("app.session.models_parts", "models_parts")
    read_machine = later("app.session.snapshot_files", "read_machine")
    saved_machine = later("app.session.snapshot_files", "saved_machine")
    open_model = later("app.work.models", "open_model")
    StressEngine = later("app.work.stress", "StressEngine")

_TIDY_MS = 800
"""The first plan stands by then."""


class AppSession(BoardWishes, MachineWishes, PlanAnswers, RunWishes, QObject):
    """What the window shows and may wish for.

    Signals say that something changed; receivers read the state again. Wishes return at once.
    """

    model_changed = Signal()
    plan_changed = Signal()
    hardware_changed = Signal()
    engine_changed = Signal()
    run_changed = Signal()
    chat_changed = Signal()
    log_added = Signal(list)
    sample_added = Signal(object)
    message_raised = Signal(object)
    settings_changed = Signal()
    verification_changed = Signal()
    model_loading_changed = Signal(bool)
    trades_changed = Signal()

    def __init__(self, paths: AppPaths | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.paths = paths or app_paths()
        self._keeper = SettingsKeeper(self.paths.settings_file, self)
        self._load_id = 0
        self.is_loading = False
        self._board = BoardController(self)
        self.undo_stack: QUndoStack = self._board.undo_stack
        self._jobs = JobRunner(self)
        self._engine = EngineController(self._jobs, self.paths, self)
        self.machine = MachineController(self._jobs, self._binary, self._is_quiet, self)
        self.judge = JudgeController(self._jobs, self)
        self.vram_users = VramUsersController(self._jobs, lambda: self.hardware if self.is_this_machine else None, self)
        self.other_apps = OtherAppsController(self._jobs, self)
        self.engines = EnginesController(self._jobs, self.paths, lambda: self.hardware, lambda: self.settings, self)
        self.engines.is_saved = lambda: self.machine.is_saved
        self.use_rpc_servers(self.settings.rpc_servers)
        self._run = RunController(self._jobs, self.paths, self)
        self._run.settings = lambda: self.settings
        self._verify = VerifyController(self._jobs, self.paths, self)
        self.learning = LearningController(
            self._jobs, self.paths, self._board, self.machine, self._engine, self._run, self
        )
        self.stress = StressController(self._jobs, self.paths, self._run, self._stress_around, self)
        self.runs = HistoryController(self._jobs, self.paths, self._run, self._run_names, self)
        self._trades = TradesController(self._jobs, self)
        self.plan_files = PlanFilesController(self._jobs, self._board, self)
        self.plan_files.hash_of = self.engines.hash_of
        self.plan_files.cpu_of = lambda: self.hardware.cpu if self.hardware else None
        self.plan_files.stamp_of, self.plan_files.on_stamp = self.stress.stamp_of, self.stress.take_over
        self.shelf = PlanShelfController(self._jobs, self.paths, self._board, self.plan_files, self)
        self.paste = PasteController(self._jobs, self._board, self)
        self.effort, self.launching = launch_parts(
            self, self._jobs, self._board, self._run, LaunchCalls(self._binary, self.engines.check, self._is_quiet)
        )
        self.doctor = DoctorController(self._jobs, self._board, self._run, self._surroundings, self.launch, self)
        self.updates = UpdatesController(self._jobs, self.paths, lambda: self.settings, lambda: self.engine.build, self)
        self.first_run = FirstRunController(lambda: self.settings, self.change_settings, self)
        self._connect()

    def _connect(self) -> None:
        self._keeper.failed.connect(self.message_raised)
        self._keeper.changed.connect(self.settings_changed)
        self._keeper.changed.connect(self._run.follow_pace)
        self._keeper.changed.connect(self.effort.follow_settings)
        self._board.changed.connect(self._on_plan_changed)
        self._board.changed.connect(self.doctor.look_again)
        self.engines.changed.connect(self.doctor.look_again)
        self._engine.changed.connect(self.doctor.look_again)
        self.doctor.engine_problems = lambda: self.engines.troubles(self.engine.problem)
        self.doctor.warned.connect(self.message_raised)
        self._board.message_raised.connect(self.message_raised)
        self._engine.changed.connect(self._on_engine_changed)
        self._engine.search_ended.connect(self.machine.ask_engine)
        self._engine.failed.connect(self.message_raised)
        self.engines.failed.connect(self.message_raised)
        self.engines.engine_chosen.connect(self.choose_engine)
        self.engines.outdated.connect(self._look)
        self.machine.changed.connect(self.engines.hardware_known)
        self.machine.changed.connect(self._on_hardware_changed)
        self.machine.changed.connect(self.doctor.look_again)
        self.machine.failed.connect(self.message_raised)
        self.judge.set_question(self._board.question_of_machine)
        self.plan_files.message_raised.connect(self.message_raised)
        self.plan_files.model_wanted.connect(self.open_model)
        self.plan_files.file_used.connect(self._on_plan_file)
        self._verify.changed.connect(self._on_verified)
        self.learning.failed.connect(self.message_raised)
        self.stress.failed.connect(self.message_raised)
        self.runs.failed.connect(self.message_raised)
        self._trades.changed.connect(self.trades_changed)
        self._run.changed.connect(self._on_run_changed)
        self._run.chat_changed.connect(self.chat_changed)
        self._run.log_added.connect(self.log_added)
        self._run.sample_added.connect(self.sample_added)
        self._run.failed.connect(self.message_raised)
        self.launching.message_raised.connect(self.message_raised)

    # ---- state ----------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self._keeper.settings

    @property
    def engine(self) -> EngineState:
        """The engine in use."""
        return self._engine.state

    @cached_property
    def _models(self) -> ModelsParts:
        return models_parts(self, self._jobs, lambda: self._engine.handle)

    @property
    def library(self) -> LibraryController:
        """The models of this computer."""
        return self._models.library

    @property
    def hub(self) -> HubController:
        """Models that can be downloaded."""
        return self._models.hub

    @property
    def is_idle(self) -> bool:
        """No background job is running (a build counts)."""
        return self._jobs.is_idle

    def command_text(self, shell: str) -> str:
        """The command in a shell's spelling, the key spelled out; empty without a plan. Where the shell cannot carry
        it (a line break in cmd), a comment of that shell says so."""
        return "" if self.plan is None else self.plan_files.command_text(self.plan.argv, shell)

    # ---- start and end ----------------------------------------------------------------------------------------------

    def start(self, engine_path: str | None = None, hardware: HardwareSnapshot | None = None) -> None:
        """Look for the engine and at the machine, in the background. What was wrong with the settings is told once
        the window has had the time to listen."""
        QTimer.singleShot(0, self, self._tell_start_problem)
        if hardware is not None:
            self.machine.use_snapshot(hardware)
        else:
            self.machine.look_first()
        self._engine.look(engine_path or self.settings.engine_path)
        self.learning.load()
        QTimer.singleShot(_TIDY_MS, self, self._tidy_up)

    @Slot()
    def _tell_start_problem(self) -> None:
        if self._keeper.start_problem is not None:
            self.message_raised.emit(self._keeper.start_problem)

    @Slot()
    def _tidy_up(self) -> None:
        """What earlier sessions left: nothing that the first plan waits for."""
        self.stress.load()
        self._jobs.run(lambda: leftover_servers(self.paths), self._on_leftovers)
        self._jobs.run(lambda: remove_remains(self.paths), lambda *_: None)

    def _on_leftovers(self, servers: tuple[RunningServer, ...] | None, error: Exception | None) -> None:
        """Servers that an earlier Lanewise left behind when it crashed: they hold memory that the plan counts on."""
        for server in servers or ():
            self.message_raised.emit(Problem("leftover_server", Severity.WARNING, {"pid": server.pid}))

    def use_rpc_servers(self, servers: tuple[str, ...]) -> None:
        """Machines (or a stand-in on this one) that lend their memory; before ``start``."""
        self.machine.rpc_servers = servers
        self._board.device_wishes = replace(self._board.device_wishes, rpc_servers=servers)

    def close(self) -> None:
        """Stop the server and join every thread; an engine that is being asked something need not finish."""
        self.plan_files.close()
        self._engine.close()
        self.engines.close()
        if "_models" in vars(self):
            self._models.close()
        self.updates.close()
        self.machine.close()
        self.other_apps.forget()
        self.stress.cancel()
        self.runs.close()
        self._run.close()
        self._jobs.close(interrupt=end_tools)

    # ---- the model --------------------------------------------------------------------------------------------------

    def open_model(self, path: str) -> None:
        """Read a GGUF's header in the background."""
        self._load(lambda: open_model(path, self.paths.headers))

    def open_demo(self) -> None:
        """Open the demo model, making it first if need be."""
        self._load(lambda: open_model(ensure_demo_model(self.paths.demo_model), self.paths.headers))

    def _load(self, read: Any) -> None:
        self._load_id += 1
        load_id = self._load_id
        self.is_loading = True
        self.model_loading_changed.emit(True)

        def on_done(model: ModelInfo | None, error: Exception | None) -> None:
            if load_id != self._load_id:
                return
            self.is_loading = False
            self.model_loading_changed.emit(False)
            if model is None:
                self.message_raised.emit(problem_of(error))
                return
            self._show_model(model)

        self._jobs.run(read, on_done)

    def _show_model(self, model: ModelInfo) -> None:
        self._board.use_model(model, self.settings.reserve_mib, is_quiet=self.effort.begins_quiet())
        if model.path != str(self.paths.demo_model):
            self.change_settings(last_model=model.path)
        self.plan_files.last_model = model.path
        self.plan_files.forget()
        self.engines.use_model(model.architecture)
        self.model_changed.emit()
        self._on_plan_changed()
        self.machine.refresh_free(FreeReason.MODEL)
        self.paste.check_again()

    # ---- run --------------------------------------------------------------------------------------------------------

    def launch(self) -> None:
        """Run the plan, unless something stands in the way (``launching.question``)."""
        self.launching.launch()

    def _stress_around(self) -> tuple[HardwareSnapshot | None, StressEngine]:
        return self.hardware, StressEngine(self.engine.build or "", self.engines.hash_of(self.engine.path) or "")

    def _run_names(self) -> tuple[str, str]:
        return (self.model.name if self.model is not None else None) or "", self.engine.build or ""

    def _surroundings(self) -> tuple[HardwareSnapshot | None, Capabilities]:
        return self.hardware, capabilities_of(self._engine.handle)

    # ---- files, settings, engine, machine ---------------------------------------------------------------------------

    def export_script(self, path: str, shell: str) -> None:
        """Write a script that runs exactly the plan's command."""
        self.plan_files.export(path, shell)

    @Slot(str)
    def _on_plan_file(self, path: str) -> None:
        self.change_settings(recent_plans=with_recent(self.settings.recent_plans, path))
        self.engines.note_plan(path, self.engine.path)

    def override_settings(self, **changes: Any) -> None:
        """Other settings for this run only (``--lang``, ``--theme``); they are not saved by themselves."""
        self._keeper.override(**changes)

    def change_settings(self, **changes: Any) -> None:
        """Change and save settings; a file that cannot be written is told, the change holds all the same."""
        self._keeper.change(**changes)

    def build_engine(self) -> None:
        """Build llama.cpp from its source package in the background."""
        self._engine.build(on_built=self._look)

    def choose_engine(self, path: str) -> None:
        """Use this llama-server (or the one in this folder) from now on."""
        self.change_settings(engine_path=path or None)
        self._look()

    def _look(self) -> None:
        self._engine.look(self.settings.engine_path)

    def _binary(self) -> EngineBinary | None:
        return self._engine.handle.binary if self._engine.handle else None

    def _is_quiet(self) -> bool:
        """Does no server of ours run? While one does, nobody else may read RAM or ask cards for free memory."""
        return self.run.phase in (RunPhase.STOPPED, RunPhase.FAILED)

    def save_snapshot(self, path: str) -> None:
        """Save the machine to a file."""
        if self.hardware is not None:
            self.message_raised.emit(saved_machine(path, self.hardware))

    def load_snapshot(self, path: str) -> None:
        """Plan for a saved machine."""
        snapshot = read_machine(path)
        if isinstance(snapshot, Problem):
            self.message_raised.emit(snapshot)
            return
        self.machine.use_snapshot(snapshot)

    def _on_plan_changed(self) -> None:
        if self.plan is not None:
            self._run.shown_plan_changed(self.plan)
            self.machine.measure_for_plan()
        self._trades.use(self._board.inputs, self.plan)
        self.plan_changed.emit()
        self._verify_plan()

    def _verify_plan(self) -> None:
        """Ask the engine about the board, unless that says nothing (a saved machine) or disturbs (a server runs)."""
        handle = self._engine.handle
        may_ask = self.is_this_machine and self._is_quiet()
        self._verify.use(self.plan if may_ask else None, handle.binary if handle else None)

    def _on_verified(self) -> None:
        problem = self._verify.problem
        if problem is not None and not problem.code.startswith("engine_probe"):
            self.message_raised.emit(problem)  # the engine would refuse this command at launch too
        if self.verification is not None and self.plan is not None:
            self.learning.verified(self.plan, self.verification)
        self.verification_changed.emit()

    def _on_run_changed(self) -> None:
        self.run_changed.emit()
        if self._is_quiet():
            self.other_apps.forget()
            self._verify_plan()

    def _on_engine_changed(self) -> None:
        self.plan_files.binary = self._engine.handle.binary if self._engine.handle else None
        if self.engine.phase is not EnginePhase.BUILDING:  # its progress changes nothing for the plan
            self._board.use_machine(self.hardware, capabilities_of(self._engine.handle))
        self.engine_changed.emit()
        if self.engine.phase in (EnginePhase.READY, EnginePhase.MISSING):
            self.engines.look(self.settings.engine_path)

    def _on_hardware_changed(self) -> None:
        self.hardware_changed.emit()
        self._board.use_machine(self.hardware, capabilities_of(self._engine.handle))
