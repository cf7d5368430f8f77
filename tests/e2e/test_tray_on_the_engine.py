"""A window closed over a real llama-server: it runs on in the tray, is shown there, and is stopped from there."""

import psutil
import pytest
from PySide6.QtWidgets import QApplication

from app.engine.client import ServerClient
from app.engine.ports import free_port
from app.session.app_session import AppSession
from app.session.state import ChatPhase, RunPhase
from app.ui.main_window import MainWindow
from app.ui.theme.manager import ThemeManager
from app.ui.tray import Tray

pytestmark = pytest.mark.engine

START_MS = 60_000


@pytest.fixture
def session(engine):
    made = AppSession()
    made.change_settings(close_with_server="tray")
    made.start(engine.path)
    made.open_demo()
    yield made
    made.close()


@pytest.fixture
def window(qtbot, session):
    made = MainWindow(session, ThemeManager.of_app())
    qtbot.addWidget(made)
    made.show()
    yield made
    session.change_settings(close_with_server="stop")
    QApplication.setQuitOnLastWindowClosed(True)


def test_that_the_server_runs_on_in_the_tray_answers_and_is_stopped_from_there(qtbot, session, window):
    qtbot.waitUntil(lambda: session.plan is not None and session.is_idle, timeout=START_MS)
    session.set_wishes(n_ctx=1024, extra=("--port", str(free_port()), "--predict", "40"))
    tray = Tray(session, window)
    window.closing.use_tray(tray)
    session.launch()
    qtbot.waitUntil(lambda: session.run.phase in (RunPhase.READY, RunPhase.FAILED), timeout=START_MS)
    assert session.run.phase is RunPhase.READY, session.log_text()[-2000:]
    pid = session.run.pid
    window.close()
    assert not window.isVisible()
    with ServerClient(session.run.url, session.run.api_key) as client:
        assert client.props()
    session.send_prompt("Hello")
    qtbot.waitUntil(lambda: session.chat.phase is ChatPhase.IDLE and bool(session.chat.answer), timeout=START_MS)
    tray.refresh()
    assert session.model.name in tray.status.text()
    assert session.run.url in tray.address.text()
    tray.run.trigger()
    qtbot.waitUntil(lambda: session.run.phase is RunPhase.STOPPED, timeout=START_MS)
    qtbot.waitUntil(lambda: not psutil.pid_exists(pid), timeout=START_MS)
    assert not tray.address.isVisible()
    tray.show_window()
    assert window.isVisible()
    tray.icon.hide()
