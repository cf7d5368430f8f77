"""The window's session on a real llama-server: launch, watch, ask, stop; and what it says when that cannot work."""

import os
import socket
import stat
import sys
from pathlib import Path

import psutil
import pytest

from app.common.paths import app_paths
from app.engine.ports import free_port
from app.engine.rpc import RpcServer
from app.planner.types import RAM
from app.session.app_session import AppSession
from app.session.state import ChatPhase, RunPhase

pytestmark = pytest.mark.engine

START_MS = 60_000
HELP = Path(__file__).parents[1] / "data" / "engine_logs" / "help-b11434.txt"


@pytest.fixture(scope="module")
def device(engine):
    with RpcServer(engine, app_paths()) as server:
        yield server


@pytest.fixture
def messages():
    return []


@pytest.fixture
def session(qtbot, engine, device, messages):
    made = AppSession()
    made.message_raised.connect(messages.append)
    made.use_rpc_servers((device.endpoint,))
    made.start(engine.path)
    made.open_demo()
    qtbot.waitUntil(lambda: made.plan is not None and bool(made.plan.devices.gpus), timeout=START_MS)
    made.set_wishes(n_ctx=2048, extra=("--port", str(free_port())))
    yield made
    made.close()


def _phase(session, *phases):
    return lambda: session.run.phase in phases


def test_that_the_engine_confirms_the_board_and_its_refusal_is_told(session, qtbot):
    qtbot.waitUntil(lambda: session.verification is not None, timeout=START_MS)
    assert session.verification.agrees, session.verification
    session.move_cards(("experts:2-3",), RAM)
    assert session.verification is None, "the answer belonged to the board before"
    qtbot.waitUntil(lambda: session.verification is not None, timeout=START_MS)
    assert session.verification.agrees
    assert session.verification.unconfirmed == ()
    session.set_wishes(extra=("--no-such-option",))
    qtbot.waitUntil(lambda: session.verification_problem is not None, timeout=START_MS)
    assert session.verification_problem.code == "unknown_argument"


def test_that_a_launch_runs_where_it_should_answers_and_stops(session, qtbot):
    session.set_expert_layers_in_ram(3)
    session.launch()
    qtbot.waitUntil(_phase(session, RunPhase.READY, RunPhase.FAILED), timeout=START_MS)
    run = session.run
    assert run.phase is RunPhase.READY, session.log_text()[-2000:]
    assert run.affinity == run.wanted_affinity == session.hardware.cpu.recommended_cpus
    assert run.buffers
    assert all(row.agrees is not False for row in run.buffers), run.buffers
    session.send_prompt("Hello")
    qtbot.waitUntil(lambda: session.chat.phase is ChatPhase.ANSWERING, timeout=START_MS)
    qtbot.waitUntil(lambda: session.history().latest("server.rss") is not None, timeout=START_MS)
    session.stop_answer()
    qtbot.waitUntil(lambda: session.chat.phase is ChatPhase.IDLE, timeout=START_MS)
    assert session.chat.answer
    assert session.chat.problem is None
    session.move_cards(("output",), RAM)
    assert session.run.plan_differs, "the board is not what runs any more"
    session.undo_stack.undo()
    assert not session.run.plan_differs
    pid = run.pid
    session.stop()
    qtbot.waitUntil(_phase(session, RunPhase.STOPPED), timeout=START_MS)
    assert not psutil.pid_exists(pid)


def test_that_a_conversation_has_turns_figures_and_can_be_asked_again(session, qtbot):
    session.launch()
    with qtbot.waitSignal(session.talk.server_known, timeout=START_MS):
        pass
    assert session.talk.n_ctx == session.plan.n_ctx
    assert session.talk.takes_pictures is False
    session.talk.system_prompt = "Speak of lanes."

    def answer(ask):
        ask()
        qtbot.waitUntil(lambda: session.chat.phase is ChatPhase.ANSWERING, timeout=START_MS)
        qtbot.waitUntil(lambda: (session.chat.decoded_tokens or 0) > 2, timeout=START_MS)
        session.stop_answer()
        qtbot.waitUntil(lambda: session.chat.phase is ChatPhase.IDLE, timeout=START_MS)
        return session.chat

    first = answer(lambda: session.send_prompt("one"))
    assert first.first_token_s is not None
    assert first.context_used is not None
    assert first.context_used > first.decoded_tokens
    second = answer(lambda: session.send_prompt("two"))
    assert session.talk.turns == (first,)
    assert second.context_used > first.context_used
    again = answer(session.talk.again)
    assert session.talk.turns == (first,)
    assert again.question == "two"
    assert again.number > second.number
    with qtbot.waitSignal(session.talk.page_known, timeout=START_MS) as told:
        session.talk.ask_for_page()
    url, problem = told.args
    assert url == session.run.url
    assert problem is None or problem.code == "chat_no_page"
    session.stop()
    qtbot.waitUntil(_phase(session, RunPhase.STOPPED), timeout=START_MS)


