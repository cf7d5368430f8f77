"""The parts of the run page: its sentences, the choice of curves, chat view, log and buffer table."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from app.common.problem import Problem, Severity
from app.common.units import MIB
from app.diagnose.buffers import BufferRow
from app.monitor.ring import RingBuffer
from app.monitor.sample import Sample
from app.session.state import ChatPhase, ChatState, EnginePhase, EngineState, RunPhase, RunState
from app.ui.pages.run_buffers import BufferModel, BufferPane, check_told, difference_text
from app.ui.pages.run_chat_view import ChatView
from app.ui.pages.run_history import HistoryReader, cpu_load
from app.ui.pages.run_log import LogPane
from app.ui.pages.run_series import decode_series, ram_series, vram_series
from app.ui.pages.run_words import cpus_sentence, engine_sentence, finish_sentence, run_sentence, speed_line
from app.ui.theme.manager import ThemeManager
from tests.qt import page_fixtures as fx

READY_ENGINE = EngineState(EnginePhase.READY, "/x/llama-server", "b11434")


def key(widget, which, modifiers=Qt.KeyboardModifier.NoModifier):
    QApplication.sendEvent(widget, QKeyEvent(QEvent.Type.KeyPress, which, modifiers))


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


@pytest.mark.parametrize(
    ("full_speed", "text", "tone"),
    [
        (True, "Runs on CPUs 0-2, as asked; efficiency mode is off", "ok"),
        (False, "as asked; Windows may slow it down in the background (efficiency mode)", "warning"),
        (None, "Runs on CPUs 0-2, as asked", "ok"),
    ],
)
def test_that_efficiency_mode_is_told_only_where_the_system_tells_it(full_speed, text, tone):
    run = fx.ready_run(affinity=(0, 1, 2), wanted_affinity=(0, 1, 2), full_speed=full_speed)
    told = cpus_sentence(run)
    assert told.text.endswith(text)
    assert told.tone == tone


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


def test_that_samples_far_apart_have_a_gap_between_them_and_never_a_line():
    ring = RingBuffer(20)
    for t in (100.0, 100.5, 101.0, 106.0, 111.0, 111.5, 112.0):  # watched, at rest, watched
        ring.append(Sample(t, {"x": t}))
    ages, values = HistoryReader(lambda: ring, clock=lambda: 112.0).read("x", 60.0)
    told = [None if v != v else float(v) for v in values]
    assert told == [100.0, 100.5, 101.0, None, 106.0, None, 111.0, 111.5, 112.0]
    assert list(ages[2:7]) == [-11.0, -8.5, -6.0, -3.5, -1.0]


def test_that_an_empty_history_reads_as_nothing():
    ages, values = HistoryReader(lambda: RingBuffer(4)).read("x", 60.0)
    assert ages.size == values.size == 0


def test_that_core_loads_come_out_of_a_sample():
    assert cpu_load({"cpu.0": 5.0, "cpu.11": None, "cpu.x": 1.0, "server.cpu": 3.0}) == {0: 5.0, 11: None}


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
    assert view.toPlainText() == "You\nq\nAnswer\nHello <b>world</b>\nEnd"  # two paragraphs, and no HTML


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
    assert view.is_reasoning_open
    assert "why" in view.toPlainText()
    view.close()


def test_that_an_error_stands_under_its_question(view):
    problem = Problem("settings_unreadable", params={"path": "p", "reason": "gone"}, evidence=("HTTP 500",))
    view.set_state(ChatState(ChatPhase.IDLE, "q", "half an ans", problem=problem))
    text = view.toPlainText()
    assert text.startswith("You\nq\nAnswer\nhalf an ans\n")
    assert "gone" in text
    assert text.endswith("HTTP 500\n   Copy   Ask again")


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


def test_that_what_the_engine_did_otherwise_stands_over_the_buffers(qtbot):
    pane = BufferPane()
    qtbot.addWidget(pane)
    assert pane.findings == ""
    pane.set_rows((), (Problem("context_smaller", params={"n_ctx": 2048, "wanted": 4096}),))
    assert "2 048 tokens instead of 4 096" in pane.findings
    pane.set_rows(())
    assert pane.findings == ""
