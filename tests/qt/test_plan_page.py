"""The plan page shows the session's plan in words and numbers, and every control is a wish to the session."""

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.common.problem import Problem, Severity
from app.common.units import MIB
from app.planner.types import RAM
from app.session.state import EnginePhase, EngineState, RunPhase, RunState
from app.ui.pages.plan import PlanPage
from app.words import ENTRIES, Language, say, set_language
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import dense_model, laptop, qwen3_30b, small_moe


def shown(page, qtbot, width=1280, height=768):
    qtbot.addWidget(page)
    page.resize(width, height)
    page.show()
    qtbot.waitActive(page)
    page.activateWindow()
    return page


@pytest.fixture
def session(qapp):
    return FakeSession(laptop(), qwen3_30b(), details_open=True)


@pytest.fixture
def page(session, qtbot):
    return shown(PlanPage(session), qtbot)


def test_that_the_head_names_the_model_and_its_facts(page):
    assert page.header.chip_texts == ("qwen3moe", "17.3 GiB · Q4_K_M", "48 layers", "128 experts, 8 per token")
    assert page.header.engine_text == "llama.cpp b11434"


def test_that_a_good_plan_gets_a_verdict_with_its_speed_and_its_limit(page):
    assert page.header.verdict_text.startswith("Runs well: about ")
    assert page.header.verdict_text.endswith("with 8k context. RAM speed is the limit.")


def test_that_the_verdict_of_a_quiet_plan_says_that_its_speed_is_that_of_full_speed(page, session):
    session.set_wishes(is_quiet=True)
    assert " tokens per second at full speed, with 8k context." in page.header.verdict_text
    session.set_wishes(is_quiet=False)
    assert "full speed" not in page.header.verdict_text


def test_that_an_over_full_plan_says_where_and_by_how_much(page, session):
    session.set_expert_layers_in_ram(0)
    missing = -session.plan.estimate.get("CUDA0").left_bytes
    assert missing > 0
    assert "Does not fit: CUDA0 needs " in page.header.verdict_text
    assert "too much" in page.board.column("CUDA0").status


def test_that_the_slider_moves_expert_layers_and_follows_the_cards(page, session):
    page.slider.slider.setValue(30)
    assert session.expert_layers_in_ram == 30
    session.move_cards(("experts:0",), RAM)
    assert page.slider.slider.value() == 31
    session.undo_stack.undo()
    assert page.slider.slider.value() == 30


def test_that_choosing_a_context_is_a_wish(page, session):
    combo = page.wishes.context.combo
    combo.activated.emit(combo.findData(32768))
    assert session.plan.n_ctx == 32768
    assert combo.currentText() == "32 768"


def test_that_a_typed_context_is_read_as_people_write_it(page, session):
    combo = page.wishes.context.combo
    combo.setFocus()
    combo.lineEdit().selectAll()
    QTest.keyClicks(combo.lineEdit(), "24k")
    QTest.keyClick(combo.lineEdit(), Qt.Key.Key_Return)
    assert session.plan.n_ctx == 24576
    assert combo.currentText() == "24 576"


def test_that_a_text_that_is_no_number_is_put_back(page, session):
    combo = page.wishes.context.combo
    combo.setFocus()
    combo.lineEdit().selectAll()
    QTest.keyClicks(combo.lineEdit(), "lots")
    QTest.keyClick(combo.lineEdit(), Qt.Key.Key_Return)
    assert session.plan.n_ctx == 8192
    assert combo.currentText() == "8 192"


@pytest.mark.parametrize(
    ("name", "value", "field", "wanted"),
    [
        ("kv", "q8_0/q8_0", "cache_type_v", "q8_0"),
        ("slots", 4, "n_slots", 4),
        ("reserve", 1024, "reserve_mib", 1024),
        ("keep_ram", 4096, "keep_ram_mib", 4096),
        ("prompt_cache", 512, "prompt_cache_mib", 512),
        ("ubatch", 1024, "n_ubatch", 1024),
        ("threads", 8, "n_threads", 8),
    ],
)
def test_that_every_other_wish_reaches_the_plan(page, session, name, value, field, wanted):
    combo = getattr(page.wishes, name).combo
    combo.activated.emit(combo.findData(value))
    assert getattr(session.plan.wishes, field) == wanted
    assert combo.currentData() == value