def test_that_stop_works_while_it_starts(session, qtbot):
    session.launch()
    qtbot.waitUntil(lambda: session.run.pid is not None, timeout=START_MS)
    session.stop()
    qtbot.waitUntil(_phase(session, RunPhase.STOPPED), timeout=START_MS)
    assert session.run.problem is None


def test_that_closing_the_session_takes_the_server_along(session, qtbot):
    session.launch()
    qtbot.waitUntil(_phase(session, RunPhase.READY), timeout=START_MS)
    pid = session.run.pid
    session.close()
    assert not psutil.pid_exists(pid)


def test_that_a_taken_port_is_asked_about_and_another_one_is_used_when_the_user_says_so(session, qtbot):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        session.set_wishes(extra=("--port", str(taken)))
        session.launch()
        qtbot.waitUntil(lambda: session.launching.question is not None, timeout=START_MS)
        assert session.run.phase is RunPhase.STOPPED, "nothing is launched before the answer"
        question = session.launching.question
        assert question.problem.code == "port_in_use_by"
        assert question.problem.params["pid"] == os.getpid()
        answer = next(answer for answer in question.answers if answer.code == "other_port")
        assert answer.params["port"] != taken
        session.launching.answer(answer)
        qtbot.waitUntil(_phase(session, RunPhase.READY), timeout=START_MS)
        assert session.run.url == f"http://127.0.0.1:{answer.params['port']}"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in engine is a shell script")
def test_that_an_engine_that_dies_at_start_is_told_with_its_last_words(session, qtbot, messages, tmp_path):
    broken = tmp_path / "llama-server"
    broken.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *--help*) cat "{HELP}";; *--version*) echo "version: 1 (broken)";;\n'
        '*--list-devices*) echo "Available devices:"; echo "  RPC0: x (1000 MiB, 900 MiB free)";;\n'
        '*) echo "something is very wrong" >&2; exit 3;; esac\n'
    )
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    session.choose_engine(os.fspath(broken))
    qtbot.waitUntil(lambda: session.engine.path == os.fspath(broken) and session.is_idle, timeout=START_MS)
    session.launch()
    qtbot.waitUntil(_phase(session, RunPhase.FAILED), timeout=START_MS)
    assert session.run.exit_code == 3
    assert session.run.problem is not None
    assert "something is very wrong" in session.log_text()
    assert session.plan is not None, "the board is still there"


def test_that_a_model_file_that_vanished_is_told(session, qtbot):
    Path(session.model.path).unlink()
    session.launch()
    qtbot.waitUntil(_phase(session, RunPhase.FAILED), timeout=START_MS)
    assert session.run.problem.code == "file_missing" or "No such file" in session.log_text()


def test_that_a_conversation_beyond_the_context_is_told_and_the_next_question_starts_anew(session, qtbot):
    session.set_wishes(n_ctx=256)
    session.launch()
    qtbot.waitUntil(_phase(session, RunPhase.READY), timeout=START_MS)
    session.send_prompt("word " * 400)
    qtbot.waitUntil(lambda: session.chat.problem is not None, timeout=START_MS)
    assert session.chat.problem.code == "chat_context_full"
    session.send_prompt("Hi")
    qtbot.waitUntil(lambda: bool(session.chat.answer), timeout=START_MS)
    session.stop_answer()
    qtbot.waitUntil(lambda: session.chat.phase is ChatPhase.IDLE, timeout=START_MS)
    assert session.chat.problem is None
