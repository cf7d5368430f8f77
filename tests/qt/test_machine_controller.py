"""When the machine is looked at, and how rarely: every call to the drivers, the engine and the RAM is counted."""

import dataclasses
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.common.problem import fail
from app.engine.locate import EngineBinary
from app.hardware.free_now import FreeNow
from app.hardware.ps import RamNow
from app.hardware.types import GpuInfo
from app.session import machine_controller
from app.session.app_session import AppSession
from app.session.jobs import JobRunner
from app.session.machine_controller import FreeReason, MachineController
from app.session.state import RunPhase, RunState
from app.work.bandwidth_store import with_bandwidth
from app.work.machine import MachineCalls
from tests.qt import page_fixtures as fx

GIB = 1 << 30
MIB = 1 << 20
ENGINE = EngineBinary("/nowhere/llama-server", "explicit")


class Counted:
    """Answers as a laptop would, counts every question, and can be told what is free now."""

    def __init__(self):
        self.counts = {"look": 0, "read_free": 0, "ask_engine": 0, "measure": 0}
        self.free_vram = 11 * GIB
        self.free_ram = 20 * GIB
        self.only_engine = False
        self.gate = None

    def calls(self):
        return MachineCalls(self.look, self.read_free, self.ask_engine, self.measure)

    def look(self, binary, servers):
        self.counts["look"] += 1
        laptop = fx.laptop()
        memory = dataclasses.replace(laptop.memory, measured_gbs=None, available_bytes=self.free_ram)
        card = dataclasses.replace(laptop.gpus[0], free_bytes=self.free_vram)
        source = "engine" if self.only_engine else "nvml"
        sources = {k: v for k, v in laptop.sources.items() if k != "memory.measured_gbs"}
        sources["gpus.0.free_bytes"] = source
        return dataclasses.replace(laptop, memory=memory, gpus=(card,), sources=sources)

    def read_free(self, snapshot):
        self.counts["read_free"] += 1
        return FreeNow(RamNow(32 * GIB, self.free_ram), {0: self.free_vram}, {0: snapshot.gpus[0].is_asleep})

    def ask_engine(self, snapshot, binary, servers):
        self.counts["ask_engine"] += 1
        return snapshot

    def measure(self, snapshot, cancelled):
        self.counts["measure"] += 1
        if self.gate is not None:
            self.gate.wait(10)
        if cancelled():
            raise fail("bandwidth_cancelled")
        return with_bandwidth(snapshot, 42.0, "2026-11-29T12:00:00+00:00")


@pytest.fixture
def counted():
    return Counted()


@pytest.fixture
def quiet():
    return {"is": True}


@pytest.fixture
def jobs(qapp):
    runner = JobRunner()
    yield runner
    runner.close()


@pytest.fixture
def machine(qtbot, jobs, counted, quiet, monkeypatch):
    monkeypatch.setattr(machine_controller, "_FRESH_MS", 0)
    monkeypatch.setattr(machine_controller, "_LAUNCH_FRESH_MS", 0)
    monkeypatch.setattr(machine_controller, "_FOCUS_WAIT_MS", 0)
    monkeypatch.setattr(machine_controller, "_AUTO_MEASURE_MS", 0)
    made = MachineController(jobs, lambda: ENGINE, lambda: quiet["is"])
    made.use_calls(counted.calls())
    yield made
    made.close()


@pytest.fixture
def looked(machine, qtbot, jobs, counted):
    machine.look_first()
    machine.ask_engine()
    qtbot.waitUntil(lambda: jobs.is_idle)
    for name in counted.counts:
        counted.counts[name] = 0
    return machine


def _settle(qtbot, jobs):
    qtbot.wait(20)  # a timer of 0 ms that should not fire has had its turn
    qtbot.waitUntil(lambda: jobs.is_idle)


def test_that_the_start_looks_once_and_asks_the_engine_once(machine, qtbot, jobs, counted):
    machine.look_first()
    qtbot.waitUntil(lambda: machine.hardware is not None)
    machine.ask_engine()
    qtbot.waitUntil(lambda: jobs.is_idle)
    assert counted.counts == {"look": 1, "read_free": 0, "ask_engine": 1, "measure": 0}
    assert machine.age_seconds < 60


def test_that_nothing_is_asked_while_the_window_only_stands_there(looked, qtbot, jobs, counted):
    qtbot.wait(300)
    assert counted.counts == {"look": 0, "read_free": 0, "ask_engine": 0, "measure": 0}


