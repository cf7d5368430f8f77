"""Plans in and out of the window: saved, opened, compared, exported, and other people's commands."""

import dataclasses
import json
from pathlib import Path

import pytest
from PySide6.QtCore import QThread
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.common.problem import Severity
from app.engine.capabilities import FALLBACK
from app.planner.types import RAM, Wishes
from app.session.app_session import AppSession
from app.session.board_controller import BoardController
from app.session.plan_files_controller import with_recent
from app.ui.dialogs.paste_command import PasteDialog
from app.ui.dialogs.paste_findings import MOST_PROBLEMS
from app.ui.pages.plan import PlanPage
from app.ui.secret import DOTS
from app.work.pasting import check_paste
from tests.qt.plan_models import laptop, qwen3_30b, small_moe

LAPTOP = Path(__file__).parents[1] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"
CORPUS = LAPTOP.parents[1] / "commands" / "commands.json"
COMMAND = (
    r"llama-server -m Qwen3-30B-A3B-Instruct-Q4_K_M.gguf -ngl 99 -c 16384 -np 1 -cram 0 -fit off --jinja --temp 0.7 "
    r'-ot "blk\.(2[0-9]|3[0-9]|4[0-7])\.ffn_.*_exps=CPU" --port 9000 --api-key my-own-key'
)


@pytest.fixture
def messages():
    return []


@pytest.fixture
def session(qtbot, messages):
    made = AppSession()
    made.message_raised.connect(messages.append)
    made.load_snapshot(str(LAPTOP))
    made._show_model(qwen3_30b())
    assert made.plan is not None
    yield made
    made.close()


@pytest.fixture
def page(session, qtbot):
    made = PlanPage(session)
    qtbot.addWidget(made)
    return made


def codes(messages):
    return [problem.code for problem in messages]


def checked(session, qtbot, text):
    session.paste.check(text)
    qtbot.waitUntil(lambda: not session.paste.is_checking, timeout=20_000)
    return session.paste.result


# Pasted commands.


def test_that_a_pasted_command_becomes_the_board_in_one_step_of_undo(session, qtbot):
    before = session.plan
    assert checked(session, qtbot, COMMAND) is not None
    assert session.paste.load()
    converted = session.paste.result.report.converted
    assert session.plan.argv == converted
    assert session.plan.n_ctx == 16384
    assert session.expert_layers_in_ram == 28
    assert session.plan.wishes.extra == ("--jinja", "--temp", "0.7")
    session.undo_stack.undo()
    assert session.plan.argv == before.argv
    assert not session.undo_stack.canUndo()


@pytest.mark.parametrize("n_cards", [1, 2])
def test_that_every_command_of_the_corpus_lies_on_the_board_as_it_was_shown(qapp, n_cards):
    hardware = laptop()
    card = hardware.gpus[0]
    second = dataclasses.replace(card, name="RTX 3060", engine_name="CUDA1", total_bytes=8 << 30, free_bytes=7 << 30)
    board = BoardController()
    board.use_model(qwen3_30b(), None)
    board.use_machine(dataclasses.replace(hardware, gpus=(card, second)[:n_cards]), FALLBACK)
    entries = json.loads(CORPUS.read_text(encoding="utf-8"))
    differing = []
    for entry in entries:
        report = check_paste("\n".join(entry["text"]), board.inputs_for(Wishes())).report
        is_fit = report.meant.inputs.wishes.preset == "fit"
        board.load(report.meant.inputs, None if is_fit else report.meant.plan.placement, "paste")
        if board.plan.argv != report.converted:
            differing.append(entry["id"])
    assert len(entries) >= 40
    assert differing == []


def test_that_a_pasted_fit_command_stays_with_the_engines_own_placement(session, qtbot):
    checked(session, qtbot, "llama-server -m x.gguf -c 8192 -np 1 --fit on")
    session.paste.load()
    assert session.plan.wishes.preset == "fit"
    assert session.plan.argv == session.paste.result.report.converted


