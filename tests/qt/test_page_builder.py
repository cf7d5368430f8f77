"""The pages behind the one in front are made in the pauses of the user, after their imports."""

import sys
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.ui import page_builder
from app.ui.page_builder import PageBuilder, import_plots


@pytest.fixture
def window(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


class Pages:
    def __init__(self, n):
        self.left = n
        self.made_in = []

    def make(self):
        if self.left:
            self.left -= 1
            self.made_in.append(threading.current_thread())
        return self.left > 0


def test_that_the_imports_run_beside_the_event_loop_and_pages_are_made_after_them(qtbot, window):
    pages, may_go_on, prepared_in = Pages(3), threading.Event(), []

    def prepare():
        prepared_in.append(threading.current_thread())
        may_go_on.wait(30)

    builder = PageBuilder(window, pages.make, prepare)
    builder.begin()
    builder.begin()
    for _ in range(3):
        builder._step()
    assert pages.left == 3
    may_go_on.set()
    qtbot.waitUntil(lambda: not builder.is_at_work)
    assert pages.left == 0
    assert len(prepared_in) == 1
    assert prepared_in[0] is not threading.main_thread()
    assert set(pages.made_in) == {threading.main_thread()}


def test_that_no_page_is_made_while_somebody_types_and_all_are_once_the_keyboard_is_still(qtbot, window, monkeypatch):
    monkeypatch.setattr(page_builder, "_HANDS_OFF_MS", 3_600_000)
    pages = Pages(2)
    builder = PageBuilder(window, pages.make, lambda: None)
    builder.begin()
    qtbot.keyClick(window, Qt.Key.Key_A)
    builder._thread.join()
    for _ in range(3):
        builder._step()
    assert pages.left == 2
    monkeypatch.setattr(page_builder, "_HANDS_OFF_MS", 0)
    qtbot.waitUntil(lambda: not builder.is_at_work)
    assert pages.left == 0


def test_that_a_window_out_of_sight_gets_no_pages(qtbot, window):
    pages = Pages(2)
    builder = PageBuilder(window, pages.make, lambda: None)
    builder.begin()
    window.hide()
    qtbot.waitUntil(lambda: not builder.is_at_work)
    builder.begin()
    assert not builder.is_at_work
    assert pages.left == 2


def test_that_plots_are_imported_and_a_missing_package_is_left_to_the_page_that_needs_it(monkeypatch):
    import_plots()
    assert "pyqtgraph" in sys.modules
    monkeypatch.setitem(sys.modules, "numpy", None)  # Python's way of saying that it cannot be imported
    import_plots()
