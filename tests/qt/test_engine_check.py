"""The engine's own figures beside ours: shown when they come, gone when the board changes, plain when they differ."""

from dataclasses import replace

import pytest

from app.common.problem import Problem, Severity
from app.planner.learned import MemoryFigures
from app.planner.types import RAM
from app.ui.board.board import Board
from app.ui.pages.plan import PlanPage
from app.ui.pages.plan_overrides import OverridesCard, mib_text
from app.work.verifying import Figures, Verification, VerifiedDevice
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, qwen3_30b

MIB = 1 << 20


@pytest.fixture
def session():
    return FakeSession(laptop(), qwen3_30b())


@pytest.fixture
def board(qtbot, session):
    made = Board(session)
    qtbot.addWidget(made)
    made.refresh()
    return made


def _told(session, device, extra_mib):
    ours = session.plan.estimate.get(device)
    figures = Figures(ours.weights_bytes, ours.kv_bytes, ours.compute_bytes)
    engine = Figures(figures.weights, figures.kv, figures.compute + extra_mib * MIB)
    return VerifiedDevice(device, figures, engine)


def _answer(session, extra_mib=0, unconfirmed=()):
    devices = tuple(_told(session, d.name, extra_mib) for d in session.plan.devices.all)
    session.verification = Verification(devices, unconfirmed, 0.4)
    session.verification_changed.emit()


def test_that_nothing_is_claimed_before_the_engine_was_asked(board):
    assert {column.check for column in board.columns} == {""}


def test_that_an_agreeing_engine_is_told_with_the_difference(board, session):
    _answer(session, extra_mib=3)
    assert board.column("CUDA0").check == "✓ engine-checked, +3.0 MiB"
    assert board.column(RAM).check.startswith("✓")


def test_that_a_differing_engine_is_told_with_its_own_figure(board, session):
    _answer(session, extra_mib=900)
    assert board.column("CUDA0").check.startswith("✗ the engine needs")
    assert "+900 MiB" in board.column("CUDA0").check


def test_that_the_tick_goes_when_the_board_changes(board, session):
    _answer(session)
    session.verification = None
    session.verification_changed.emit()
    assert board.column("CUDA0").check == ""


def test_that_every_rule_says_whether_the_engine_confirmed_it(qtbot, session):
    card = OverridesCard()
    qtbot.addWidget(card)
    card.show_rows(session.plan.overrides)
    last = card.model.index(0, 4)
    assert card.model.data(last) == "—"
    card.model.set_confirmed(True)
    assert card.model.data(last) == "✓ engine"
    card.model.set_confirmed(False)
    assert card.model.data(last) == "✗ engine"


def test_that_a_page_made_anew_for_another_language_still_shows_the_tick(qtbot, session):
    _answer(session)
    page = PlanPage(session)
    qtbot.addWidget(page)
    assert page.board.column("CUDA0").check.startswith("✓")
    assert page.board.column(RAM).check.startswith("✓")


def test_that_a_small_override_has_the_size_of_its_card():
    assert mib_text(7722 * MIB) == "7 722"
    assert mib_text(1572864) == "1.5"


def test_that_figures_learned_from_the_answer_are_told_as_the_engines(board, session):
    _answer(session, extra_mib=900)
    estimate = session.plan.estimate
    card = estimate.get("CUDA0")
    formula = MemoryFigures(card.weights_bytes, card.kv_bytes, card.compute_bytes)
    corrected = replace(card, compute_bytes=card.compute_bytes + 900 * MIB, formula=formula)
    session.plan = replace(session.plan, estimate=replace(estimate, devices=(corrected, *estimate.devices[1:])))
    board.refresh_verification()
    assert board.column("CUDA0").check == "✓ calibrated by the engine: +900 MiB to our formula"
    assert board.column(RAM).check.startswith("✗ the engine needs")


def test_that_a_plan_which_the_engine_refuses_says_so_before_it_is_launched(qtbot, session):
    page = PlanPage(session)
    qtbot.addWidget(page)
    before = page.side.notes.texts
    session.verification_problem = Problem("unknown_argument", Severity.ERROR, {"argument": "--no-such-option"})
    session.verification_changed.emit()
    assert "--no-such-option" in page.side.notes.texts[0]
    session.plan_changed.emit()
    assert "--no-such-option" in page.side.notes.texts[0], "what was learned changes the plan, not the answer"
    session.verification_problem = Problem("engine_probe_timeout", Severity.ERROR, {"seconds": 30})
    session.verification_changed.emit()
    assert page.side.notes.texts == before
