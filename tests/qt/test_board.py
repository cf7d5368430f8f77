"""The board: moves by drop, keyboard and menu are one wish; the focus and the words follow."""

import gc

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.planner.types import RAM
from app.ui.board.board import Board
from app.ui.board.card_model import encode_ids
from app.ui.board.column import short_name
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, qwen3_30b, small_moe

LEFT = Qt.MouseButton.LeftButton
COPY = Qt.DropAction.CopyAction


class Stage:
    """A board that follows its session, shown and active."""

    def __init__(self, session, qtbot):
        self.session = session
        self.board = Board(session)
        session.plan_changed.connect(self.board.refresh)
        qtbot.addWidget(self.board)
        self.board.resize(1000, 600)
        self.board.refresh()
        self.board.show()
        qtbot.waitActive(self.board)
        self.board.activateWindow()

    def view(self, device):
        return self.board.column(device).view

    def select(self, device, card_id):
        view = self.view(device)
        view.select_only(view.cards.find(card_id))
        return view

    def where(self, card_id):
        return next((c.device for c in self.board.columns if c.model.find(card_id).isValid()), None)

    def drag(self, event_type, device, ids):
        """A drag that enters a column and then does ``event_type`` there; returns that last event.

        Qt sends moves and drops to the widget that took the last enter, so one without an enter would go astray.
        """
        view = self.view(device)
        data = encode_ids(ids)
        event = None
        for kind in dict.fromkeys((QDragEnterEvent, event_type)):
            at = QPointF(20, 20) if kind is QDropEvent else QPoint(20, 20)
            event = kind(at, COPY, data, LEFT, Qt.KeyboardModifier.NoModifier)
            event.setDropAction(COPY)
            QApplication.sendEvent(view.viewport(), event)
        event.data = data  # the event only borrows it
        return event


@pytest.fixture
def stage(qtbot):
    return Stage(FakeSession(laptop(), small_moe()), qtbot)


@pytest.fixture
def big_stage(qtbot):
    return Stage(FakeSession(laptop(), qwen3_30b()), qtbot)


def test_that_the_columns_are_the_plans_devices_with_ram_last(stage):
    assert [column.device for column in stage.board.columns] == ["CUDA0", RAM]
    assert [off.device for off in stage.board.off_columns] == ["Vulkan0"]


def test_that_a_drop_on_a_column_moves_the_cards_there(stage):
    event = stage.drag(QDropEvent, RAM, ["output"])
    assert event.isAccepted()
    assert stage.where("output") == RAM
    stage.session.undo_stack.undo()
    assert stage.where("output") == "CUDA0"


def test_that_a_drop_on_the_head_of_a_column_counts_as_well(stage):
    column = stage.board.column(RAM)
    data = encode_ids(["output"])
    none = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(30, 10), COPY, data, LEFT, none)
    QApplication.sendEvent(column, enter)
    assert enter.isAccepted()
    assert column.status == "Drop here: fits"
    QApplication.sendEvent(column, QDropEvent(QPointF(30, 10), COPY, data, LEFT, none))
    assert stage.where("output") == RAM


def test_that_a_refused_drop_moves_nothing(stage):
    event = stage.drag(QDropEvent, "CUDA0", ["embeddings"])
    assert not event.isAccepted()
    assert stage.where("embeddings") == RAM


def test_that_hovering_with_a_forbidden_card_says_the_reason(stage):
    event = stage.drag(QDragMoveEvent, "CUDA0", ["embeddings"])
    assert not event.isAccepted()
    assert "embedding" in stage.board.column("CUDA0").status.lower()
    QApplication.sendEvent(stage.view("CUDA0").viewport(), QDragLeaveEvent())
    assert stage.board.column("CUDA0").status.startswith("Fits")


def test_that_hovering_with_too_much_says_how_much_is_missing(big_stage):
    ram = big_stage.session.cards(RAM)
    experts = next(card.id for card in ram if card.id.startswith("experts"))
    event = big_stage.drag(QDragMoveEvent, "CUDA0", [experts])
    assert event.isAccepted()
    assert "more" in big_stage.board.column("CUDA0").status


