"""Public reports about starting, stopping and watching a server, tried for real; their ids are in the names."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from app.engine.client import ServerClient
from app.engine.devices import list_devices
from app.engine.events import Exited, Ready
from app.engine.locate import EngineBinary
from app.hardware.snapshot_file import load_snapshot
from app.work.watching import samplers_for
from tests.engine.conftest import FAKE_SERVER
from tests.tools.engine_fixture import is_gone
from tests.tools.hardware_data import DATA

pytestmark = pytest.mark.engine


def test_that_run_02_stop_works_while_the_server_generates(engine, launch, tiny_model):
    server, events = launch(engine.path, ["-m", tiny_model, "-c", "2048", "-ngl", "0", "-t", "1"], api_key="k")
    ready = events.wait_for(Ready)
    has_begun = threading.Event()

    def ask():
        with ServerClient(ready.url, "k") as client:
            messages = [{"role": "user", "content": "tell me a very long story"}]
            try:
                client.stream_chat(messages, lambda _: has_begun.set(), threading.Event())
            except Exception:  # the server goes away in the middle, whatever the client makes of it
                has_begun.set()

    asker = threading.Thread(target=ask)
    asker.start()
    assert has_begun.wait(60)
    server.stop(grace_s=0.5)  # the engine itself waits for the end of the answer
    exited = events.wait_for(Exited)
    asker.join()
    assert exited.reason is None
    assert is_gone(server.pid)


def test_that_run_05_an_engine_behind_a_link_and_in_another_folder_lists_the_same_devices(
    engine, tmp_path, monkeypatch
):
    here = list_devices(engine)
    link = tmp_path / "elsewhere" / Path(engine.path).name
    link.parent.mkdir()
    link.symlink_to(engine.path)
    monkeypatch.chdir(tmp_path)
    assert list_devices(EngineBinary(str(link))) == here


@pytest.fixture
def slots_server():
    """/metrics is off (501); /slots tells one busy slot, an idle one, or nothing without the key."""
    told = {"slots": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/metrics":
                self.send_error(501)
                return
            if self.headers["Authorization"] != "Bearer k":
                self.send_error(401)
                return
            body = json.dumps(told["slots"]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", told
        server.shutdown()
        thread.join()


def _slots_of(url, key):
    (found,) = [
        s
        for s in samplers_for(load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json"), os.getpid(), url, key, lambda: ())
        if s.name == "slots"
    ]
    return found


def test_that_met_01_the_curves_need_no_metrics_endpoint_and_a_wrong_key_is_a_gap(slots_server):
    url, told = slots_server
    slot = {"id": 0, "id_task": 7, "is_processing": True, "n_ctx": 4096, "n_prompt_tokens": 100}
    told["slots"] = [{**slot, "next_token": [{"n_decoded": 5}]}]
    watched = _slots_of(url, "k")
    watched.sample()
    told["slots"] = [{**slot, "next_token": [{"n_decoded": 25}]}]
    values = watched.sample()
    assert values["tok.decode"] > 0
    assert values["ctx.used"] is not None
    assert _slots_of(url, "wrong").sample() == {"tok.decode": None, "ctx.used": None}


def test_that_met_03_the_context_fill_comes_from_the_slots_and_is_unknown_while_they_are_idle(slots_server):
    url, told = slots_server
    told["slots"] = [{"id": 0, "is_processing": False, "n_ctx": 4096}]
    assert _slots_of(url, "k").sample()["ctx.used"] is None


def test_that_run_01_a_server_of_another_program_is_never_ours_to_end(launch_fake, app_folders):
    from app.engine.leftovers import RunningServer, kill_leftover, known_servers

    server, events = launch_fake()
    events.wait_for(Ready)
    (known,) = [s for s in known_servers(server.spec.paths) if s.pid == server.pid]
    stranger = RunningServer(known.pid, known.started_at - 3600, FAKE_SERVER.name, 1, 0.0)
    assert kill_leftover(stranger)
    assert psutil.pid_exists(server.pid)
    assert psutil.Process(server.pid).status() != psutil.STATUS_ZOMBIE
