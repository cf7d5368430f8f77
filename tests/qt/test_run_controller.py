"""The order in which a run ends, and what is sent as a question."""

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from app.common.paths import app_paths
from app.session import run_controller
from app.session.chat_controller import ChatController
from app.session.jobs import JobRunner
from app.session.run_controller import RunController
from app.session.state import ChatPhase
from app.settings import SAMPLE_RATES, Settings
from app.ui.pages.run_header import SPANS_S
from app.work.watching import GAP_S, PERIOD_S, RESTING_S


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


@pytest.fixture
def cut_off():
    """A server that begins an answer and then goes away."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b'data: {"choices":[{"delta":{"content":"Once upon"}}]}\n\n')
            self.close_connection = True

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_that_an_answer_cut_by_the_servers_end_says_so_and_keeps_what_came(jobs, qtbot, cut_off):
    chat = ChatController(jobs)
    chat.ask(cut_off, None, "a story")
    qtbot.waitUntil(lambda: chat.state.phase is ChatPhase.IDLE)
    assert chat.state.answer == "Once upon"
    assert chat.state.problem.code == "chat_server_ended"
    assert chat.state.finish_reason is None


def test_that_a_server_known_to_have_ended_is_not_the_users_stop(jobs, qtbot):
    chat = ChatController(jobs)
    chat.state = replace(chat.state, phase=ChatPhase.ANSWERING, answer="Once", finish_reason="cancelled")
    chat.forget(server_ended=True)
    chat._on_done(chat._number, None)
    assert chat.state.problem.code == "chat_server_ended"
    chat.state = replace(chat.state, phase=ChatPhase.ANSWERING, problem=None, finish_reason="cancelled")
    chat.stop()
    chat.forget(server_ended=True)
    chat._on_done(chat._number, None)
    assert (chat.state.problem, chat.state.finish_reason) == (None, "cancelled")


class Pace:
    """Stands in for a monitor: writes down how often it is to ask."""

    def __init__(self, samplers, period_s, on_sample):
        self.periods = [period_s]

    def set_period(self, period_s):
        self.periods.append(period_s)

    def start(self):
        pass

    def pause(self):
        pass

    def stop(self):
        pass


def test_that_a_hidden_window_rests_the_monitor_but_not_while_the_server_loads(jobs, monkeypatch):
    monkeypatch.setattr(run_controller, "MonitorLoop", Pace)
    monkeypatch.setattr(run_controller, "samplers_for", lambda *_: ())
    run = RunController(jobs, app_paths())
    run._server, run._snapshot = SimpleNamespace(pid=1, buffers=()), object()
    run.watch(False)
    run._start_monitor(0, url=None)
    assert run._monitor.periods == [PERIOD_S]
    run._start_monitor(0, url="http://127.0.0.1:1")
    run.state = replace(run.state, url="http://127.0.0.1:1")
    assert run._monitor.periods == [RESTING_S]
    run.watch(True)
    run.watch(False)
    assert run._monitor.periods == [RESTING_S, PERIOD_S, RESTING_S]
    run._server = None
    run.close()


def test_that_the_pace_is_the_users_choice_and_a_change_holds_at_once(jobs, monkeypatch):
    monkeypatch.setattr(run_controller, "MonitorLoop", Pace)
    monkeypatch.setattr(run_controller, "samplers_for", lambda *_: ())
    run, chosen = RunController(jobs, app_paths()), [Settings(samples_per_second=5)]
    run.settings = lambda: chosen[0]
    run._server, run._snapshot = SimpleNamespace(pid=1, buffers=()), object()
    run.state = replace(run.state, url="http://127.0.0.1:1")
    run._start_monitor(0, url="http://127.0.0.1:1")
    chosen[0] = Settings(samples_per_second=1)
    run.follow_pace()
    run.watch(False)
    run.follow_pace()  # nobody looks: the slow pace of the record stays
    assert run._monitor.periods == [0.2, 1.0, RESTING_S, RESTING_S]
    run._server = None
    run.close()


def test_that_the_longest_stretch_of_the_curves_is_kept_at_every_pace(jobs):
    run = RunController(jobs, app_paths())
    assert run.history.capacity >= max(SPANS_S) * max(SAMPLE_RATES)
    assert min(SAMPLE_RATES) * GAP_S > 2, "one missed sample is no gap"
    assert GAP_S < RESTING_S
    run.close()
