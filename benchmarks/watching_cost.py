"""What it costs to be watched: the window's CPU share with live plots, and tokens per second with and without them.

    LANEWISE_ENGINE=FOLDER python -m benchmarks.watching_cost [--json] [--pairs N] [--seconds S] [--tokens N]

One real server in one real window (see ``benchmarks.soak``), and a client in a process of its own that asks it the same
request again and again: same prompt, temperature 0, always ``--tokens`` tokens, no prompt cache. The server is pinned
to one core, window and client to the others, as the plan of a machine with more cores would have it; on a machine with
one core nothing is pinned.

Short blocks alternate in the order watched, alone, alone, watched: in a watched block the run page is in front and
every sampler is asked at 2 Hz; alone, another page is, as in a window that nobody looks at. A block's speed is the
median of the requests that began and ended in it, two neighbouring blocks are a pair, and what is told is the median
difference of the pairs with its 95 % interval (bootstrap over the pairs). Three minutes as it stands.

Targets: at most 2 percent of one core beyond the idle window, and a slowdown that is proven to be less than 2 percent:
the whole interval lies above -2 %. ``verdict``: ``within noise`` (it does, and holds 0 or better), ``small`` (it does),
``slower``, or ``too noisy to say`` (the machine was not quiet).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtWidgets import QApplication

from app.session.app_session import AppSession
from app.ui.ending import end_window
from app.ui.garbage import MainThreadGarbage
from app.ui.main_window import MainWindow
from benchmarks.asker import Asker
from benchmarks.soak import launch, open_window, spin

MOST_PERCENT = 2.0
MOST_SLOWER = 2.0
_SETTLE_S = 0.6
_AFTER_START_S = 15.0
"""The window has made its pages, measured RAM and learned its plans."""
_IDLE_S = 10.0
_RESAMPLES = 4000


@dataclass(frozen=True, slots=True)
class Block:
    """One block: was it watched, the window's share of one core in percent, tok/s of its requests."""

    is_watched: bool
    cpu_percent: float
    speeds: tuple[float, ...]


def pin(pid: int, cpus: Sequence[int]) -> None:
    """Keep every thread that a process has now, and those that they start, on these CPUs."""
    if hasattr(os, "sched_setaffinity"):
        for thread in psutil.Process(pid).threads():
            os.sched_setaffinity(thread.id, cpus)
    else:
        psutil.Process(pid).cpu_affinity(list(cpus))


def pin_apart(server: int | None, asker: int) -> tuple[int, ...]:
    """The server on the last CPU, window and client on the others; the server's CPUs, () where there is only one."""
    cpus = sorted(psutil.Process().cpu_affinity() or ())
    if len(cpus) < 2 or server is None:
        return ()
    pin(server, cpus[-1:])
    for pid in (os.getpid(), asker):
        pin(pid, cpus[:-1])
    return tuple(cpus[-1:])


def run_block(window: MainWindow, asker: Asker, seconds: float, *, is_watched: bool) -> Block:
    """Watch or do not watch for a while; the first moments are left out."""
    window.show_page("run" if is_watched else "settings")
    spin(_SETTLE_S)
    since_s = time.monotonic()
    share = spin(seconds)
    return Block(is_watched, share, tuple(asker.between(since_s, time.monotonic())))


def paired_differences(blocks: Sequence[Block]) -> list[float]:
    """Percent that the watched block of each pair is faster than the one alone; a pair without requests is left out."""
    found = []
    for first, second in zip(blocks[::2], blocks[1::2], strict=True):
        watched, alone = (first, second) if first.is_watched else (second, first)
        if watched.speeds and alone.speeds:
            found.append(100 * (statistics.median(watched.speeds) / statistics.median(alone.speeds) - 1))
    return found


def interval_of_median(values: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """The 95 % interval of the median, by drawing the values anew. (0, 0) for none."""
    if not values:
        return 0.0, 0.0
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    return medians[round(0.025 * (_RESAMPLES - 1))], medians[round(0.975 * (_RESAMPLES - 1))]


def verdict_of(low: float, high: float) -> str:
    """What the interval of the difference says."""
    if low >= -MOST_SLOWER:
        return "within noise" if high >= 0 else "small"
    return "slower" if high < -MOST_SLOWER else "too noisy to say"


def summary(blocks: Sequence[Block], idle: float, server_cpus: Sequence[int]) -> dict[str, object]:
    """The figures that are told."""
    differences = paired_differences(blocks)
    low, high = interval_of_median(differences)
    shares = [statistics.median(b.cpu_percent for b in blocks if b.is_watched is on) for on in (True, False)]
    speeds = [statistics.median(s for b in blocks if b.is_watched is on for s in b.speeds) for on in (True, False)]
    return {
        "idle_window_percent": round(idle, 2),
        "watched_percent": round(shares[0], 2),
        "hidden_percent": round(shares[1], 2),
        "beyond_idle_percent": round(shares[0] - idle, 2),
        "watched_tok_per_s": round(speeds[0], 1),
        "alone_tok_per_s": round(speeds[1], 1),
        "difference_percent": round(statistics.median(differences), 2) if differences else None,
        "interval_percent": (round(low, 2), round(high, 2)),
        "verdict": verdict_of(low, high) if differences else "no requests",
        "pairs": len(differences),
        "requests": sum(len(b.speeds) for b in blocks),
        "server_cpus": tuple(server_cpus),
    }


def measure(session: AppSession, window: MainWindow, options: argparse.Namespace) -> dict[str, object]:
    """Idle first, then the blocks."""
    window.show_page("run")
    spin(_AFTER_START_S)
    idle = spin(_IDLE_S)
    asker = launch(session, options.tokens, is_same=True)
    try:
        server_cpus = pin_apart(session.run.pid, asker.pid)
        spin(4 * _SETTLE_S)
        order = [(i % 4) in (0, 3) for i in range(2 * options.pairs)]
        blocks = [run_block(window, asker, options.seconds, is_watched=on) for on in order]
    finally:
        asker.stop()
    return summary(blocks, idle, server_cpus)


def main() -> int:
    """Measure, print; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pairs", type=int, default=18)
    parser.add_argument("--seconds", type=float, default=3.5)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="watching-") as home:
        os.environ["LANEWISE_HOME"] = home
        app = QApplication([])
        garbage = MainThreadGarbage(app)
        session, window = open_window(app, options.model)
        try:
            told = measure(session, window, options)
        finally:
            end_window(window, session)
        del garbage
    print(json.dumps(told) if options.json else "\n".join(f"{name}: {value}" for name, value in told.items()))
    beyond = told["beyond_idle_percent"]
    is_cheap = isinstance(beyond, float) and beyond <= MOST_PERCENT
    return int(not is_cheap or told["verdict"] not in ("within noise", "small"))


if __name__ == "__main__":
    sys.exit(main())
