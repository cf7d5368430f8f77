"""Closing into the tray, what its menu shows and does, a launch at the start, and a sleep while a server runs."""

import dataclasses
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.common.problem import Problem
from app.monitor.sample import Sample
from app.session.jobs import JobRunner
from app.session.sleep_watch import SleepWatch
from app.session.state import EnginePhase, EngineState, RunPhase, RunState
from app.ui.dialogs.ask_close import AskClose
from app.ui.main_window import MainWindow
from app.ui.pages.settings_everyday import EverydayCard
from app.ui.start_hidden import LaunchWhenReady
from app.ui.theme.manager import ThemeManager
from app.ui.tray import Tray
from app.work.autostart import is_on
from app.work.before_launch import LaunchAnswer, LaunchQuestion
from tests.qt import page_fixtures as fx
from tests.qt.fake_session import FakeSession

READY = RunState(RunPhase.READY, url="http://127.0.0.1:8080", api_key="k")


@pytest.fixture
def session(qapp):
    return FakeSession(close_with_server="ask")


@pytest.fixture
def window(qtbot, session):
    made = MainWindow(session, ThemeManager.of_app())
    qtbot.addWidget(made)
    made.show()
    yield made
    session.set_run(RunState(RunPhase.STOPPED))
    QApplication.setQuitOnLastWindowClosed(True)
    made.closing.quit = lambda: None


@pytest.fixture
def tray(window, session):
    made = Tray(session, window)
    window.closing.use_tray(made)
    yield made
    made.icon.hide()


def open_question(window):
    return next(q for q in window.findChildren(AskClose) if q.isVisible())


def test_that_closing_over_a_server_may_keep_it_in_the_tray_and_is_asked_once(window, session, tray):
    session.set_run(READY)
    window.close()
    question = open_question(window)
    assert question.tray.isVisibleTo(question)
    question.remember.setChecked(True)
    question.tray.click()
    assert not window.isVisible()
    assert session.settings.close_with_server == "tray"
    assert session.wished == []
    tray.show_window()
    assert window.isVisible()
    window.close()
    assert not window.isVisible()
    assert not [q for q in window.findChildren(AskClose) if q.isVisible()]


def test_that_without_a_tray_no_such_way_is_offered(window, session):
    session.change_settings(close_with_server="tray")
    session.set_run(READY)
    window.close()
    question = open_question(window)
    assert not question.tray.isVisibleTo(question)
    question.reject()
    assert window.isVisible()


def test_that_the_menu_tells_model_state_speed_and_address(window, session, tray):
    assert tray.status.text() == "No model · Not running"
    assert not tray.run.isEnabled()
    assert not tray.address.isVisible()
    session.set_run(READY)
    window.hide()
    session.sample_added.emit(Sample(1.0, {"tok.decode": 61.34}))
    assert tray.status.text() == "No model · 61.3 tok/s"
    tray.address.trigger()
    assert QGuiApplication.clipboard().text() == "http://127.0.0.1:8080"
    tray.run.trigger()
    assert session.wished == [("stop",)]
    session.set_run(RunState(RunPhase.STOPPED))
    assert tray.status.text() == "No model · Not running"


def test_that_a_launch_without_a_window_that_must_ask_says_so_and_leads_to_the_question(
    window, session, tray, monkeypatch
):
    told = []
    monkeypatch.setattr(tray.icon, "showMessage", lambda title, text: told.append((title, text)))
    problem = Problem("launch_on_battery", params={"changes": "-t 8 → -t 4"})
    question = LaunchQuestion(problem, (LaunchAnswer("make_quiet"), LaunchAnswer("stay")))
    session.launching.ask(question)
    assert told == [], "it is seen in the window"
    window.hide()
    session.launching.ask(question)
    assert told[0][0] == tray.status.text() == "The launch waits for an answer"
    assert "-t 8 → -t 4" in told[0][1]
    assert tray.status.isEnabled()
    tray.status.trigger()
    assert window.isVisible()
    window.launch_strip.buttons[0].click()
    assert session.wished[-1] == ("answer", "make_quiet")
    assert not tray.status.isEnabled()


