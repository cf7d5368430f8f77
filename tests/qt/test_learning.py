"""What the window learns: from the engine's answers and from launches, for the board's next plan."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject, Signal

from app.common.capabilities import Capabilities
from app.common.paths import app_paths
from app.diagnose.buffers import BufferRow
from app.engine.locate import EngineBinary
from app.monitor.sample import Sample
from app.planner.devices import DeviceWishes
from app.planner.learned import MemoryFigures
from app.planner.plan import make_plan
from app.planner.types import Wishes
from app.session.jobs import JobRunner
from app.session.learning_controller import LearningController
from app.session.state import RunPhase, RunState
from app.work.engines import EngineHandle
from app.work.learned import LearnedStore
from app.work.learned_memory import formula_of
from app.work.planning import plan_inputs
from app.work.verifying import Verification, VerifiedDevice
from tests.qt.plan_models import laptop, qwen3_30b

MIB = 1 << 20
ENGINE = EngineHandle(EngineBinary("llama-server"), Capabilities(frozenset(), "b11434"))


class _Board:
    """Plans anew with what was learned, as the real one does."""

    def __init__(self):
        self.model = qwen3_30b()
        self.use_learned(None)

    def use_learned(self, learned):
        taught = {} if learned is None else {"learned": learned()}
        inputs = plan_inputs(self.model, laptop(), Wishes(), DeviceWishes(), ENGINE.capabilities, **taught)
        self.plan = make_plan(inputs)


class _Run(QObject):
    changed = Signal()
    sample_added = Signal(object)
    log_added = Signal(list)

    def __init__(self):
        super().__init__()
        self.state = RunState(RunPhase.STOPPED)
        self.plan = None

    def go(self, phase, **state):
        self.state = RunState(phase, **state)
        self.changed.emit()


@pytest.fixture
def machine():
    return SimpleNamespace(hardware=laptop(), is_saved=False)


@pytest.fixture
def window(qtbot, machine):
    jobs, board, run = JobRunner(), _Board(), _Run()
    run.plan = board.plan
    learning = LearningController(jobs, app_paths(), board, machine, SimpleNamespace(handle=ENGINE), run)
    yield SimpleNamespace(jobs=jobs, board=board, run=run, learning=learning)
    jobs.close()


def _card(window):
    return window.board.plan.estimate.get("CUDA0")


def _answer(window, extra_mib):
    ours = formula_of(_card(window))
    engine = replace(ours, compute=ours.compute + extra_mib * MIB)
    return Verification((VerifiedDevice("CUDA0", ours, engine),), (), 0.4)


def _launch(window, more_mib, end=RunPhase.STOPPED):
    card = _card(window)
    figures = MemoryFigures(card.weights_bytes, card.kv_bytes, card.compute_bytes)
    rows = tuple(
        BufferRow("CUDA0", what, getattr(figures, what), getattr(figures, what), True)
        for what in ("weights", "kv", "compute")
    )
    window.run.plan = window.board.plan
    window.run.go(RunPhase.STARTING)
    window.run.go(RunPhase.STARTING, pid=4242)
    window.run.go(RunPhase.READY, buffers=rows)
    window.run.sample_added.emit(Sample(1.0, {"gpu.CUDA0.process": float(figures.total + more_mib * MIB)}))
    window.run.go(end, buffers=rows)


def test_that_a_difference_changes_the_board_and_agreement_changes_it_back(window, qtbot):
    before = _card(window)
    with qtbot.waitSignal(window.learning.changed):
        window.learning.verified(window.board.plan, _answer(window, 300))
    assert _card(window).compute_bytes == before.compute_bytes + 300 * MIB
    assert formula_of(_card(window)).compute == before.compute_bytes
    with qtbot.waitSignal(window.learning.changed):
        window.learning.verified(window.board.plan, _answer(window, 0))
    assert _card(window) == before


def test_that_agreement_writes_nothing_and_replans_nothing(window, qtbot):
    with qtbot.assertNotEmitted(window.learning.changed):
        window.learning.verified(window.board.plan, _answer(window, 2))
        qtbot.waitUntil(lambda: window.jobs.is_idle)
    assert not app_paths().learned_file.exists()


def test_that_a_launch_teaches_its_cards_overhead_once_it_has_ended(window, qtbot):
    assert _card(window).overhead_kind == "estimated"
    for more_mib in (210, 250):
        with qtbot.waitSignal(window.learning.changed):
            _launch(window, more_mib)
    assert (_card(window).overhead_bytes, _card(window).overhead_launches) == (250 * MIB, 2)
    with qtbot.waitSignal(window.learning.changed):
        window.learning.forget()
    assert _card(window).overhead_kind == "estimated"
    assert LearnedStore(app_paths().learned_file).load("overhead").observations == ()


def test_that_a_server_that_was_never_ready_teaches_nothing(window, qtbot):
    window.run.go(RunPhase.STARTING)
    window.run.sample_added.emit(Sample(1.0, {"gpu.CUDA0.process": 5e9}))
    window.run.go(RunPhase.FAILED)
    qtbot.waitUntil(lambda: window.jobs.is_idle)
    assert not app_paths().learned_file.exists()


def test_that_a_saved_machine_neither_teaches_nor_learns(window, qtbot, machine):
    with qtbot.waitSignal(window.learning.changed):
        _launch(window, 240)
    assert _card(window).overhead_kind == "calibrated"
    machine.is_saved = True
    window.learning.verified(window.board.plan, _answer(window, 500))
    _launch(window, 999)
    window.board.use_learned(window.learning._usable)
    qtbot.waitUntil(lambda: window.jobs.is_idle)
    assert _card(window).overhead_kind == "estimated"
    assert len(LearnedStore(app_paths().learned_file).load("overhead").observations) == 1


def test_that_a_damaged_file_is_told_once_and_learning_goes_on(window, qtbot):
    path = app_paths().learned_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 4096)
    with qtbot.waitSignal(window.learning.failed) as told:
        window.learning.load()
    assert told.args[0].code == "learned_damaged"
    with qtbot.waitSignal(window.learning.changed):
        _launch(window, 240)
    assert _card(window).overhead_launches == 1