def test_that_a_window_that_comes_to_the_front_reads_free_memory_once_and_never_starts_the_engine(
    looked, qtbot, jobs, counted
):
    counted.only_engine = True
    app = QGuiApplication.instance()
    for _ in range(5):
        app.applicationStateChanged.emit(Qt.ApplicationState.ApplicationInactive)
        app.applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)
    qtbot.waitUntil(lambda: counted.counts["read_free"] > 0)
    _settle(qtbot, jobs)
    assert counted.counts == {"look": 0, "read_free": 1, "ask_engine": 0, "measure": 0}


def test_that_a_window_that_goes_away_again_at_once_asks_nothing(looked, qtbot, jobs, counted):
    app = QGuiApplication.instance()
    app.applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)
    app.applicationStateChanged.emit(Qt.ApplicationState.ApplicationInactive)
    _settle(qtbot, jobs)
    assert counted.counts["read_free"] == 0


def test_that_young_figures_are_not_read_again(looked, qtbot, jobs, counted, monkeypatch):
    monkeypatch.setattr(machine_controller, "_FRESH_MS", 60_000)
    for reason in (FreeReason.FOCUS, FreeReason.MODEL):
        looked.refresh_free(reason)
    _settle(qtbot, jobs)
    assert counted.counts["read_free"] == 0


def test_that_the_engine_is_asked_only_where_it_alone_knows_and_a_model_or_a_launch_needs_it(
    machine, qtbot, jobs, counted
):
    counted.only_engine = True
    machine.look_again()
    qtbot.waitUntil(lambda: jobs.is_idle)
    for reason in FreeReason:
        machine.refresh_free(reason)
        qtbot.waitUntil(lambda: jobs.is_idle)
    assert counted.counts["ask_engine"] == 2
    assert counted.counts["read_free"] == 3


def test_that_a_sleeping_card_is_not_woken_by_the_engine(machine, qtbot, jobs, counted):
    counted.only_engine = True
    machine.look_again()
    qtbot.waitUntil(lambda: jobs.is_idle)
    asleep = dataclasses.replace(machine.hardware.gpus[0], is_asleep=True)
    machine.hardware = dataclasses.replace(machine.hardware, gpus=(asleep,))
    machine.refresh_free(FreeReason.MODEL)
    qtbot.waitUntil(lambda: jobs.is_idle)
    assert counted.counts["ask_engine"] == 0


def test_that_no_card_is_asked_while_a_server_runs(looked, qtbot, jobs, counted, quiet):
    quiet["is"] = False
    done = []
    for reason in FreeReason:
        looked.refresh_free(reason, lambda: done.append(True))
    looked.measure_for_plan()
    _settle(qtbot, jobs)
    assert counted.counts == {"look": 0, "read_free": 0, "ask_engine": 0, "measure": 0}
    assert len(done) == 3, "what waits for the reading goes on all the same"


def test_that_a_saved_machine_is_never_asked(looked, qtbot, jobs, counted):
    looked.use_snapshot(fx.laptop())
    for reason in FreeReason:
        looked.refresh_free(reason)
    looked.ask_engine()
    _settle(qtbot, jobs)
    assert counted.counts == {"look": 0, "read_free": 0, "ask_engine": 0, "measure": 0}
    assert looked.age_seconds is None


@pytest.mark.parametrize(("less", "told"), [(10 * MIB, False), (200 * MIB, True)])
def test_that_noise_does_not_reach_the_board_but_the_age_starts_anew(looked, qtbot, jobs, counted, less, told):
    before = looked.hardware
    changes, fresh = [], []
    looked.changed.connect(lambda: changes.append(looked.hardware))
    looked.freshness_changed.connect(lambda: fresh.append(True))
    counted.free_vram -= less
    looked.refresh_free(FreeReason.FOCUS)
    qtbot.waitUntil(lambda: bool(fresh))
    assert bool(changes) is told
    assert looked.hardware.gpus[0].free_bytes == before.gpus[0].free_bytes - (less if told else 0)


def test_that_two_wishes_at_once_are_one_reading_and_both_are_answered(looked, qtbot, counted):
    done = []
    looked.refresh_free(FreeReason.MODEL, lambda: done.append("model"))
    looked.refresh_free(FreeReason.LAUNCH, lambda: done.append("launch"))
    qtbot.waitUntil(lambda: len(done) == 2)
    assert done == ["model", "launch"]
    assert counted.counts["read_free"] == 1


