"""Launch asks before it starts anything: the port, memory that went away; and goes on as the user says."""

import dataclasses
import os
import shutil
import socket
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.common.problem import Problem
from app.engine.locate import EngineBinary
from app.hardware.snapshot_file import load_snapshot
from app.session.app_session import AppSession
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.launch_strip import LaunchStrip
from app.work.before_launch import LaunchAnswer, LaunchLook, LaunchQuestion, memory_question
from tests.qt.fake_launching import FakeLaunching
from tests.qt.test_app_session import LAPTOP
from tests.tools.sparse_models import make_sparse
from tests.tools.systems import UNDER_WINE


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "qwen.gguf"
    make_sparse("qwen3-30b", path)
    return path


@pytest.fixture
def started():
    return []


@pytest.fixture
def session(qtbot, monkeypatch, tmp_path, qwen, started):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    made = AppSession()
    made.start(None, load_snapshot(LAPTOP))
    with qtbot.waitSignal(made.model_changed):
        made.open_model(str(qwen))
    qtbot.waitUntil(lambda: made.is_idle)
    made.machine.is_saved = False
    made.machine.refresh_free = lambda _reason, then: then()
    binary = EngineBinary(shutil.which("false") or "false", None)
    made.launching.calls = dataclasses.replace(made.launching.calls, binary=lambda: binary, check_engine=lambda f: f())
    monkeypatch.setattr(made._run, "launch", lambda plan, _binary, _snapshot, _key, port: started.append((plan, port)))
    yield made
    made.close()


def _asked(session, question):
    """The next look finds this, the ones after it nothing."""
    looks = [LaunchLook(question)]
    session.launching.calls = dataclasses.replace(
        session.launching.calls, look=lambda *_, **__: looks.pop() if looks else LaunchLook(None)
    )


def test_that_a_port_that_is_taken_starts_nothing_until_it_is_answered(session, qtbot, started, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("app.session.board_controller.DEFAULT_PORT", port)
        session._board.replan()
        with qtbot.waitSignal(session.launching.changed):
            session.launch()
        question = session.launching.question
        assert question.problem.params.get("pid") == (None if UNDER_WINE else os.getpid())  # Wine tells no pid
        assert not started
        plan = session.plan
        session.launching.answer(question.answers[-1])
        qtbot.waitUntil(lambda: bool(started))
    assert started == [(plan, question.answers[-1].params["port"])]
    assert session.plan is plan
    assert not session.undo_stack.canUndo()


def test_that_more_expert_layers_in_ram_is_one_step_of_undo_and_then_launched(session, qtbot, started):
    before = session.plan
    layers = session.expert_layers_in_ram
    snapshot = session.hardware
    gpus = tuple(dataclasses.replace(g, free_bytes=int((g.free_bytes or 0) * 0.6)) for g in snapshot.gpus)
    session._board.set_expert_layers_in_ram(layers)
    session._board.use_machine(dataclasses.replace(snapshot, gpus=gpus), session._surroundings()[1])
    question = memory_question(session.plan, session._board.inputs, session.hardware, lambda: ())
    steps = session.undo_stack.count()
    _asked(session, question)
    with qtbot.waitSignal(session.launching.changed):
        session.launch()
    session.launching.answer(question.answers[0])
    qtbot.waitUntil(lambda: bool(started))
    assert session.undo_stack.count() == steps + 1
    assert session.expert_layers_in_ram > layers
    assert started[0][0].argv == session.plan.argv != before.argv
    assert session.plan.estimate.fits


def test_that_giving_up_launches_nothing_and_a_look_on_its_way_is_forgotten(session, qtbot, started):
    may_go_on = threading.Event()

    def slow(*_, **__):
        may_go_on.wait(10)
        return LaunchLook(None)

    session.launching.calls = dataclasses.replace(session.launching.calls, look=slow)
    session.launch()
    session.launching.dismiss()
    may_go_on.set()
    qtbot.waitUntil(lambda: session.is_idle)
    assert not started


def test_that_launch_anyway_looks_at_the_port_all_the_same(session, qtbot, started):
    question = LaunchQuestion(Problem("launch_memory_changed"), (LaunchAnswer("anyway"),))
    seen = []

    def look(*_, fitted, port):
        seen.append(fitted)
        return LaunchLook(question if fitted else None)

    session.launching.calls = dataclasses.replace(session.launching.calls, look=look)
    with qtbot.waitSignal(session.launching.changed):
        session.launch()
    session.launching.answer(question.answers[0])
    qtbot.waitUntil(lambda: bool(started))
    assert seen == [True, None]


def test_that_a_plan_that_never_fitted_asks_before_it_is_launched(session, qtbot, started):
    session.set_expert_layers_in_ram(0)
    assert session.plan.estimate.fits is False
    with qtbot.waitSignal(session.launching.changed):
        session.launch()
    question = session.launching.question
    assert question.problem.code == "launch_over"
    assert [answer.code for answer in question.answers] == ["fix", "anyway"]
    assert not started
    session.launching.answer(question.answers[-1])
    qtbot.waitUntil(lambda: bool(started) or session.launching.question is not None)
    assert session.launching.question is None or "port" in session.launching.question.problem.code


@pytest.fixture
def strip(qtbot, qapp):
    ThemeManager.of_app()
    launching = FakeLaunching([])
    shown = LaunchStrip(launching)
    qtbot.addWidget(shown)
    return shown, launching


def test_that_the_strip_offers_each_way_on_and_escape_gives_up(strip):
    shown, launching = strip
    assert shown.isHidden()
    problem = Problem("port_in_use_by", params={"port": 8080, "name": "python", "pid": 4, "host": "127.0.0.1"})
    launching.ask(LaunchQuestion(problem, (LaunchAnswer("other_port", {"port": 8081}),)))
    assert not shown.isHidden()
    assert "python" in shown.text
    assert [button.text() for button in shown.buttons] == ["Use port 8081 this time", "Do not launch"]
    shown.buttons[0].click()
    assert shown.isHidden()
    launching.ask(LaunchQuestion(problem, ()))
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    assert launching._wished == [("answer", "other_port"), ("dismiss",)]
