"""What a start imports: the heavy packages wait until somebody needs them, and the first paint for almost nothing."""

import os
import subprocess
import sys

import pytest

from app.model.demo import make_demo_model

HEAVY = ("pyqtgraph", "numpy", "sqlite3", "tarfile", "zipfile", "gzip", "ssl", "http.client", "urllib.request", "httpx")
SLOW_TO_READ = ("email.message", "importlib.metadata", "platform", "statistics", "subprocess", "argparse")
MOST_AT_FIRST_PAINT = 100
"""Modules of our own: each costs a file to find and to read, which Windows makes slow."""
MOST_AT_THE_PLAN = 360

_CHILD = """
import sys
import app.__main__ as entry
from app.ui import start
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

def tell(what):
    print(what, *sys.modules, flush=True)

class Watched(start.Starter):
    def begin(self):
        tell("painted")
        super().begin()

    def _attach(self):
        tell("attaching")
        super()._attach()
        self.session.plan_changed.connect(self.look)
        QTimer.singleShot(50_000, lambda: QApplication.exit(3))

    def look(self):
        if self.session.plan is not None:
            tell("planned")
            QApplication.quit()

start.Starter = Watched
sys.exit(entry.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Names of modules by moment, from a start without an engine and with the demo model, in a process of its own."""
    home = tmp_path_factory.mktemp("home")
    bare = "import sys, PySide6.QtCore, PySide6.QtGui, PySide6.QtWidgets; print('bare', *sys.modules)"
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "LANEWISE_HOME": str(home), "PATH": str(home)}
    model = home / "demo.gguf"
    make_demo_model(str(model))
    lines = []
    for code in (bare, _CHILD):
        done = subprocess.run(
            [sys.executable, "-c", code, str(model)],
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        lines += done.stdout.splitlines()
    return {words[0]: set(words[1:]) for words in map(str.split, lines)}


def own(modules):
    return {name for name in modules if name.partition(".")[0] == "app"}


def test_that_the_first_paint_waits_for_nothing_heavy(imported):
    fresh = imported["painted"] - imported["bare"]
    assert not fresh & {*HEAVY, *SLOW_TO_READ}
    assert len(own(fresh)) <= MOST_AT_FIRST_PAINT


def test_that_the_first_paint_imports_nothing_of_planner_model_and_engine(imported):
    below = ("app.planner.", "app.model.", "app.engine.", "app.monitor.", "app.diagnose.", "app.work.", "app.hardware.")
    # The lock that says which window is the first one is an engine's file lock.
    assert {name for name in imported["painted"] if name.startswith(below)} <= {"app.engine.filelock"}


def test_that_no_plot_and_no_network_is_imported_before_the_plan_page_is_made(imported):
    assert not (imported["attaching"] - imported["bare"]) & {"pyqtgraph", "numpy", "ssl", "http.client", "tarfile"}


def test_that_no_plot_and_no_network_is_imported_before_the_first_plan(imported):
    assert not (imported["planned"] - imported["bare"]) & {"pyqtgraph", "numpy", "ssl", "http.client", "tarfile"}
    assert len(own(imported["planned"])) <= MOST_AT_THE_PLAN
