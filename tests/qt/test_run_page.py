"""The run page: what it shows in each state, and that every wish reaches the session."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QStackedWidget, QWidget

from app.common.units import GIB
from app.diagnose.buffers import BufferRow
from app.monitor.sample import Sample
from app.session.state import ChatPhase, ChatState, EnginePhase, EngineState, RunPhase, RunState
from app.ui.pages.run import RunPage
from app.ui.pages.run_buffers import summary_told
from app.ui.pages.run_series import vram_capacity, vram_series
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.labels import ElidedLabel
from app.words import Language, say, set_language
from tests.qt import page_fixtures as fx


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.FakeSession()


@pytest.fixture
def page(qtbot, session):
    made = RunPage(session)
    qtbot.addWidget(made)
    made.resize(1282, 768)
    yield made
    made.hide()


def test_that_what_is_typed_after_the_launch_goes_to_the_chat_and_presses_no_stop(page, session, qtbot):
    session.set_run(RunState(RunPhase.STARTING))
    page.show()
    qtbot.waitActive(page)
    qtbot.waitUntil(page.header.button.hasFocus)
    session.set_run(fx.ready_run())
    assert page.chat.prompt.hasFocus()
    page.header.button.setFocus()
    session.set_run(fx.ready_run(full_speed=True))
    assert page.header.button.hasFocus(), "chosen while it runs: left alone"


def test_that_a_hidden_page_follows_the_plan_when_it_is_shown(page, session):
    session.plan = fx.plan(gpu=False)
    session.plan_changed.emit()
    page.show()
    assert page.plots.vram._empty.text() == "This plan uses no GPU"


def key(widget, which, modifiers=Qt.KeyboardModifier.NoModifier):
    QApplication.sendEvent(widget, QKeyEvent(QEvent.Type.KeyPress, which, modifiers))


def test_that_a_plan_without_a_gpu_has_no_vram_curve_and_says_so(page, session):
    assert vram_series(fx.plan(gpu=False), fx.laptop(), set()) == ()
    assert vram_capacity(fx.plan(gpu=False)) is None
    page.show()
    session.plan = fx.plan(gpu=False)
    session.plan_changed.emit()
    assert page.plots.vram._empty.text() == "This plan uses no GPU"


def test_that_a_measured_source_replaces_the_engines_sum_when_it_appears(page, session):
    session.sample_added.emit(Sample(1.0, {"engine.CUDA0.allocated": 1.0 * GIB, "gpu.CUDA0.used": None}))
    assert page.plots.vram._series[0].key == "engine.CUDA0.allocated"
    session.sample_added.emit(Sample(2.0, {"gpu.CUDA0.used": 1.0 * GIB}))
    assert page.plots.vram._series[0].key == "gpu.CUDA0.used"


def test_that_samples_in_quick_succession_are_drawn_together(page, session, monkeypatch):
    page.show()
    session.set_run(fx.ready_run())
    drawn = []
    monkeypatch.setattr(page.plots.cores, "redraw", lambda: drawn.append(True))
    monkeypatch.setattr("app.ui.pages.run_plots.LEAST_MS", 3_600_000)
    page.plots.tick()
    for n in range(20):
        session.sample_added.emit(Sample(float(n), {"server.cpu": 100.0}))
    assert len(drawn) == 1
    assert page.plots.is_redrawing, "the timer draws the last one"
    page.plots._drawn.invalidate()  # long ago
    session.sample_added.emit(Sample(20.0, {"server.cpu": 100.0}))
    assert len(drawn) == 2


def test_that_curves_move_while_a_server_runs_and_stand_still_after(page, session):
    page.show()
    session.set_run(fx.ready_run())
    assert page.plots.is_redrawing
    session.set_run(RunState(RunPhase.STOPPED))
    assert not page.plots.is_redrawing
    page.close()


def test_that_the_dot_has_the_colour_of_the_state_without_any_markup(page, session):
    tokens = ThemeManager.of_app().tokens
    session.set_run(fx.ready_run())
    (dot,) = [label for label in page.findChildren(QLabel) if "●" in label.text()]
    assert dot.text() == "●"
    assert dot.palette().windowText().color() == tokens.color("ok")
    session.set_run(RunState(RunPhase.FAILED))
    assert dot.palette().windowText().color() == tokens.color("error")
    assert not [label.text() for label in page.findChildren(QLabel) if "</" in label.text()]


def test_that_hiding_the_page_stops_all_drawing(page, session):
    session.set_run(fx.ready_run())
    page.show()
    page.hide()
    assert not page.plots.is_redrawing


def test_that_each_sample_is_drawn_once_and_none_while_nobody_sees_it(page, session):
    drawn = []
    session.set_run(fx.ready_run())
    page.plots.ram._reader = lambda key, _: (drawn.append(key), (np.empty(0), np.empty(0)))[1]
    session.sample_added.emit(Sample(0.5, {"cpu.0": 79.0}))  # a figure that was not known before: other curves
    drawn.clear()
    session.sample_added.emit(Sample(1.0, {"cpu.0": 80.0}))
    assert drawn == []
    page.show()
    drawn.clear()
    session.sample_added.emit(Sample(2.0, {"cpu.0": 81.0}))
    assert drawn == ["server.rss", "ram.used"]
    assert page.plots.cores.strip._load == {0: 81.0}
    page.setWindowState(Qt.WindowState.WindowMinimized)
    session.sample_added.emit(Sample(3.0, {"cpu.0": 82.0}))
    assert drawn == ["server.rss", "ram.used"]
    page.close()


def test_that_a_server_is_watched_only_while_the_page_can_be_seen(qtbot, session):
    page = RunPage(session)
    holder = QStackedWidget()
    qtbot.addWidget(holder)
    holder.addWidget(QLabel("another page"))
    holder.addWidget(page)
    assert session.watched == [False]
    holder.show()
    assert session.watched == [False]
    holder.setCurrentWidget(page)
    assert session.watched.pop() is True
    holder.setWindowState(Qt.WindowState.WindowMinimized)
    assert session.watched.pop() is False
    holder.setWindowState(Qt.WindowState.WindowNoState)
    assert session.watched.pop() is True
    holder.hide()
    assert session.watched.pop() is False
    holder.show()
    assert session.watched.pop() is True
    holder.setCurrentIndex(0)
    assert session.watched.pop() is False
    n_told = len(session.watched)
    holder.setWindowState(Qt.WindowState.WindowMinimized)
    assert len(session.watched) == n_told
    holder.close()


def test_that_the_servers_cores_are_marked_as_read_back(page, session):
    session.set_run(fx.ready_run(affinity=(0, 2), wanted_affinity=(0, 1)))
    assert "the server runs on 0, 2" in page.plots.cores.strip.words


@pytest.mark.parametrize("language", list(Language))
def test_that_the_page_says_whose_load_the_figure_and_the_bars_are(session, qtbot, language):
    set_language(language)
    page = RunPage(session)
    qtbot.addWidget(page)
    page.resize(1112, 768)
    page.show()
    notes = [label for label in page.plots.cores.findChildren(ElidedLabel) if label.text() == say("run.cores_note")]
    assert len(notes) == 1
    assert not notes[0].is_elided()


def test_that_a_sample_reaches_the_core_strip_at_the_next_redraw(page, session):
    session.sample_added.emit(Sample(1.0, {"cpu.0": 80.0, "server.cpu": 312.0}))
    page.plots.cores.redraw()
    assert page.plots.cores.strip._load == {0: 80.0}
    assert page.plots.cores._value.text() == "312 %"


def test_that_the_button_launches_then_stops_then_stops_at_once(page, session):
    button = page.header.button
    assert button.text() == "Launch"
    button.click()
    session.set_run(RunState(RunPhase.STARTING))
    assert button.text() == "Stop server"
    button.click()
    session.set_run(RunState(RunPhase.STOPPING))
    assert button.isEnabled()
    button.click()
    assert session.calls == [("launch",), ("stop",), ("stop",)]


def test_that_launch_waits_for_a_plan_and_says_why(page, session):
    page.show()
    session.plan = None
    session.plan_changed.emit()
    assert not page.header.button.isEnabled()
    assert "Plan page" in page.header.button.toolTip()


def test_that_address_and_key_are_shown_and_copied(page, session):
    assert not page.header.address.copy_button.isEnabled()
    session.set_run(fx.ready_run())
    page.header.address.copy_button.click()
    assert QGuiApplication.clipboard().text() == "http://127.0.0.1:8080"
    page.header.key.copy_button.click()
    assert QGuiApplication.clipboard().text() == fx.ready_run().api_key
    session.set_run(RunState(RunPhase.STOPPED))
    assert page.header.address.text == ""


def test_that_loading_shows_how_far_it_is(page, session):
    page.show()
    session.set_run(fx.loading_run())
    assert page.header.progress.isVisible()
    assert page.header.progress.value() == 370
    session.set_run(fx.ready_run())
    assert not page.header.progress.isVisible()
    page.close()


def test_that_nothing_jumps_between_states(page, session):
    page.show()
    places = []
    for run in (RunState(RunPhase.STOPPED), fx.loading_run(), fx.ready_run(), fx.failed_run()):
        session.set_run(run)
        QApplication.processEvents()
        parts = (page.plots, page.log, page.buffers, page.chat, page.chat.prompt)
        places.append([(p.mapTo(page, QPoint(0, 0)), p.size()) for p in parts])
    assert all(place == places[0] for place in places)
    page.close()


def test_that_a_failure_shows_its_sentence_evidence_and_code(page, session):
    session.set_run(fx.failed_run())
    assert page.chat.shown is page.chat.failure
    shown = page.chat.failure
    assert "out of memory" in shown._evidence.toPlainText()
    assert shown._code.text() == "Exit code 1"


def test_that_the_report_carries_log_and_command_but_not_the_key(page, session):
    session.log = "line one\nline two"
    session.set_run(dataclasses.replace(fx.failed_run(), api_key="lw-secret"))
    page.chat.failure._copy.click()
    report = QGuiApplication.clipboard().text()
    assert "line two" in report
    assert "llama-server -m" in report
    assert "lw-secret" not in report


def test_that_an_exit_without_a_known_reason_still_tells_the_code(page, session):
    session.set_run(RunState(RunPhase.FAILED, exit_code=-6))
    assert "exit code -6" in page.chat.failure._text.text()


def test_that_the_empty_state_leads_to_the_page_of_the_next_step(qtbot, page, session):
    assert page.chat.shown is page.chat.empty
    assert page.chat.empty.texts[2] == "Qwen3-30B-A3B-Instruct · context 16 384 · CUDA0 11.1 GiB · RAM 8 914 MiB"
    with qtbot.waitSignal(page.page_requested) as asked:
        page.chat.empty.link.click()
    assert asked.args == ["plan"]
    session.engine = EngineState(EnginePhase.MISSING)
    session.engine_changed.emit()
    with qtbot.waitSignal(page.page_requested) as asked:
        page.chat.empty.link.click()
    assert asked.args == ["settings"]


def test_that_enter_sends_and_shift_enter_makes_a_line(page, session):
    session.set_run(fx.ready_run())
    prompt = page.chat.prompt
    prompt.setPlainText("one")
    prompt.moveCursor(prompt.textCursor().MoveOperation.End)
    key(prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert prompt.toPlainText() == "one\n"
    QTest.keyClicks(prompt, "two")
    key(prompt, Qt.Key.Key_Return)
    assert session.calls == [("send_prompt", "one\ntwo")]
    assert prompt.toPlainText() == ""
    key(prompt, Qt.Key.Key_Up)
    assert prompt.toPlainText() == "one\ntwo"


def test_that_nothing_is_sent_to_a_server_that_is_not_ready_or_without_words(page, session):
    page.chat.prompt.setPlainText("hello")
    key(page.chat.prompt, Qt.Key.Key_Return)
    session.set_run(fx.ready_run())
    page.chat.prompt.setPlainText("  \n ")
    key(page.chat.prompt, Qt.Key.Key_Return)
    assert session.calls == []
    assert not page.chat.button.isEnabled()


def test_that_the_button_and_escape_stop_an_answer(page, session):
    session.set_run(fx.ready_run())
    session.set_chat(fx.answering())
    assert page.chat.button.text() == "Stop answer"
    for button in (page.chat.button, page.header.button):
        assert button.width() >= button.sizeHint().width()
    page.chat.button.click()
    key(page.chat.prompt, Qt.Key.Key_Escape)
    assert session.calls == [("stop_answer",), ("stop_answer",)]
    session.set_chat(dataclasses.replace(fx.answering(), phase=ChatPhase.IDLE))
    assert page.chat.button.text() == "Send"


def test_that_earlier_questions_stay_above_also_with_a_new_server_until_a_new_chat(page, session):
    session.set_run(fx.ready_run())
    session.set_chat(ChatState(ChatPhase.PROMPT, "first?"))
    session.set_chat(ChatState(ChatPhase.ANSWERING, "first?", "one"))
    session.set_chat(ChatState(ChatPhase.IDLE, "first?", "one", finish_reason="stop"))
    session.set_chat(ChatState(ChatPhase.PROMPT, "second?"))
    session.set_chat(ChatState(ChatPhase.IDLE, "second?", "two", finish_reason="stop"))
    said = "You\nfirst?\nAnswer\none\n   Copy\nYou\nsecond?\nAnswer\ntwo\n   Copy   Ask again"
    assert page.chat.view.toPlainText() == said
    session.set_run(RunState(RunPhase.STARTING))
    assert page.chat.view.toPlainText() == said
    page.chat.new_button.click()
    assert page.chat.view.toPlainText() == ""
    assert not page.chat.new_button.isEnabled()


def test_that_the_result_is_one_sentence(page, session):
    session.set_run(fx.ready_run())
    assert page.buffers.summary == "✓ All 5 agree"
    session.set_run(fx.ready_run(buffers=fx.buffers(agree=False)))
    assert page.buffers.summary == "✗ 1 of 5 differ"
    assert summary_told((BufferRow("RAM", "kv", 1, None, None),)).text == "— The engine did not say"
    assert summary_told(()).text == ""


def test_that_a_page_made_in_the_middle_of_a_run_shows_all_of_it(qtbot):
    ThemeManager.of_app()
    session = fx.running_session()
    page = RunPage(session)
    qtbot.addWidget(page)
    assert "server is listening" in page.log.text
    assert page.chat.view.toPlainText().endswith("read thinly.")
    assert page.plots.vram._series[0].key == "gpu.CUDA0.used"
    assert page.plots.decode.words.startswith("now ")
    page.plots.set_live(False)


def test_that_everything_interactive_has_a_name_and_can_be_reached_by_keyboard(page, session):
    session.set_run(fx.ready_run())
    page.show()
    for button in page.findChildren(QAbstractButton):
        if button.isVisible():
            assert button.accessibleName() or button.text(), button
            assert button.focusPolicy() & Qt.FocusPolicy.TabFocus, button
    page.close()


@pytest.mark.parametrize("language", list(Language))
def test_that_no_words_are_cut_at_the_smallest_window(qtbot, language):
    set_language(language)
    ThemeManager.of_app()
    session = fx.running_session()
    page = RunPage(session)
    qtbot.addWidget(page)
    page.resize(956, 640)
    page.show()
    QApplication.processEvents()
    assert page.minimumSizeHint().width() <= 956
    assert page.minimumSizeHint().height() <= 640
    cut = [
        text.text()
        for text in page.findChildren(QLabel)
        if text.isVisible() and type(text) is QLabel and not text.wordWrap() and text.width() < text.sizeHint().width()
    ]
    assert cut == []
    page.close()


def test_that_a_page_leaves_nothing_connected_when_it_is_gone(qtbot):
    ThemeManager.of_app()
    session = fx.running_session()
    page = RunPage(session)
    holder = QWidget()
    qtbot.addWidget(holder)
    page.setParent(holder)
    page.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    session.set_run(fx.failed_run())
    session.set_chat(fx.answering())
    session.sample_added.emit(Sample(0.0, fx.sample_values(1.0)))
    session.log_added.emit(["late"])