def test_that_a_check_runs_off_the_windows_thread(session, qtbot, monkeypatch):
    threads = []

    def check(*_):
        threads.append(QThread.currentThread())
        raise RuntimeError("enough")

    monkeypatch.setattr("app.session.paste_controller.check_paste", check)
    checked(session, qtbot, COMMAND)
    assert threads
    assert threads[0] is not session.thread()
    assert session.paste.problem.code == "internal_error"


def test_that_only_the_newest_text_is_shown(session, qtbot):
    session.paste.check("llama-server -m x.gguf -c 1024")
    session.paste.check("llama-server -m x.gguf -c 2048")
    qtbot.waitUntil(lambda: not session.paste.is_checking, timeout=20_000)
    assert session.paste.result.report.plan.n_ctx == 2048
    session.paste.check("")
    assert session.paste.result is None


def test_that_the_paste_box_tells_rules_and_problems_and_hides_the_key(session, qtbot):
    dialog = PasteDialog(session, None)
    qtbot.addWidget(dialog)
    assert not dialog.load.isEnabled()
    dialog.box.setPlainText(COMMAND.replace("--jinja", "--jinja -ot .*mlp.experts.*=CPU"))
    qtbot.waitUntil(lambda: dialog.load.isEnabled(), timeout=20_000)
    told = "\n".join(dialog.findings.sentences)
    assert "matches no tensor of this file" in told
    assert "84 tensors found" in told
    assert "my-own-key" not in dialog.converted.toPlainText()
    assert DOTS in dialog.converted.toPlainText()
    dialog.load.click()
    assert "my-own-key" in session.plan.argv


def test_that_a_hostile_paste_is_drawn_in_bounds(session, qtbot):
    dialog = PasteDialog(session, None)
    qtbot.addWidget(dialog)
    dialog.box.setPlainText("llama-server -m x.gguf " + " ".join(f"--no-such-{n}" for n in range(200)))
    qtbot.waitUntil(lambda: dialog.load.isEnabled(), timeout=20_000)
    assert MOST_PROBLEMS <= len(dialog.findings.sentences) <= MOST_PROBLEMS + 5


def test_that_a_huge_paste_is_checked_whole_but_drawn_in_part(session, qtbot):
    dialog = PasteDialog(session, None)
    qtbot.addWidget(dialog)
    rules = ",".join(["exps=CPU"] * 5000)
    QGuiApplication.clipboard().setText(f'llama-server -m x.gguf -c 8192 -ngl 99 -ot "{rules}"')
    dialog.box.paste()
    assert dialog.box.is_kept_aside
    assert len(dialog.box.toPlainText()) < 3000
    qtbot.waitUntil(lambda: dialog.load.isEnabled(), timeout=20_000)
    assert "import_too_many_rules" in [p.code for p in session.paste.result.problems]
    dialog.clear.click()
    assert (dialog.box.text, dialog.box.isReadOnly()) == ("", False)
    assert session.paste.result is None


def test_that_what_the_board_does_not_model_is_shown_and_can_be_removed(session, qtbot, page):
    assert page.kept.text == ""
    checked(session, qtbot, COMMAND)
    session.paste.load()
    assert page.kept.text == "--jinja --temp 0.7"
    page.kept._remove.click()
    assert session.plan.wishes.extra == ()
    session.undo_stack.undo()
    assert page.kept.text == "--jinja --temp 0.7"


# Plan files.


def test_that_a_saved_plan_opens_as_it_was_and_the_title_knows_when_it_changed(session, qtbot, tmp_path):
    files = session.plan_files
    path = str(tmp_path / "my plan 方案.json")
    session.set_expert_layers_in_ram(30)
    assert files.save(path)
    saved = session.plan.argv
    assert not files.is_modified
    session.set_expert_layers_in_ram(40)
    assert files.is_modified
    session.undo_stack.undo()
    assert not files.is_modified
    session.apply_preset("all-cpu")
    with qtbot.waitSignal(files.file_used):
        files.open(path)
    assert session.plan.argv == saved
    assert not files.is_modified
    assert session.settings.recent_plans == (path,)


