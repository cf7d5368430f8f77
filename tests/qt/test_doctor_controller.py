"""The doctor behind the window: a failed run is examined, its fix is one step of undo, and no plan is tried twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.common.problem import Problem, Severity
from app.engine.events import Exited, LogLine
from app.monitor.sample import Sample
from app.session.app_session import AppSession
from app.session.state import RunPhase, RunState
from tests.qt.plan_models import qwen3_30b, small_moe

LAPTOP = Path(__file__).parents[1] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"
OOM = (
    "0.1 I load_tensors:        CUDA0 model buffer size =  8000.00 MiB",
    "E ggml_backend_buft_alloc_buffer_n_default: failed to allocate CUDA0 buffer of size 1610612736",
    "E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
)


@pytest.fixture
def session(qtbot):
    made = AppSession()
    made.load_snapshot(str(LAPTOP))
    made._show_model(qwen3_30b())
    yield made
    made.close()


def fail(session, lines=OOM, code=1):
    """A run of the plan on the board that printed these lines and ended; no process is started."""
    run = session._run
    run._number += 1
    run._plan = session.plan
    run._log.clear()
    run._set(RunState(RunPhase.STARTING))
    for line in lines:
        run._on_event(run._number, LogLine(line))
    run._on_event(run._number, Exited(code, Problem("engine_exited", params={"code": str(code)}), ()))


def test_that_an_engine_which_does_not_suit_is_among_the_findings(session, qtbot):
    lacks = Problem("engine_lacks_architecture", Severity.WARNING, {"build": "b9000", "architecture": "qwen3moe"})
    session.doctor.engine_problems = lambda: (lacks,)
    session.doctor.watch(on=True)
    assert "engine_lacks_architecture" in [f.code for f in settled(session, qtbot).findings]
    session.doctor.read_text("\n".join(OOM))
    assert "engine_lacks_architecture" not in [f.code for f in settled(session, qtbot).findings]


def test_that_the_session_tells_what_is_wrong_with_its_engine(session):
    broken = Problem("engine_broken", Severity.ERROR, {"path": "engine", "why": "no answer"})
    assert session.engines.troubles(broken)[0] is broken
    session._engine.state = replace(session.engine, problem=broken)
    assert broken in session.doctor.engine_problems()


def settled(session, qtbot):
    qtbot.waitUntil(lambda: not session.doctor.state.is_busy, timeout=20_000)
    return session.doctor.state


def test_that_a_failed_run_is_explained_without_being_asked(session, qtbot):
    with qtbot.waitSignal(session.doctor.failure_explained, timeout=20_000):
        fail(session)
    state = settled(session, qtbot)
    assert state.findings[0].code == "kv_oom"
    assert state.was_run
    assert state.may_launch_again


def test_that_a_fix_is_one_step_of_undo(session, qtbot):
    fail(session)
    state = settled(session, qtbot)
    before, steps = session.plan, session.undo_stack.count()
    assert session.doctor.apply(0)
    assert session.undo_stack.count() == steps + 1
    assert session.plan.argv == state.findings[0].fix.plan.argv
    assert session.plan.estimate.fits
    session.undo_stack.undo()
    assert session.plan.argv == before.argv


def test_that_a_retry_happens_once_and_never_with_the_plan_that_failed(session, qtbot, monkeypatch):
    launched = []
    monkeypatch.setattr(session.doctor, "_launch", lambda: launched.append(session.plan.argv))
    fail(session)
    first = session.plan.argv
    settled(session, qtbot)
    session.doctor.apply_and_launch(0)
    assert len(launched) == 1
    assert launched[0] != first
    fail(session)
    state = settled(session, qtbot)
    assert not state.may_launch_again
    session.doctor.apply_and_launch(0)
    assert len(launched) == 1
    fix = state.findings[0].fix
    assert fix is None or fix.plan.argv not in {first, launched[0]}


def test_that_a_server_that_became_ready_ends_the_chain_of_failures(session, qtbot):
    fail(session)
    settled(session, qtbot)
    session._run._set(RunState(RunPhase.READY, url="http://127.0.0.1:1"))
    assert session.doctor._tried == frozenset()


def test_that_the_plan_of_another_model_is_not_offered_as_a_cure(session, qtbot):
    fail(session)
    settled(session, qtbot)
    session._show_model(small_moe())
    session.doctor.examine()
    failure = settled(session, qtbot).findings[0]
    assert (failure.code, failure.fix) == ("kv_oom", None)


def test_that_a_log_from_elsewhere_is_judged_and_left_again(session, qtbot, tmp_path):
    path = tmp_path / "other.log"
    path.write_text("E error loading model: unknown model architecture: 'qwen9'\n", encoding="utf-8")
    session.doctor.open_log(str(path))
    state = settled(session, qtbot)
    assert (state.log_name, state.findings[0].code) == ("other.log", "unknown_arch")
    assert not state.may_launch_again
    session.doctor.close_log()
    state = settled(session, qtbot)
    assert state.log_name is None
    assert "unknown_arch" not in [f.code for f in state.findings]


def test_that_a_pasted_log_is_judged(session, qtbot):
    session.doctor.read_text("error: invalid argument: --no-mmap\r\n")
    state = settled(session, qtbot)
    assert state.log_name == ""
    assert state.findings[0].params["new"] == "-lm none"


def test_that_a_log_that_is_not_there_is_told_and_keeps_what_was_shown(session, qtbot):
    session.doctor.examine()
    before = settled(session, qtbot).findings
    session.doctor.open_log("no/such.log")
    state = settled(session, qtbot)
    assert state.problem.code == "doctor_log_missing"
    assert state.findings == before


def test_that_a_page_in_front_follows_the_plan(session, qtbot):
    session.doctor.watch(on=True)
    settled(session, qtbot)
    with qtbot.waitSignal(session.doctor.changed, timeout=20_000):
        session.set_wishes(n_threads=99)
    qtbot.waitUntil(lambda: "too_many_threads" in [f.code for f in session.doctor.state.findings], timeout=20_000)


def test_that_trouble_in_the_figures_of_a_run_is_told_once(session, qtbot):
    told = []
    session.message_raised.connect(told.append)
    run = session._run
    run._plan, run._monitor = session.plan, Nothing()
    run._set(RunState(RunPhase.STARTING))
    run._set(RunState(RunPhase.READY, url="http://127.0.0.1:1"))
    for i in range(40):
        shared = (100 + 60 * i) * 1024.0**2
        run._on_sample(run._number, Sample(float(i), {"gpu.CUDA0.shared": shared, "gpu.CUDA0.used": 12200 * 1024.0**2}))
    run._monitor = None
    assert [p.code for p in told] == ["spill_windows"]


class Nothing:
    """A monitor that has nothing to stop."""

    def stop(self):
        pass

    pause = stop


def test_that_the_report_names_the_failure(session, qtbot):
    fail(session)
    settled(session, qtbot)
    assert "kv_oom" in session.doctor.report()
