"""A card move, from the wish to the repainted bars: planning, model updates and painting, offscreen, 1366x768.

Run: python -m benchmarks.card_move [--moves 100] [--json]
One move = the session's ``move_cards`` and the repaint of the whole window that follows. The alternative beside it is
what a move would cost if the columns were built anew (a reset of both trees). Target: <= 16 ms, one frame.
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


def _session(folder: str):
    os.environ["LANEWISE_HOME"] = folder
    from app.common.start_options import WindowOptions
    from app.hardware.snapshot_file import load_snapshot
    from app.ui import start
    from app.ui.tour import wait_until
    from tests.tools.sparse_models import make_sparse

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


def _time_moves(app, session, window, n_moves: int) -> list[float]:
    times = []
    for i in range(n_moves):
        block = 3 + i // 2 % 20
        device = "RAM" if i % 2 == 0 else session.plan.devices.gpus[0].name
        begin = time.perf_counter()
        session.move_cards((f"experts:{block}",), device)
        app.processEvents()
        times.append((time.perf_counter() - begin) * 1000)
    return times


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
        moves = _time_moves(app, session, window, options.moves)
        rebuilt = _time_rebuild(app, window, max(5, options.moves // 5))
        session.close()
    result = {
        "move_median_ms": round(statistics.median(moves), 2),
        "move_p95_ms": round(sorted(moves)[int(len(moves) * 0.95)], 2),
        "rebuild_median_ms": round(statistics.median(rebuilt), 2),
        "target_ms": 16,
    }
    print(json.dumps(result) if options.json else "\n".join(f"{k:20} {v}" for k, v in result.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
