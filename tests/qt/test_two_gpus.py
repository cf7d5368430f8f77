"""Two GPUs on the board: each is switched on and off by itself, an edited board stays, an offer switches one on."""

import pytest

from app.engine.capabilities import FALLBACK
from app.hardware.snapshot_file import load_snapshot
from app.planner.placement import devices_of
from app.planner.trades import trades
from app.planner.types import RAM
from app.session.board_controller import BoardController
from tests.qt.plan_models import qwen3_30b
from tests.tools.hardware_data import DATA


@pytest.fixture
def board(qtbot):
    board = BoardController()
    board.use_machine(load_snapshot(DATA / "desktop-two-unequal-gpus.json"), FALLBACK)
    board.use_model(qwen3_30b(), None)
    return board


def _on(board):
    return [device.name for device in board.plan.devices.gpus]


def test_that_each_card_is_switched_off_and_on_by_itself(board):
    first, second = _on(board)
    board.set_device_enabled(second, False)
    assert _on(board) == [first]
    assert devices_of(board.plan.placement) <= {first, RAM}
    board.set_device_enabled(first, False)
    assert _on(board) == []
    board.set_device_enabled(second, True)
    assert _on(board) == [second]
    board.set_device_enabled(first, True)
    assert _on(board) == [first, second]
    for _ in range(4):
        board.undo_stack.undo()
    assert _on(board) == [first, second]


def test_that_layers_move_to_the_second_card_and_the_board_stays_as_edited(board):
    first, second = _on(board)
    board.move_cards(("attention:0-47",), second)
    placement = board.plan.placement
    assert {placement.home_of_unit(unit) for unit in range(48)} == {second}
    assert all(card.device == second for card in board.cards(second))
    board.set_wishes(n_ctx=4096)
    assert board.plan.placement == placement
    board.set_device_enabled(second, False)
    assert not board.plan.is_edited, "what it held has to go somewhere"
    assert _on(board) == [first]


def test_that_a_card_which_would_gain_is_offered_and_a_click_switches_it_on(board):
    first, second = _on(board)
    board.set_device_enabled(first, False)
    offer = next(t for t in trades(board.inputs, board.plan) if t.code == "use_device")
    assert offer.value == first
    board.apply_trade(offer)
    assert _on(board) == [first, second]
