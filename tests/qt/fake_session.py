"""A session for the tests of the plan page: the real planner behind it, no files, no threads, no engine."""

import dataclasses
from types import SimpleNamespace

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from app.monitor.ring import RingBuffer
from app.planner.cards import cards_by_device, tied_output_card
from app.planner.devices import DeviceWishes
from app.planner.kv import kv_bytes_by_block
from app.planner.memory import estimate
from app.planner.moves import move
from app.planner.placement import expert_layers_in_ram, with_experts_in_ram
from app.planner.plan import kv_settings, make_plan, run_settings_of
from app.planner.presets import wishes_for_preset
from app.planner.second_gpu import second_gpu
from app.planner.trades import trades
from app.planner.types import Refusal, Wishes
from app.session.board_state import BoardState, ChangeBoard
from app.session.state import ChatPhase, ChatState, EnginePhase, EngineState, RunPhase, RunState
from app.settings.settings import Settings, changed
from app.work.engines import capabilities_of
from app.work.exporting import command_text
from app.work.planning import plan_inputs
from tests.qt.fake_chat import FakeTalk
from tests.qt.fake_doctor import FakeDoctor
from tests.qt.fake_engines import FakeEngines
from tests.qt.fake_files import FakePaste, FakePlanFiles, FakeShelf
from tests.qt.fake_launching import FakeLaunching, FakeRuns, FakeStress, FakeUpdates
from tests.qt.fake_learning import FakeLearning
from tests.qt.fake_library import add_models
from tests.qt.fake_machine import FakeJudge, FakeMachine, FakeOtherApps, FakeVramUsers


