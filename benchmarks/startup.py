"""Start-up beside a bare PySide6 window and a bare PySide6 + pyqtgraph one, in the same run, offscreen.

Run: python -m benchmarks.startup [--rounds 9] [--json]
Each program prints the time since its process began when its window has painted for the first time ("painted") and
when it can be used ("usable": the model is open, its plan is on the board and painted); for Lanewise also when every
other page, plots included, has been made behind it ("complete"). RSS is at that moment.
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
from app.common.start_options import WindowOptions
from app.ui import start
from PySide6.QtCore import QTimer
def tell(what):
    import psutil
    process = psutil.Process()
    print(what, time.time() - float(os.environ["STARTED_AT"]), process.memory_info().rss, flush=True)
options = WindowOptions(model=sys.argv[1], engine=None)
app = start.make_application()
settings = start.start_settings(options).settings
theme = start.ThemeManager(start.ThemeMode(settings.theme), app)
theme.apply(app)
window = start.MainWindow(None, theme, settings)
starter = start.Starter(window, options)
seen = set()
def look():
    session = starter.session
    if "usable" not in seen and session.plan is not None and window._stack.currentWidget() is window._pages.get("plan"):
        seen.add("usable"); window.repaint(); tell("usable")
    if "usable" in seen and len(window._pages) >= 4:
        tell("complete"); app.quit()
timer = QTimer(); timer.timeout.connect(look); timer.setInterval(2)
def painted():
    tell("painted"); starter.begin(); timer.start()
window.first_painted.connect(painted)
window.show(); app.exec(); starter.session.close()
"""


def _measure(code: str, *arguments: str, home: str) -> dict[str, tuple[float, int]]:
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "LANEWISE_HOME": home, "PATH": "/usr/bin:/bin"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second start finds compiled modules, and so do ours
    env["STARTED_AT"] = repr(time.time())
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, env=env, check=True
    )
    told = [line.split() for line in done.stdout.splitlines() if line.startswith(("painted", "usable", "complete"))]
    return {what: (float(seconds), int(rss)) for what, seconds, rss in told}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times: dict[str, list[float]] = {}
    rss: dict[str, int] = {}
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
                    times.setdefault(f"{name}: {what}", []).append(seconds * 1000)
                    rss[f"{name}: {what}"] = size
    median = {key: statistics.median(values) for key, values in times.items()}
    result = {
        "median_ms": {key: round(value, 1) for key, value in median.items()},
        "best_ms": {key: round(min(values), 1) for key, values in times.items()},
        "rss_mib": {key: round(size / 2**20, 1) for key, size in rss.items()},
        "painted_over_bare": round(median["Lanewise: painted"] / median["bare PySide6: painted"], 2),
        "usable_over_pyqtgraph": round(median["Lanewise: usable"] / median["bare PySide6 + pyqtgraph: painted"], 2),
    }
    if options.json:
        print(json.dumps(result, indent=1))
        return 0
    print(f"{'':34}{'best ms':>10}{'median ms':>11}{'RSS MiB':>9}")
    for key in median:
        print(f"{key:34}{result['best_ms'][key]:10}{result['median_ms'][key]:11}{result['rss_mib'][key]:9}")
    print(f"first paint / bare window         {result['painted_over_bare']:10}   (target 2)")
    print(f"usable / bare pyqtgraph window    {result['usable_over_pyqtgraph']:10}   (target 1.5)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
