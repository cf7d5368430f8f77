"""A bug while the window is open: one dialog, a report to copy, nothing sent."""

import threading

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.common.log import CrashReport
from app.ui.crash_notice import install_notice, tell
from app.ui.dialogs.crash import CrashDialog
from app.ui.theme.manager import ThemeManager


def dialogs(window):
    return [dialog for dialog in window.findChildren(CrashDialog) if dialog.isVisible()]


def test_that_a_bug_in_any_thread_is_shown_once_with_a_report_to_copy(qtbot, tmp_path):
    ThemeManager.of_app()
    window = QWidget()
    qtbot.addWidget(window)
    install_notice(window)
    report = CrashReport("ValueError: <b>bold</b>", "the whole report", tmp_path / "crash 1.txt")
    thread = threading.Thread(target=lambda: [tell(report) for _ in range(5)])
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1)
    (dialog,) = dialogs(window)
    dialog.copy.click()
    assert QGuiApplication.clipboard().text() == "the whole report"
    dialog.close_button.click()
    qtbot.waitUntil(lambda: not window.findChildren(CrashDialog))
    tell(CrashReport("again", "second", None))
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1)
    dialogs(window)[0].close()


def test_that_a_report_without_a_window_is_shown_nowhere(qapp):
    tell(CrashReport("x", "y", None))
    qapp.processEvents()
    assert not [shown for shown in qapp.topLevelWidgets() if isinstance(shown, CrashDialog) and shown.isVisible()]
