"""Kept runs in the window: kept when a run ends, two chosen at once, a table and curves over each other."""

import dataclasses

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel
from PySide6.QtWidgets import QWidget

from app.common.paths import app_paths
from app.common.problem import Problem
from app.monitor.sample import Sample
from app.planner.types import RAM
from app.session.history_controller import HistoryController
from app.session.jobs import JobRunner
from app.session.run_controller import RunController
from app.session.state import RunPhase, RunState
from app.ui.dialogs.runs import RunsDialog
from app.ui.dialogs.runs_words import compare_rows, duration_text
from app.work.run_history import RequestPoint, RunRecord
from tests.qt import page_fixtures as fx

GIB = 1 << 30


def record(speed, vram, **changes):
    made = RunRecord(
        at="2026-11-29T18:00:00+00:00",
        model="Qwen3-30B-A3B",
        command=f"c{speed}",
        argv=(),
        engine_build="b11434 (build 0)",
        seconds=185.0,
        n_ctx=16384,
        planned={"CUDA0": 11 * GIB, RAM: 8 * GIB},
        planned_tps=30.0,
        times=tuple(float(t) for t in range(0, 180, 3)),
        columns={
            "tok.decode": tuple(None if 20 <= t < 24 else speed + t % 3 for t in range(60)),
            "gpu.CUDA0.used": tuple(float(vram) if t > 5 else t * vram / 6 for t in range(60)),
            "server.rss": tuple(7.5 * GIB for _ in range(60)),
            "gpu.CUDA0.temperature": tuple(60.0 + t / 10 for t in range(60)),
        },
        requests=tuple(RequestPoint(9.0 * i, 512, 400.0, 128, speed - i / 2, 600 * (i + 1)) for i in range(18)),
    )
    return dataclasses.replace(made, **changes)


@pytest.fixture
def dialog(qtbot, qapp):
    session = fx.FakeSession()
    host = QWidget()
    host.resize(1282, 768)
    qtbot.addWidget(host)
    made = RunsDialog(session, host)
    yield made, session
    made.close()


def test_that_an_empty_list_says_when_a_run_is_kept(dialog):
    made, session = dialog
    assert not made.empty.isHidden()
    assert not made.forget.isEnabled()
    assert ("load_runs",) in session.calls


def test_that_the_newest_two_are_compared_at_once(dialog):
    made, session = dialog
    older, newer = record(30.0, 10 * GIB), record(33.0, 11 * GIB, at="2026-11-29T19:00:00+00:00")
    session.runs.show((newer, older))
    assert made.chosen == (older, newer)
    told = {made.table.item(i, 0).text(): made.table.item(i, 3).text() for i in range(made.table.rowCount())}
    assert told["Decode"].startswith("+1")
    assert told["CUDA0, peak"] == "+10.0 %"
    assert told["Command"] == "another"
    curve = made.decode.chart._curves[1]
    xs, ys = curve.xs, curve.ys
    assert xs[-1] == 177.0
    assert np.isnan(ys).sum() == 4


def test_that_one_run_is_shown_alone_and_its_own_figures_have_no_difference(dialog):
    made, session = dialog
    session.runs.show((record(30.0, 10 * GIB),))
    assert len(made.chosen) == 1
    assert made.table.isColumnHidden(2)
    assert made.table.isColumnHidden(3)
    assert len(made.decode.chart._curves) == 1


def test_that_the_keyboard_chooses_and_three_are_two(dialog):
    made, session = dialog
    session.runs.show([record(30.0 + i, 10 * GIB) for i in range(3)])
    flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    for row in range(3):
        made.list.selectionModel().select(made.list.model().index(row, 0), flags)
    assert len(made.chosen) == 2
    made.list.clearSelection()
    assert made.chosen == ()
    assert made.table.rowCount() == 0
    made.forget.click()
    assert ("forget_runs",) in session.calls
    assert made.list.rowCount() == 0


def test_that_what_neither_run_told_is_left_out_and_one_sided_figures_are_dashes():
    bare = record(30.0, 10 * GIB, columns={}, times=(), requests=())
    rows = {row.what: row for row in compare_rows(bare, record(30.0, 10 * GIB))}
    assert rows["CUDA0, peak"].first == "—"
    assert rows["CUDA0, peak"].difference == ""
    assert "CUDA0, most power" not in rows
    assert [duration_text(s) for s in (12.2, 185, 3730)] == ["12 s", "3:05", "1:02:10"]


