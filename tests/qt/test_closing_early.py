"""A window that is closed at any moment of its start ends its process in order: exit code 0, no crash in the end."""

import os
import random
import subprocess
import sys

import pytest

_CHILD = """
import faulthandler, sys
import app.__main__ as entry
from app.ui import start
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

faulthandler.enable()
how, after_ms = sys.argv[1], int(sys.argv[2])

def close():
    for window in QApplication.topLevelWidgets():
        if type(window).__name__ == "MainWindow":
            window.close()

class Watched(start.Starter):
    def begin(self):
        if how == "from the first paint":
            QTimer.singleShot(after_ms, self._window, close)
        super().begin()

    def _attach(self):
        if how == "before the page":
            close()
        super()._attach()
        if how == "from the page":
            QTimer.singleShot(after_ms, self._window, close)
        if how == "in a page":
            build = self._window._builder
            make = build._make_next
            def made_and_closed():
                close()
                return make()
            build._make_next = made_and_closed
        if how == "with the plan":
            self.session.plan_changed.connect(lambda: QTimer.singleShot(after_ms, self._window, close))

start.Starter = Watched
sys.exit(entry.main([]))
"""

_SEED = 20261129
_draw = random.Random(_SEED)
MOMENTS = [
    *(("from the first paint", _draw.randrange(0, 400)) for _ in range(4)),
    ("before the page", 0),
    *(("from the page", _draw.randrange(0, 250)) for _ in range(2)),
    *(("with the plan", _draw.randrange(0, 120)) for _ in range(2)),
    ("with the plan", 700),
    ("in a page", 0),
]


@pytest.mark.parametrize(("how", "after_ms"), MOMENTS)
def test_that_a_window_closed_at_any_moment_ends_in_order(tmp_path, how, after_ms):
    env = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "LANEWISE_HOME": str(tmp_path),
        "PATH": str(tmp_path),
        "PYTHONWARNINGS": "error",
    }
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, how, str(after_ms)],
        env=env, capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if not line.startswith("This plugin does not support")]
    assert (done.returncode, told) == (0, [])
