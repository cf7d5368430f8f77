"""Use in other apps: what is copied holds the key, what is shown does not, and a test says what came back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton

from app.common.problem import Problem
from app.session.state import RunPhase, RunState
from app.ui.pages.run import RunPage
from app.ui.theme.manager import ThemeManager
from app.work.other_apps import AppAnswer
from tests.qt import page_fixtures as fx

KEY = "lw-7f3e9a51c20b4d6e8a917c35"


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.running_session()


@pytest.fixture
def dialog(qtbot, session):
    page = RunPage(session)
    qtbot.addWidget(page)
    page.resize(1282, 768)
    page.header.apps_button.click()
    yield page.other_apps
    page.other_apps.close()


def _choose(dialog, code):
    dialog.app.setCurrentIndex(dialog.app.findData(code))


def test_that_address_model_and_key_of_the_running_server_are_there(dialog):
    assert dialog.address.text == "http://127.0.0.1:8080/v1"
    assert dialog.key.text == KEY
    assert KEY not in dialog.key.shown_text


@pytest.mark.parametrize("code", ["open_webui", "open_webui_docker", "continue", "sillytavern", "curl"])
def test_that_the_settings_show_dots_and_copy_the_key(dialog, code):
    _choose(dialog, code)
    assert KEY not in dialog.text.toPlainText()
    assert "••••" in dialog.text.toPlainText()
    assert dialog.note.text()
    dialog.copy.click()
    assert KEY in QGuiApplication.clipboard().text()
    assert dialog.copy.text() == "Copied"


def test_that_a_test_says_what_came_back(dialog, session):
    dialog.test.click()
    (call,) = [call for call in session.calls if call[0] == "test_app"]
    assert call[1].base_url == "http://127.0.0.1:8080/v1"
    assert not dialog.test.isEnabled()
    session.other_apps.end(AppAnswer(("qwen",), "Hello there.", 0.84))
    assert dialog.said.text() == "qwen answered in 0.8 s: “Hello there.”"
    assert dialog.test.isEnabled()
    session.other_apps.end(problem=Problem("server_key_wrong", params={"url": "http://127.0.0.1:8080"}))
    assert "key" in dialog.said.text()


def test_that_before_a_launch_the_settings_are_there_and_the_test_waits(qtbot, session):
    session.run = RunState(RunPhase.STOPPED)
    page = RunPage(session)
    qtbot.addWidget(page)
    page.show_other_apps()
    assert not page.other_apps.test.isEnabled()
    assert page.other_apps.said.text() == "Launch the server to test it."
    session.set_run(fx.ready_run())
    assert page.other_apps.test.isEnabled()
    page.other_apps.close()


def test_that_without_a_model_it_says_what_to_do(qtbot, session):
    session.model = session.plan = None
    session.run = RunState(RunPhase.STOPPED)
    page = RunPage(session)
    qtbot.addWidget(page)
    page.show_other_apps()
    assert not page.other_apps.copy.isEnabled()
    assert "Open a model first" in page.other_apps.note.text()
    page.other_apps.close()


def test_that_every_part_can_be_reached_by_keyboard(dialog):
    for button in dialog.findChildren(QAbstractButton):
        assert button.accessibleName() or button.text()
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert dialog.text.accessibleName()
