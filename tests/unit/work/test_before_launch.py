"""Just before a launch: what stands in the way becomes a question with ways on that hold."""

import dataclasses
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from app.common.paths import app_paths
from app.engine.leftovers import known_servers, remember_server
from app.engine.locate import EngineBinary
from app.engine.port_holder import Listener, listeners, next_free_port, port_holder
from app.hardware.gpu_users import GpuUser
from app.hardware.snapshot_file import load_snapshot
from app.planner.devices import DeviceWishes
from app.planner.plan import make_plan
from app.planner.types import RAM, Wishes
from app.work import before_launch
from app.work.before_launch import fits_now, look_before_launch, memory_question, outside_remarks, port_question
from app.work.engines import capabilities_of
from app.work.launching import launch_spec, with_port
from app.work.models import open_model
from app.work.planning import plan_inputs
from tests.tools.sparse_models import make_sparse
from tests.tools.systems import UNDER_WINE

WINE_TELLS_NO_HOLDER = pytest.mark.skipif(UNDER_WINE, reason="Wine does not tell whose socket it is")

LISTENER = (
    "import socket, sys\ns = socket.create_server(('127.0.0.1', 0))\n"
    "print(s.getsockname()[1], flush=True)\nsys.stdin.read()"
)
LAPTOP = Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "qwen.gguf"
    make_sparse("qwen3-30b", path)
    return open_model(str(path))


@pytest.fixture
def laptop():
    return load_snapshot(LAPTOP)


def _inputs(model, snapshot, port=8080):
    return plan_inputs(model, snapshot, Wishes(), DeviceWishes(), capabilities_of(None), port=port)


def _shrunk(snapshot, share):
    gpus = tuple(dataclasses.replace(g, free_bytes=int((g.free_bytes or 0) * share)) for g in snapshot.gpus)
    return dataclasses.replace(snapshot, gpus=gpus)


@pytest.fixture
def listener():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        yield taken.getsockname()[1]


@pytest.mark.slow
def test_that_a_card_that_another_program_fills_is_answered_with_more_expert_layers_in_ram(model, laptop):
    before = make_plan(_inputs(model, laptop))
    assert fits_now(before)
    now = _shrunk(laptop, 0.6)
    inputs = _inputs(model, now)
    plan = make_plan(inputs, before.placement, is_edited=True)
    card = next(i for i, gpu in enumerate(now.gpus) if gpu.engine_name == "CUDA0")
    users = (GpuUser(card, 77, "game.exe", 3 << 30), GpuUser(card, 78, None, 2 << 30))
    question = memory_question(plan, inputs, now, lambda: users)
    assert question is not None
    assert question.problem.code == "launch_memory_taken"
    assert question.problem.params["programs"] == "game.exe 3 072 MiB"
    first, last = question.answers
    assert (first.code, last.code) == ("fix", "anyway")
    assert first.fix.code == "experts_more"
    assert first.fix.params["layers"] > 0
    assert first.fix.plan.estimate.fits


def test_that_nobody_is_named_where_the_system_names_nobody(model, laptop):
    before = make_plan(_inputs(model, laptop))
    inputs = _inputs(model, _shrunk(laptop, 0.6))
    plan = make_plan(inputs, before.placement, is_edited=True)
    question = memory_question(plan, inputs, laptop, lambda: ())
    assert question.problem.code == "launch_memory_changed"


@pytest.mark.slow
def test_that_full_ram_offers_no_program_of_the_card(model, laptop):
    before = make_plan(_inputs(model, laptop))
    memory = dataclasses.replace(laptop.memory, available_bytes=2 << 30)
    now = dataclasses.replace(laptop, memory=memory)
    inputs = _inputs(model, now)
    plan = make_plan(inputs, before.placement, is_edited=True)
    question = memory_question(plan, inputs, now, lambda: (GpuUser(0, 77, "game.exe", 3 << 30),))
    assert question.problem.params["device"] == RAM
    assert question.problem.code == "launch_memory_changed"
    assert question.answers[-1].code == "anyway"


def test_that_a_plan_that_fits_asks_nothing_about_memory(model, laptop):
    inputs = _inputs(model, laptop)
    assert memory_question(make_plan(inputs), inputs, laptop, lambda: ()) is None


