"""The first run: four steps, each skippable, resumed where it was, never shown again."""

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.common.problem import Problem
from app.session.engine_getter import GetPhase
from app.session.first_run_controller import Step
from app.session.state import ChatPhase, ChatState, EnginePhase, EngineState, RunPhase, RunState
from app.ui.dialogs.download import DownloadDialog
from app.ui.pages.first_run import FirstRunDialog
from tests.qt import fake_engines as engines
from tests.qt.fake_library import ENTRIES, SUGGESTIONS
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, small_moe


@pytest.fixture
def session(qapp):
    made = FakeSession(laptop())
    made.engine = EngineState(EnginePhase.MISSING)
    return made


@pytest.fixture
def guide(session, qtbot):
    made = FirstRunDialog(session, None, for_windows=True)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def press_enter(guide):
    QTest.keyClick(guide.go, Qt.Key.Key_Space)


def test_that_it_is_for_those_who_come_with_nothing_only(session):
    assert session.first_run.is_due
    session.change_settings(last_model="D:/m.gguf")
    assert not session.first_run.is_due
    session.change_settings(first_run=("engine",))
    assert session.first_run.is_due, "begun, not finished"
    session.first_run.leave()
    assert not session.first_run.is_due


def test_that_the_whole_way_goes_with_the_keyboard_alone(guide, session):
    assert guide.step is Step.ENGINE
    press_enter(guide)
    assert session.engines.wished[-1] == ("load_packages",)
    session.engines.show_get(phase=GetPhase.CHOOSING, offers=engines.windows_offers())
    assert "615 MiB" in guide.go.text()
    press_enter(guide)
    assert session.engines.wished[-1] == ("get_package", "cuda-12.4")
    session.set_engine(EngineState(EnginePhase.READY, "llama-server", "b11434"))
    assert guide.step is Step.MODEL
    session.library.show((), SUGGESTIONS)
    press_enter(guide)
    assert session.wished[-1] == ("look", "bartowski/DeepSeek-Coder-V2-Lite-Instruct-GGUF:Q4_K_M")
    guide.findChildren(DownloadDialog)[0].reject()
    session.hub.fetched.emit("D:/models/m.gguf")
    assert session.wished[-1] == ("open_model", "D:/models/m.gguf")
    session.show_model(small_moe())
    assert guide.step is Step.PLAN
    press_enter(guide)
    assert session.wished[-1] == ("launch",)
    session.set_run(RunState(RunPhase.READY))
    assert guide.step is Step.CHAT
    press_enter(guide)
    assert session.wished[-1][0] == "send_prompt"
    session.chat = ChatState(ChatPhase.IDLE, answer="Because.", decode_tps=41.0)
    session.chat_changed.emit()
    assert guide.step is None
    assert "Because." in guide.pages[Step.CHAT].text
    assert not session.first_run.is_due
    press_enter(guide)
    assert not guide.isVisible()


def test_that_each_step_can_be_skipped_and_closing_goes_on_there(guide, session, qtbot):
    guide.skip.click()
    assert guide.step is Step.MODEL
    guide.close()
    again = FirstRunDialog(session, None, for_windows=False)
    again.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(again)
    assert again.step is Step.MODEL
    for _ in range(3):
        again.skip.click()
    assert again.step is None
    assert session.settings.first_run[-1] == "done"


def test_that_a_model_which_is_here_already_is_offered_first(guide, session):
    guide.skip.click()
    session.library.show(ENTRIES, SUGGESTIONS)
    page = guide.pages[Step.MODEL]
    assert page.chosen == ENTRIES[0], "the largest that runs well"
    press_enter(guide)
    assert session.wished[-1] == ("open_model", ENTRIES[0].path)


def test_that_the_demo_is_a_way_too(guide, session):
    guide.skip.click()
    guide.pages[Step.MODEL].demo.click()
    assert session.wished[-1] == ("open_demo",)
    assert guide.step is Step.PLAN


def test_that_the_loose_words_of_the_demo_are_explained_beside_the_answer(guide, session):
    page = guide.pages[Step.CHAT]
    session.show_model(small_moe())
    session.set_run(RunState(RunPhase.READY))
    assert page.demo.isHidden(), "a model of one's own"
    session.paths.demo_model = session.plan.model_path
    session.set_run(RunState(RunPhase.READY))
    assert not page.demo.isHidden()
    assert "random" in page.demo.text()


def test_that_windows_own_questions_are_told_in_advance(guide):
    labels = [label.text() for label in guide.pages[Step.ENGINE].findChildren(type(guide.pages[Step.ENGINE].reason))]
    assert any("SmartScreen" in text and "Defender" in text for text in labels)


def test_that_a_failed_step_says_why_and_can_be_tried_again(guide, session):
    session.engines.show_get(
        phase=GetPhase.IDLE, problem=Problem("download_no_such_host", params={"host": "api.github.com"})
    )
    assert guide.pages[Step.ENGINE].trouble.count() == 1
    assert guide.go.isEnabled()
    guide.skip.click()
    guide.skip.click()
    session.set_run(RunState(RunPhase.FAILED, problem=Problem("engine_missing")))
    assert guide.pages[Step.PLAN].trouble.count() == 1


def test_that_nobody_has_to_use_it(guide, session):
    guide.leave.click()
    assert not guide.isVisible()
    assert not session.first_run.is_due


def test_that_escape_keeps_it_for_the_next_start(guide, session):
    QTest.keyClick(guide, Qt.Key.Key_Escape)
    assert not guide.isVisible()
    assert session.first_run.is_due


def test_that_settings_of_another_version_do_not_confuse_it(session):
    session.settings = dataclasses.replace(session.settings, first_run=("engine", "something new"))
    assert session.first_run.step is Step.MODEL