@pytest.fixture
def kept(qapp, monkeypatch):
    """A history over a run without a server, on a clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr("app.session.history_controller.time.monotonic", lambda: now[0])
    jobs = JobRunner()
    run = RunController(jobs, app_paths())
    run._plan = fx.plan()
    history = HistoryController(jobs, app_paths(), run, lambda: ("Qwen", "b11434"))
    yield history, run, now
    jobs.close()


def _phase(run, phase, problem=None):
    run.state = RunState(phase, problem=problem)
    run.changed.emit()


def test_that_a_run_is_kept_when_it_ends_with_the_reason_of_its_end(kept, qtbot):
    history, run, now = kept
    _phase(run, RunPhase.STARTING)
    _phase(run, RunPhase.READY)
    run.sample_added.emit(Sample(101.0, {"server.rss": 5.0}))
    now[0] = 120.0
    _phase(run, RunPhase.FAILED, Problem("vram_oom_cuda"))
    qtbot.waitUntil(lambda: bool(history.runs))
    (told,) = history.runs
    assert (told.seconds, told.reason, told.model) == (20.0, "vram_oom_cuda", "Qwen")
    assert told.columns["server.rss"] == (0.0,)
    history.forget()
    qtbot.waitUntil(lambda: history.runs == ())


def test_that_closing_the_window_over_a_running_server_keeps_its_run(kept, qtbot):
    history, run, now = kept
    _phase(run, RunPhase.STARTING)
    _phase(run, RunPhase.READY)
    now[0] = 150.0
    history.close()
    history.load()
    qtbot.waitUntil(lambda: len(history.runs) == 1)


def test_that_a_launch_that_never_got_ready_leaves_no_run(kept, qtbot):
    history, run, now = kept
    _phase(run, RunPhase.STARTING)
    now[0] = 200.0
    _phase(run, RunPhase.FAILED, Problem("vram_oom_cuda"))
    qtbot.waitUntil(lambda: history._jobs.is_idle)
    assert history.runs == ()


def _request_lines(task, depth, tps):
    return [
        f"0.01.000.000 I slot launch_slot_: id  0 | task {task} | processing task, is_child = 0",
        f"slot print_timing: id  0 | task {task} | prompt eval time =      50.00 ms /    20 tokens "
        "(    2.50 ms per token,   400.00 tokens per second)",
        f"slot print_timing: id  0 | task {task} |        eval time =    1000.00 ms /    60 tokens "
        f"(   16.67 ms per token,    {tps} tokens per second)",
        f"slot      release: id  0 | task {task} | stop processing: n_tokens = {depth}, truncated = 0",
    ]


def test_that_the_requests_of_a_run_are_told_as_they_end_and_stay_until_the_next_run(kept):
    history, run, now = kept
    told = []
    history.requests_changed.connect(lambda: told.append([(r.depth, r.decode_tps) for r in history.requests]))
    _phase(run, RunPhase.STARTING)
    _phase(run, RunPhase.READY)
    run.log_added.emit(["a line that says nothing of a request"])
    assert told == []
    run.log_added.emit(_request_lines(0, 80, 60.5))
    now[0] = 110.0
    run.log_added.emit(_request_lines(1, 160, 58.25))
    assert told == [[(80, 60.5)], [(80, 60.5), (160, 58.25)]]
    _phase(run, RunPhase.STOPPED)
    assert len(history.requests) == 2
    _phase(run, RunPhase.STARTING)
    assert told[-1] == []
    assert history.requests == ()


def test_that_a_prompt_of_any_program_is_one_point_of_its_curve(kept):
    _, run, _ = kept
    samples = []
    run.sample_added.connect(lambda sample: samples.append(sample.values["tok.prompt"]))
    run._monitor = object()
    for line in _request_lines(0, 80, 60.5):
        run._add_log(line)
    for at in (1.0, 1.5):
        run._on_sample(0, Sample(at, {}))
    run._add_log(_request_lines(1, 90, 60.5)[1].replace("   20 tokens", "    1 tokens"))
    run._on_sample(0, Sample(2.0, {}))
    assert samples == [400.0, None, None]
    run._monitor = None