@WINE_TELLS_NO_HOLDER
def test_that_a_busy_port_is_asked_about_with_its_holder_and_a_free_one(model, laptop, listener):
    plan = make_plan(_inputs(model, laptop, port=listener))
    question = port_question(plan, app_paths())
    assert question.problem.code == "port_in_use_by"
    assert question.problem.params["pid"] == os.getpid()
    assert question.problem.params["name"] == psutil.Process().name()
    assert [answer.code for answer in question.answers] == ["other_port"]
    other = question.answers[0].params["port"]
    assert other > listener
    assert port_question(plan, app_paths(), other) is None
    assert ("--port", str(listener)) == plan.argv[plan.argv.index("--port") : plan.argv.index("--port") + 2]


@WINE_TELLS_NO_HOLDER
def test_that_a_server_of_ours_on_the_port_can_be_stopped(model, laptop):
    with subprocess.Popen([sys.executable, "-c", LISTENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        port = int(child.stdout.readline())
        assert remember_server(app_paths(), child.pid, sys.executable) is not None
        assert [server.pid for server in known_servers(app_paths())] == [child.pid]
        question = port_question(make_plan(_inputs(model, laptop, port=port)), app_paths())
        child.kill()
        child.wait()
    assert question.problem.code == "port_in_use_by_ours"
    assert [answer.code for answer in question.answers] == ["end_server", "other_port"]
    assert question.answers[0].server.pid == child.pid


def test_that_a_system_that_tells_nothing_of_sockets_leaves_the_holder_unknown(monkeypatch):
    def refuse(_kind):
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil, "net_connections", refuse)
    assert listeners() == ()
    assert port_holder(1, app_paths()) is None


def test_that_only_listening_sockets_count():
    def rows():
        return [
            SimpleNamespace(status=psutil.CONN_LISTEN, laddr=SimpleNamespace(port=8080), pid=5),
            SimpleNamespace(status=psutil.CONN_ESTABLISHED, laddr=SimpleNamespace(port=8081), pid=6),
            SimpleNamespace(status=psutil.CONN_LISTEN, laddr=(), pid=7),
            SimpleNamespace(status=psutil.CONN_LISTEN, laddr=SimpleNamespace(port=8082), pid=0),
        ]

    assert listeners(rows) == (Listener(5, 8080), Listener(None, 8082))


def test_that_the_last_port_has_none_above_it():
    assert next_free_port("127.0.0.1", 65535) is None


def test_that_another_port_is_the_last_word_of_the_command(model, laptop):
    argv = make_plan(_inputs(model, laptop)).argv
    assert with_port(argv, None) == argv
    assert with_port(argv, 9000)[-2:] == ("--port", "9000")


def test_that_the_systems_config_file_is_told_for_what_the_plan_does_not_say(model, laptop, monkeypatch, tmp_path):
    file = tmp_path / "config.ini"
    file.write_text("ctx-size = 999\nswa-full = on\noverride-tensor = x=CPU\n", encoding="utf-8")
    monkeypatch.setattr("app.work.outside_settings._system_file", lambda _variables: file)
    (remark,) = outside_remarks(make_plan(_inputs(model, laptop)))
    assert remark.code == "outside_config_read"
    assert "--swa-full" in remark.params["options"]
    assert "override-tensor" in remark.params["options"]
    assert "ctx" not in remark.params["options"]


def test_that_a_look_with_nothing_in_the_way_only_remarks(model, laptop, monkeypatch):
    monkeypatch.setattr(before_launch, "outside_remarks", lambda _plan: ())
    inputs = _inputs(model, laptop, port=0)
    look = look_before_launch(make_plan(inputs), inputs, laptop, app_paths(), fitted=True)
    assert look.question is None
    assert look.remarks == ()


def test_that_the_users_choice_decides_how_firmly_a_server_is_held(model, laptop):
    plan = make_plan(_inputs(model, laptop))
    hard, soft, off = (
        launch_spec(plan, EngineBinary("llama-server"), laptop.cpu, app_paths(), "key", pinning=how)
        for how in ("hard", "soft", "off")
    )
    assert hard.cpus == soft.cpus
    assert hard.cpus
    assert (hard.prefers_cpus, soft.prefers_cpus) == (False, True)
    assert off.cpus == ()
