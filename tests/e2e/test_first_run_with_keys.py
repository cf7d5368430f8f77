"""From nothing to a first answer with the keyboard alone: every act is a key pressed where the focus is."""

import sys
from contextlib import ExitStack

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from app.session.app_session import AppSession
from app.session.engine_getter import GetPhase
from app.session.first_run_controller import Step
from app.session.hub_controller import HubPhase
from app.session.state import EnginePhase, RunPhase
from app.ui.dialogs.download import DownloadDialog
from app.ui.pages.first_run import FirstRunDialog
from app.ui.theme.manager import ThemeManager
from benchmarks.first_answer import REPOSITORY, serve

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the archive holds this system's engine"),
]

WAIT_MS = 60_000
MOST_TABS = 12


def focused():
    widget = QApplication.focusWidget()
    assert widget is not None, "nobody would get the key"
    return widget


def press(key):
    QTest.keyClick(focused(), key)


def tab_to(words):
    """Go on with Tab until a button with these words has the focus, as a user does who reads them."""
    for _ in range(MOST_TABS):
        widget = focused()
        if isinstance(widget, QPushButton) and words in widget.text():
            return
        press(Qt.Key.Key_Tab)
    raise AssertionError(f"Tab never came to {words!r}; it is on {focused()!r}")


def test_that_a_keyboard_is_enough_from_nothing_to_a_first_answer(qtbot, engine, monkeypatch):
    monkeypatch.setattr("app.engine.locate._on_path", lambda: iter(()))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    ThemeManager.of_app()

    def until(is_done):
        qtbot.waitUntil(is_done, timeout=WAIT_MS)

    with ExitStack() as stack:
        base = serve(stack, engine)
        session = AppSession()
        stack.callback(session.close)
        session.change_settings(engine_mirror=base, model_mirror=base)
        session.start(None)
        guide = FirstRunDialog(session, None)
        guide.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        stack.callback(guide.close)
        with qtbot.waitActive(guide):
            guide.show()
            guide.activateWindow()
        until(lambda: session.engine.phase is EnginePhase.MISSING and session.hardware is not None)
        until(guide.go.hasFocus)
        press(Qt.Key.Key_Return)
        until(lambda: session.engines.get.phase is GetPhase.CHOOSING)
        until(guide.go.hasFocus)
        press(Qt.Key.Key_Return)
        until(lambda: guide.step is Step.MODEL)
        tab_to("link")
        press(Qt.Key.Key_Space)
        dialog = the_download_window(until)
        until(dialog.link.hasFocus)
        QTest.keyClicks(focused(), REPOSITORY)
        press(Qt.Key.Key_Return)
        until(lambda: session.hub.state.phase is HubPhase.CHOOSING)
        until(dialog.files.hasFocus)
        press(Qt.Key.Key_Return)
        until(lambda: session.hub.state.phase is HubPhase.DONE)
        until(dialog.go.hasFocus)
        press(Qt.Key.Key_Return)
        until(lambda: guide.step is Step.PLAN and guide.go.isEnabled())
        guide.activateWindow()
        until(guide.go.hasFocus)
        press(Qt.Key.Key_Return)
        until(lambda: session.run.phase is not RunPhase.STOPPED or session.launching.question is not None)
        if session.launching.question is not None:  # another program holds the port: the first way on is in focus
            press(Qt.Key.Key_Space)
        until(lambda: session.run.phase is RunPhase.READY)
        until(lambda: guide.step is Step.CHAT and guide.go.isEnabled())
        until(guide.go.hasFocus)
        press(Qt.Key.Key_Return)
        until(lambda: guide.step is None)
        assert guide.pages[Step.CHAT].text
        until(guide.go.hasFocus)
        press(Qt.Key.Key_Return)
        assert not guide.isVisible()
        session.stop()


def the_download_window(until):
    found = []

    def look():
        found[:] = [w for w in QApplication.topLevelWidgets() if isinstance(w, DownloadDialog) and w.isVisible()]
        return bool(found)

    until(look)
    found[0].activateWindow()
    return found[0]
