"""The theme sets the palette itself, in every group, and tells painters when it changes."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon, QPalette
from PySide6.QtWidgets import QLabel, QStyle, QStyleOptionButton

from app.common.problem import Problem
from app.common.resources import resource_path
from app.ui.theme.icons import icon_pixmap
from app.ui.theme.manager import ThemeManager, ThemeMode
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.message_strip import MessageStrip
from app.ui.widgets.tick_box import TickBox


@pytest.fixture
def theme(qapp):
    manager = ThemeManager.of_app()
    manager.set_mode(ThemeMode.LIGHT)
    yield manager
    manager.set_mode(ThemeMode.LIGHT)


def test_that_the_application_has_one_manager(theme):
    assert ThemeManager.of_app() is theme


def test_that_dark_changes_the_palette_and_says_so(theme, qapp, qtbot):
    light = qapp.palette().color(QPalette.ColorRole.Window)
    with qtbot.waitSignal(theme.theme_changed, timeout=20_000):
        theme.set_mode(ThemeMode.DARK)
    dark = qapp.palette().color(QPalette.ColorRole.Window)
    assert theme.tokens.is_dark
    assert dark == theme.tokens.color("window")
    assert dark.lightness() < light.lightness()


def test_that_inactive_windows_keep_their_colours_and_disabled_text_is_fainter(theme, qapp):
    palette = qapp.palette()
    role = QPalette.ColorRole.WindowText
    assert palette.color(QPalette.ColorGroup.Inactive, role) == palette.color(QPalette.ColorGroup.Active, role)
    assert palette.color(QPalette.ColorGroup.Disabled, role) != palette.color(QPalette.ColorGroup.Active, role)


@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
def test_that_a_ticked_box_shows_a_tick_and_not_only_a_colour(theme, qtbot, mode):
    theme.set_mode(mode)
    box = TickBox("only differences")
    qtbot.addWidget(box)
    box.setChecked(True)
    box.resize(box.sizeHint())
    option = QStyleOptionButton()
    box.initStyleOption(option)
    where = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box)
    picture = box.grab(where).toImage()
    colors = {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}
    assert {theme.tokens.color("accent").name(), theme.tokens.color("accent_text").name()} <= colors


def test_that_choosing_the_same_theme_again_disturbs_nobody(theme, qtbot):
    with qtbot.assertNotEmitted(theme.theme_changed, wait=0):
        theme.set_mode(ThemeMode.LIGHT)


@pytest.mark.parametrize("path", sorted(resource_path("icons").glob("*.svg")), ids=lambda p: p.stem)
def test_that_every_icon_draws_something_in_the_wanted_colour(theme, path):
    color = theme.tokens.color("accent")
    image = icon_pixmap(path.stem, color, 24, 2.0).toImage()
    opaque = [image.pixelColor(x, y) for x in range(0, 48, 2) for y in range(0, 48, 2)]
    drawn = [c for c in opaque if c.alpha() > 250]
    assert drawn
    assert image.devicePixelRatio() == 2.0
    if path.stem != "lanewise":
        assert all(abs(c.red() - color.red()) < 6 and abs(c.blue() - color.blue()) < 6 for c in drawn)


def test_that_an_icon_has_a_fainter_disabled_picture(theme):
    icon = theme.icon("undo")
    normal = icon.pixmap(16, 16).toImage()
    faint = icon.pixmap(16, 16, QIcon.Mode.Disabled).toImage()
    assert normal != faint


def test_that_a_long_name_shortens_and_keeps_its_whole_text(theme, qtbot):
    label = ElidedLabel("A very long model name that cannot fit")
    qtbot.addWidget(label)
    label.resize(60, 20)
    assert label.is_elided()
    assert label.text() == "A very long model name that cannot fit"


def test_that_a_label_shows_markup_as_text(theme, qtbot):
    strip = MessageStrip()
    qtbot.addWidget(strip)
    strip.show_problem(Problem("file_missing", params={"path": "<h1>big</h1><img src=x>"}))
    assert {label.textFormat() for label in strip.findChildren(QLabel)} == {Qt.TextFormat.PlainText}