def test_that_hovering_over_the_cards_own_column_says_nothing(stage):
    before = stage.board.column("CUDA0").status
    stage.drag(QDragEnterEvent, "CUDA0", ["output"])
    assert stage.board.column("CUDA0").status == before


def test_that_alt_right_moves_the_card_and_the_focus_stays_on_it(stage, qtbot):
    view = stage.select("CUDA0", "output")
    with qtbot.waitSignal(stage.board.announced, timeout=0) as said:
        QTest.keyClick(view, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert stage.where("output") == RAM
    ram = stage.view(RAM)
    assert ram.hasFocus()
    assert ram.selected_ids() == ("output",)
    assert "Output head → RAM" in said.args[0]
    QTest.keyClick(ram, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert stage.where("output") == "CUDA0"
    assert stage.view("CUDA0").selected_ids() == ("output",)


def test_that_a_block_that_joins_its_neighbours_takes_the_focus_to_their_card(stage):
    stage.session.move_cards(("experts:3",), RAM)
    view = stage.select("CUDA0", "experts:0-2")
    view.expand(view.currentIndex())
    stage.select("CUDA0", "experts:2")
    QTest.keyClick(view, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert stage.view(RAM).selected_ids() == ("experts:2-3",)


def test_that_alt_left_at_the_edge_moves_nothing(stage):
    view = stage.select("CUDA0", "output")
    QTest.keyClick(view, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert stage.where("output") == "CUDA0"
    assert not stage.session.undo_stack.canUndo()


def test_that_a_fixed_card_says_that_it_cannot_be_moved(stage, qtbot):
    view = stage.select(RAM, "embeddings")
    with qtbot.waitSignal(stage.board.announced, timeout=0) as said:
        QTest.keyClick(view, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert said.args == ["This card cannot be moved."]


def test_that_return_opens_and_closes_a_card(stage):
    view = stage.select("CUDA0", "experts:0-3")
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert view.isExpanded(view.currentIndex())
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert not view.isExpanded(view.currentIndex())


def test_that_a_click_on_the_arrow_opens_a_card_without_selecting_it(stage):
    view = stage.view("CUDA0")
    index = view.cards.find("experts:0-3")
    QTest.mouseClick(view.viewport(), LEFT, pos=view.shape_at(index).chevron.center())
    assert view.isExpanded(index)
    assert view.selected_ids() == ()


def test_that_an_open_card_stays_open_through_a_move_and_its_undo(stage):
    view = stage.view("CUDA0")
    view.expand(view.cards.find("experts:0-3"))
    stage.session.move_cards(("experts:3",), RAM)
    assert view.isExpanded(view.cards.find("experts:0-2"))
    stage.session.undo_stack.undo()
    assert view.isExpanded(view.cards.find("experts:0-3"))


def test_that_several_selected_cards_move_in_one_step(stage):
    view = stage.select("CUDA0", "output")
    QTest.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    chosen = view.selected_ids()
    assert len(chosen) == 2
    QTest.keyClick(view, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert {stage.where(card_id) for card_id in chosen} == {RAM}
    stage.session.undo_stack.undo()
    assert {stage.where(card_id) for card_id in chosen} == {"CUDA0"}


def test_that_only_one_column_holds_a_selection(stage):
    stage.select("CUDA0", "output")
    stage.select(RAM, "embeddings")
    assert stage.view("CUDA0").selected_ids() == ()
    assert [card.id for card in stage.board.selected_cards()] == ["embeddings"]


def test_that_the_menu_offers_the_other_devices_and_moves(stage):
    stage.select("CUDA0", "output")
    menu = QMenu(stage.board)
    stage.board.fill_menu(menu, "CUDA0")
    assert [action.text() for action in menu.actions()] == ["Move to RAM"]
    stage.board._on_menu_action(menu.actions()[0])
    assert stage.where("output") == RAM


def test_that_the_menu_says_what_is_missing_and_why_a_card_is_fixed(big_stage):
    experts = next(card.id for card in big_stage.session.cards(RAM) if card.id.startswith("experts"))
    big_stage.select(RAM, experts)
    menu = QMenu(big_stage.board)
    big_stage.board.fill_menu(menu, RAM)
    assert "more)" in menu.actions()[0].text()
    assert menu.actions()[0].isEnabled()
    big_stage.select(RAM, "embeddings")
    big_stage.board.fill_menu(menu, RAM)
    assert not menu.actions()[0].isEnabled()


def test_that_the_button_on_the_selected_card_asks_for_the_menu(stage, qtbot):
    view = stage.select("CUDA0", "output")
    shape = view.shape_at(view.cards.find("output"))
    assert min(shape.button.width(), shape.button.height()) >= 24
    stage.board.column("CUDA0").menu_requested.disconnect(stage.board._on_menu)
    with qtbot.waitSignal(view.menu_requested, timeout=0):
        QTest.mouseClick(view.viewport(), LEFT, pos=shape.button.center())


def test_that_the_menu_key_asks_for_the_menu(stage, qtbot):
    view = stage.select("CUDA0", "output")
    stage.board.column("CUDA0").menu_requested.disconnect(stage.board._on_menu)
    with qtbot.waitSignal(view.menu_requested, timeout=0):
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(0, 0), QPoint(0, 0))
        QApplication.sendEvent(view, event)


def test_that_a_device_can_be_switched_on_and_off(stage):
    stage.board.off_columns[0].click()
    assert [column.device for column in stage.board.columns] == ["CUDA0", "Vulkan0", RAM]
    assert not stage.board.off_columns
    stage.board.column("CUDA0").switch_requested.emit("CUDA0")
    assert [column.device for column in stage.board.columns] == ["Vulkan0", RAM]
    assert [off.device for off in stage.board.off_columns] == ["CUDA0"]
    stage.session.undo_stack.undo()
    stage.session.undo_stack.undo()
    assert [column.device for column in stage.board.columns] == ["CUDA0", RAM]
    stage.board.column("CUDA0").switch_requested.emit("CUDA0")
    assert [column.device for column in stage.board.columns] == [RAM]


def test_that_a_move_repaints_the_bars_of_the_same_widgets(stage):
    columns = stage.board.columns
    before = columns[0].bar.budget
    stage.session.move_cards(("experts:0",), RAM)
    assert stage.board.columns == columns
    assert columns[0].bar.budget != before


def test_that_a_legend_of_more_lines_moves_what_is_below_it_at_once(stage):
    column = stage.board.column("CUDA0")
    one_line = column.legend.sizeHint().height()
    column.resize(190, 600)  # nothing is laid out later: no event is handled before the look
    assert column.legend.height() > one_line
    assert column.legend.geometry().bottom() < column.status_label.geometry().top()


def test_that_the_board_survives_garbage_collection(stage):
    for n in range(12):
        stage.session.set_expert_layers_in_ram(n % 5)
        gc.collect()
        stage.select("CUDA0", stage.session.cards("CUDA0")[0].id)
    while stage.session.undo_stack.canUndo():
        stage.session.undo_stack.undo()
    gc.collect()
    QApplication.processEvents()
    assert [column.device for column in stage.board.columns] == ["CUDA0", RAM]


def test_that_every_column_tells_its_name_and_numbers_to_a_screen_reader(stage):
    column = stage.board.column("CUDA0")
    assert "RTX 4080 Laptop" in column.view.accessibleName()
    assert "RTX 4080 Laptop" in column.bar.accessibleName()
    assert "MiB" in column.bar.accessibleDescription()


def test_that_a_card_is_named_without_its_makers_words():
    assert short_name("NVIDIA GeForce RTX 4080 Laptop GPU") == "RTX 4080 Laptop"
    assert short_name("AMD Radeon RX 7900 XT") == "Radeon RX 7900 XT"
    assert short_name("Intel(R) Iris(R) Xe Graphics") == "Intel Iris Xe Graphics"
    assert short_name("NVIDIA H200") == "H200"
    assert short_name("127.0.0.1:50052") == "127.0.0.1:50052"
