"""Tests of the window: offscreen, Qt's own warnings are failures, and nothing may be left behind."""

import gc
import os
import threading

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before the first QApplication

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication

_THREAD_GRACE_S = 2.0

# The offscreen platform says these whenever a window is shown, raised or activated, or a tray icon is shown.
_OFFSCREEN_SAYS = (
    "This plugin does not support",
    "QObject::connect: No such signal QPlatformNativeInterface::systemTray",
)


def pytest_collection_modifyitems(items):
    """Set here and not in pyproject.toml: the unit tests run without pytest-qt, where its settings are unknown keys."""
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            item.add_marker(pytest.mark.qt_log_ignore(*_OFFSCREEN_SAYS))


@pytest.fixture(scope="session")
def _imported_for_good(qapp):
    """What the imports made is not looked through again after every test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left_behind(qapp, _imported_for_good):
    """A window that stays open or a thread that goes on would disturb the next test, and a user: both fail the test."""
    windows_before = set(QApplication.topLevelWidgets())
    threads_before = set(threading.enumerate())
    gc.disable()  # as the window does (app/ui/garbage.py): a worker thread must not destroy what a test left in a cycle
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    windows = [w for w in QApplication.topLevelWidgets() if w.isVisible() and w not in windows_before]
    for tip in [w for w in windows if w.windowType() == Qt.WindowType.ToolTip]:  # it would go by itself, a little later
        tip.close()
        windows.remove(tip)
    names = [f"{type(w).__name__} {w.objectName()!r}" for w in windows]
    for window in windows:
        window.close()
        window.deleteLater()
    threads = [t for t in threading.enumerate() if t not in threads_before and not t.daemon]
    for thread in threads:
        thread.join(_THREAD_GRACE_S)
    alive = [t.name for t in threads if t.is_alive()]
    gc.collect()
    assert not names, f"left open: {names}"
    assert not alive, f"still running: {alive}"
