"""The pages in the states worth looking at, by name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.monitor.sample import Sample
from app.session.state import EnginePhase, EngineState, RunPhase, RunState
from app.ui.pages.machine import MachinePage
from app.ui.pages.run import RunPage
from app.ui.pages.settings import SettingsPage
from tests.qt import page_fixtures as fx


def _keep(page: QWidget, session: fx.FakeSession) -> QWidget:
    session.setParent(page)
    return page


def run_answering() -> QWidget:
    session = fx.running_session()
    page = RunPage(session)
    session.sample_added.emit(Sample(0.0, fx.sample_values(109.0)))
    return _keep(page, session)


def run_stopped() -> QWidget:
    session = fx.FakeSession()
    return _keep(RunPage(session), session)


def run_loading() -> QWidget:
    session = fx.running_session()
    session.chat = fx.FakeSession().chat
    session.ring = fx.history(6)
    session.log = "\n".join(fx.LOG.splitlines()[:8])
    session.run = fx.loading_run()
    page = RunPage(session)
    session.sample_added.emit(Sample(0.0, fx.sample_values(6.0)))
    return _keep(page, session)


def run_failed() -> QWidget:
    session = fx.FakeSession()
    session.run = fx.failed_run()
    session.log = "\n".join(fx.LOG.splitlines()[:8] + list(session.run.problem.evidence))
    session.ring = fx.history(12)
    return _keep(RunPage(session), session)


def run_differs() -> QWidget:
    session = fx.running_session()
    session.run = fx.ready_run(buffers=fx.buffers(agree=False), affinity=tuple(range(32)), plan_differs=True)
    session.ring = fx.history(gpu_source=False)
    page = RunPage(session)
    session.sample_added.emit(Sample(0.0, fx.sample_values(109.0, gpu_source=False)))
    return _keep(page, session)


def run_no_model() -> QWidget:
    session = fx.FakeSession()
    session.model = session.plan = session.hardware = None
    session.run = RunState(RunPhase.STOPPED)
    return _keep(RunPage(session), session)


def machine_laptop() -> QWidget:
    session = fx.FakeSession()
    return _keep(MachinePage(session), session)


def machine_bare() -> QWidget:
    session = fx.FakeSession()
    session.hardware = fx.bare_machine()
    return _keep(MachinePage(session), session)


def settings_ready() -> QWidget:
    session = fx.FakeSession()
    return _keep(SettingsPage(session, build_problem=lambda: None), session)


def settings_building() -> QWidget:
    session = fx.FakeSession()
    session.engine = EngineState(EnginePhase.BUILDING, progress=0.42)
    return _keep(SettingsPage(session, build_problem=lambda: None), session)


SCENES: dict[str, Callable[[], QWidget]] = {
    "run-answering": run_answering,
    "run-stopped": run_stopped,
    "run-loading": run_loading,
    "run-failed": run_failed,
    "run-differs": run_differs,
    "run-no-model": run_no_model,
    "machine-laptop": machine_laptop,
    "machine-bare": machine_bare,
    "settings-ready": settings_ready,
    "settings-building": settings_building,
}
