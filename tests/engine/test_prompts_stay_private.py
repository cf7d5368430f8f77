"""What is asked and answered is written nowhere: not into our log, the engine's log file, nor any file of ours."""

import threading

import pytest

from app.engine.client import ServerClient
from app.engine.events import Exited, Ready
from app.engine.process import start_server
from app.hardware.probe import probe
from app.planner.devices import DeviceWishes
from app.planner.plan import make_plan
from app.planner.types import Wishes
from app.work.engines import capabilities_of, open_engine
from app.work.launching import keeps_log, launch_spec
from app.work.models import open_model
from app.work.planning import plan_inputs
from tests.tools.engine_fixture import Events

pytestmark = pytest.mark.engine

SECRET = "Zwiebelkuchen"


@pytest.fixture
def plan(engine, app_folders, tiny_model):
    handle = open_engine(engine.path, app_folders)
    wishes = Wishes(n_ctx=1024, preset="all-cpu", prompt_cache_mib=64, n_threads=1)
    capabilities = capabilities_of(handle)
    return make_plan(plan_inputs(open_model(tiny_model), probe(), wishes, DeviceWishes(), capabilities, port=0))


def test_that_neither_a_question_nor_its_answer_is_in_any_file(engine, app_folders, plan):
    spec = launch_spec(plan, engine, probe().cpu, app_folders, "key")
    assert spec.log_file is not None
    events = Events()
    with start_server(spec, events):
        ready = events.wait_for(Ready)
        with ServerClient(ready.url, "key") as client:
            messages = [{"role": "user", "content": f"How do I bake a {SECRET}?"}]
            client.stream_chat(messages, lambda _: None, threading.Event(), max_tokens=8)
            client.completion(SECRET * 20, 4, seed=1)
    events.wait_for(Exited)
    assert "print_timing" in spec.log_file.read_text(encoding="utf-8")
    files = [file for file in app_folders.data.parent.rglob("*") if file.is_file()]
    assert spec.log_file in files
    for file in files:
        assert SECRET.encode() not in file.read_bytes(), file


def test_that_a_command_whose_log_tells_prompts_gets_no_log_file():
    assert keeps_log(("-m", "x", "-lv", "4"))
    assert not keeps_log(("-m", "x", "-lv", "4", "-lv", "5"))
    assert not keeps_log(("-m", "x", "--verbosity", "9"))
    assert not keeps_log(("-m", "x", "-v"))
    assert not keeps_log(("-m", "x", "--log-verbose"))
    assert keeps_log(("-m", "x"))
