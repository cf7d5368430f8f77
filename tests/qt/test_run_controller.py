"""The order in which a run ends, and what is sent as a question."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from app.common.paths import app_paths
from app.session.chat_controller import ChatController
from app.session.jobs import JobRunner
from app.session.run_controller import RunController
from app.session.state import ChatPhase


class Told:
    """Stands in for a server or a monitor: writes down what it is asked to do."""

    def __init__(self, name, log):
        self._name, self._log = name, log

    def __getattr__(self, what):
        return lambda *_, **__: self._log.append(f"{self._name}.{what}")


@pytest.fixture
def jobs(qapp):
    runner = JobRunner()
    yield runner
    runner.close()


def test_that_a_monitor_that_waits_for_a_frozen_server_is_joined_after_the_server_was_stopped(jobs):
    run = RunController(jobs, app_paths())
    log = []
    run._server, run._monitor = Told("server", log), Told("monitor", log)
    run.close()
    assert log == ["monitor.pause", "server.stop", "monitor.stop", "server.wait"]


@pytest.fixture
def asked():
    """A server that writes down the questions and answers nothing."""
    bodies = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()
        thread.join()


def test_that_half_a_character_in_a_question_is_replaced(jobs, qtbot, asked):
    url, bodies = asked
    chat = ChatController(jobs)
    chat.ask(url, None, "a\ud800b \ud83d\ude00 😀\0")
    qtbot.waitUntil(lambda: chat.state.phase is ChatPhase.IDLE)
    assert chat.state.problem is None
    assert bodies[0]["messages"] == [{"role": "user", "content": "a\ufffdb 😀 😀\0"}]
