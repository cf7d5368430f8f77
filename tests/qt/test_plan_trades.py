"""The card "What next": the best offers with their gain, and a click that takes one."""

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.planner.second_gpu import SecondGpu, Worth
from app.planner.trades import Quality, Trade
from app.ui.pages.plan import PlanPage
from app.ui.pages.plan_trades import TradesCard, gain, how
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, qwen3_30b

MIB = 1 << 20


def _trade(**changes):
    facts = {
        "code": "kv_type", "value": "q8_0", "changes": {"cache_type_k": "q8_0", "cache_type_v": "q8_0"},
        "freed_bytes": 816 * MIB, "expert_layers": 2.2, "decode_gain_tps": 1.34, "decode_gain_share": 0.03,
        "prompt_factor": 1.1, "ram_read_saved_bytes": 40 * MIB, "quality": Quality.HARDLY,
    }  # fmt: skip
    return Trade(**{**facts, **changes})


def _answer():
    return SecondGpu(
        devices=("CUDA1",), alone="CUDA0", is_on=True, decode=Worth.FASTER, prompt=Worth.MORE_IN_VRAM,
        decode_with=31.0, decode_without=22.5, decode_factor=31.0 / 22.5, prompt_with=None, prompt_without=None,
        prompt_factor=None, ram_read_with_bytes=0, ram_read_without_bytes=600 * MIB,
    )  # fmt: skip


@pytest.fixture
def session():
    session = FakeSession(laptop(), qwen3_30b())
    session.set_wishes(n_ctx=16384)
    return session


@pytest.fixture
def page(session, qtbot):
    page = PlanPage(session)
    qtbot.addWidget(page)
    page.resize(1280, 900)
    page.show()
    return page


def test_that_an_offer_reads_as_gain_and_cost():
    assert gain(_trade()) == "+1.3 tok/s"
    assert how(_trade()) == "frees 816 MiB, +2.2 layers, hardly any loss"
    wide = _trade(code="ubatch", value=1024, freed_bytes=-76 * MIB, expert_layers=-0.2, decode_gain_tps=-0.1,
                  prompt_factor=1.97, quality=Quality.SAME)  # fmt: skip
    assert gain(wide) == "prompt ×2"
    assert how(wide) == "takes 76 MiB, −0.2 layers, 0.1 tok/s slower"
    assert how(_trade(expert_layers=26.0)) == "frees 816 MiB, +26 layers, hardly any loss"


def test_that_bytes_stand_in_for_an_unknown_speed_and_vram_for_a_plan_that_does_not_fit():
    assert gain(_trade(decode_gain_tps=None)) == "reads 40 MiB less"
    assert gain(_trade(relieves=True)) == "816 MiB free"


def test_that_the_best_offers_are_listed_in_order(page, session):
    shown = page.side.trades.rows
    assert 3 <= len(shown) <= 5
    assert [row.gain.text() for row in shown] == [gain(t) for t in session.trades[: len(shown)]]


def test_that_a_click_takes_the_offer_and_undo_gives_it_back(page, session):
    offers = session.trades
    at = next(i for i, t in enumerate(offers) if t.code == "kv_type" and t.value == "q8_0")
    page.side.trades.rows[at].click()
    assert session.plan.wishes.cache_type_k == "q8_0"
    assert "-ctk q8_0" in page.command.command.toPlainText()
    session.undo_stack.undo()
    assert session.plan.wishes.cache_type_k == "f16"


def test_that_what_only_the_user_can_do_is_no_button(page, session):
    at = next(i for i, t in enumerate(session.trades) if t.code == "close_programs")
    row = page.side.trades.rows[at]
    assert not row.focusPolicy()
    assert "Close other programs" in row.accessibleName()


def test_that_the_focus_stays_with_the_offers_when_one_is_taken(page, session, qtbot):
    trades = page.side.trades
    trades.rows[1].setFocus()
    assert page.window().focusWidget() is trades.rows[1]
    offers = session.trades
    trades.show_trades(None)
    assert page.window().focusWidget() is trades
    trades.show_trades(offers[1:])
    assert page.window().focusWidget() is trades.rows[1]
    trades.show_trades(offers[:1])
    assert page.window().focusWidget() is trades.rows[0]
    QTest.keyClick(trades.rows[0], Qt.Key.Key_Space)
    assert page.window().focusWidget() in trades.rows
    trades.show_trades(())
    assert page.window().focusWidget() is trades
    trades.show_trades(offers)
    assert page.window().focusWidget() in trades.rows


def test_that_what_is_no_button_shows_its_tooltip_and_takes_no_click(qtbot):
    card = TradesCard()
    qtbot.addWidget(card)
    card.resize(320, 600)
    card.show()
    card.show_trades((_trade(code="close_programs", changes={}),), _answer())
    taken = []
    card.apply_requested.connect(taken.append)
    for row in card.rows:
        assert not row.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        middle = row.mapTo(card, row.rect().center())
        assert card.childAt(middle) is row
        assert row.toolTip()
        QTest.mouseClick(row, Qt.MouseButton.LeftButton)
    assert taken == []