def test_that_a_plan_of_another_model_tells_what_it_lost(session, qtbot, tmp_path, messages):
    path = str(tmp_path / "plan.json")
    session.set_expert_layers_in_ram(30)
    session.plan_files.save(path)
    session._show_model(small_moe())
    assert session.plan_files.path is None
    with qtbot.waitSignal(session.plan_files.file_used):
        session.plan_files.open(path)
    (told,) = [p for p in messages if p.code == "plan_opened"]
    assert told.severity is Severity.WARNING
    assert told.evidence
    assert session.plan is not None


def test_that_a_hand_edited_plan_loads_what_it_can(session, qtbot, tmp_path, messages):
    path = tmp_path / "plan.json"
    session.plan_files.save(str(path))
    content = json.loads(path.read_text(encoding="utf-8"))
    content["wishes"].update(n_ctx="many", of_tomorrow=1, n_ubatch=256)
    path.write_text(json.dumps(content), encoding="utf-8")
    with qtbot.waitSignal(session.plan_files.file_used):
        session.plan_files.open(str(path))
    (told,) = [p for p in messages if p.code == "plan_opened"]
    assert told.params["n"] == len(told.evidence) == 2
    assert session.plan.wishes.n_ubatch == 256


def test_that_a_file_that_is_no_plan_is_one_sentence_and_changes_nothing(session, qtbot, tmp_path, messages):
    path = tmp_path / "other.json"
    path.write_text("[1, 2]", encoding="utf-8")
    before = session.plan
    with qtbot.waitSignal(session.message_raised):
        session.plan_files.open(str(path))
    assert codes(messages) == ["plan_file_other"]
    assert session.plan is before


def test_that_a_plan_without_an_open_model_says_which_one_it_needs(session, qtbot, tmp_path, messages):
    path = tmp_path / "plan.json"
    session.plan_files.save(str(path))
    fresh = AppSession()
    fresh.message_raised.connect(messages.append)
    with qtbot.waitSignal(fresh.message_raised):
        fresh.plan_files.open(str(path))
    assert codes(messages)[-1] == "plan_needs_model"
    fresh.close()


def test_that_recent_plans_are_few_and_unique():
    recent = ()
    for n in range(12):
        recent = with_recent(recent, f"{n}.json")
    recent = with_recent(recent, "9.json")
    assert recent[:2] == ("9.json", "11.json")
    assert len(recent) == len(set(recent)) == 8


# Comparing.


def test_that_the_plan_before_stands_beside_the_board_and_follows_it(session, qtbot, page):
    session.set_expert_layers_in_ram(30)
    session.set_wishes(n_ctx=16384)
    page.files.compare_before()
    dialog = page.files._compare
    assert dialog.isVisible()
    rows = {row[0]: row[1:] for row in dialog.table.rows}
    assert rows["-c"][:2] == ("8192", "16384")
    assert session.plan_files.comparison.difference.moved == ()
    session.set_expert_layers_in_ram(40)
    rows = {row[0]: row[1:] for row in dialog.table.rows}
    assert any(name.startswith("Experts · layers") for name in rows)
    dialog.close()
    assert session.plan_files.comparison is None


def test_that_a_saved_plan_is_compared_without_touching_the_board(session, qtbot, tmp_path):
    path = str(tmp_path / "plan.json")
    session.plan_files.save(path)
    session.set_expert_layers_in_ram(48)
    on_board = session.plan
    with qtbot.waitSignal(session.plan_files.comparison_changed):
        session.plan_files.compare_with_file(path)
    comparison = session.plan_files.comparison
    assert comparison.name == "plan.json"
    assert comparison.after is on_board is session.plan
    assert comparison.difference.moved[0].after == RAM


