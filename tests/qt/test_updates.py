"""Newer versions in the window: asked once for each press, never by itself."""

import json
import threading

import pytest
from PySide6.QtGui import QDesktopServices

from app.common.problem import Problem, Severity
from app.session.app_session import AppSession
from app.ui.pages.settings import SettingsPage
from app.ui.pages.settings_updates import UpdatesCard
from app.ui.theme.manager import ThemeManager
from app.words import Language, set_language
from app.work.updates import Newest, Updates
from tests.qt.fake_session import FakeSession
from tests.tools.file_server import FileServer


@pytest.fixture
def server():
    with FileServer() as made:
        made.put("/list", json.dumps([{"tag_name": "v9.9", "html_url": "https://example.org/9"}]).encode())
        yield made


@pytest.fixture
def session(qtbot, server, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    made = AppSession()
    made.change_settings(update_address=server.url("/list"), engine_mirror=server.base)
    yield made
    made.close()


@pytest.mark.parametrize("language", list(Language))
def test_that_without_an_address_nothing_is_demanded(qtbot, language):
    ThemeManager.of_app()
    set_language(language)
    session = FakeSession()
    card = UpdatesCard(session, lambda: "0.9")
    qtbot.addWidget(card)
    nothing_set = Problem("update_no_address", Severity.INFO)
    session.updates.answer = Updates(Newest("0.9", problem=nothing_set), Newest("b1", "b1", is_newer=False))
    session.updates.changed.emit()
    assert "llama.cpp" in card.app.text.text()
    assert card.app.text.property("look") == "dim"
    assert card.engine.text.property("look") == "ok"
    assert card.trouble.isHidden()
    card.resize(480, 400)
    card.show()
    text = card.app.text
    qtbot.waitUntil(lambda: text.height() >= text.heightForWidth(text.width()))


def test_that_nothing_is_asked_until_the_button_is_pressed(session, server, qtbot):
    ThemeManager.of_app()
    page = SettingsPage(session, build_problem=lambda: None)
    qtbot.addWidget(page)
    session.start(None)
    qtbot.waitUntil(lambda: session.hardware is not None and session.is_idle)
    assert server.asked == []
    card = page.updates
    card.look.click()
    assert card.look.text() == "Stop"
    qtbot.waitUntil(lambda: session.updates.answer is not None)
    assert card.look.text() == "Check for updates"
    assert session.updates.answer.app.newest == "9.9"
    assert "9.9" in card.app.text.text()
    assert "/list" in [path for path, *_ in server.asked]
    asked = len(server.asked)
    page.updates.refresh()
    assert len(server.asked) == asked


def test_that_it_can_be_stopped_and_the_late_answer_is_dropped(session, server, qtbot):
    served = server.files["/list"]
    served.hold = threading.Event()
    session.updates.look("0.1.0")
    qtbot.waitUntil(lambda: bool(server.asked))
    session.updates.cancel()
    assert not session.updates.is_busy
    served.hold.set()
    qtbot.waitUntil(lambda: session.is_idle)
    assert session.updates.answer is None


@pytest.fixture
def card(qtbot):
    ThemeManager.of_app()
    session = FakeSession()
    made = UpdatesCard(session, lambda: "0.1.0")
    qtbot.addWidget(made)
    return made, session


def test_that_a_newer_one_has_a_link_and_the_engine_its_one_click_way(card, qtbot, monkeypatch):
    shown, session = card
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    app = Newest("0.1.0", "0.2.0", True, "https://example.org/a")
    session.updates.show(Updates(app, Newest("b1", "b2", True, "https://example.org/b")))
    assert shown.app.text.text() == "0.2.0 is there; you have 0.1.0."
    assert not shown.app_page.isHidden()
    assert not shown.get.isHidden()
    shown.app_page.click()
    shown.engine_page.click()
    assert opened == ["https://example.org/a", "https://example.org/b"]
    with qtbot.waitSignal(shown.get_requested):
        shown.get.click()
    none = Problem("release_none_here", params={"system": "win", "arch": "arm64"})
    session.updates.show(Updates(Newest("0.2.0", "0.2.0", False), Newest("b2", problem=none)))
    assert [shown.app_page.isHidden(), shown.engine_page.isHidden(), shown.get.isHidden()] == [True] * 3


def test_that_an_address_that_is_none_is_told_and_asks_nobody(card):
    shown, session = card
    shown.address.setText("ftp://nowhere")
    shown.look.click()
    assert session.wished == []
    assert shown.trouble.text()
    shown.address.setText("https://example.org/list")
    shown.look.click()
    assert session.settings.update_address == "https://example.org/list"
    assert session.wished == [("look_for_updates", "0.1.0")]
    session.updates.show(is_busy=True)
    shown.look.click()
    assert session.wished[-1] == ("stop_looking",)


def test_that_every_state_has_chinese_words(qtbot):
    set_language(Language.ZH_CN)
    ThemeManager.of_app()
    session = FakeSession()
    shown = UpdatesCard(session, lambda: None)
    qtbot.addWidget(shown)
    session.updates.show(Updates(Newest(None, "0.2.0", None), Newest("b1", "b2", True)))
    assert shown.engine.text.text() == "有新版本 b2；当前是 b1。"
    assert shown.app.text.text() == "最新版本是 0.2.0；本机还没有。"
