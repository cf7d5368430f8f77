"""The end of the window: nothing of Qt's is left for the interpreter to destroy in whatever order it likes."""

import pytest
import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.engine.events import Exited
from app.session.app_session import AppSession
from app.ui.ending import end_window
from app.ui.main_window import MainWindow
from app.ui.theme.manager import ThemeManager, ThemeMode
from app.ui.window_pages import PAGES


@pytest.fixture
def no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())


def test_that_the_window_every_page_and_the_session_are_destroyed_when_it_ends(qtbot, no_engine):
    session = AppSession()
    theme = ThemeManager(ThemeMode.LIGHT)
    window = MainWindow(session, theme)
    session.start()
    session.open_demo()
    window.show()
    qtbot.waitUntil(lambda: session.plan is not None)
    parts = [window.page(kind.name) for kind in PAGES] + [session.machine, session.doctor, session.undo_stack]
    dialog = QWidget()
    dialog.show()
    end_window(window, session)
    assert not [type(p).__name__ for p in (window, session, *parts) if shiboken6.isValid(p)]
    assert not dialog.isVisible()
    theme.deleteLater()
    dialog.deleteLater()


def test_that_the_window_is_destroyed_although_closing_the_session_fails(qapp):
    class Broken(QObject):
        def close(self):
            raise OSError("disk full")

    window, session = QWidget(), Broken()
    with pytest.raises(OSError, match="disk full"):
        end_window(window, session)
    assert not shiboken6.isValid(window)
    assert not shiboken6.isValid(session)


def test_that_a_start_that_failed_and_a_window_that_is_gone_end_too(qapp):
    window = QWidget()
    shiboken6.delete(window)
    end_window(window, None)


def test_that_a_server_that_outlives_the_session_is_not_heard(qtbot, no_engine):
    session = AppSession()
    run, window = session._run, QWidget()
    number = run._number
    end_window(window, session)
    run._tell(number, Exited(0, None, ()))  # an emit on a destroyed object would raise
