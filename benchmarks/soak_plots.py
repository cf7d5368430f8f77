"""The long soak: the whole run page with moving curves, a streaming answer and a talking log.

``python -m benchmarks.soak_plots [SECONDS]`` (600 by default) prints memory, the reference count of None and the CPU
share every tenth of the time, and the same page standing still for comparison. Exit code 1 when memory grew by more
than 5 % after the first tenth, or None lost more than 100 references (PySide6 6.12 on Python 3.11 lost 25 a frame).
"""

from __future__ import annotations

import dataclasses
import gc
import os
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.monitor.sample import Sample
from app.session.state import ChatPhase, RunPhase, RunState
from app.ui.pages.run import RunPage
from app.ui.pages.run_log import MOST_LINES
from app.ui.theme.manager import ThemeManager, ThemeMode
from tests.qt import page_fixtures as fx

SAMPLE_MS = 500
TOKEN_MS = 50


class Feeder:
    """Plays a server: samples at 2 Hz, text at 20 Hz, now and then a new question."""

    def __init__(self, session: fx.FakeSession) -> None:
        self._session = session
        self._ticks = 0
        self._timers = [QTimer(), QTimer()]
        for timer, period, slot in zip(self._timers, (SAMPLE_MS, TOKEN_MS), (self._sample, self._token), strict=True):
            timer.setInterval(period)
            timer.timeout.connect(slot)
            timer.start()

    def stop(self) -> None:
        for timer in self._timers:
            timer.stop()

    def _sample(self) -> None:
        sample = Sample(time.monotonic(), fx.sample_values(self._ticks * TOKEN_MS / 1000))
        self._session.ring.append(sample)
        self._session.sample_added.emit(sample)
        self._session.log_added.emit([f"slot update_slots: id 0 | task {self._ticks} | n_tokens = {self._ticks}"])

    def _token(self) -> None:
        self._ticks += 1
        chat = self._session.chat
        if len(chat.answer) > 4000:
            self._session.set_run(RunState(RunPhase.STARTING))
            self._session.set_run(fx.ready_run())
            chat = dataclasses.replace(fx.answering(), answer="")
        self._session.set_chat(dataclasses.replace(chat, phase=ChatPhase.ANSWERING, answer=chat.answer + " word"))


def wait(seconds: float) -> float:
    """Run the event loop; the CPU share of one core in percent."""
    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1000), loop.quit)
    cpu, wall = time.process_time(), time.monotonic()
    loop.exec()
    return 100 * (time.process_time() - cpu) / (time.monotonic() - wall)


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    app = QApplication([])
    ThemeManager(ThemeMode.LIGHT).apply(app)
    session = fx.running_session()
    session.log = "\n".join(f"line {i} of a log that is full from the start" for i in range(MOST_LINES))
    page = RunPage(session)
    page.resize(1282, 768)
    page.show()
    process = psutil.Process()
    session.set_run(RunState(RunPhase.STOPPED))
    print(f"standing still: {wait(min(10.0, seconds / 10)):.2f} % of one core")
    session.set_run(fx.ready_run())
    feeder = Feeder(session)
    first_rss, first_none = 0, 0
    for tenth in range(1, 11):
        share = wait(seconds / 10)
        gc.collect()
        rss, nones = process.memory_info().rss, sys.getrefcount(None)
        if tenth == 1:
            first_rss, first_none = rss, nones
        widgets = len(QApplication.allWidgets())
        print(
            f"{tenth * seconds / 10:6.0f} s  {rss / 2**20:7.1f} MiB  None {nones}  widgets {widgets}  cpu {share:.2f} %"
        )
    feeder.stop()
    page.close()
    is_bad = rss > first_rss * 1.05 or nones < first_none - 100
    print("FAILED" if is_bad else "ok")
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
