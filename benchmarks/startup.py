"""Start-up beside a bare PySide6 window and a bare PySide6 + pyqtgraph one, in the same run, offscreen.

Run: python -m benchmarks.startup [--rounds 9] [--json]
Each program prints the time since its process began when its window has painted for the first time ("painted") and
when it can be used ("usable": the model is open, its plan is on the board and painted); for Lanewise also when every
other page, plots included, has been made behind it ("complete"), and the longest time in which its event loop did not
turn between paint and plan. RSS is at that moment. Lanewise is started and ended as ``python -m app MODEL`` is.
Targets: painted <= 2x of the bare window, usable <= 1.5x of the pyqtgraph one.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_BARE = """
import os, sys, time, psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget
class Window(QWidget):
    def paintEvent(self, event):
        super().paintEvent(event)
        QTimer.singleShot(0, app.quit)
app = QApplication(sys.argv)
window = Window(); window.resize(1366, 768); window.show(); app.exec()
process = psutil.Process()
print("painted", time.time() - float(os.environ["STARTED_AT"]), process.memory_info().rss, flush=True)
"""
_PLOT = """
import os, sys, time, psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
import pyqtgraph
class Plot(pyqtgraph.PlotWidget):
    def paintEvent(self, event):
        super().paintEvent(event)
        QTimer.singleShot(0, app.quit)
app = QApplication(sys.argv)
plot = Plot(); plot.plot([1, 3, 2]); plot.resize(1366, 768); plot.show(); app.exec()
process = psutil.Process()
print("painted", time.time() - float(os.environ["STARTED_AT"]), process.memory_info().rss, flush=True)
"""
_LANEWISE = """
import os, sys, time
import app.__main__ as entry
entry.gc.disable()  # as the entry does, which is asked below: what is imported here is imported there
from app.ui import start
from app.ui.window_pages import PAGES as start_pages
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
def tell(what):
    import psutil
    process = psutil.Process()
    print(what, time.time() - float(os.environ["STARTED_AT"]), process.memory_info().rss, flush=True)
class Watched(start.Starter):
    def begin(self):
        tell("painted")
        self.seen, self.gap, self.last = set(), 0.0, time.perf_counter()
        self.timer = QTimer(self._window)
        self.timer.timeout.connect(self.look)
        self.timer.start(2)
        super().begin()
    def look(self):
        now = time.perf_counter()
        self.gap, self.last = max(self.gap, now - self.last), now
        session, window = self.session, self._window
        if session is None:
            return
        pages = window._pages
        is_there = session.plan is not None and window._stack.currentWidget() is pages.get("plan")
        if "usable" not in self.seen and is_there:
            self.seen.add("usable"); window.repaint(); tell("usable")
            print("gap", self.gap, flush=True)
            self.last = time.perf_counter()
        if "usable" in self.seen and len(pages) == len(start_pages):
            tell("complete"); QApplication.quit()
start.Starter = Watched
sys.exit(entry.main([sys.argv[1]]))
"""


def _measure(code: str, *arguments: str, home: str) -> dict[str, tuple[float, int]]:
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "LANEWISE_HOME": home, "PATH": "/usr/bin:/bin"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second start finds compiled modules, and so do ours
    env["STARTED_AT"] = repr(time.time())
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, env=env, check=True
    )
    told = [line.split() for line in done.stdout.splitlines()]
    return {what: (float(seconds), int(rss[0]) if rss else 0) for what, seconds, *rss in told}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times: dict[str, list[float]] = {}
    rss: dict[str, int] = {}
    gaps: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        from app.model.demo import make_demo_model

        model = str(Path(home) / "demo.gguf")
        make_demo_model(model)
        for round_number in range(options.rounds + 1):
            for name, code, arguments in (
                ("bare PySide6", _BARE, ()),
                ("bare PySide6 + pyqtgraph", _PLOT, ()),
                ("Lanewise", _LANEWISE, (model,)),
            ):
                for what, (seconds, size) in _measure(code, *arguments, home=home).items():
                    if round_number == 0:
                        continue  # warms the disk cache and compiles
                    if what == "gap":
                        gaps.append(seconds * 1000)
                        continue
                    times.setdefault(f"{name}: {what}", []).append(seconds * 1000)
                    rss[f"{name}: {what}"] = size
    median = {key: statistics.median(values) for key, values in times.items()}
    result = {
        "median_ms": {key: round(value, 1) for key, value in median.items()},
        "best_ms": {key: round(min(values), 1) for key, values in times.items()},
        "rss_mib": {key: round(size / 2**20, 1) for key, size in rss.items()},
        "painted_over_bare": round(median["Lanewise: painted"] / median["bare PySide6: painted"], 2),
        "longest_gap_to_plan_ms": round(statistics.median(gaps), 1),
        "usable_over_pyqtgraph": round(median["Lanewise: usable"] / median["bare PySide6 + pyqtgraph: painted"], 2),
    }
    if options.json:
        print(json.dumps(result, indent=1))
        return 0
    print(f"{'':34}{'best ms':>10}{'median ms':>11}{'RSS MiB':>9}")
    for key in median:
        print(f"{key:34}{result['best_ms'][key]:10}{result['median_ms'][key]:11}{result['rss_mib'][key]:9}")
    print(f"first paint / bare window         {result['painted_over_bare']:10}   (target 2)")
    print(f"longest stop of the event loop    {result['longest_gap_to_plan_ms']:10} ms")
    print(f"usable / bare pyqtgraph window    {result['usable_over_pyqtgraph']:10}   (target 1.5)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
