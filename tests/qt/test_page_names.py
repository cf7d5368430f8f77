"""What the Tab key stops at has a name, also where it is only there to scroll with."""

import pytest
from PySide6.QtWidgets import QScrollArea

from tests.qt import page_fixtures, page_scenes


@pytest.mark.parametrize("scene", ["machine-laptop", "settings-ready", "settings-engines"])
def test_that_the_area_that_a_page_scrolls_in_has_a_name(qtbot, scene):
    page = page_scenes.SCENES[scene]()
    qtbot.addWidget(page)
    areas = page.findChildren(QScrollArea)
    assert areas
    assert all(area.accessibleName() for area in areas)


def test_that_the_doctors_area_has_a_name(qtbot):
    from app.ui.pages.doctor import DoctorPage

    page = DoctorPage(page_fixtures.FakeSession())
    qtbot.addWidget(page)
    assert [area.accessibleName() for area in page.findChildren(QScrollArea)] == ["Doctor"]