class FakeSession(QObject):
    """Speaks like ``app.session.app_session.AppSession``; ``wished`` records the wishes that lead out of the plan."""

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
    is_loading = False
    trades_changed = Signal()

    def watch_server(self, on):
        """The run page says whether anybody sees it."""

    def __init__(self, hardware=None, model=None, **settings):
        super().__init__()
        settings = {"close_with_server": "stop", **settings}  # a window that asks would outlive its test
        self.settings = Settings(language="en", theme="light", shell="powershell", **settings)
        self.undo_stack = QUndoStack(self)
        self.hardware = hardware
        self.is_this_machine = True
        self.paths = SimpleNamespace(demo_model="demo.gguf")
        self.machine = FakeMachine([])
        self.judge = FakeJudge(self)
        self.vram_users = FakeVramUsers(self)
        self.other_apps = FakeOtherApps([])
        self.engine = EngineState(EnginePhase.READY, "C:/llama/llama-server.exe", "b11434")
        self.run = RunState(RunPhase.STOPPED)
        self.chat = ChatState(ChatPhase.IDLE)
        self.model = None
        self.plan = None
        self.verification = None
        self.verification_problem = None
        self.wished = []
        self.plan_files = FakePlanFiles(self.wished, self)
        self.paste = FakePaste(self)
        self.shelf = FakeShelf(self.wished, self)
        self.engines = FakeEngines(self)
        self.learning = FakeLearning(self)
        self.doctor = FakeDoctor(self)
        add_models(self, self.wished)
        self.launching = FakeLaunching(self.wished)
        self.talk = FakeTalk(self.wished, self)
        self.stress = FakeStress(self.wished)
        self.runs = FakeRuns(self.wished)
        self.updates = FakeUpdates(self.wished)
        self._board = BoardState(Wishes())
        self._columns = {}
        if model is not None:
            self.show_model(model)

    @property
    def running_plan(self):
        return self.plan

    def show_model(self, model):
        self.model = model
        self._board = BoardState(self._board.wishes, None, self._board.gpus)
        self._replan()
        self.model_changed.emit()
        self.plan_changed.emit()

    def set_engine(self, engine):
        self.engine = engine
        self.engine_changed.emit()

    def set_run(self, run):
        self.run = run
        self.run_changed.emit()

    def cards(self, device):
        return self._columns.get(device, ())

    @property
    def capabilities(self):
        return capabilities_of(None)

    @property
    def expert_layers_total(self):
        return len(self.model.expert_blocks) if self.model else 0

    @property
    def expert_layers_in_ram(self):
        return len(expert_layers_in_ram(self.model, self.plan.placement)) if self.plan else 0

    def command_text(self, shell):
        return command_text(None, self.plan.argv, shell)

    def history(self):
        return RingBuffer(60)

    def log_text(self):
        return ""

    def can_move(self, ids, device):
        result = self._try_move(ids, device)
        return result.problem if isinstance(result, Refusal) else None

    def move_cost(self, ids, device):
        result = self._try_move(ids, device)
        if isinstance(result, Refusal):
            return None
        settings = run_settings_of(self.model, self.plan)
        left = estimate(self.model, result.placement, self.plan.devices, settings).get(device).left_bytes
        return None if left is None else -left

    def move_cards(self, ids, device):
        result = self._try_move(ids, device)
        if isinstance(result, Refusal):
            self.message_raised.emit(result.problem)
        elif result.placement != self.plan.placement:
            self._push(dataclasses.replace(self._board, placement=result.placement), f"move to {device}")
            if result.note is not None:
                self.message_raised.emit(result.note)

    def set_expert_layers_in_ram(self, n):
        blocks = self.model.expert_blocks
        in_ram = frozenset(blocks[len(blocks) - n :])
        placement = with_experts_in_ram(self.model, self.plan.placement, self.plan.devices, in_ram)
        self._push(dataclasses.replace(self._board, placement=placement), "slider", merge_id=7)

    def set_wishes(self, **changes):
        wishes = dataclasses.replace(self._board.wishes, **changes)
        self._push(dataclasses.replace(self._board, wishes=wishes), "wishes")

    def apply_preset(self, name):
        self._push(BoardState(wishes_for_preset(self._board.wishes, name), None, self._board.gpus), "preset")

    @property
    def trades(self):
        return trades(self._plan_inputs(), self.plan) if self.plan else None

    @property
    def second_gpu(self):
        return second_gpu(self._plan_inputs(), self.plan) if self.plan else None

    def apply_trade(self, index):
        trade = self.trades[index]
        self.wished.append(("apply_trade", trade.code))
        if trade.code == "preset":
            self.apply_preset(trade.value)
        elif trade.changes:
            self.set_wishes(**trade.changes)

    def set_device_enabled(self, name, on):
        names = {d.name for d in self.plan.devices.gpus}
        gpus = tuple(sorted(names | {name} if on else names - {name}))
        self._push(BoardState(self._board.wishes, None, gpus), "device")

    def change_settings(self, **changes):
        before = self.settings
        self.settings = changed(before, **changes)
        if self.settings != before:
            self.settings_changed.emit()

    def open_model(self, path):
        self.wished.append(("open_model", path))

    def open_demo(self):
        self.wished.append(("open_demo",))

    def launch(self):
        self.wished.append(("launch",))

    def stop(self):
        self.wished.append(("stop",))

    def measure_ram(self):
        self.wished.append(("measure_ram",))

    def build_engine(self):
        self.wished.append(("build_engine",))

    def send_prompt(self, text):
        self.wished.append(("send_prompt", text))

    def stop_answer(self):
        self.wished.append(("stop_answer",))

    def refresh_hardware(self):
        self.wished.append(("refresh_hardware",))

    def save_snapshot(self, path):
        self.wished.append(("save_snapshot", path))

    def load_snapshot(self, path):
        self.wished.append(("load_snapshot", path))

    def choose_engine(self, path):
        self.wished.append(("choose_engine", path))

    def export_script(self, path, shell):
        self.wished.append(("export_script", path, shell))

    def _try_move(self, ids, device):
        return move(self.model, self.plan.devices, self.plan.placement, ids, device)

    def _push(self, after, text, merge_id=-1):
        self.undo_stack.push(ChangeBoard(self._board, after, text, self._apply, merge_id))

    def _apply(self, board):
        self._board = board
        self._replan()
        self.plan_changed.emit()

    def _plan_inputs(self):
        device_wishes = DeviceWishes(gpus=self._board.gpus)
        return plan_inputs(self.model, self.hardware, self._board.wishes, device_wishes, capabilities_of(None))

    def _replan(self):
        if self.model is None or self.hardware is None:
            return
        self.plan = make_plan(self._plan_inputs(), self._board.placement, is_edited=self._board.placement is not None)
        kv = kv_bytes_by_block(self.model, kv_settings(self.model, self.plan.wishes))
        columns = cards_by_device(self.model, self.plan.placement, [d.name for d in self.plan.devices.all], kv)
        home = self.plan.placement.home_of_unit(self.model.block_count)
        tied = tied_output_card(self.model, home)
        if tied is not None:
            columns[home] = (*columns[home], tied)
        self._columns = columns