def test_that_a_reading_that_fails_is_told_and_what_waits_goes_on(looked, qtbot, counted):
    def fails(snapshot):
        raise fail("memory_probe_failed")

    looked.use_calls(dataclasses.replace(counted.calls(), read_free=fails))
    told, done = [], []
    looked.failed.connect(told.append)
    looked.refresh_free(FreeReason.LAUNCH, lambda: done.append(True))
    qtbot.waitUntil(lambda: bool(done))
    assert [p.code for p in told] == ["memory_probe_failed"]


# RAM speed.


def test_that_the_first_plan_measures_once_and_the_figure_replaces_the_unknown(looked, qtbot, jobs, counted):
    looked.measure_for_plan()
    qtbot.waitUntil(lambda: looked.hardware.memory.measured_gbs is not None)
    assert looked.hardware.memory.measured_gbs == 42.0
    assert looked.hardware.memory.measured_at == "2026-11-29T12:00:00+00:00"
    looked.measure_for_plan()
    _settle(qtbot, jobs)
    assert counted.counts["measure"] == 1


def test_that_a_server_that_starts_ends_the_measurement_and_the_next_plan_tries_again(looked, qtbot, jobs, counted):
    counted.gate = threading.Event()
    told = []
    looked.failed.connect(told.append)
    looked.measure_for_plan()
    qtbot.waitUntil(lambda: counted.counts["measure"] == 1)
    assert looked.is_measuring
    looked.cancel_measuring()
    counted.gate.set()
    qtbot.waitUntil(lambda: not looked.is_measuring)
    assert told == []
    looked.measure_for_plan()
    qtbot.waitUntil(lambda: looked.hardware.memory.measured_gbs == 42.0)


def test_that_measuring_is_refused_with_a_reason_while_a_server_runs(looked, qtbot, jobs, counted, quiet):
    quiet["is"] = False
    told = []
    looked.failed.connect(told.append)
    looked.measure()
    assert [p.code for p in told] == ["bandwidth_server_runs"]
    assert counted.counts["measure"] == 0


def test_that_a_measured_speed_outlives_another_look(looked, qtbot, jobs, counted):
    looked.measure()
    qtbot.waitUntil(lambda: not looked.is_measuring)
    looked.look_again()
    qtbot.waitUntil(lambda: jobs.is_idle)
    assert counted.counts["look"] == 1
    assert looked.hardware.memory.measured_gbs == 42.0


# In the whole session.


@pytest.fixture
def session(qtbot, monkeypatch, tmp_path, counted):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    monkeypatch.setattr(machine_controller, "_FRESH_MS", 0)
    made = AppSession()
    made.machine.use_calls(counted.calls())
    yield made
    made.close()


def test_that_refreshing_moves_no_card_of_an_edited_plan(session, qtbot, counted):
    session.start(None)
    session.open_demo()
    qtbot.waitUntil(lambda: session.plan is not None and session.is_idle)
    session.set_expert_layers_in_ram(1)
    placement = session.plan.placement
    gpu = session.plan.devices.gpus[0].name
    counted.free_vram -= 3 * GIB
    session.machine.refresh_free(FreeReason.FOCUS)
    qtbot.waitUntil(lambda: session.plan.estimate.get(gpu).free_bytes == counted.free_vram)
    assert session.plan.placement == placement
    assert session.plan.is_edited


def test_that_a_running_server_is_never_measured_beside(session, qtbot, counted):
    session.start(None)
    qtbot.waitUntil(lambda: session.hardware is not None and session.is_idle)
    session._run.state = RunState(RunPhase.READY)
    messages = []
    session.message_raised.connect(messages.append)
    session.measure_ram()
    session._run.state = RunState(RunPhase.STOPPED)
    assert [m.code for m in messages] == ["bandwidth_server_runs"]
    assert counted.counts["measure"] == 0


def test_that_a_card_of_another_count_is_news(looked):
    more = dataclasses.replace(looked.hardware, gpus=(*looked.hardware.gpus, GpuInfo("X", "gpu", None, None, None)))
    assert machine_controller._moved(looked.hardware, more)
    assert not machine_controller._moved(looked.hardware, looked.hardware)
