"""A quiet plan on a real llama-server: what runs is what the board says, and the system sees the low priority."""

import sys

import psutil
import pytest

from app.engine.ports import free_port
from app.session.app_session import AppSession
from app.session.state import RunPhase

pytestmark = pytest.mark.engine

START_MS = 60_000


def test_that_a_quiet_plan_runs_with_its_own_words_and_low_priority(qtbot, engine):
    session = AppSession()
    try:
        session.change_settings(effort_on_mains="quiet")
        session.start(engine.path)
        session.open_demo()
        qtbot.waitUntil(lambda: session.plan is not None and session.is_idle, timeout=START_MS)
        session.set_wishes(n_ctx=1024, extra=("--port", str(free_port())))
        session.launch()
        qtbot.waitUntil(lambda: session.run.phase in (RunPhase.READY, RunPhase.FAILED), timeout=START_MS)
        assert session.run.phase is RunPhase.READY, session.log_text()[-2000:]
        server = psutil.Process(session.run.pid)
        words = server.cmdline()
        half = str((session.hardware.cpu.recommended_threads + 1) // 2)
        assert [words[words.index(flag) + 1] for flag in ("-t", "--prio", "--poll")] == [half, "-1", "0"]
        if sys.platform != "win32":
            assert server.nice() - psutil.Process().nice() == 5
    finally:
        session.close()
