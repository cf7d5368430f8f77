"""What it costs to be watched: the window's CPU share with live plots, and tokens per second with and without them.

    python -m benchmarks.watching_cost [--json] [--blocks N] [--seconds S] [--model FILE]

One real server in one real window (see ``benchmarks.soak``), and a client that asks it without a pause. Blocks of
``--seconds`` alternate in the order watched, alone, alone, watched: in a watched block the run page is in front and
every sampler is asked at 2 Hz, in the other one the page is hidden and the monitor pauses. The window's CPU share is
that of its own process; beside it stands the same window before the launch. Targets: at most 2 percent of one core
beyond the idle window, and a median difference in tok/s that is no larger than the spread of the blocks.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from app.session.app_session import AppSession
from app.ui.garbage import MainThreadGarbage
from app.ui.main_window import MainWindow
from benchmarks.asker import Asker
from benchmarks.soak import launch, open_window, spin

MOST_PERCENT = 2.0
_SETTLE_S = 2.0
_AFTER_START_S = 20.0
"""The window has made its pages, measured RAM and learned its plans."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block: was it watched, the window's share of one core in percent, the median tok/s of its requests."""

    is_watched: bool
    cpu_percent: float
    tok_per_s: float


def run_block(session: AppSession, window: MainWindow, asker: Asker, seconds: float, *, is_watched: bool) -> Block:
    """Watch or do not watch for a while; the first seconds are left out."""
    window.show_page("run" if is_watched else "settings")
    session.watch_server(is_watched)
    spin(_SETTLE_S)
    first = len(asker.tokens_per_s)
    share = spin(seconds)
    told = asker.tokens_per_s[first:]
    return Block(is_watched, round(share, 2), round(statistics.median(told), 2) if told else 0.0)


def summary(blocks: list[Block], idle: float) -> dict[str, object]:
    """Medians of both kinds, their difference, and the spread of the blocks alone as the noise."""
    watched = [b for b in blocks if b.is_watched]
    alone = [b for b in blocks if not b.is_watched]
    speeds = [statistics.median(b.tok_per_s for b in kind) for kind in (watched, alone)]
    noise = max(b.tok_per_s for b in alone) - min(b.tok_per_s for b in alone)
    share = statistics.median(b.cpu_percent for b in watched)
    return {
        "idle_window_percent": round(idle, 2),
        "watched_percent": round(share, 2),
        "beyond_idle_percent": round(share - idle, 2),
        "watched_tok_per_s": speeds[0],
        "alone_tok_per_s": speeds[1],
        "difference_percent": round(100 * (speeds[0] / speeds[1] - 1), 2) if speeds[1] else None,
        "noise_percent": round(100 * noise / speeds[1], 2) if speeds[1] else None,
        "blocks": len(blocks),
    }


def main() -> int:
    """Measure, print; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="watching-") as home:
        os.environ["LANEWISE_HOME"] = home
        app = QApplication([])
        garbage = MainThreadGarbage(app)
        session, window = open_window(app, options.model)
        window.show_page("run")
        spin(_AFTER_START_S)
        idle = spin(options.seconds)
        asker = launch(session)
        spin(2 * _SETTLE_S)
        order = [(i % 4) in (0, 3) for i in range(options.blocks)]
        try:
            blocks = [run_block(session, window, asker, options.seconds, is_watched=on) for on in order]
        finally:
            asker.stop()
            session.close()
            window.close()
        del garbage
    told = summary(blocks, idle)
    print(json.dumps(told) if options.json else told)
    difference, noise = told["difference_percent"], told["noise_percent"]
    is_slower = isinstance(difference, float) and isinstance(noise, float) and -difference > max(noise, 1.0)
    beyond = told["beyond_idle_percent"]
    return int(is_slower or (isinstance(beyond, float) and beyond > MOST_PERCENT))


if __name__ == "__main__":
    sys.exit(main())
