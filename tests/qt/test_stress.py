"""The stress run in the window: one button, cancelled at once, and a stamp that leaves with the plan it belongs to."""

import dataclasses
import threading

import pytest

from app.common.paths import app_paths
from app.common.problem import Problem
from app.planner.types import RAM
from app.session.jobs import JobRunner
from app.session.run_controller import RunController
from app.session.state import RunPhase, RunState
from app.session.stress_controller import StressController, StressState
from app.ui.pages.plan_stamp import PlanStamp
from app.ui.pages.run_stress import StressRow
from app.ui.pages.stress_words import details, stamp_told
from app.work.stress import StressCancelledError, StressEngine, StressProgress
from app.work.stress_stamp import PeakUse, StressStamp, command_of
from tests.qt import page_fixtures as fx

GIB = 1 << 30


def stamp(**changes):
    peaks = (PeakUse("CUDA0", 10 * GIB, 2 * GIB, 9 * GIB, "driver"), PeakUse(RAM, GIB, 30 * GIB, GIB, "system"))
    made = StressStamp("c", "2026-11-29T18:00:00+00:00", "b11434", "", 16376, 16384, 3.0, 400.0, 30.0, peaks)
    return dataclasses.replace(made, **changes)


@pytest.fixture
def session(qapp):
    made = fx.FakeSession()
    yield made
    made.deleteLater()


def test_that_the_row_starts_shows_progress_and_cancels(qtbot, session):
    row = StressRow(session)
    qtbot.addWidget(row)
    assert row.isHidden()
    session.stress.may_start = True
    session.stress.show()
    assert not row.isHidden()
    row.button.click()
    assert (row.bar.value(), row.bar.maximum()) == (1024, 4096)
    assert "1 024" in row.text
    row.button.click()
    assert session.calls == [("stress", None), ("stress_cancel",)]
    session.stress.show(StressState(problem=Problem("stress_cut_short", params={"depth": 5})))
    assert "5" in row.text
    session.stress.show(stamp=stamp())
    assert "2 048 MiB left on CUDA0" in row.text


def test_that_the_board_has_a_stamp_only_while_its_plan_has_one(qtbot, session):
    line = PlanStamp(session)
    qtbot.addWidget(line)
    assert line.isHidden()
    session.stress.show(stamp=stamp())
    assert not line.isHidden()
    assert "16 376 tokens" in line.text
    session.stress.stamp = None
    session.plan_changed.emit()
    assert line.isHidden()


def test_that_the_words_tell_the_tightest_device_and_what_ran_over():
    assert stamp_told(stamp()).tone == "ok"
    over = stamp(peaks=(PeakUse("CUDA0", GIB, -5, GIB, "engine"), PeakUse(RAM, GIB, GIB, GIB, "system")))
    assert stamp_told(over).tone == "error"
    assert "CUDA0 ran over" in stamp_told(over).text
    spilled = stamp(peaks=(PeakUse("CUDA0", GIB, GIB, GIB, "driver", GIB), PeakUse(RAM, GIB, 1, GIB, "system")))
    assert "CUDA0 ran over" in stamp_told(spilled).text
    unknown = stamp(peaks=(PeakUse("CUDA0", None, None, GIB, "engine"),), at="yesterday")
    assert "nobody tells" in stamp_told(unknown).text
    assert details(unknown) == "CUDA0: peak —, — left (the engine's own sum)"


@pytest.fixture
def stress(qapp):
    """A controller over a run that is ready, without a server."""
    jobs = JobRunner()
    run = RunController(jobs, app_paths())
    run._plan = fx.plan()
    run.state = RunState(RunPhase.READY, url="http://127.0.0.1:1", pid=1)
    made = StressController(jobs, app_paths(), run, lambda: (fx.laptop(), StressEngine("b11434", "")))
    yield made, run
    made.cancel()
    jobs.close()


def test_that_a_stamp_is_kept_for_its_command_and_its_engine(stress, qtbot, monkeypatch):
    made, run = stress
    result = stamp(command=command_of(run.plan.argv))
    monkeypatch.setattr("app.session.stress_controller.stress_server", lambda *_: result)
    made.start()
    assert made.is_running
    qtbot.waitUntil(lambda: not made.is_running)
    assert made.stamp_of(run.plan) == result
    assert made.stamp_of(dataclasses.replace(run.plan, argv=(*run.plan.argv, "-ub", "64"))) is None
    made._around = lambda: (fx.laptop(), StressEngine("b2", ""))
    assert made.stamp_of(run.plan) is None
    made.take_over(stamp(command="other"))
    assert "other" in made._stamps


def test_that_cancel_answers_at_once_and_nothing_comes_after_it(stress, qtbot, monkeypatch):
    made, run = stress
    has_begun, was_stopped = threading.Event(), threading.Event()

    def slow(_plan, _target, _engine, _snapshot, _depth, on_progress, stop):
        on_progress(StressProgress("filling", 1, 2))
        has_begun.set()
        stop.wait(20)
        was_stopped.set()
        raise StressCancelledError

    monkeypatch.setattr("app.session.stress_controller.stress_server", slow)
    made.start()
    assert has_begun.wait(20)
    run.state = RunState(RunPhase.STOPPING)
    run.changed.emit()
    assert not made.is_running
    qtbot.waitUntil(lambda: was_stopped.is_set() and made._jobs.is_idle)
    assert made.state == StressState()
    assert made.stamp_of(run.plan) is None


def test_that_an_error_is_shown_and_the_next_try_is_free(stress, qtbot, monkeypatch):
    made, _ = stress

    def broken(*_):
        raise ValueError("broken")

    monkeypatch.setattr("app.session.stress_controller.stress_server", broken)
    made.start()
    qtbot.waitUntil(lambda: not made.is_running)
    assert made.state.problem is not None
    assert made.may_start
