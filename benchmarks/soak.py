"""The soak: a real window with live plots, a real server that never stops generating, and an end that is not missed.

    python -m benchmarks.soak [--json] [--seconds S] [--model FILE]

``AppSession`` launches the model (the demo model by default; llama-server from where Lanewise finds it); a client of
its own asks the server for text without a pause while the run page shows every curve. Each tenth of the time prints
memory, the reference count of None, widgets, the window's CPU share and how many requests were answered. At the end the
server is killed from outside, and the window must say so. Exit code 1: memory grew by more than 5 % after the warm-up,
None lost more than 1000 references, the server was lost on the way, or its end was missed. The warm-up is the first two
minutes, or the first tenth where that is longer: the curves fill, pages are made, caches and heaps find their size. The
baseline beside it is the same window before the launch, its first pages and its look at the RAM included. The full soak
takes an hour (``--seconds 3600``, the default); ten minutes are a fair check.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.common.source_lines import keep_no_source_lines
from app.session.app_session import AppSession
from app.session.state import EnginePhase, RunPhase
from app.ui.ending import end_window
from app.ui.garbage import MainThreadGarbage
from app.ui.main_window import MainWindow
from app.ui.theme.manager import ThemeManager, ThemeMode
from benchmarks.asker import Asker

_START_S = 120.0
_WARM_UP_S = 120.0
_LOOK_MS = 50


def spin(seconds: float) -> float:
    """Run the event loop; the CPU share of one core in percent."""
    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1000), loop.quit)
    cpu, wall = time.process_time(), time.monotonic()
    loop.exec()
    return 100 * (time.process_time() - cpu) / (time.monotonic() - wall)


def spin_until(is_true: Callable[[], bool], patience_s: float) -> bool:
    """Run the event loop until something holds."""
    until = time.monotonic() + patience_s
    while not is_true():
        if time.monotonic() > until:
            return False
        spin(_LOOK_MS / 1000)
    return True


def open_window(app: QApplication, model: str | None) -> tuple[AppSession, MainWindow]:
    """A window as the user has it, with a model on the board and an engine. Raises SystemExit without one."""
    theme = ThemeManager(ThemeMode.LIGHT)
    theme.apply(app)
    session = AppSession()
    window = MainWindow(session, theme)
    window.show()
    session.start()
    ready = spin_until(lambda: session.engine.phase is EnginePhase.READY and session.hardware is not None, _START_S)
    if not ready:
        raise SystemExit(f"no llama-server: {session.engine.phase.value}")
    if model is None:
        session.open_demo()
    else:
        session.open_model(model)
    if not spin_until(lambda: session.plan is not None and session.is_idle, _START_S):
        raise SystemExit("no plan")
    session.set_wishes(prompt_cache_mib=0, n_threads=1)
    return session, window


def launch(session: AppSession, n_tokens: int = 64, *, is_same: bool = False) -> Asker:
    """Start the server and the client (see ``benchmarks.asker``). Raises SystemExit when it does not get ready."""
    session.launch()
    launching = session.launching

    def is_decided() -> bool:
        question = launching.question
        if question is not None:  # the usual port is taken: another one, as a user would choose
            launching.answer(question.answers[-1])
        return session.run.phase in (RunPhase.READY, RunPhase.FAILED)

    if not spin_until(is_decided, _START_S):
        raise SystemExit(f"not ready: {session.run.phase.value}")
    if session.run.phase is RunPhase.FAILED or session.run.url is None:
        raise SystemExit(f"failed: {session.run.problem}")
    return Asker(session.run.url, session.run.api_key, n_tokens, is_same=is_same)


def main() -> int:
    """Soak, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--model")
    options = parser.parse_args()
    keep_no_source_lines()  # as app/__main__.py does
    with tempfile.TemporaryDirectory(prefix="soak-") as home:
        os.environ["LANEWISE_HOME"] = home
        app = QApplication([])
        garbage = MainThreadGarbage(app)
        session, window = open_window(app, options.model)
        window.show_page("run")
        idle = spin(min(10.0, options.seconds / 10))
        asker = launch(session)
        try:
            rows = _soak(session, asker, steps_of(options.seconds), is_quiet=options.json)
            end_was_told = _end_is_told(session)
        finally:
            asker.stop()
            end_window(window, session)
        del garbage
    return _judge(rows, idle, asker, end_was_told=end_was_told, as_json=options.json)


_MOST_NONE_LOST = 1000
"""What lives at the moment moves the count by a hundred or two either way. A Qt binding that loses one reference with
every call without a result, as PySide6 6.12.0 does, loses a thousand in the first minute."""

Row = dict[str, float]


def steps_of(seconds: float) -> list[float]:
    """How long each step is: the warm-up first, what is left in nine equal parts; of a soak shorter than four minutes
    half is warm-up."""
    warm_up = max(seconds / 10, min(_WARM_UP_S, seconds / 2))
    return [warm_up, *[(seconds - warm_up) / 9] * 9]


def _soak(session: AppSession, asker: Asker, steps: list[float], *, is_quiet: bool) -> list[Row]:
    process, rows, passed = psutil.Process(), list[Row](), 0.0
    for step in steps:
        share = spin(step)
        passed += step
        gc.collect()
        row: Row = {
            "seconds": round(passed),
            "rss_mib": round(process.memory_info().rss / 2**20, 1),
            "none": sys.getrefcount(None),
            "widgets": len(QApplication.allWidgets()),
            "cpu_percent": round(share, 2),
            "requests": asker.answered,
            "samples": session.history().written,
        }
        rows.append(row)
        if session.run.phase is not RunPhase.READY:
            break
        if not is_quiet:
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    return rows


def _end_is_told(session: AppSession) -> bool:
    """Kill the server behind the window's back: it must say that it ended, and not that somebody stopped it."""
    if session.run.phase is not RunPhase.READY or session.run.pid is None:
        return False
    psutil.Process(session.run.pid).kill()
    return spin_until(lambda: session.run.phase is RunPhase.FAILED, 10.0)


def _judge(rows: list[Row], idle: float, asker: Asker, *, end_was_told: bool, as_json: bool) -> int:
    growth = rows[-1]["rss_mib"] / rows[0]["rss_mib"] - 1
    keeps_none = rows[-1]["none"] >= rows[0]["none"] - _MOST_NONE_LOST
    is_good = len(rows) == 10 and growth <= 0.05 and keeps_none and end_was_told
    result = {
        "ok": is_good,
        "rss_growth_percent": round(100 * growth, 2),
        "idle_cpu_percent": round(idle, 2),
        "requests": asker.answered,
        "end_was_told": end_was_told,
        "rows": rows,
    }
    if as_json:
        print(json.dumps(result))
    else:
        print({name: value for name, value in result.items() if name != "rows"}, flush=True)
    return int(not is_good)


if __name__ == "__main__":
    sys.exit(main())
