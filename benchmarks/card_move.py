"""A card move, from the wish to the repainted bars: planning, model updates and painting, offscreen, 1366x768.

Run: python -m benchmarks.card_move [--moves 100] [--json]
One move = the session's ``move_cards``: "bars" ends when the last budget bar has been painted, "window" when all of the
window has. The alternative beside it is a reset of both trees instead of single rows. Target: bars in 16 ms, a frame.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


_painted = [0.0]
"""When the last budget bar was painted."""


def _note_painted_bars() -> None:
    from app.ui.board.budget_bar import BudgetBar

    paint = BudgetBar.paintEvent

    def paint_and_note(bar, event):
        paint(bar, event)
        _painted[0] = time.perf_counter()

    BudgetBar.paintEvent = paint_and_note


def _session(folder: str):
    os.environ["LANEWISE_HOME"] = folder
    from app.common.start_options import WindowOptions
    from app.hardware.snapshot_file import load_snapshot
    from app.ui import start
    from app.ui.tour import wait_until
    from tests.tools.sparse_models import make_sparse

    _note_painted_bars()  # before any bar exists: Qt remembers what it found
    model = Path(folder) / "qwen3-30b.gguf"
    make_sparse("qwen3-30b", model)
    app = start.make_application()
    session = start.make_session(WindowOptions())
    theme = start.ThemeManager(start.ThemeMode.LIGHT, app)
    theme.apply(app)
    window = start.MainWindow(session, theme)
    window.show()
    data = Path(__file__).parents[1] / "tests" / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"
    session.start(None, load_snapshot(data))
    session.open_model(str(model))
    assert wait_until(lambda: session.plan is not None and session.is_idle, 30)
    return app, session, window


def _time_moves(app, session, window, n_moves: int) -> tuple[list[float], list[float]]:
    """Milliseconds until the last budget bar was painted, and until the whole window was."""
    bars, times = [], []
    for i in range(n_moves):
        block = 3 + i // 2 % 20
        device = "RAM" if i % 2 == 0 else session.plan.devices.gpus[0].name
        before = session.plan
        begin = time.perf_counter()
        session.move_cards((f"experts:{block}",), device)
        if session.plan is before:
            continue  # it was there already
        bars.append((_painted[0] - begin) * 1000)  # the bars are painted within the move, before anything else
        app.processEvents()
        times.append((time.perf_counter() - begin) * 1000)
    assert min(bars) > 0
    return bars, times


def _time_rebuild(app, window, n_moves: int) -> list[float]:
    times = []
    for _ in range(n_moves):
        begin = time.perf_counter()
        for column in window.plan_page.board.columns:
            column.model.beginResetModel()
            column.model.endResetModel()
            column.view.expandAll()
        app.processEvents()
        times.append((time.perf_counter() - begin) * 1000)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        app, session, window = _session(folder)
        app.processEvents()
        session.move_cards(("experts:2",), "RAM")  # the first repaint of a fresh window is not what is measured
        app.processEvents()
        bars, moves = _time_moves(app, session, window, options.moves)
        rebuilt = _time_rebuild(app, window, max(5, options.moves // 5))
        session.close()
    result = {
        "bars_median_ms": round(statistics.median(bars), 2),
        "bars_p95_ms": round(sorted(bars)[int(len(bars) * 0.95)], 2),
        "window_median_ms": round(statistics.median(moves), 2),
        "rebuild_median_ms": round(statistics.median(rebuilt), 2),
        "target_ms": 16,
    }
    print(json.dumps(result) if options.json else "\n".join(f"{k:20} {v}" for k, v in result.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