def test_that_the_prompt_cache_is_the_plans_own_until_a_size_is_asked_for(page, session):
    chosen = session.plan.estimate.get("RAM").prompt_cache_bytes // 1024**2
    combo = page.wishes.prompt_cache.combo
    assert chosen > 0
    assert combo.currentText() == f"Automatic ({chosen:,} MiB)".replace(",", " ")
    for typed, wish, held in (("0", 0, 0), ("nonsense", 0, 0), ("768", 768, 768), ("Auto", None, chosen)):
        combo.setFocus()
        combo.lineEdit().selectAll()
        QTest.keyClicks(combo.lineEdit(), typed)
        QTest.keyClick(combo.lineEdit(), Qt.Key.Key_Return)
        assert session.plan.wishes.prompt_cache_mib == wish
        assert session.plan.estimate.get("RAM").prompt_cache_bytes == held * 1024**2


def test_that_ram_kept_for_other_programs_is_taken_off_the_plans_room(page, session):
    before = session.plan.estimate.get("RAM").left_bytes
    combo = page.wishes.keep_ram.combo
    assert combo.currentData() == 0
    combo.setFocus()
    combo.lineEdit().selectAll()
    QTest.keyClicks(combo.lineEdit(), "6k")
    QTest.keyClick(combo.lineEdit(), Qt.Key.Key_Return)
    assert session.plan.wishes.keep_ram_mib == 6144
    assert session.plan.estimate.get("RAM").left_bytes == before - 6144 * 1024**2
    session.undo_stack.undo()
    assert combo.currentData() == 0


def test_that_a_preset_makes_another_plan_and_a_move_marks_it_as_edited(page, session):
    combo = page.wishes.preset.combo
    combo.activated.emit(combo.findData("experts-cpu"))
    assert session.expert_layers_in_ram == 48
    assert combo.currentText() == "All experts in RAM"
    session.move_cards(("experts:0",), "CUDA0")
    assert combo.currentText() == "Edited by hand"
    session.undo_stack.undo()
    assert combo.currentText() == "All experts in RAM"


def test_that_showing_a_plan_sends_no_wish_back(page, session):
    session.plan_changed.emit()
    session.plan_changed.emit()
    assert not session.undo_stack.canUndo()


def test_that_details_fold_away_and_are_remembered(page, session):
    assert page.overrides.isVisible()
    page.wishes.details.click()
    assert not page.overrides.isVisible()
    assert not page.wishes.kv.isVisible()
    assert page.wishes.context.isVisible()
    assert session.settings.details_open is False


def test_that_the_overrides_are_listed_with_their_hits(page, session):
    model = page.overrides.model
    rule = session.plan.overrides[0]
    texts = [model.data(model.index(0, column)) for column in range(4)]
    assert texts[0] == rule.pattern
    assert texts[1:3] == ["RAM", "1 tensor" if rule.n_tensors == 1 else f"{rule.n_tensors} tensors"]


def test_that_a_plan_without_overrides_says_so(page, session):
    session.apply_preset("all-gpu")
    assert not page.overrides.table.isVisible()


def test_that_the_speed_says_its_kind(page):
    assert page.side.speed.decode.text().isdigit()
    assert "of weights from RAM" in page.side.speed.reason


def test_that_an_unknown_speed_is_a_dash_with_the_reason_and_a_way_out(qtbot):
    hardware = laptop(ram_gbs=None)
    memory = type(hardware.memory)(hardware.memory.total_bytes, hardware.memory.available_bytes)
    session = FakeSession(
        type(hardware)(hardware.taken_at, hardware.os, hardware.cpu, memory, hardware.gpus), qwen3_30b()
    )
    page = shown(PlanPage(session), qtbot)
    assert page.side.speed.decode.text() == "—"
    assert "until the RAM has been measured" in page.side.speed.reason
    page.side.speed._measure.click()
    assert session.wished == [("measure_ram",)]


def test_that_a_tiny_model_is_not_said_to_lack_the_speed_of_a_gpu(qtbot):
    page = shown(PlanPage(FakeSession(laptop(), small_moe())), qtbot)
    assert page.side.speed.decode.text() == "—"
    assert "too quick to predict" in page.side.speed.reason


def test_that_no_moving_is_advised_where_the_model_is_larger_than_all_memory(qtbot):
    hardware = laptop(second_gpu=False)
    memory = dataclasses.replace(hardware.memory, available_bytes=2 << 30)
    page = shown(PlanPage(FakeSession(dataclasses.replace(hardware, memory=memory), qwen3_30b())), qtbot)
    assert page.header.verdict_text.startswith("Does not fit: RAM needs ")
    assert "a smaller file" in page.header.verdict_text
    assert "Move cards" not in page.header.verdict_text


