"""The run page: what it says in each state, and that every wish reaches the session."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from app.common.problem import Problem, Severity
from app.common.units import GIB, MIB
from app.monitor.ring import RingBuffer
from app.monitor.sample import Sample
from app.session.state import BufferRow, ChatPhase, ChatState, EnginePhase, EngineState, RunPhase, RunState
from app.ui.pages.run import RunPage
from app.ui.pages.run_buffers import BufferModel, check_told, difference_text, summary_told
from app.ui.pages.run_chat_view import ChatView
from app.ui.pages.run_history import HistoryReader, cpu_load
from app.ui.pages.run_log import LogPane
from app.ui.pages.run_series import decode_series, ram_series, vram_capacity, vram_series
from app.ui.pages.run_words import cpus_sentence, engine_sentence, finish_sentence, run_sentence, speed_line
from app.ui.theme.manager import ThemeManager
from app.words import Language, set_language
from tests.qt import page_fixtures as fx

READY_ENGINE = EngineState(EnginePhase.READY, "/x/llama-server", "b11434")


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.FakeSession()


@pytest.fixture
def page(qtbot, session):
    made = RunPage(session)
    qtbot.addWidget(made)
    made.resize(1282, 768)
    return made


def key(widget, which, modifiers=Qt.KeyboardModifier.NoModifier):
    QApplication.sendEvent(widget, QKeyEvent(QEvent.Type.KeyPress, which, modifiers))


# Sentences.


def test_that_the_first_thing_missing_is_what_is_said():
    stopped = RunState(RunPhase.STOPPED)
    missing = EngineState(EnginePhase.MISSING)
    error = Problem("settings_damaged", Severity.ERROR, {"kept": "x.bad"})
    assert "No model is open" in run_sentence(stopped, missing, None).text
    assert "No llama-server was found" in run_sentence(stopped, missing, fx.plan()).text
    assert "x.bad" in run_sentence(stopped, READY_ENGINE, fx.plan(problems=(error,))).text
    assert "as it stands" in run_sentence(stopped, READY_ENGINE, fx.plan()).text


def test_that_loading_tells_bytes_of_bytes_and_nothing_false_before_they_are_known():
    assert run_sentence(fx.loading_run(), READY_ENGINE, fx.plan()).text == (
        "Loading the model: 6 554 MiB of 17.3 GiB read."
    )
    assert run_sentence(RunState(RunPhase.STARTING), READY_ENGINE, fx.plan()).text == "The engine is starting."


def test_that_a_changed_plan_is_a_warning_while_the_old_one_runs():
    told = run_sentence(fx.ready_run(plan_differs=True), READY_ENGINE, fx.plan())
    assert told.tone == "warning"
    assert "launch again" in told.text


@pytest.mark.parametrize(
    ("affinity", "wanted", "text", "tone"),
    [
        ((0, 1, 2), (0, 1, 2), "Runs on CPUs 0-2, as asked", "ok"),
        ((0, 1, 2, 3), (0, 1), "Runs on CPUs 0-3; 0-1 was asked for", "warning"),
        ((4,), None, "Runs on CPUs 4", "plain"),
        (None, (0, 1), "The system does not tell which CPUs it runs on", "plain"),
    ],
)
def test_that_the_cpus_are_those_the_system_reports(affinity, wanted, text, tone):
    told = cpus_sentence(fx.ready_run(affinity=affinity, wanted_affinity=wanted))
    assert (told.text, told.tone) == (text, tone)


def test_that_the_speed_line_holds_only_what_is_known():
    assert speed_line(fx.answering(), 1234.0, 16384) == (
        "61.3 tok/s · prompt 412 tok/s · 128 tokens · context 1 234 of 16 384"
    )
    assert speed_line(ChatState(ChatPhase.IDLE), None, 16384) == ""
    reading = ChatState(ChatPhase.PROMPT, "q", prompt_done=512, prompt_total=2048)
    assert speed_line(reading, None, None) == "Reading the prompt: 512 of 2 048 tokens"


def test_that_only_an_unusual_end_is_mentioned():
    assert finish_sentence(ChatState(ChatPhase.IDLE, finish_reason="stop")) == ""
    assert "cut" in finish_sentence(ChatState(ChatPhase.IDLE, finish_reason="length"))
    assert "tool_calls" in finish_sentence(ChatState(ChatPhase.IDLE, finish_reason="tool_calls"))
    assert finish_sentence(ChatState(ChatPhase.ANSWERING, finish_reason="length")) == ""


def test_that_a_build_tells_how_far_it_is():
    assert "42 %" in engine_sentence(EngineState(EnginePhase.BUILDING, progress=0.42)).text
    assert "%" not in engine_sentence(EngineState(EnginePhase.BUILDING)).text


# Curves.


def test_that_a_measured_card_is_compared_with_the_plan_and_the_other_programs():
    plan, hardware = fx.plan(), fx.laptop()
    (series,) = vram_series(plan, hardware, {"gpu.CUDA0.used", "engine.CUDA0.allocated"})
    estimate = plan.estimate.get("CUDA0")
    assert series.key == "gpu.CUDA0.used"
    assert series.predicted == estimate.total_bytes + 312 * MIB
    assert series.predicted_name == "plan + others"


def test_that_the_engines_own_sum_is_named_so_and_compared_without_the_overhead():
    plan = fx.plan()
    (series,) = vram_series(plan, fx.laptop(), {"engine.CUDA0.allocated"})
    assert series.key == "engine.CUDA0.allocated"
    assert series.note == "engine's sum"
    assert series.predicted == plan.estimate.get("CUDA0").total_bytes - 450 * MIB


def test_that_a_card_known_by_the_drivers_name_is_found():
    (series,) = vram_series(fx.plan(), fx.laptop(), {"gpu.NVIDIA GeForce RTX 4080 Laptop GPU.used"})
    assert series.key == "gpu.NVIDIA GeForce RTX 4080 Laptop GPU.used"


def test_that_a_plan_without_a_gpu_has_no_vram_curve_and_says_so(page, session):
    assert vram_series(fx.plan(gpu=False), fx.laptop(), set()) == ()
    assert vram_capacity(fx.plan(gpu=False)) is None
    session.plan = fx.plan(gpu=False)
    session.plan_changed.emit()
    assert page.plots.vram._empty.text() == "This plan uses no GPU"


def test_that_ram_and_speed_carry_the_plans_figures():
    plan = fx.plan()
    server, system = ram_series(plan)
    assert server.predicted == plan.estimate.get("RAM").total_bytes
    assert system.predicted is None
    assert decode_series(plan)[0].predicted == 60.0
    assert decode_series(None)[0].predicted is None


def test_that_samples_become_seconds_before_now():
    ring = RingBuffer(10)
    for t, value in ((100.0, 1.0), (101.0, None), (102.0, 3.0)):
        ring.append(Sample(t, {"x": value}))
    reader = HistoryReader(lambda: ring, clock=lambda: 103.0)
    ages, values = reader.read("x", 2.0)
    assert list(ages) == [-2.0, -1.0]
    assert values[0] != values[0]
    assert values[1] == 3.0
    reader.is_live = False
    assert list(reader.read("x", 60.0)[0]) == [-2.0, -1.0, 0.0]
    assert reader.known_keys() == {"x"}
    assert reader.read("never seen", 60.0)[1].size == 3


def test_that_an_empty_history_reads_as_nothing():
    ages, values = HistoryReader(lambda: RingBuffer(4)).read("x", 60.0)
    assert ages.size == values.size == 0


def test_that_core_loads_come_out_of_a_sample():
    assert cpu_load({"cpu.0": 5.0, "cpu.11": None, "cpu.x": 1.0, "server.cpu": 3.0}) == {0: 5.0, 11: None}


def test_that_a_measured_source_replaces_the_engines_sum_when_it_appears(page, session):
    session.sample_added.emit(Sample(1.0, {"engine.CUDA0.allocated": 1.0 * GIB, "gpu.CUDA0.used": None}))
    assert page.plots.vram._series[0].key == "engine.CUDA0.allocated"
    session.sample_added.emit(Sample(2.0, {"gpu.CUDA0.used": 1.0 * GIB}))
    assert page.plots.vram._series[0].key == "gpu.CUDA0.used"


def test_that_curves_move_while_a_server_runs_and_stand_still_after(page, session):
    page.show()
    session.set_run(fx.ready_run())
    assert all(plot.is_redrawing for plot in page.plots.plots)
    session.set_run(RunState(RunPhase.STOPPED))
    assert not any(plot.is_redrawing for plot in page.plots.plots)
    page.close()


def test_that_hiding_the_page_stops_all_drawing(page, session):
    session.set_run(fx.ready_run())
    page.show()
    page.hide()
    assert not any(plot.is_redrawing for plot in page.plots.plots)
    assert not page.plots.cores._timer.isActive()


def test_that_the_servers_cores_are_marked_as_read_back(page, session):
    session.set_run(fx.ready_run(affinity=(0, 2), wanted_affinity=(0, 1)))
    assert "the server runs on 0, 2" in page.plots.cores.strip.words


def test_that_a_sample_reaches_the_core_strip_at_the_next_redraw(page, session):
    session.sample_added.emit(Sample(1.0, {"cpu.0": 80.0, "server.cpu": 312.0}))
    page.plots.cores.redraw()
    assert page.plots.cores.strip._load == {0: 80.0}
    assert page.plots.cores._value.text() == "312 %"


# Launch and stop.


def test_that_the_button_launches_then_stops_then_stops_at_once(page, session):
    button = page.header.button
    assert button.text() == "Launch"
    button.click()
    session.set_run(RunState(RunPhase.STARTING))
    assert button.text() == "Stop"
    button.click()
    session.set_run(RunState(RunPhase.STOPPING))
    assert button.isEnabled()
    button.click()
    assert session.calls == [("launch",), ("stop",), ("stop",)]


def test_that_launch_waits_for_a_plan_and_says_why(page, session):
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


# Failure.


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


# The empty state.


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


# Chat.


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
    assert page.chat.button.text() == "Stop"
    page.chat.button.click()
    key(page.chat.prompt, Qt.Key.Key_Escape)
    assert session.calls == [("stop_answer",), ("stop_answer",)]
    session.set_chat(dataclasses.replace(fx.answering(), phase=ChatPhase.IDLE))
    assert page.chat.button.text() == "Send"


@pytest.fixture
def view(qtbot):
    ThemeManager.of_app()
    made = ChatView()
    qtbot.addWidget(made)
    made.resize(400, 200)
    return made


def test_that_a_streamed_answer_is_appended_not_rewritten(view, monkeypatch):
    view.set_state(ChatState(ChatPhase.ANSWERING, "q", "Hel"))
    monkeypatch.setattr(view, "_write_all", lambda: pytest.fail("rewritten"))
    view.set_state(ChatState(ChatPhase.ANSWERING, "q", "Hello <b>wor"))
    view.set_state(ChatState(ChatPhase.ANSWERING, "q", "Hello <b>world</b>\n\nEnd"))
    assert view.toPlainText() == "You\nq\nAnswer\nHello <b>world</b>\n\nEnd"


def test_that_reasoning_stands_apart_and_folds(view):
    state = ChatState(ChatPhase.ANSWERING, "q", "", reasoning="thinking")
    view.set_state(state)
    view.set_state(dataclasses.replace(state, reasoning="thinking hard"))
    assert view.toPlainText() == "You\nq\n▾ Reasoning\nthinking hard"
    view.toggle_reasoning()
    view.set_state(dataclasses.replace(state, reasoning="thinking harder", answer="Yes"))
    assert view.toPlainText() == "You\nq\n▸ Reasoning\nAnswer\nYes"
    view.toggle_reasoning()
    assert "thinking harder" in view.toPlainText()


def test_that_reasoning_folds_by_keyboard(qtbot, view):
    view.set_state(ChatState(ChatPhase.IDLE, "q", "a", reasoning="why"))
    view.show()
    view.setFocus()
    key(view, Qt.Key.Key_Tab)
    with qtbot.waitSignal(view.fold_changed, timeout=1000):
        key(view, Qt.Key.Key_Return)
    assert not view.is_reasoning_open
    view.close()


def test_that_earlier_questions_stay_above_until_a_new_server_starts(page, session):
    session.set_run(fx.ready_run())
    session.set_chat(ChatState(ChatPhase.PROMPT, "first?"))
    session.set_chat(ChatState(ChatPhase.ANSWERING, "first?", "one"))
    session.set_chat(ChatState(ChatPhase.IDLE, "first?", "one", finish_reason="stop"))
    session.set_chat(ChatState(ChatPhase.PROMPT, "second?"))
    session.set_chat(ChatState(ChatPhase.IDLE, "second?", "two", finish_reason="stop"))
    assert page.chat.view.toPlainText() == "You\nfirst?\nAnswer\none\nYou\nsecond?\nAnswer\ntwo"
    session.set_run(RunState(RunPhase.STARTING))
    assert "first?" not in page.chat.view.toPlainText()


def test_that_an_error_stands_under_its_question(view):
    problem = Problem("settings_unreadable", params={"path": "p", "reason": "gone"}, evidence=("HTTP 500",))
    view.set_state(ChatState(ChatPhase.IDLE, "q", "half an ans", problem=problem))
    text = view.toPlainText()
    assert text.startswith("You\nq\nAnswer\nhalf an ans\n")
    assert "gone" in text
    assert text.endswith("HTTP 500")


def test_that_a_reader_who_scrolled_up_is_left_alone(view):
    view.show()
    long = "\n".join(f"line {i}" for i in range(100))
    view.set_state(ChatState(ChatPhase.ANSWERING, "q", long))
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(10)
    view.set_state(ChatState(ChatPhase.ANSWERING, "q", long + "\nmore"))
    assert bar.value() == 10
    view.close()


# Log.


@pytest.fixture
def log(qtbot):
    ThemeManager.of_app()
    made = LogPane()
    qtbot.addWidget(made)
    made.resize(400, 150)
    made.show()
    yield made
    made.close()


def test_that_lines_are_gathered_and_shown_together(log):
    log.add(["one\n", "two"])
    log.add(["three"])
    assert log.text == ""
    log.flush()
    assert log.text == "one\ntwo\nthree"


def test_that_a_flood_keeps_the_newest_lines_only(log):
    log.add([f"line {i}" for i in range(12_000)])
    log.flush()
    lines = log.text.splitlines()
    assert (len(lines), lines[-1]) == (5000, "line 11999")


def test_that_following_stops_when_the_reader_scrolls_up_and_resumes_at_the_end(log):
    log.set_text("\n".join(f"line {i}" for i in range(200)))
    bar = log._view.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.triggerAction(bar.SliderAction.SliderPageStepSub)
    place = bar.value()
    assert not log.follows
    log.add(["more"])
    log.flush()
    assert bar.value() == place
    bar.triggerAction(bar.SliderAction.SliderToMaximum)
    assert log.follows


def test_that_copy_takes_the_selection_or_else_everything(log):
    log.set_text("one\ntwo")
    log.copy()
    assert QGuiApplication.clipboard().text() == "one\ntwo"
    cursor = log._view.textCursor()
    cursor.movePosition(cursor.MoveOperation.Start)
    cursor.movePosition(cursor.MoveOperation.EndOfLine, cursor.MoveMode.KeepAnchor)
    log._view.setTextCursor(cursor)
    log.copy()
    assert QGuiApplication.clipboard().text() == "one"


# Plan against engine.


def test_that_rows_say_difference_and_check_in_words(qapp):
    ThemeManager.of_app()
    model = BufferModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_rows(fx.buffers(agree=False))
    texts = [[model.data(model.index(r, c)) for c in range(6)] for r in range(model.rowCount())]
    assert texts[1] == ["CUDA0", "KV cache", "816 MiB", "1 632 MiB", "+816 MiB", "✗ differs"]
    assert texts[-1] == ["RAM", "KV cache", "0 MiB", "—", "—", "— not told"]
    assert difference_text(BufferRow("RAM", "kv", 10 * MIB, 8 * MIB, None)) == "−2.0 MiB"
    assert difference_text(BufferRow("RAM", "kv", MIB, MIB + 3154, True)) == "+3 KiB"


def test_that_a_figure_that_cannot_be_compared_is_not_called_untold():
    assert check_told(BufferRow("RAM", "weights", MIB, 2 * MIB, None)).text == "— not judged"


def test_that_the_result_is_one_sentence(page, session):
    session.set_run(fx.ready_run())
    assert page.buffers.summary == "✓ All 5 agree"
    session.set_run(fx.ready_run(buffers=fx.buffers(agree=False)))
    assert page.buffers.summary == "✗ 1 of 5 differ"
    assert summary_told((BufferRow("RAM", "kv", 1, None, None),)).text == "— The engine did not say"
    assert summary_told(()).text == ""


# The whole page.


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
