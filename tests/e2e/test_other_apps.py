"""Other programs reach the real server with the settings that the window shows."""

import json
import shutil
import subprocess
from dataclasses import replace

import pytest

from app.engine.ports import free_port
from app.session.app_session import AppSession
from app.session.state import RunPhase
from app.work.other_apps import access_of, recipes

START_MS = 60_000


@pytest.fixture
def session(qtbot, engine):
    made = AppSession()
    made.start(engine.path)
    made.open_demo()
    qtbot.waitUntil(lambda: made.plan is not None and made.is_idle, timeout=START_MS)
    made.set_wishes(extra=("--port", str(free_port())))
    made.launch()
    qtbot.waitUntil(lambda: made.run.phase in (RunPhase.READY, RunPhase.FAILED), timeout=START_MS)
    assert made.run.phase is RunPhase.READY
    yield made
    made.close()


def test_that_the_test_button_gets_an_answer_and_a_wrong_key_is_told_as_one(session, qtbot):
    access = access_of(session.running_plan.argv, session.run.url, session.run.api_key)
    session.other_apps.test(access)
    assert session.other_apps.is_testing
    qtbot.waitUntil(lambda: not session.other_apps.is_testing, timeout=START_MS)
    assert session.other_apps.problem is None
    assert access.model in session.other_apps.answer.models
    assert session.other_apps.answer.text
    assert session.other_apps.answer.seconds > 0
    session.other_apps.test(replace(access, api_key="lw-wrong"))
    qtbot.waitUntil(lambda: not session.other_apps.is_testing, timeout=START_MS)
    assert session.other_apps.problem.code == "server_key_wrong"
    if shutil.which("curl") and shutil.which("bash"):
        (curl,) = [r.text for r in recipes(access, "bash", is_linux=True) if r.code == "curl"]
        told = subprocess.run(["bash", "-c", curl], capture_output=True, encoding="utf-8", timeout=60, check=True)
        answer = json.loads(told.stdout)
        assert answer["choices"][0]["message"]["role"] == "assistant"
    session.stop()
    qtbot.waitUntil(lambda: session.run.phase is RunPhase.STOPPED, timeout=START_MS)
    assert session.other_apps.problem is None, "what an ended server said is no news"