def test_that_a_card_of_unknown_memory_is_named_in_the_verdict(qtbot):
    hardware = laptop(second_gpu=False)
    asleep = dataclasses.replace(hardware.gpus[0], total_bytes=None, free_bytes=None)
    page = shown(PlanPage(FakeSession(dataclasses.replace(hardware, gpus=(asleep,)), small_moe())), qtbot)
    assert page.header.verdict_text.startswith("How much is free on CUDA0 is not known")
    assert "Machine page" in page.header.verdict_text


def test_that_the_selected_card_is_explained_and_can_be_moved_by_a_button(page, session):
    view = page.board.column("CUDA0").view
    view.select_only(view.cards.find("output"))
    assert [button.text() for button in page.side.selection.buttons] == ["Move to RAM"]
    page.side.selection.buttons[0].click()
    assert page.board.column(RAM).model.find("output").isValid()


def test_that_a_fixed_card_offers_no_button(page):
    view = page.board.column(RAM).view
    view.select_only(view.cards.find("embeddings"))
    assert page.side.selection.buttons == ()


def test_that_notes_of_the_plan_are_listed_worst_first(page):
    page.side.notes.show_problems(
        (
            Problem("dense_model", Severity.INFO),
            Problem("ctx_above_trained", Severity.WARNING, {"n_ctx": 1, "trained": 1}),
        )
    )
    assert len(page.side.notes.texts) == 1


def test_that_the_command_follows_the_shell_tab_and_the_plan(page, session):
    assert "--n-cpu-moe 22" in page.command.command.toPlainText()
    bash = next(b for b in page.command.tabs.buttons() if b.text() == "bash")
    bash.click()
    assert session.settings.shell == "bash"
    session.set_wishes(n_ctx=4096)
    assert "-c 4096" in page.command.command.toPlainText()


def test_that_copy_puts_the_command_on_the_clipboard_and_says_so(page, session):
    page.command.copy.click()
    assert QGuiApplication.clipboard().text() == session.command_text("powershell")
    assert "clipboard" in page.command.status.text()


def test_that_a_command_its_shell_would_cut_is_copied_and_told(page, session):
    session.change_settings(shell="cmd")
    session.set_wishes(extra=("--alias", "x" * 9000))
    page.command.copy.click()
    assert "x" * 9000 in QGuiApplication.clipboard().text()
    assert "that cmd accepts" in page.command.status.text()


def test_that_launch_needs_an_engine_and_says_what_to_do(page, session):
    assert page.command.launch.isEnabled()
    session.set_engine(EngineState(EnginePhase.MISSING))
    assert not page.command.launch.isEnabled()
    assert "llama-server" in page.command.status.text()
    session.set_engine(EngineState(EnginePhase.BUILDING, progress=0.5))
    assert page.header.engine_text == "Building llama.cpp, 50 %"
    session.set_engine(EngineState(EnginePhase.READY, "x", "b11434"))
    assert page.command.launch.isEnabled()
    assert page.command.status.text() == ""


def test_that_launch_becomes_stop_while_the_server_runs(page, session):
    session.set_run(RunState(RunPhase.READY))
    assert not page.command.launch.isVisible()
    page.command.stop.click()
    assert session.wished == [("stop",)]
    session.set_run(RunState(RunPhase.STOPPED))
    assert page.command.launch.isVisible()


def test_that_a_launch_is_told_at_once_and_no_longer_than_it_is_looked_into(page, session):
    asked = []
    page.launch_requested.connect(lambda: asked.append(page.command.status.text()))
    for press in (page.command.launch.click, page.launch):
        press()
        page.command.forget()  # free memory that was read again makes the plan anew
        assert page.command.status.text() == asked[-1] == "Launching: looking at memory, port and engine first…"
        session.launching.ask(None)
        assert page.command.status.text() == ""
    page.command.launch.click()
    session.set_run(RunState(RunPhase.STARTING))
    assert page.command.status.text() == ""
    assert len(asked) == 3


def test_that_a_page_made_while_a_model_is_read_says_so(qtbot):
    session = FakeSession(laptop())
    session.is_loading = True
    page = shown(PlanPage(session), qtbot)
    assert page.empty.words[0] == "Reading the model's header…"
    session.hardware_changed.emit()  # the machine is known before the model is
    assert page.empty.words[0] == "Reading the model's header…"
    assert not page.open_button.isVisible()


