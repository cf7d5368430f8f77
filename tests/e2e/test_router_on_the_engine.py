"""One preset file of several kept plans, of different models, on a real llama-server in router mode."""

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from app.common.paths import app_paths
from app.engine.environment import engine_environment
from app.engine.ports import free_port
from app.session.app_session import AppSession
from app.work.plan_shelf import Labels

pytestmark = pytest.mark.engine

TINY = Path(__file__).parents[1] / "data" / "tiny-moe-2l.gguf"
START_S = 60


def kept_plan(qtbot, session, path, name, n_ctx):
    """Keep a plan of a model as a user does: open it, wish, keep."""
    with qtbot.waitSignal(session.model_changed, timeout=START_S * 1000):
        session.open_model(str(path)) if path else session.open_demo()
    session.set_wishes(n_ctx=n_ctx)
    session.shelf.show_all(True)
    with qtbot.waitSignal(session.shelf.changed):
        session.shelf.keep(Labels(name))


def asked(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=START_S) as answer:
        return json.load(answer)


def wait_for(url, server):
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            return asked(f"{url}/v1/models")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"the router did not come up: {server.poll()}")


def test_that_plans_of_two_models_become_one_router_and_each_answers_by_its_name(qtbot, engine, tmp_path):
    second = tmp_path / "第二 model.gguf"
    shutil.copyfile(TINY, second)
    session = AppSession()
    session.start(engine.path)
    qtbot.waitUntil(lambda: session.hardware is not None and session.is_idle, timeout=START_S * 1000)
    kept_plan(qtbot, session, None, "demo at 2k", 2048)
    kept_plan(qtbot, session, second, "小模型", 512)
    preset = tmp_path / "模型 models.ini"
    session.shelf.export_router(tuple(plan.path for plan in session.shelf.plans), str(preset))
    session.close()
    port = free_port()
    argv = [engine.path, "--models-preset", str(preset), "--models-max", "1", "--port", str(port), "--no-ui"]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(argv, stdout=log, stderr=log, env=engine_environment(app_paths().engine_home))
    url = f"http://127.0.0.1:{port}"
    try:
        listed = {entry["id"] for entry in wait_for(url, server)["data"]}
        assert {"demo-at-2k", "小模型"} <= listed, listed
        for name, n_ctx, model in (("demo-at-2k", 2048, "demo"), ("小模型", 512, "第二"), ("demo-at-2k", 2048, "demo")):
            said = asked(
                f"{url}/v1/chat/completions",
                {"model": name, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4},
            )
            assert said["choices"][0]["message"]["content"]
            props = asked(f"{url}/props?model={urllib.request.quote(name)}")
            assert props["default_generation_settings"]["n_ctx"] == n_ctx
            assert model in Path(props["model_path"]).name, props["model_path"]
    finally:
        server.terminate()
        server.wait(30)
