"""What the window may ask of the board and of the running server: one line each, handed on to who does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.common.capabilities import Capabilities
from app.common.problem import Problem
from app.model.types import ModelInfo
from app.monitor.ring import RingBuffer
from app.planner.types import Card, Plan
from app.session.board_controller import BoardController
from app.session.chat_controller import ChatController
from app.session.machine_controller import MachineController
from app.session.run_controller import RunController
from app.session.state import ChatState, RunState
from app.session.trades_controller import TradesController
from app.session.verify_controller import VerifyController
from app.work.engines import capabilities_of

if TYPE_CHECKING:
    from app.hardware.types import HardwareSnapshot
    from app.planner.second_gpu import SecondGpu
    from app.planner.trades import Trade
    from app.work.verifying import Verification


class BoardWishes:
    """The part of ``AppSession`` that shows and changes the board."""

    _board: BoardController

    @property
    def model(self) -> ModelInfo | None:
        """The open file's header."""
        return self._board.model

    @property
    def plan(self) -> Plan | None:
        """The plan on the board; None without a model or before the machine has been looked at."""
        return self._board.plan

    @property
    def capabilities(self) -> Capabilities:
        """The options of the engine in use, or those of the reference build while there is none."""
        inputs = self._board.inputs
        return capabilities_of(None) if inputs is None else inputs.capabilities

    @property
    def expert_layers_total(self) -> int:
        """How many blocks have routed experts; 0 for a dense model."""
        return self._board.expert_layers_total

    @property
    def expert_layers_in_ram(self) -> int:
        """How many blocks have routed experts in RAM, whole or in part."""
        return self._board.expert_layers_in_ram

    def cards(self, device: str) -> tuple[Card, ...]:
        """Top-level cards of a column."""
        return self._board.cards(device)

    def move_cards(self, ids: tuple[str, ...], device: str) -> None:
        """Move cards to a column; a refusal or a note about what moved along is raised as a message."""
        self._board.move_cards(ids, device)

    def can_move(self, ids: tuple[str, ...], device: str) -> Problem | None:
        """Why a drop would be refused; None when it is fine."""
        return self._board.can_move(ids, device)

    def move_cost(self, ids: tuple[str, ...], device: str) -> int | None:
        """Bytes by which the target would be over-full after the move; negative = that much is left; None = unknown."""
        return self._board.move_cost(ids, device)

    def set_expert_layers_in_ram(self, n: int) -> None:
        """The slider: the last ``n`` expert layers in RAM, whole layers only. One drag is one step of undo."""
        self._board.set_expert_layers_in_ram(n)

    def set_wishes(self, **changes: Any) -> None:
        """Change fields of ``Wishes``; a plan that nobody edited is made anew, an edited one keeps its placement."""
        self._board.set_wishes(**changes)

    def apply_preset(self, name: str) -> None:
        """Start again from a preset (``planner.presets.PRESETS``)."""
        self._board.apply_preset(name)

    def set_device_enabled(self, name: str, on: bool) -> None:
        """Switch a GPU's column on or off; one is on at a time."""
        self._board.set_device_enabled(name, on)


class RunWishes:
    """The part of ``AppSession`` that shows the running server and talks to it."""

    _run: RunController

    @property
    def run(self) -> RunState:
        """The running server."""
        return self._run.state

    @property
    def running_plan(self) -> Plan | None:
        """The plan that was launched last."""
        return self._run.plan

    @property
    def chat(self) -> ChatState:
        """The question being answered."""
        return self._run.chat

    def history(self) -> RingBuffer:
        """All samples of this run."""
        return self._run.history

    def log_text(self) -> str:
        """The engine's last lines."""
        return self._run.log_text()

    def watch_server(self, on: bool) -> None:
        """Ask the running server and its cards for live figures, or only as often as the record of the run needs."""
        self._run.watch(on)

    def stop(self) -> None:
        """Stop the server; legal at any time."""
        self._run.stop()

    def send_prompt(self, text: str) -> None:
        """Ask the running server."""
        self._run.send_prompt(text)

    @property
    def talk(self) -> ChatController:
        """The conversation: its turns, pictures, the system prompt."""
        return self._run.talk

    def stop_answer(self) -> None:
        """Stop the answer at once; the server goes on."""
        self._run.stop_answer()


class MachineWishes:
    """The part that shows the machine."""

    machine: MachineController

    @property
    def hardware(self) -> HardwareSnapshot | None:
        """The machine, or None while it is being looked at."""
        return self.machine.hardware

    @property
    def is_this_machine(self) -> bool:
        """False while the plan is for a saved machine, whose RAM cannot be measured here."""
        return not self.machine.is_saved

    def refresh_hardware(self) -> None:
        """Look at this machine again (also after a saved one was shown)."""
        self.machine.look_again()

    def measure_ram(self) -> None:
        """Measure RAM reading; then ``hardware_changed``. A saved machine's figures are not mixed with this one's."""
        self.machine.measure()


class PlanAnswers:
    """What was worked out about the plan on the board, by the engine and by ourselves."""

    _board: BoardController
    _verify: VerifyController
    _trades: TradesController

    @property
    def verification(self) -> Verification | None:
        """The engine's own figures for the plan on the board; None until it has answered."""
        return self._verify.result

    @property
    def verification_problem(self) -> Problem | None:
        """Why the engine would not load the plan on the board, as it says itself."""
        return self._verify.problem

    @property
    def trades(self) -> tuple[Trade, ...] | None:
        """What the plan could have for something else, the best first; None while that is being worked out."""
        return self._trades.result

    @property
    def second_gpu(self) -> SecondGpu | None:
        """Is the second GPU worth it; None with one card, and until it is worked out."""
        return self._trades.second_gpu

    def apply_trade(self, index: int) -> None:
        """Take one of the offers in ``trades``; nothing happens for one that only the user can take."""
        offers = self.trades or ()
        if 0 <= index < len(offers):
            self._board.apply_trade(offers[index])
