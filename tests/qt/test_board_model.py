"""The cards' model: rows change, are never reset, and pass Qt's own model test."""

import pytest
from PySide6.QtCore import QMimeData, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from app.common.problem import Problem
from app.planner.types import RAM
from app.ui.board.card_model import CardModel, decode_ids, encode_ids
from app.ui.board.card_text import ModelFacts
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, small_moe


class Rules:
    """Says no to whatever is in ``forbidden``."""

    def __init__(self, *forbidden):
        self.forbidden = set(forbidden)

    def can_move(self, ids, device):
        return Problem("move_other") if self.forbidden & set(ids) else None


@pytest.fixture
def session(qapp):
    return FakeSession(laptop(), small_moe())


@pytest.fixture
def model(session):
    made = CardModel("CUDA0", Rules("output"))
    tester = QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal)
    made.set_cards(session.cards("CUDA0"), ModelFacts.of(session.model))
    yield made
    del tester


def ids(model, parent=QModelIndex()):  # noqa: B008
    return [model.card(model.index(row, 0, parent)).id for row in range(model.rowCount(parent))]


def refresh(model, session):
    model.set_cards(session.cards("CUDA0"), ModelFacts.of(session.model))


def test_that_the_rows_are_the_sessions_cards_at_three_levels(model, session):
    assert ids(model) == [card.id for card in session.cards("CUDA0")]
    experts = model.find("experts:0-3")
    assert ids(model, experts) == ["experts:0", "experts:1", "experts:2", "experts:3"]
    assert ids(model, model.find("experts:1")) == ["experts:1:gate", "experts:1:up", "experts:1:down"]


def test_that_a_move_changes_rows_and_never_resets(model, session, qtbot):
    output = QPersistentModelIndex(model.find("output"))
    experts = QPersistentModelIndex(model.find("experts:0-3"))
    block = QPersistentModelIndex(model.find("experts:1"))
    session.move_cards(("experts:3",), RAM)
    with qtbot.assertNotEmitted(model.modelReset, wait=0), qtbot.waitSignal(model.rowsRemoved, timeout=0):
        refresh(model, session)
    assert model.card(experts).id == "experts:0-2"
    assert model.card(block).id == "experts:1"
    assert output.isValid()
    assert not model.find("experts:3").isValid()


def test_that_undo_brings_the_rows_back(model, session):
    before = ids(model)
    session.move_cards(("experts:0-3", "attention:0-3"), RAM)
    refresh(model, session)
    assert "experts:0-3" not in ids(model)
    session.undo_stack.undo()
    refresh(model, session)
    assert ids(model) == before


def test_that_every_single_move_and_its_undo_keep_the_model_valid(model, session):
    for card_id in ("experts:0", "experts:2:up", "router:1", "output", "attention:3", "experts:0-3"):
        session.move_cards((card_id,), RAM)
        refresh(model, session)
        assert ids(model) == [card.id for card in session.cards("CUDA0")]
    while session.undo_stack.canUndo():
        session.undo_stack.undo()
        refresh(model, session)
        assert ids(model) == [card.id for card in session.cards("CUDA0")]


def test_that_new_words_reach_rows_that_did_not_change(model, session, qtbot):
    with qtbot.waitSignal(model.dataChanged, timeout=0):
        model.set_cards(session.cards("CUDA0"), ModelFacts(16, 4))


def test_that_drag_data_holds_ids_and_only_copies_are_offered(model):
    data = model.mimeData([model.find("output"), model.find("attention:0-3")])
    assert decode_ids(data) == ("attention:0-3", "output")
    assert model.supportedDragActions() == Qt.DropAction.CopyAction
    assert model.supportedDropActions() == Qt.DropAction.CopyAction


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 9999, b"null", b"5", b'{"a": 1}', b'"text"'])
def test_that_drag_data_of_a_stranger_holds_no_card(model, data):
    strange = QMimeData()
    strange.setData("application/x-lanewise-cards", data)
    assert decode_ids(strange) == ()
    assert not model.canDropMimeData(strange, Qt.DropAction.CopyAction, -1, -1, QModelIndex())


def test_that_a_drop_becomes_a_request_and_changes_nothing(model, qtbot):
    rows = ids(model)
    with qtbot.waitSignal(model.move_requested, timeout=0) as caught:
        taken = model.dropMimeData(encode_ids(["experts:9"]), Qt.DropAction.CopyAction, -1, -1, QModelIndex())
    assert taken
    assert caught.args == [("experts:9",), "CUDA0"]
    assert ids(model) == rows


def test_that_a_drop_is_refused_when_the_rules_say_so_or_when_the_card_is_here_already(model, qtbot):
    copy, root = Qt.DropAction.CopyAction, QModelIndex()
    assert not model.canDropMimeData(encode_ids(["output"]), copy, -1, -1, root)
    assert not model.canDropMimeData(encode_ids(["experts:1"]), copy, -1, -1, root)
    assert not model.canDropMimeData(encode_ids(["experts:9"]), Qt.DropAction.MoveAction, -1, -1, root)
    assert not model.canDropMimeData(encode_ids([]), copy, -1, -1, root)
    with qtbot.assertNotEmitted(model.move_requested, wait=0):
        assert not model.dropMimeData(encode_ids(["output"]), copy, -1, -1, root)


def test_that_a_card_says_everything_to_a_screen_reader(model):
    text = model.data(model.find("attention:0-3"), Qt.ItemDataRole.AccessibleTextRole)
    assert "Attention, layers 0–3" in text
    assert "MiB" in text
    assert "KV cache" in text
    assert "CUDA0" in text


def test_that_the_embeddings_cannot_be_dragged_and_say_why(session):
    model = CardModel(RAM, Rules())
    model.set_cards(session.cards(RAM), ModelFacts.of(session.model))
    index = model.find("embeddings")
    assert not model.flags(index) & Qt.ItemFlag.ItemIsDragEnabled
    assert "keeps these in RAM" in model.data(index, Qt.ItemDataRole.ToolTipRole)
