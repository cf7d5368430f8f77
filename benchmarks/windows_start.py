"""Start-up of the Windows bundle under Wine beside bare Qt windows of the same bundle, on a screen of its own (Xvfb).

Run: python -m benchmarks.windows_start SETUP.EXE [--rounds 5]   (needs what ``dev.py windows`` installs)
The installer is put into the Wine prefix, timed, measured, and removed again, timed. The programs are those of
``benchmarks.startup``: "usable" is the plan of the demo model on the board, painted. Target: usable <= 1.6x of a bare
PySide6 + pyqtgraph window.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from app.common.paths import app_paths
from benchmarks.startup import _BARE, _LANEWISE, _PLOT
from installer.windows.wine_prefix import locked, make_prefix, windows_path
from tests.installer.conftest import Windows


def _measure(windows: Windows, code: str, *arguments: str) -> dict[str, float]:
    environment = {**windows.environment, "STARTED_AT": repr(time.time())}
    done = subprocess.run(
        ["wine", windows_path(windows.program / "runtime" / "python.exe"), "-c", code, *arguments],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    told = [line.split() for line in done.stdout.splitlines() if line.startswith(("painted", "usable"))]
    return {what: float(seconds) for what, seconds, *_ in told}


def _timed(windows: Windows, *command: str | Path) -> float:
    started = time.monotonic()
    code, _, _ = windows.run(*command)
    if code:
        sys.exit(f"exit code {code}: {command}")
    return round(time.monotonic() - started, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("setup", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    reading, writing = os.pipe()
    screen = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1366x768x24", "-nolisten", "tcp"]
    cache = app_paths().cache / "wine"
    with subprocess.Popen(screen, pass_fds=[writing], stderr=subprocess.DEVNULL) as server, locked(cache):
        os.close(writing)
        with os.fdopen(reading) as stream:
            windows = Windows(make_prefix(cache), f":{stream.readline().strip()}")
        result: dict[str, object] = {"install_s": _timed(windows, options.setup, "/S")}
        model = windows.data / "demo.gguf"
        model.parent.mkdir(parents=True, exist_ok=True)
        from app.model.demo import make_demo_model

        make_demo_model(model)
        times: dict[str, list[float]] = {}
        for number in range(options.rounds + 1):
            for name, code, arguments in (
                ("bare", _BARE, ()),
                ("pyqtgraph", _PLOT, ()),
                ("lanewise", _LANEWISE, (windows_path(model),)),
            ):
                for what, seconds in _measure(windows, code, *arguments).items():
                    if number:  # the first round warms the disk
                        times.setdefault(f"{name} {what}", []).append(seconds)
        median = {key: statistics.median(values) for key, values in times.items()}
        result["median_s"] = {key: round(value, 2) for key, value in median.items()}
        result["painted_over_bare"] = round(median["lanewise painted"] / median["bare painted"], 2)
        result["usable_over_pyqtgraph"] = round(median["lanewise usable"] / median["pyqtgraph painted"], 2)
        windows.end_all()
        stay = f"_?={windows_path(windows.program)}"
        result["uninstall_s"] = _timed(windows, windows.program / "uninstall.exe", "/S", "/PURGE=1", stay)
        windows.end_all()
        server.terminate()
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
