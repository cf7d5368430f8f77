"""The plan on the board: model, wishes, placement, undo. Every change is a pure function of the one before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QElapsedTimer, QObject, Signal
from PySide6.QtGui import QUndoStack

from app.common.capabilities import Capabilities
from app.common.problem import Problem, ProblemError
from app.engine.apikey import new_api_key
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.cards import BoardCards, tied_output_card
from app.planner.devices import DeviceWishes
from app.planner.kv import kv_bytes_by_block
from app.planner.learned import NOTHING_LEARNED, Learned
from app.planner.memory import estimate
from app.planner.moves import move
from app.planner.placement import devices_of, expert_layers_in_ram, with_experts_in_ram
from app.planner.plan import PlanInputs, kv_settings, make_plan, run_settings_of
from app.planner.presets import wishes_for_preset
from app.planner.trades import Trade
from app.planner.types import Card, MoveResult, Placement, Plan, Refusal, Wishes
from app.session.board_state import SLIDER_MERGE_ID, BoardState, ChangeBoard, ServerWords
from app.words import say
from app.work.planning import DEFAULT_PORT, plan_inputs

_SLIDER_GESTURE_MS = 1500


class BoardController(QObject):
    """Owns the undo stack and the plan.

    Signals: ``changed`` the plan was made anew; ``message_raised(Problem)`` a refusal or a note. The plan's API key and
    port stay the same as long as the window is open.
    """

    changed = Signal()
    message_raised = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo_stack = QUndoStack(self)
        self.model: ModelInfo | None = None
        self.plan: Plan | None = None
        self.inputs: PlanInputs | None = None
        self.device_wishes = DeviceWishes()
        self.api_key = new_api_key()
        self._hardware: HardwareSnapshot | None = None
        self._capabilities: Capabilities | None = None
        self._learned: Callable[[], Learned] = lambda: NOTHING_LEARNED
        self._board = BoardState()
        self._cards: BoardCards | None = None
        self._columns: dict[str, tuple[Card, ...]] = {}
        self._slider_gesture = 0
        self._slider_clock = QElapsedTimer()

    # ---- what is shown ----------------------------------------------------------------------------------------------

    @property
    def expert_layers_total(self) -> int:
        """How many blocks have routed experts; 0 for a dense model."""
        return len(self.model.expert_blocks) if self.model else 0

    @property
    def expert_layers_in_ram(self) -> int:
        """How many blocks have routed experts in RAM, whole or in part."""
        if self.model is None or self.plan is None:
            return 0
        return len(expert_layers_in_ram(self.model, self.plan.placement))

    def cards(self, device: str) -> tuple[Card, ...]:
        """Top-level cards of a column."""
        return self._columns.get(device, ())

    # ---- what it follows from ---------------------------------------------------------------------------------------

    def use_model(self, model: ModelInfo, reserve_mib: int | None, *, is_quiet: bool = False) -> None:
        """Another file: fresh wishes, a fresh plan, nothing to undo. ``changed`` is left to the caller."""
        self.model = model
        self._cards = BoardCards(model)
        self.undo_stack.clear()
        self._board = BoardState(Wishes(reserve_mib=reserve_mib, is_quiet=is_quiet), None, self._board.gpus)
        self.replan()

    def use_machine(self, hardware: HardwareSnapshot | None, capabilities: Capabilities) -> None:
        """Another look at the machine or another engine: the same board, planned anew."""
        self._hardware, self._capabilities = hardware, capabilities
        if self.model is not None:
            self.replan()
            self.changed.emit()

    def use_learned(self, learned: Callable[[], Learned]) -> None:
        """Whom to ask what this machine has taught, now that it taught something: the same board, planned anew."""
        self._learned = learned
        if self.model is not None:
            self.replan()
            self.changed.emit()

    def question_of_machine(self) -> tuple[HardwareSnapshot, ModelInfo | None, Wishes | None, DeviceWishes] | None:
        """What a verdict on the machine follows from; None while the machine has not been looked at."""
        if self._hardware is None:
            return None
        wishes = None if self.model is None else replace(self._board.wishes, preset="fill", n_gpu_layers=None)
        return self._hardware, self.model, wishes, self.device_wishes

    # ---- wishes -----------------------------------------------------------------------------------------------------

    def move_cards(self, ids: tuple[str, ...], device: str) -> None:
        """Move cards to a column; a refusal or a note about what moved along is raised as a message."""
        result = self._try_move(ids, device)
        if result is None:
            return
        if isinstance(result, Refusal):
            self.message_raised.emit(result.problem)
            return
        if self.plan is None or result.placement == self.plan.placement:
            return
        self._push(replace(self._board, placement=result.placement), say("undo.move", device=device))
        if result.note is not None:
            self.message_raised.emit(result.note)

    def can_move(self, ids: tuple[str, ...], device: str) -> Problem | None:
        """Why a drop would be refused; None when it is fine."""
        result = self._try_move(ids, device)
        return result.problem if isinstance(result, Refusal) else None

    def move_cost(self, ids: tuple[str, ...], device: str) -> int | None:
        """Bytes by which the target would be over-full after the move; negative = that much is left; None = unknown."""
        result = self._try_move(ids, device)
        if self.model is None or self.plan is None or not isinstance(result, MoveResult):
            return None
        after = estimate(self.model, result.placement, self.plan.devices, run_settings_of(self.model, self.plan))
        left = after.get(device).left_bytes
        return None if left is None else -left

    def _try_move(self, ids: tuple[str, ...], device: str) -> MoveResult | Refusal | None:
        if self.model is None or self.plan is None:
            return None
        return move(self.model, self.plan.devices, self.plan.placement, ids, device)

    def set_expert_layers_in_ram(self, n: int) -> None:
        """The slider: the last ``n`` expert layers in RAM, whole layers only. One drag is one step of undo."""
        if self.model is None or self.plan is None or not self.plan.devices.gpus:
            return
        blocks = self.model.expert_blocks
        n = max(0, min(n, len(blocks)))
        in_ram = frozenset(blocks[len(blocks) - n :])
        placement = with_experts_in_ram(self.model, self.plan.placement, self.plan.devices, in_ram)
        if placement == self.plan.placement:
            return
        if not self._slider_clock.isValid() or self._slider_clock.elapsed() > _SLIDER_GESTURE_MS:
            self._slider_gesture += 1
        self._slider_clock.start()
        merge_id = SLIDER_MERGE_ID + self._slider_gesture
        self._push(replace(self._board, placement=placement), say("undo.slider", n=n), merge_id)

    def set_wishes(self, **changes: Any) -> None:
        """Change wishes; a plan that nobody edited is made anew for them, an edited one keeps its placement."""
        wishes = replace(self._board.wishes, **changes)
        if wishes != self._board.wishes:
            placement = None if "n_gpu_layers" in changes else self._board.placement
            if placement is not None and "kv_home" in changes:
                placement = replace(placement, kv_home=wishes.kv_home)
            self._push(replace(self._board, wishes=wishes, placement=placement), say("undo.wishes"))

    def apply_preset(self, name: str) -> None:
        """Start again from a preset."""
        wishes = wishes_for_preset(self._board.wishes, name)
        self._push(replace(self._board, wishes=wishes, placement=None), say("undo.preset"))

    def apply_trade(self, trade: Trade) -> None:
        """Take an offer: a preset, or other wishes."""
        if trade.code == "preset":
            self.apply_preset(str(trade.value))
        elif trade.code == "use_device":
            self.set_device_enabled(str(trade.value), True)
        elif trade.changes:
            self.set_wishes(**trade.changes)

    def set_device_enabled(self, name: str, on: bool) -> None:
        """Switch a GPU's column on or off. A board that nobody edited is planned anew over the cards that are on; an
        edited one stays, unless it uses the card that went off."""
        if self.inputs is None:
            return
        names = {d.name for d in self.inputs.devices.gpus} - {name} | ({name} if on else set())
        placement = self._board.placement
        if placement is not None and not on and name in devices_of(placement):
            placement = None
        after = replace(self._board, placement=placement, gpus=tuple(sorted(names)))
        self._push(after, say("undo.device", device=name))

    def load(self, told: PlanInputs, placement: Placement | None, text: str) -> None:
        """Take a whole board (a saved plan, somebody's command) as one step of undo. ``told``: its wishes, its devices
        and how its server is reached; ``placement`` None: its preset decides."""
        usual = self._inputs(BoardState())
        if usual is not None:
            self._push(board_state(told, placement, usual), text)

    def inputs_for(self, wishes: Wishes) -> PlanInputs | None:
        """What a plan with these wishes follows from, on a board that is otherwise untouched."""
        return self._inputs(BoardState(wishes))

    def state_before(self) -> BoardState | None:
        """The board as it was before the last step; None when there is none."""
        step = self.undo_stack.command(self.undo_stack.index() - 1)
        return step.before if isinstance(step, ChangeBoard) else None

    def plan_with(self, **changes: Any) -> Plan | None:
        """The plan that this board would be with other wishes; nothing is changed. Raises ProblemError."""
        return self.plan_of(replace(self._board, wishes=replace(self._board.wishes, **changes)))

    def plan_of(self, board: BoardState) -> Plan | None:
        """The plan that another board would be, here and now. Raises ProblemError."""
        inputs = self._inputs(board)
        if inputs is None:
            return None
        placement = _fitting_placement(board, inputs)
        return make_plan(inputs, placement, is_edited=placement is not None)

    def _push(self, after: BoardState, text: str, merge_id: int = -1) -> None:
        if after != self._board:
            self.undo_stack.push(ChangeBoard(self._board, after, text, self._apply_board, merge_id))

    def _apply_board(self, board: BoardState) -> None:
        self._board = board
        self.replan()
        self.changed.emit()

    # ---- planning ---------------------------------------------------------------------------------------------------

    def replan(self) -> None:
        """Make the plan for the present model, machine and board. A few milliseconds, so it runs here and now."""
        inputs = self.inputs = self._inputs(self._board)
        if inputs is None:
            self.plan, self._columns = None, {}
            return
        placement = _fitting_placement(self._board, inputs)
        try:
            self.plan = make_plan(inputs, placement, is_edited=placement is not None)
        except ProblemError as error:
            self.message_raised.emit(error.problem)
            return
        assert self._cards is not None
        self._columns = _columns(self._cards, inputs.model, self.plan)

    def _inputs(self, board: BoardState) -> PlanInputs | None:
        if self.model is None or self._hardware is None or self._capabilities is None:
            return None
        inputs = plan_inputs(
            self.model,
            self._hardware,
            board.wishes,
            replace(self.device_wishes, gpus=board.gpus),
            self._capabilities,
            port=DEFAULT_PORT,
            api_key=self.api_key,
            learned=self._learned(),
        )
        return board.server.onto(inputs)


def board_state(told: PlanInputs, placement: Placement | None, usual: PlanInputs) -> BoardState:
    """The board that shows these inputs; ``usual``: those of a board that nobody has touched."""
    names = tuple(sorted(device.name for device in told.devices.gpus))
    return BoardState(told.wishes, placement, names, ServerWords.of(told, usual))


def _fitting_placement(board: BoardState, inputs: PlanInputs) -> Placement | None:
    """The board's placement, unless its devices are not there any more (a card was switched off or unplugged)."""
    placement = board.placement
    if placement is None:
        return None
    names = {d.name for d in inputs.devices.all}
    return placement if devices_of(placement) <= names else None


def _columns(cards: BoardCards, model: ModelInfo, plan: Plan) -> dict[str, tuple[Card, ...]]:
    kv = kv_bytes_by_block(model, kv_settings(model, plan.wishes))
    columns = cards.columns(model, plan.placement, [d.name for d in plan.devices.all], kv)
    home = plan.placement.home_of_unit(model.block_count)
    tied = tied_output_card(model, home)
    if tied is not None:
        columns[home] = (*columns[home], tied)
    return columns