def test_that_there_may_be_no_plan_before(session, messages):
    session.plan_files.compare_with_before()
    assert codes(messages) == ["compare_no_plan"]


# Exporting.


@pytest.mark.parametrize(
    ("kind", "ending", "mark"),
    [
        ("cmd", ".bat", "llama-server"),
        ("powershell", ".ps1", "llama-server"),
        ("bash", ".sh", "llama-server"),
        ("preset", ".ini", "ctx"),
        ("llama-swap", ".yaml", "cmd:"),
        ("transformers", ".py", "import"),
    ],
)
def test_that_every_export_is_in_the_menu_and_writes_its_file(
    session, page, tmp_path, monkeypatch, messages, kind, ending, mark
):
    asked = []

    def choose(_, title, start, filters):
        asked.append((title, start, filters))
        return str(tmp_path / "out"), filters

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    (action,) = [a for a in page.command._export_menu.actions() if a.data() == kind]
    action.trigger()
    assert mark in (tmp_path / f"out{ending}").read_text(encoding="utf-8-sig")
    assert asked[0][2].endswith(f"(*{ending})")
    assert codes(messages) == ["exported"]
    assert bool(messages[0].evidence) is (kind == "transformers")


# The key.


def test_that_the_command_hides_the_key_until_the_eye_is_pressed(session, page):
    key = dict(zip(session.plan.argv, session.plan.argv[1:], strict=False))["--api-key"]
    assert key not in page.command.command.toPlainText()
    page.command.reveal.click()
    assert key in page.command.command.toPlainText()
    page.command.reveal.click()
    assert DOTS in page.command.command.toPlainText()


def test_that_the_host_of_a_plan_file_reaches_the_command(session, qtbot, tmp_path):
    path = tmp_path / "plan.json"
    session.plan_files.save(str(path))
    content = json.loads(path.read_text(encoding="utf-8"))
    content["server"].update(host="0.0.0.0", port=8123)
    path.write_text(json.dumps(content), encoding="utf-8")
    with qtbot.waitSignal(session.plan_files.file_used):
        session.plan_files.open(str(path))
    words = dict(zip(session.plan.argv, session.plan.argv[1:], strict=False))
    assert (words["--host"], words["--port"]) == ("0.0.0.0", "8123")
    session.apply_preset("all-cpu")
    words = dict(zip(session.plan.argv, session.plan.argv[1:], strict=False))
    assert words["--port"] == "8123"
    assert dataclasses.replace(session.plan.wishes).preset == "all-cpu"


def test_that_a_session_that_ends_with_unsaved_changes_tells_nobody(qtbot, tmp_path):
    ended = AppSession()
    ended.load_snapshot(str(LAPTOP))
    ended._show_model(qwen3_30b())
    ended.plan_files.save(str(tmp_path / "plan.json"))
    ended.set_expert_layers_in_ram(40)
    told = []
    ended.plan_files.changed.connect(lambda: told.append(ended.plan_files.is_modified))
    ended.close()
    ended.undo_stack.clear()  # what its end does
    assert told == []


def test_that_a_plan_whose_own_model_does_not_open_never_lands_on_another_one(session, messages, qtbot, tmp_path):
    kept = tmp_path / "of-another-model.json"
    assert session.plan_files.save(str(kept))
    session._show_model(small_moe())
    messages.clear()
    with qtbot.waitSignal(session.plan_files.model_wanted):
        session.plan_files.open_with_model(str(kept), str(tmp_path / "gone.gguf"))
    session.set_wishes(n_ctx=2048)  # the board moves on while the model is looked for...
    qtbot.waitUntil(lambda: bool(messages))
    session.set_wishes(n_ctx=1024)  # ...and when it was not found
    assert (session.plan_files.path, session.plan.wishes.n_ctx) == (None, 1024)
    session._show_model(small_moe())
    assert (session.plan_files.path, session.plan.wishes.n_ctx) == (None, Wishes().n_ctx)
