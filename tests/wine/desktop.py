"""A pytest plugin of the tests under Wine: makes the desktop before the first test, and has more patience.

Wine starts ``explorer.exe`` for the first program that wants a desktop (DXGI does), and it inherits that program's
pipes: a test that captures the output of such a program would wait for ever for their end.

Other stages run beside these tests on both cores, and Wine is slow then: what a test of the window waits for may take
longer than the five seconds of pytest-qt. A wait that is granted sooner ends sooner.
"""

import importlib.util
import sys

PATIENCE_MS = 30_000

if sys.platform == "win32":
    import ctypes

    ctypes.WinDLL("user32").GetDesktopWindow()


def pytest_configure() -> None:
    """Wait longer by default, where pytest-qt is there at all."""
    if importlib.util.find_spec("pytestqt") is None:
        return
    from pytestqt.qtbot import QtBot

    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals):
        defaults = wait.__kwdefaults__
        assert defaults is not None
        defaults["timeout"] = PATIENCE_MS