def test_that_a_low_window_shows_the_best_offers_whole_and_leaves_the_rest_out(qtbot):
    card = TradesCard()
    qtbot.addWidget(card)
    card.show_trades(tuple(_trade(value=str(i)) for i in range(5)))
    card.resize(260, 400)
    card.show()
    qtbot.waitExposed(card)
    assert len(card.rows) == 5
    card.resize(260, 140)
    qtbot.waitUntil(lambda: 0 < len(card.rows) < 4)
    assert [row.what.text() for row in card.rows] == [f"KV cache {i}" for i in range(len(card.rows))]
    assert all(row.geometry().bottom() <= row.parentWidget().height() for row in card.rows)


def test_that_a_height_for_a_smaller_offer_than_the_best_leaves_no_empty_card(qtbot):
    card = TradesCard()
    qtbot.addWidget(card)
    long = _trade(code="ubatch", value=1024, decode_gain_tps=-0.2, prompt_factor=1.97, quality=Quality.VISIBLE)
    card.show_trades((long, _trade(expert_layers=0.0, quality=Quality.SAME)))
    card.resize(190, 400)
    card.show()
    heights = [row.height() for row in card.rows]
    assert heights[0] > heights[1]
    for height in range(20, 200, 4):
        card.resize(190, height)
        assert bool(card.rows) == card._title.isVisible()


def test_that_a_panel_too_low_for_its_cards_scrolls_and_cuts_nothing(qtbot):
    session = FakeSession(laptop(), qwen3_30b())
    session.set_wishes(n_ctx=16384, is_quiet=True)
    page = PlanPage(session)
    qtbot.addWidget(page)
    page.show()
    for height, is_low in ((900, False), (520, True)):
        page.resize(1204, height)
        qtbot.waitUntil(lambda is_low=is_low: (page.side.verticalScrollBar().maximum() > 0) is is_low)
        for label in page.side.findChildren(QLabel):
            if label.isVisible() and label.text():
                assert label.height() >= label.heightForWidth(label.width()), label.text()
        assert (page.side.focusPolicy() == Qt.FocusPolicy.StrongFocus) is is_low
    assert page.side.accessibleName()


def test_that_the_best_offer_stays_in_every_window_and_no_gap_is_left_where_selected_cards_need_its_room(qtbot):
    session = FakeSession(laptop(), qwen3_30b())
    session.set_wishes(n_ctx=16384, is_quiet=True)
    session.change_settings(details_open=True)
    page = PlanPage(session)
    qtbot.addWidget(page)
    page.show()
    side = page.side

    def gaps():
        cards = [card for card in (side.speed, side.notes, side.trades, side.selection) if not card.isHidden()]
        return {below.y() - above.geometry().bottom() - 1 for above, below in pairwise(cards)}

    for height in range(560, 920, 20):
        page.resize(1290, height)
        qtbot.waitUntil(lambda: side.trades.rows and gaps() == {10})
    view = page.board.columns[0].view
    view.setCurrentIndex(view.model().index(0, 0))
    assert page.board.selected_cards()
    shown = set()
    for height in range(560, 1000, 20):
        page.resize(1290, height)
        qtbot.waitUntil(lambda: (side.trades.isHidden() or side.trades.rows) and gaps() == {10})
        shown.add(not side.trades.isHidden())
        if side.trades.isHidden():
            assert side.selection.height() > 0
    assert shown == {True, False}


def test_that_an_edited_plan_is_offered_the_best_one(page, session):
    session.set_expert_layers_in_ram(40)
    first = page.side.trades.rows[0]
    assert first.what.text() == "Best for this machine"
    first.click()
    assert not session.plan.is_edited


def test_that_offers_being_worked_out_are_greyed_and_none_is_said(qtbot):
    card = TradesCard()
    qtbot.addWidget(card)
    card.resize(260, 400)
    card.show()
    card.show_trades(None)
    assert "Working out" in card.note
    card.show_trades((_trade(),))
    assert card.note == ""
    card.show_trades(None)
    assert not card.rows[0].isEnabled()
    card.show_trades(())
    assert "Nothing to gain" in card.note


@pytest.mark.parametrize("quality", list(Quality))
def test_that_every_cost_has_its_word(quality):
    told = how(_trade(quality=quality))
    assert told.startswith("frees 816 MiB, +2.2 layers")
    assert (told.count(",") == 2) == (quality not in (Quality.SAME, Quality.OTHERS))


def test_that_what_the_second_card_gains_is_the_first_row_and_no_button(qtbot):
    answer = _answer()
    card = TradesCard()
    qtbot.addWidget(card)
    card.resize(320, 600)
    card.show()
    card.show_trades((_trade(),), answer)
    fact, offer = card.rows
    assert (fact.what.text(), fact.gain.text()) == ("With CUDA1, against CUDA0 alone", "+8.5 tok/s")
    assert fact.how.text().startswith("Prompts gain as well")
    assert "31.0 tok/s instead of 22.5" in fact.accessibleName()
    assert fact.focusPolicy() is Qt.FocusPolicy.NoFocus
    assert offer.focusPolicy() is Qt.FocusPolicy.StrongFocus
    with qtbot.waitSignal(card.apply_requested, check_params_cb=lambda index: index == 0, timeout=0):
        offer.click()
    card.show_trades((_trade(),) * 7, answer)
    assert len(card.rows) == 5
