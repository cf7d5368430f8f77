"""The library and the hub behind the window: in the background, cancelled at once, over a real server."""

import sys
import threading

import pytest

from app.common.paths import app_paths
from app.session.app_session import AppSession
from app.session.hub_controller import HubPhase
from app.work.downloads.types import check_cancelled
from app.work.library import scan as scan_module
from app.work.library.types import Source
from tests.qt.plan_models import laptop
from tests.tools.file_server import FileServer
from tests.tools.hardware_data import DATA
from tests.tools.hub_pages import Hub
from tests.tools.model_trees import copy_sparse
from tests.tools.small_moe import write_small_moe

TINY = (DATA.parent / "tiny-moe-2l.gguf").read_bytes()
WAIT_MS = 20_000


@pytest.fixture
def session(qapp, monkeypatch):
    monkeypatch.setattr("app.work.library.places.known_places", lambda: ())
    monkeypatch.setattr("app.session.library_controller.suggestions", lambda judge, cancelled: ())
    made = AppSession()
    made.told = []
    made.message_raised.connect(made.told.append)
    made.machine.use_snapshot(laptop())
    yield made
    made.close()


def test_that_the_users_folders_are_looked_through_once_and_judged(session, qtbot, tmp_path):
    copy_sparse(write_small_moe(tmp_path / "src.gguf"), tmp_path / "models" / "m.gguf")
    session.change_settings(model_folders=(str(tmp_path / "models"),))
    session.library.ensure()
    assert session.library.is_scanning
    qtbot.waitUntil(lambda: not session.library.is_scanning, timeout=WAIT_MS)
    (entry,) = session.library.entries
    assert entry.source is Source.FOLDER
    assert entry.verdict.runs
    seen = []
    session.library.changed.connect(lambda: seen.append(1))
    session.library.ensure()
    assert not seen, "nothing has changed, so nobody looks again"


def test_that_a_search_ends_at_once_when_the_user_stops_it(session, qtbot, tmp_path, monkeypatch):
    let_go = threading.Event()

    def walk(*_):
        let_go.wait(30)
        return iter(())

    monkeypatch.setattr(scan_module, "walk_folder", walk)
    session.change_settings(model_folders=(str(tmp_path),))
    session.library.scan()
    session.library.cancel()
    qtbot.waitUntil(lambda: not session.library.is_scanning, timeout=WAIT_MS)
    let_go.set()
    assert session.told == []


def test_that_a_model_is_listed_judged_and_fetched_from_a_mirror(session, qtbot):
    with FileServer() as server:
        Hub(server).hugging_face("me/tiny-GGUF", {"tiny-Q4_K_M.gguf": TINY})
        session.change_settings(model_mirror=server.base)
        session.hub.look("https://huggingface.co/me/tiny-GGUF")
        assert session.hub.state.phase is HubPhase.LISTING
        qtbot.waitUntil(lambda: session.hub.state.phase is HubPhase.CHOOSING, timeout=WAIT_MS)
        (choice,) = session.hub.state.choices.choices
        assert choice.verdict.runs
        assert session.hub.space(0).needed_bytes == len(TINY)
        with qtbot.waitSignal(session.hub.fetched, timeout=WAIT_MS) as fetched:
            session.hub.fetch(0)
    assert fetched.args[0].startswith(str(app_paths().models))
    assert session.hub.state.done.is_checked


def test_that_a_bad_link_and_a_missing_repository_are_told_and_may_be_mended(session, qtbot):
    session.hub.look("nothing at all")
    assert session.hub.state.problem.code == "hub_link_none"
    with FileServer() as server:
        session.change_settings(model_mirror=server.base)
        session.hub.look("me/none-GGUF")
        qtbot.waitUntil(lambda: session.hub.state.problem is not None, timeout=WAIT_MS)
        assert session.hub.state.problem.code == "hub_repository_missing"
        assert session.hub.state.phase is HubPhase.IDLE


def test_that_a_search_that_ends_takes_no_suggestion_with_it(session, qtbot, tmp_path, monkeypatch):
    begun, let_go = threading.Event(), threading.Event()

    def slow(judge, cancelled):
        begun.set()
        let_go.wait(20)
        check_cancelled(cancelled)
        return ()

    monkeypatch.setattr("app.session.library_controller.suggestions", slow)
    session.change_settings(model_folders=(str(tmp_path),))
    session.library.scan()
    assert begun.wait(20)
    session.library.cancel()
    session.library.scan()
    let_go.set()
    qtbot.waitUntil(lambda: session.library.suggestions is not None, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: session.is_idle, timeout=WAIT_MS)


def test_that_a_window_that_goes_in_a_search_gives_python_its_usual_pace_back(session, tmp_path):
    usual = sys.getswitchinterval()
    session.change_settings(model_folders=(str(tmp_path),))
    session.library.scan()
    assert sys.getswitchinterval() < usual
    session.close()
    assert sys.getswitchinterval() == usual
