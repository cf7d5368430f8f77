"""The settings page: it shows the session's settings and passes every change on, once."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel

from app.common.problem import Problem
from app.session.state import EnginePhase, EngineState
from app.settings import Settings
from app.ui.pages.settings import LICENCES, SettingsPage, pinning_choices
from app.ui.theme.manager import ThemeManager
from app.words import Language, set_language
from tests.qt import page_fixtures as fx

NO_COMPILER = Problem("engine_no_compiler", params={"missing": "g++", "command": "sudo apt-get install -y g++ make"})


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.FakeSession()


def make_page(qtbot, session, build_problem=None):
    page = SettingsPage(session, build_problem=lambda: build_problem)
    qtbot.addWidget(page)
    page.resize(1282, 768)
    return page


@pytest.fixture
def page(qtbot, session):
    return make_page(qtbot, session)


def shown(page):
    return "\n".join(label.text() for label in page.findChildren(QLabel))


def choose(combo, data):
    combo.setCurrentIndex(combo.findData(data))


def test_that_the_controls_show_the_settings_without_sending_them_back(page, session):
    session.settings = Settings(language="zh_CN", theme="dark", shell="cmd", reserve_mib=600)
    session.settings_changed.emit()
    values = [combo.currentData() for combo in (page.language, page.theme, page.shell, page.reserve)]
    assert values == ["zh_CN", "dark", "cmd", 600]
    assert session.calls == []


def test_that_each_choice_is_one_change(page, session):
    choose(page.language, "zh_CN")
    choose(page.theme, "dark")
    choose(page.shell, "bash")
    choose(page.reserve, 0)
    choose(page.reserve, None)
    assert [call[1] for call in session.calls] == [
        {"language": "zh_CN"},
        {"theme": "dark"},
        {"shell": "bash"},
        {"reserve_mib": 0},
        {"reserve_mib": None},
    ]


def test_that_the_engine_in_use_is_named(page):
    assert page.engine.status == "llama-server b11434 is ready."
    assert "C:\\llama.cpp\\llama-server.exe" in shown(page)
    assert page.engine.path_field.text() == ""
    assert page.engine.path_field.placeholderText() == "found automatically"


def test_that_a_typed_path_is_chosen_once(page, session):
    field = page.engine.path_field
    QTest.keyClicks(field, " /opt/llama ")
    field.editingFinished.emit()
    field.editingFinished.emit()
    assert session.calls == [("choose_engine", "/opt/llama")]


def test_that_a_file_a_folder_or_the_search_can_be_chosen(page, session, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("/a/llama-server", ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "/a")
    for text in ("File…", "Folder…", "Find"):
        next(button for button in page.findChildren(QAbstractButton) if button.text() == text).click()
    chosen = [str(Path("/a/llama-server")), str(Path("/a")), ""]
    assert session.calls == [("choose_engine", path) for path in chosen]


def test_that_a_chosen_path_is_shown_but_not_over_what_is_being_typed(page, session):
    page.show()
    session.settings = dataclasses.replace(session.settings, engine_path="/opt/new")
    page.engine.path_field.setFocus()
    QTest.keyClicks(page.engine.path_field, "/opt/ty")
    session.engine_changed.emit()
    if page.engine.path_field.hasFocus():
        assert page.engine.path_field.text() == "/opt/ty"
    page.language.setFocus()
    session.engine_changed.emit()
    assert page.engine.path_field.text() == "/opt/new"
    page.close()


def test_that_building_starts_once_and_shows_how_far_it_is(page, session):
    page.show()
    page.engine.build_button.click()
    assert session.calls == [("build_engine",)]
    session.engine = EngineState(EnginePhase.BUILDING, progress=0.42)
    session.engine_changed.emit()
    assert not page.engine.build_button.isEnabled()
    assert page.engine.progress.isVisible()
    assert page.engine.progress.value() == 420
    session.engine = EngineState(EnginePhase.BUILDING)
    session.engine_changed.emit()
    assert page.engine.progress.maximum() == 0
    session.engine = EngineState(EnginePhase.READY, "/x", "b11434")
    session.engine_changed.emit()
    assert not page.engine.progress.isVisible()
    page.close()


def test_that_a_missing_compiler_is_named_with_the_line_that_installs_it(qtbot, session):
    page = make_page(qtbot, session, NO_COMPILER)
    assert not page.engine.build_button.isEnabled()
    assert "sudo apt-get install -y g++ make" in shown(page)


def test_that_a_broken_engine_tells_its_problem(page, session):
    problem = Problem("settings_unreadable", params={"path": "p", "reason": "r"})
    session.engine = EngineState(EnginePhase.BROKEN, "/x", problem=problem)
    session.engine_changed.emit()
    assert page.engine.status.startswith("The settings file p cannot be read")


def test_that_privacy_and_licences_are_told(page):
    text = shown(page)
    assert "Nothing leaves this machine" in text
    assert all(name in text and licence in text for name, licence in LICENCES)


def test_that_every_control_has_a_name_and_can_be_reached_by_keyboard(page):
    for control in (page.language, page.theme, page.shell, page.reserve, page.engine.path_field):
        assert control.accessibleName()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
    for button in page.findChildren(QAbstractButton):
        assert button.accessibleName() or button.text()


@pytest.mark.parametrize("language", list(Language))
def test_that_no_words_are_cut_at_the_smallest_window(qtbot, session, language):
    set_language(language)
    page = make_page(qtbot, session, NO_COMPILER)
    page.resize(956, 640)
    page.show()
    QApplication.processEvents()
    assert page.minimumSizeHint().width() <= 956
    cut = [
        label.text()
        for label in page.findChildren(QLabel)
        if label.isVisible() and not label.wordWrap() and label.width() < label.sizeHint().width()
    ]
    assert cut == []
    right = page.engine.mapTo(page, page.engine.rect().topRight()).x()
    assert right < 956
    page.close()


def test_that_a_long_engine_path_is_shown_whole(page, qtbot):
    path = "/home/someone/.cache/lanewise/engines/b11434-rpc-x86_64/llama-server"
    page.engine.set_state(EngineState(EnginePhase.READY, path, "b11434"), None)
    page.resize(1282, 768)
    page.show()
    (label,) = [label for label in page.findChildren(QLabel) if label.text() == path]
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()))


def test_that_a_remembered_answer_about_closing_can_be_taken_back(page, session):
    session.settings = dataclasses.replace(session.settings, close_with_server="stop")
    session.settings_changed.emit()
    assert page.closing.currentData() == "stop"
    choose(page.closing, "ask")
    assert session.calls == [("change_settings", {"close_with_server": "ask"})]


def test_that_how_firmly_a_server_is_held_is_a_choice_and_cpu_sets_are_windows_own(page, session):
    offered = tuple(page.pinning.itemData(i) for i in range(page.pinning.count()))
    assert offered == pinning_choices("hard", sys.platform)
    choose(page.pinning, "off")
    assert session.calls == [("change_settings", {"pinning": "off"})]
    assert pinning_choices("hard", "linux") == ("hard", "off")
    assert pinning_choices("soft", "linux") == ("hard", "soft", "off")
    assert pinning_choices("hard", "win32") == ("hard", "soft", "off")


def test_that_how_often_a_server_is_measured_is_a_choice(page, session):
    assert [page.rate.itemText(i) for i in range(page.rate.count())] == [
        "Once a second",
        "Twice a second",
        "Five times a second",
    ]
    assert page.rate.currentData() == 2
    choose(page.rate, 5)
    assert session.calls == [("change_settings", {"samples_per_second": 5})]