def test_that_recent_plans_that_still_exist_can_be_opened_from_the_tray(window, session, tray, tmp_path):
    plan = tmp_path / "快 & small.json"
    plan.write_text("{}")
    session.change_settings(recent_plans=(str(plan), str(tmp_path / "gone.json")))
    (action,) = tray.recent.actions()
    assert action.text() == "快 && small"
    action.trigger()
    assert session.wished == [("open", str(plan))]


def test_that_quitting_from_the_tray_asks_nothing(qtbot, window, session):
    tray = Tray(session, window)
    window.closing.use_tray(tray)
    session.set_run(READY)
    window.close()
    open_question(window).reject()
    tray.quit_requested.emit()
    assert not window.isVisible()
    tray.icon.hide()


@pytest.mark.skipif(sys.platform == "win32", reason="the Run key takes an installed Lanewise only, never a source tree")
def test_that_a_start_with_the_system_is_off_until_it_is_chosen(qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    ThemeManager.of_app()
    session = fx.FakeSession()
    session.settings = dataclasses.replace(session.settings, recent_plans=("/plans/方案.json",))
    card = EverydayCard(session)
    qtbot.addWidget(card)
    assert card.start.currentText() == "No"
    assert not is_on()
    card.start.setCurrentIndex(2)
    assert is_on()
    assert session.settings.start_plan == "/plans/方案.json"
    assert "/plans/方案.json" in (tmp_path / "autostart" / "lanewise.desktop").read_text(encoding="utf-8")
    card.start.setCurrentIndex(0)
    assert not is_on()
    assert session.settings.start_plan is None


def test_that_a_plan_is_launched_once_when_everything_is_there(qapp, session):
    session.set_engine(EngineState(EnginePhase.LOOKING))
    waiting = LaunchWhenReady(session, "p.json", session)
    session.plan = fx.plan()
    session.plan_changed.emit()
    session.set_engine(EngineState(EnginePhase.READY, "x", "b1"))
    assert session.wished == []
    session.plan_files.path = "p.json"
    session.plan_files.changed.emit()
    session.plan_changed.emit()
    assert session.wished == [("launch",)]
    assert not waiting.is_waiting


def test_that_a_launch_by_hand_ends_the_wait(qapp, session):
    waiting = LaunchWhenReady(session, "p.json", session)
    session.set_run(RunState(RunPhase.STARTING))
    assert not waiting.is_waiting


# Sleep.


@pytest.fixture
def jobs(qapp):
    runner = JobRunner()
    yield runner
    runner.close()


@pytest.fixture
def health():
    """A server whose /health has the status of the list's only entry."""
    status = [200]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({}).encode()
            self.send_response(status[0])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", status
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "code"), [(200, "slept_server_well"), (503, "slept_server_silent")])
def test_that_a_sleep_is_told_with_the_servers_health(qtbot, jobs, health, status, code):
    url, answers = health
    answers[0] = status
    clock = [100.0]
    run = RunState(RunPhase.READY, url=url)
    watch = SleepWatch(jobs, lambda: run, lambda: clock[0])
    watch.follow()
    clock[0] += 600
    with qtbot.waitSignal(watch.told) as told:
        watch.look()
    assert (told.args[0].code, told.args[0].params["minutes"]) == (code, 10)
    watch._timer.stop()


def test_that_the_clocks_are_read_only_while_a_server_answers(jobs):
    run = [RunState(RunPhase.STARTING)]
    told = []
    watch = SleepWatch(jobs, lambda: run[0], lambda: 5.0)
    watch.told.connect(told.append)
    watch.follow()
    assert not watch.is_watching
    run[0] = READY
    watch.follow()
    assert watch.is_watching
    watch.look()
    run[0] = RunState(RunPhase.STOPPED)
    watch.follow()
    assert not watch.is_watching
    assert told == []
