"""The session: one plan behind every view, undo over all of it, and trouble told in one place."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.engine.leftovers import remember_server
from app.hardware.snapshot_file import load_snapshot
from app.model.demo import make_demo_model
from app.model.types import Role
from app.planner.placement import locations
from app.planner.types import RAM, KvHome
from app.session.app_session import AppSession
from app.session.state import EnginePhase, RunPhase
from app.work.machine import MachineCalls
from tests.tools.sparse_models import make_sparse

DATA = Path(__file__).parents[1] / "data" / "hardware"
LAPTOP = DATA / "laptop-rtx4080-i7-13700h.json"
NO_GPU = DATA / "vm-no-gpu.json"
FALSE = shutil.which("false")


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "Qwen3 30B 模型.gguf"
    make_sparse("qwen3-30b", path)
    return path


@pytest.fixture
def messages():
    return []


@pytest.fixture
def session(qtbot, monkeypatch, tmp_path, messages):
    monkeypatch.setenv("PATH", str(tmp_path))  # whatever engine this computer has, these tests do without
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    made = AppSession()
    made.message_raised.connect(messages.append)
    yield made
    made.close()


def _open(session, qtbot, path, hardware=LAPTOP):
    session.start(None, load_snapshot(hardware))
    with qtbot.waitSignal(session.model_changed):
        session.open_model(str(path))
    qtbot.waitUntil(lambda: session.is_idle)
    assert session.plan is not None


def _experts_in_ram(session):
    where = locations(session.model, session.plan.placement)
    return {t.block for t in session.model.tensors if t.role is Role.ROUTED_EXPERT and where[t.name] == RAM}


def test_that_a_model_opens_with_the_best_plan_for_the_machine(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    assert [d.name for d in session.plan.devices.gpus] == ["CUDA0"]
    assert session.plan.estimate.fits
    assert session.plan.wishes.preset == "fill"
    assert 0 < session.expert_layers_in_ram < session.expert_layers_total == 48
    assert session.plan.speed.decode_tps > 10


def test_that_a_session_without_an_engine_plans_all_the_same(session, qtbot, qwen, messages):
    _open(session, qtbot, qwen)
    assert session.engine.phase is EnginePhase.MISSING
    assert "llama-server" in session.command_text("bash")
    session.launch()
    assert session.run.phase is RunPhase.STOPPED
    assert [m.code for m in messages] == ["engine_missing"]


def test_that_undo_and_redo_walk_over_moves_slider_wishes_and_presets(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    seen = [session.plan]
    session.move_cards(("experts:3",), RAM)
    seen.append(session.plan)
    session.set_expert_layers_in_ram(40)
    seen.append(session.plan)
    session.set_wishes(n_ctx=16384)
    seen.append(session.plan)
    session.apply_preset("experts-cpu")
    seen.append(session.plan)
    assert len({str(p.argv) for p in seen}) == 5
    for plan in reversed(seen[:-1]):
        session.undo_stack.undo()
        assert session.plan == plan
    for plan in seen[1:]:
        session.undo_stack.redo()
        assert session.plan == plan


def test_that_one_drag_of_the_slider_is_one_step_of_undo(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    before = session.plan
    for n in range(20, 30):
        session.set_expert_layers_in_ram(n)
    assert session.expert_layers_in_ram == 29
    assert _experts_in_ram(session) == set(range(19, 48))
    assert session.undo_stack.count() == 1
    session.undo_stack.undo()
    assert session.plan == before


def test_that_an_edited_plan_keeps_its_placement_when_a_wish_changes(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    session.set_expert_layers_in_ram(48)
    placement = session.plan.placement
    session.set_wishes(n_ctx=16384)
    assert session.plan.placement == placement
    assert session.plan.n_ctx == 16384
    assert session.plan.is_edited


def test_that_a_plan_nobody_edited_is_made_anew_for_a_longer_context(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    few = session.expert_layers_in_ram
    session.set_wishes(n_ctx=32768)
    assert session.expert_layers_in_ram > few
    assert session.plan.estimate.fits
    assert not session.plan.is_edited


def test_that_a_refused_move_says_why_and_changes_nothing(session, qtbot, qwen, messages):
    _open(session, qtbot, qwen)
    before = session.plan
    assert session.can_move(("embeddings",), "CUDA0").code == "move_embeddings"
    session.move_cards(("embeddings",), "CUDA0")
    assert session.plan == before
    assert session.undo_stack.count() == 0
    assert [m.code for m in messages] == ["move_embeddings"]


def test_that_the_cost_of_a_move_is_told_before_it_is_made(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    session.apply_preset("experts-cpu")
    cost = session.move_cost(("experts:0-47",), "CUDA0")
    session.move_cards(("experts:0-47",), "CUDA0")
    assert cost == -session.plan.estimate.get("CUDA0").left_bytes > 0


def test_that_switching_the_gpu_off_puts_everything_in_ram_and_back(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    before = session.plan
    session.set_device_enabled("CUDA0", False)
    assert session.plan.devices.gpus == ()
    assert [d.name for d in session.plan.devices.off] == ["CUDA0"]
    assert session.plan.argv[session.plan.argv.index("-dev") + 1] == "none"
    session.undo_stack.undo()
    assert session.plan == before


def test_that_no_gpu_gives_one_column(session, qtbot, qwen):
    _open(session, qtbot, qwen, NO_GPU)
    assert session.plan.devices.gpus == ()
    session.set_expert_layers_in_ram(3)
    assert session.undo_stack.count() == 0, "there is nothing to slide to"


def test_that_the_board_shows_every_tensor_once(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    names = [n for d in session.plan.devices.all for c in session.cards(d.name) for n in c.tensor_names]
    assert sorted(names) == sorted(t.name for t in session.model.tensors)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"not a model at all", "not_gguf"),
        (b"", "not_gguf_empty"),
        (b"GGUF\x03\x00\x00\x00\x05", "gguf_truncated_header"),
    ],
)
def test_that_a_bad_file_is_one_message_and_the_old_model_stays(
    session, qtbot, qwen, messages, tmp_path, content, code
):
    _open(session, qtbot, qwen)
    bad = tmp_path / "坏 file.gguf"
    bad.write_bytes(content)
    before = session.plan
    with qtbot.waitSignal(session.message_raised):
        session.open_model(str(bad))
    assert [m.code for m in messages] == [code]
    assert session.plan == before


def test_that_a_truncated_download_names_the_missing_bytes(session, qtbot, messages, tmp_path):
    path = tmp_path / "demo.gguf"
    make_demo_model(path)
    whole = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(whole - 1000)
    with qtbot.waitSignal(session.message_raised):
        session.open_model(str(path))
    assert messages[0].code == "gguf_truncated"
    assert messages[0].params["missing_bytes"] == 1000


def test_that_an_engine_that_is_not_there_is_told_and_planning_goes_on(session, qtbot, qwen, messages, tmp_path):
    _open(session, qtbot, qwen)
    with qtbot.waitSignal(session.message_raised):
        session.choose_engine(str(tmp_path / "no engine here"))
    qtbot.waitUntil(lambda: session.is_idle)
    assert messages[-1].code == "engine_not_found"
    assert session.engine.phase is EnginePhase.BROKEN
    assert session.plan is not None


@pytest.mark.skipif(FALSE is None, reason="needs the program `false`")
def test_that_a_program_that_is_no_engine_is_told(session, qtbot, qwen, messages):
    _open(session, qtbot, qwen)
    with qtbot.waitSignal(session.message_raised):
        session.choose_engine(FALSE)
    qtbot.waitUntil(lambda: session.is_idle)
    assert session.engine.phase is EnginePhase.BROKEN
    assert session.run.phase is RunPhase.STOPPED


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the engine here is a shell script")
def test_that_closing_does_not_wait_for_an_engine_that_hangs(session, qtbot, monkeypatch, tmp_path):
    monkeypatch.setattr("app.engine.capabilities._TIMEOUT_S", 1000.0)
    os.mkfifo(tmp_path / "started")
    engine = tmp_path / "llama-server"
    engine.write_text(f"#!/bin/sh\necho > '{tmp_path}/started'\nexec /bin/sleep 1000\n")
    engine.chmod(0o755)
    session.start(str(engine), load_snapshot(LAPTOP))
    (tmp_path / "started").read_text()
    session.close()
    assert session.engine.phase is EnginePhase.LOOKING


def test_that_a_server_left_behind_by_a_crash_is_told(session, qtbot, messages):
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        file = remember_server(session.paths, other.pid, "llama-server")
        left = json.loads(file.read_text()) | {"owner_started_at": 1.0}
        file.write_text(json.dumps(left))
        session.start(None, load_snapshot(LAPTOP))
        qtbot.waitUntil(lambda: bool(messages))
    finally:
        other.communicate(b"")
    assert [(m.code, m.params["pid"]) for m in messages] == [("leftover_server", other.pid)]


def test_that_settings_survive_a_restart(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    session.change_settings(theme="dark", shell="cmd")
    saved = json.loads(session.paths.settings_file.read_text(encoding="utf-8"))
    assert saved["theme"] == "dark"
    assert saved["last_model"] == str(qwen)
    again = AppSession()
    assert again.settings.shell == "cmd"
    again.close()


def test_that_options_of_one_start_are_not_saved(session):
    session.override_settings(language="zh_CN")
    session.change_settings(theme="dark")
    saved = json.loads(session.paths.settings_file.read_text(encoding="utf-8"))
    assert session.settings.language == "zh_CN"
    assert saved["language"] == "system"


def test_that_a_command_that_a_shell_cannot_carry_is_a_comment_of_that_shell(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    session.set_wishes(extra=("two\nlines",))
    assert session.command_text("cmd").startswith("rem An argument holds a line break")
    assert "two\nlines" in session.command_text("bash")


def test_that_an_export_is_a_script_with_the_shown_command(session, qtbot, qwen, messages, tmp_path):
    _open(session, qtbot, qwen)
    target = tmp_path / "启动 model.sh"
    session.export_script(str(target), "bash")
    assert messages[-1].code == "exported"
    text = target.read_text(encoding="utf-8")
    for word in ("llama-server", "-fit", "-ot"):
        assert word in text
    session.export_script(str(tmp_path / "no" / "such" / "folder" / "x.sh"), "bash")
    assert messages[-1].code == "export_failed"


def test_that_a_saved_machines_ram_speed_is_neither_measured_here_nor_taken_along(session, qtbot, messages):
    saved = load_snapshot(LAPTOP)
    saved = dataclasses.replace(saved, memory=dataclasses.replace(saved.memory, measured_gbs=71.0))
    here = load_snapshot(DATA / "vm-no-gpu.json")
    session.machine.use_calls(MachineCalls(look=lambda binary, servers: here))
    session.start(None, saved)
    qtbot.waitUntil(lambda: session.is_idle)
    session.measure_ram()
    assert [m.code for m in messages] == ["saved_machine_not_measured"]
    assert not session.is_this_machine
    assert session.engines.is_saved()  # its cards say nothing about the engine here
    session.refresh_hardware()
    qtbot.waitUntil(lambda: session.hardware == here)
    assert session.is_this_machine
    assert not session.engines.is_saved()
    assert session.hardware.memory.measured_gbs == here.memory.measured_gbs


def test_that_another_look_at_the_machine_does_not_lose_the_engine_that_is_being_searched(session, qtbot):
    here = load_snapshot(DATA / "vm-no-gpu.json")
    session.machine.use_calls(MachineCalls(look=lambda binary, servers: here))
    session.start(None)
    session.refresh_hardware()
    qtbot.waitUntil(lambda: session.engine.phase is EnginePhase.MISSING)


def test_that_offers_are_worked_out_once_the_plan_rests_and_one_click_takes_one(session, qtbot, qwen):
    with qtbot.waitSignal(session.trades_changed, timeout=20000):
        _open(session, qtbot, qwen)
    offers = session.trades
    at = next(i for i, t in enumerate(offers) if t.code == "context")
    session.apply_trade(at)
    assert session.plan.n_ctx == offers[at].value
    assert session.trades is None
    session.undo_stack.undo()
    session.apply_trade(99)
    assert session.plan.n_ctx == 2 * offers[at].value


def test_that_the_cache_of_an_edited_board_moves_with_the_wish(session, qtbot, qwen):
    _open(session, qtbot, qwen)
    session.set_expert_layers_in_ram(20)
    session.set_wishes(kv_home=KvHome.RAM)
    assert "-nkvo" in session.plan.argv
    session.set_wishes(kv_home=KvHome.HOME)
    assert "-nkvo" not in session.plan.argv
    assert session.expert_layers_in_ram == 20