def test_that_only_one_button_of_the_page_is_filled(page):
    filled = [b for b in page.findChildren(QAbstractButton) if b.property("look") == "primary" and b.isVisible()]
    assert filled == [page.command.launch]


def test_that_undo_and_redo_name_what_they_do(page, session):
    assert not page.header._undo.isEnabled()
    session.move_cards(("output",), RAM)
    assert page.header._undo.isEnabled()
    assert page.header._undo.toolTip() == "Undo: move to RAM"
    page.header._undo.click()
    assert page.header._redo.isEnabled()


def test_that_a_move_is_told_in_the_status_line(page, session):
    page.board.request_move(("output",), RAM)
    assert page.command.status.text().startswith("Output head → RAM. Fits, ")


def test_that_without_a_model_the_page_invites_to_open_one(qtbot):
    session = FakeSession(laptop())
    page = shown(PlanPage(session), qtbot)
    assert page.empty.isVisible()
    assert page.empty.words[0] == "Drop a .gguf model here"
    page.demo_button.click()
    assert session.wished == [("open_demo",)]
    session.model_loading_changed.emit(True)
    assert page.empty.words[0] == "Reading the model's header…"
    session.show_model(small_moe())
    assert not page.empty.isVisible()
    assert page.board.isVisible()


def test_that_a_dense_model_is_planned_without_a_slider(qtbot):
    page = shown(PlanPage(FakeSession(laptop(), dense_model())), qtbot)
    assert "dense model" in page.header.verdict_text
    assert not page.slider.isVisible()
    assert page.board.column("CUDA0").model.find("dense_ffn:0-31").isValid()


def test_that_without_a_gpu_everything_is_in_ram_and_the_page_says_why(qtbot):
    page = shown(PlanPage(FakeSession(laptop(gpus=False), small_moe())), qtbot)
    assert page.no_gpu.isVisible()
    assert [column.device for column in page.board.columns] == [RAM]


def test_that_everything_on_the_page_has_a_name_for_screen_readers(page):
    for widget in page.findChildren(QWidget):
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible() and widget.isEnabled():
            name = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
            parent = widget.parentWidget()
            assert name or (parent is not None and parent.accessibleName()), widget


@pytest.mark.parametrize("language", [Language.EN, Language.ZH_CN])
@pytest.mark.parametrize(("width", "height"), [(1024, 640), (1280, 768)])
def test_that_the_page_fits_a_small_window_in_both_languages(session, qtbot, language, width, height):
    set_language(language)
    page = shown(PlanPage(session), qtbot, width, height)
    assert (page.width(), page.height()) == (width, height)
    assert page.minimumSizeHint().width() <= width
    assert page.minimumSizeHint().height() <= height


@pytest.mark.parametrize("code", [code for code in ENTRIES if code.startswith("plan.limit.")])
def test_that_every_limit_has_a_sentence(code):
    assert say(code).endswith(".")


def test_that_the_status_line_forgets_a_move_that_was_undone(page, session):
    page.board.request_move(("output",), RAM)
    assert page.command.status.text().startswith("Output head → RAM.")
    session.undo_stack.undo()
    assert page.command.status.text() == ""


def test_that_a_wish_is_as_wide_as_the_text_that_the_user_chose(page, session, qtbot):
    preset = page.wishes.preset.combo
    preset.setCurrentIndex(preset.findData("all-cpu"))
    preset.activated.emit(preset.currentIndex())
    qtbot.waitUntil(lambda: preset.width() >= preset.sizeHint().width())
    assert preset.currentText() == "Everything in RAM"


def test_that_a_plan_for_a_saved_machine_says_so(page, session):
    assert "for a saved machine" not in page.header.chip_texts
    session.is_this_machine = False
    session.hardware_changed.emit()
    assert page.header.chip_texts[0] == "for a saved machine"


def test_that_a_prompt_cache_alone_is_named_where_a_smaller_one_makes_the_plan_fit(page, session, qtbot):
    session.set_wishes(prompt_cache_mib=session.plan.estimate.get("RAM").left_bytes // MIB + 4096)
    assert page.header.verdict_text.endswith("A smaller prompt cache is enough.")


def test_that_nothing_is_moved_away_where_there_is_nowhere_to_move_it(qtbot):
    session = FakeSession(laptop(gpus=False), qwen3_30b())
    session.set_wishes(n_ctx=262144, cache_type_k="f16")
    page = shown(PlanPage(session), qtbot)
    assert page.header.verdict_text.startswith("Does not fit: RAM needs ")
    assert "Move cards away" not in page.header.verdict_text
