"""From no engine at all to a running server: an official archive from a mirror, through the window's session."""

import shutil
import sys
from pathlib import Path

import pytest

from app.common.paths import app_paths
from app.engine.ports import free_port
from app.session.app_session import AppSession
from app.session.engine_getter import GetPhase
from app.session.state import EnginePhase, RunPhase
from tests.tools.file_server import FileServer
from tests.tools.releases import Mirror, folder_tar_gz, name_of

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform == "win32", reason="the archive holds this system's engine"),
]

PATIENCE_MS = 60_000


@pytest.fixture
def mirror(engine):
    with FileServer() as server:
        made = Mirror(server)
        made.put(name_of(""), folder_tar_gz(Path(engine.path).resolve().parent))
        yield made


@pytest.fixture
def session(qapp, mirror, monkeypatch):
    monkeypatch.setattr("app.engine.locate._on_path", lambda: iter(()))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    made = AppSession()
    made.told = []
    made.message_raised.connect(made.told.append)
    made.change_settings(engine_mirror=mirror.base)
    made.start(None)
    yield made
    made.close()


def _show_demo(session, qtbot):
    """On a free port: another server may run on this machine."""
    session.open_demo()
    qtbot.waitUntil(lambda: session.plan is not None, timeout=PATIENCE_MS)
    session.set_wishes(extra=("--port", str(free_port())))
    qtbot.waitUntil(lambda: session.verification is not None, timeout=PATIENCE_MS)


def test_that_a_machine_without_an_engine_gets_one_and_runs_the_demo_with_it(qtbot, session):
    qtbot.waitUntil(lambda: session.engine.phase is EnginePhase.MISSING, timeout=PATIENCE_MS)
    session.engines.load_packages()
    qtbot.waitUntil(lambda: session.engines.get.phase is GetPhase.CHOOSING, timeout=PATIENCE_MS)
    session.engines.get_package(session.engines.get.next_offer)
    qtbot.waitUntil(lambda: session.engine.phase is EnginePhase.READY, timeout=PATIENCE_MS)
    assert session.engines.get.phase is GetPhase.DONE, session.engines.get
    assert Path(session.engine.path).is_relative_to(app_paths().engines)
    _show_demo(session, qtbot)
    assert session.verification.agrees
    session.launch()
    qtbot.waitUntil(lambda: session.run.phase in (RunPhase.READY, RunPhase.FAILED), timeout=PATIENCE_MS)
    assert session.run.phase is RunPhase.READY, session.log_text()[-2000:]
    session.stop()
    qtbot.waitUntil(lambda: session.run.phase is RunPhase.STOPPED, timeout=PATIENCE_MS)


def test_that_an_engine_updated_in_place_is_noticed_instead_of_launched(qtbot, session, engine, tmp_path):
    own = tmp_path / "own engine"
    shutil.copytree(Path(engine.path).resolve().parent, own, symlinks=True)
    session.choose_engine(str(own))
    qtbot.waitUntil(lambda: session.engines.list.current is not None, timeout=PATIENCE_MS)
    _show_demo(session, qtbot)
    before = session.engines.list.current.stamp.sha256
    with (own / "llama-server").open("ab") as program:
        program.write(b"updated in place")
    session.launch()
    qtbot.waitUntil(lambda: "engine_changed" in [problem.code for problem in session.told], timeout=PATIENCE_MS)
    assert session.run.phase is RunPhase.STOPPED
    assert session.engines.list.current.stamp.sha256 != before
    qtbot.waitUntil(lambda: session.is_idle, timeout=PATIENCE_MS)
    session.launch()
    qtbot.waitUntil(lambda: session.run.phase in (RunPhase.READY, RunPhase.FAILED), timeout=PATIENCE_MS)
    assert session.run.phase is RunPhase.READY, session.log_text()[-2000:]
