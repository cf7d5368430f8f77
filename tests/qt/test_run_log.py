"""The log pane in a flood: the newest lines only, until the reader wants more; and nothing while it is hidden."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication

from app.ui.pages.run_log import LogPane
from app.ui.theme.manager import ThemeManager, ThemeMode


@pytest.fixture
def log(qtbot):
    ThemeManager.of_app()
    made = LogPane()
    qtbot.addWidget(made)
    made.resize(400, 150)
    made.show()
    yield made
    made.close()


def numbered(first, last):
    return [f"line {i}" for i in range(first, last)]


def shown(log):
    return log._view.toPlainText().splitlines()


def flood(log, n=400):
    log.add(numbered(0, n))
    log.flush()


def test_that_in_a_flood_the_view_holds_the_newest_lines_and_copy_all_of_them(log):
    flood(log)
    assert shown(log) == numbered(340, 400)
    assert log.text.splitlines() == numbered(0, 400)
    log.copy()
    assert QGuiApplication.clipboard().text().splitlines() == numbered(0, 400)


def test_that_a_long_log_is_laid_out_when_it_is_read(log):
    log.set_text("\n".join(numbered(0, 5000)))
    assert shown(log) == numbered(4940, 5000)
    log._follow.click()
    assert shown(log) == numbered(0, 5000)


def test_that_the_newest_line_stays_in_sight_in_less_room(log, qtbot):
    log.set_text("\n".join(numbered(0, 40)))
    log.resize(400, 110)
    bar = log._view.verticalScrollBar()
    qtbot.waitUntil(lambda: log._view.height() < 90)
    assert bar.value() == bar.maximum()
    bar.setValue(3)
    bar.actionTriggered.emit(0)  # somebody scrolled
    log.resize(400, 150)
    assert not log.follows
    assert bar.value() == 3


def test_that_scrolling_up_in_a_flood_shows_every_line_and_stays_near_the_end(log):
    flood(log)
    bar = log._view.verticalScrollBar()
    before = bar.maximum() - bar.value()
    bar.triggerAction(bar.SliderAction.SliderPageStepSub)
    assert not log.follows
    assert shown(log) == numbered(0, 400)
    above = bar.maximum() - bar.value() - before
    assert abs(above - bar.pageStep()) <= 1  # with some fonts a line stands half in view
    log.add(numbered(400, 500))
    log.flush()
    assert shown(log) == numbered(0, 500)


def test_that_the_keyboard_finds_every_line(log, qtbot):
    flood(log)
    log.activateWindow()
    log._view.setFocus()
    qtbot.waitUntil(log._view.hasFocus)
    assert shown(log) == numbered(0, 400)
    assert log._view.textCursor().block().text() == "line 399"


def test_that_a_flood_does_not_take_a_selection_away(log):
    log.set_text("one\ntwo")
    cursor = log._view.textCursor()
    cursor.select(cursor.SelectionType.LineUnderCursor)
    log._view.setTextCursor(cursor)
    flood(log)
    assert log._view.textCursor().selectedText() == "two"
    assert shown(log) == ["one", "two", *numbered(0, 400)]


def test_that_a_hidden_pane_waits_until_it_is_shown(log):
    log.hide()
    log.add(["while hidden"])
    assert not log._timer.isActive()
    assert shown(log) == []
    log.show()
    assert shown(log) == ["while hidden"]


def test_that_errors_and_warnings_keep_the_colours_of_the_theme_in_use(log):
    theme = ThemeManager.of_app()
    log.set_text("fine\nW something: warning, slow\nE load: error, unable to load\nno terror in here")

    def colors():
        document = log._view.document()
        formats = [document.findBlockByNumber(i).begin().fragment().charFormat() for i in range(4)]
        return [f.foreground().color().name() if f.hasProperty(f.Property.ForegroundBrush) else None for f in formats]

    for mode in (ThemeMode.DARK, ThemeMode.LIGHT):
        theme.set_mode(mode)
        warning, error = (theme.tokens.color(name).name() for name in ("warning", "error"))
        assert colors() == [None, warning, error, None]
