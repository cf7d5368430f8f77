"""Battery and quiet in the window: a choice, a plan that shows it, a question before a launch, one step of undo."""

import dataclasses

import pytest

from app.common.problem import Problem
from app.engine.leftovers import RunningServer
from app.hardware.types import PowerInfo
from app.ui.pages.plan_wishes import WishesRow
from app.ui.pages.settings_everyday import EverydayCard
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.launch_strip import LaunchStrip
from app.work.before_launch import LaunchAnswer, LaunchLook, LaunchQuestion
from tests.qt.test_launching import _asked, qwen, session, started  # noqa: F401 -- fixtures


def power(of, on_battery):
    of.machine.hardware = dataclasses.replace(of.hardware, power=PowerInfo(on_battery))
    of.machine.changed.emit()


def threads(plan):
    return plan.argv[plan.argv.index("-t") + 1]


@pytest.fixture
def clear(session):  # noqa: F811
    """Nothing else stands in the way of a launch."""
    _asked(session, None)
    return session


def test_that_the_question_shows_the_change_and_the_launched_command_is_the_one_on_the_board(clear, qtbot, started):  # noqa: F811
    clear.change_settings(effort_on_battery="ask")
    power(clear, True)
    before = clear.plan
    ThemeManager.of_app()
    strip = LaunchStrip(clear.launching)
    qtbot.addWidget(strip)
    with qtbot.waitSignal(clear.launching.changed):
        clear.launch()
    assert not started
    assert "-t 6 → -t 3, + --prio -1, + --poll 0" in strip.text
    assert [button.text() for button in strip.buttons] == ["Launch quietly", "Launch as it is", "Do not launch"]
    strip.buttons[0].click()
    qtbot.waitUntil(lambda: bool(started))
    assert started[0][0] is clear.plan
    assert clear.plan.argv[clear.plan.argv.index("--prio") + 1] == "-1"
    clear.undo_stack.undo()
    assert clear.plan.argv == before.argv


def test_that_staying_changes_nothing_and_memory_is_looked_at_all_the_same(clear, qtbot, started):  # noqa: F811
    seen = []

    def look(*_, fitted, port):
        seen.append(fitted)
        return LaunchLook(None)

    clear.launching.calls = dataclasses.replace(clear.launching.calls, look=look)
    clear.change_settings(effort_on_battery="quiet")
    power(clear, True)
    plan = clear.plan
    with qtbot.waitSignal(clear.launching.changed):
        clear.launch()
    clear.launching.answer(clear.launching.question.answers[1])
    qtbot.waitUntil(lambda: bool(started))
    assert started[0][0] is plan is clear.plan
    assert seen == [True]


def test_that_the_question_is_not_asked_again_after_a_server_in_the_way_was_ended(clear, qtbot, started, monkeypatch):  # noqa: F811
    server = RunningServer(1, 0.0, "llama-server", 0, 0.0)
    monkeypatch.setattr("app.session.launch_controller.kill_leftover", lambda _server: True)
    _asked(clear, LaunchQuestion(Problem("port_in_use"), (LaunchAnswer("end_server", server=server),)))
    clear.change_settings(effort_on_battery="ask")
    power(clear, True)
    with qtbot.waitSignal(clear.launching.changed):
        clear.launch()
    clear.launching.answer(clear.launching.question.answers[1])
    qtbot.waitUntil(lambda: clear.launching.question is not None)
    clear.launching.answer(clear.launching.question.answers[0])
    qtbot.waitUntil(lambda: clear.is_idle)
    assert clear.launching.question is None
    assert len(started) == 1


def test_that_a_plan_made_quiet_for_the_battery_asks_once_the_plug_is_back(clear, qtbot, started):  # noqa: F811
    clear.change_settings(effort_on_battery="ask")
    power(clear, True)
    with qtbot.waitSignal(clear.launching.changed):
        clear.launch()
    clear.launching.answer(clear.launching.question.answers[0])
    qtbot.waitUntil(lambda: bool(started))
    power(clear, False)
    with qtbot.waitSignal(clear.launching.changed):
        clear.launch()
    assert clear.launching.question.problem.code == "launch_on_mains"
    clear.launching.answer(clear.launching.question.answers[0])
    qtbot.waitUntil(lambda: len(started) == 2)
    assert [threads(plan) for plan, _ in started] == ["3", "6"]


def test_that_a_plan_made_quiet_by_hand_is_not_said_to_be_so_for_the_battery(clear, qtbot, started):  # noqa: F811
    clear.change_settings(effort_on_battery="quiet")
    power(clear, True)
    with qtbot.waitSignal(clear.launching.changed):
        clear.launch()
    clear.launching.answer(clear.launching.question.answers[0])
    qtbot.waitUntil(lambda: bool(started))
    power(clear, False)
    clear.set_wishes(is_quiet=False)
    clear.set_wishes(is_quiet=True)
    clear.launch()
    qtbot.waitUntil(lambda: len(started) == 2)
    assert clear.launching.question is None
    assert [threads(plan) for plan, _ in started] == ["3", "3"]


def test_that_nothing_is_asked_where_no_battery_is_told(clear, qtbot, started):  # noqa: F811
    clear.change_settings(effort_on_battery="quiet")
    power(clear, None)
    clear.launch()
    qtbot.waitUntil(lambda: bool(started))
    assert threads(started[0][0]) == "6"


def test_that_a_choice_in_the_settings_is_followed_by_the_plan_as_one_step(session, qtbot):  # noqa: F811
    card = EverydayCard(session)
    qtbot.addWidget(card)
    assert (card.mains.currentData(), card.battery.currentData()) == ("full", "full")
    card.mains.setCurrentIndex(card.mains.findData("quiet"))
    assert session.settings.effort_on_mains == "quiet"
    assert threads(session.plan) == "3"
    session.undo_stack.undo()
    assert threads(session.plan) == "6"
    card.battery.setCurrentIndex(card.battery.findData("ask"))
    assert session.settings.effort_on_battery == "ask"


def test_that_the_next_model_begins_as_chosen_and_a_saved_machine_does_not(session, qtbot, qwen):  # noqa: F811
    session.machine.refresh_free = lambda _reason, then=None: None if then is None else then()
    session.change_settings(effort_on_battery="quiet")
    power(session, True)
    with qtbot.waitSignal(session.model_changed):
        session.open_model(str(qwen))
    assert threads(session.plan) == "3"
    session.machine.is_saved = True
    with qtbot.waitSignal(session.model_changed):
        session.open_model(str(qwen))
    assert threads(session.plan) == "6"


def test_that_the_wish_stands_under_details_and_is_one_step(session, qtbot):  # noqa: F811
    ThemeManager.of_app()
    row = WishesRow(session)
    qtbot.addWidget(row)
    session.plan_changed.connect(row.refresh)
    row.refresh()
    assert row.effort.combo.currentData() is False
    row.effort.combo.setCurrentIndex(1)
    row.effort.combo.activated.emit(1)
    assert session.plan.wishes.is_quiet
    session.undo_stack.undo()
    assert row.effort.combo.currentData() is False
