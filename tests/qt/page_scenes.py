"""The pages in the states worth looking at, by name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.common.problem import Problem
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import HardwareSnapshot
from app.monitor.sample import Sample
from app.session.engine_getter import GetPhase
from app.session.state import EnginePhase, EngineState, RunPhase, RunState
from app.ui.dialogs.get_engine import GetEngineDialog
from app.ui.pages.machine import MachinePage
from app.ui.pages.run import RunPage
from app.ui.pages.settings import SettingsPage
from app.work.downloads.types import DownloadProgress
from app.work.engine_getting import GetProgress, GetStep
from app.work.other_apps import AppAnswer
from app.work.run_history import RequestPoint
from tests.qt import fake_engines as engines
from tests.qt import page_fixtures as fx
from tests.tools.hardware_data import DATA

_KEPT: list[QWidget] = []
"""Parents of windows that are drawn alone."""


def _keep(page: QWidget, session: fx.FakeSession) -> QWidget:
    session.setParent(page)
    return page


def run_answering() -> QWidget:
    session = fx.running_session()
    page = RunPage(session)
    session.sample_added.emit(Sample(0.0, fx.sample_values(109.0)))
    return _keep(page, session)


def run_depth() -> QWidget:
    """The decode speed against depth, with the requests of an afternoon."""
    session = fx.running_session()
    page = RunPage(session)
    session.sample_added.emit(Sample(0.0, fx.sample_values(109.0)))
    depths = [int(180 * 1.17**i) for i in range(26)]
    session.runs.tell(
        *(RequestPoint(9.0 * i, d // 3, 405.0, 128, 61.5 - d / 700 + (i % 3) / 2, d) for i, d in enumerate(depths))
    )
    page.plots.decode_views.show_view(1)
    return _keep(page, session)


def run_chat() -> QWidget:
    """A conversation of several turns that is over, with code, figures and a system prompt."""
    session = fx.running_session()
    session.talk.turns = (fx.first_turn(),)
    session.talk.takes_pictures, session.talk.n_ctx = True, 16384
    session.talk.system_prompt = "Answer briefly, with an example."
    session.chat = fx.code_answer()
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


def _machine(hardware: HardwareSnapshot, *, is_here: bool = True) -> QWidget:
    session = fx.FakeSession()
    session.hardware, session.is_this_machine, session.judge.is_on = hardware, is_here, True
    session.machine.age_seconds = 12.0 if is_here else None
    return _keep(MachinePage(session), session)


def other_apps() -> QWidget:
    session = fx.running_session()
    page = RunPage(session)
    page.resize(1282, 768)
    page.show_other_apps()
    session.other_apps.end(AppAnswer(("Qwen3-30B-A3B-Q4_K_M",), "Hello! How can I help you today?", 0.84))
    _KEPT.append(_keep(page, session))
    return page.other_apps


def machine_laptop() -> QWidget:
    return _machine(fx.laptop())


def machine_bare() -> QWidget:
    return _machine(fx.bare_machine())


def saved_machine(name: str) -> Callable[[], QWidget]:
    """The page for one of the example machines."""
    return lambda: _machine(load_snapshot(DATA / f"{name}.json"), is_here=False)


def machine_compare() -> QWidget:
    page = _machine(fx.laptop())
    page.resize(1282, 768)
    page.compare_with(load_snapshot(DATA / "desktop-single-channel.json"), "office-pc.json")
    _KEPT.append(page)
    return page.comparison


def settings_ready() -> QWidget:
    session = fx.FakeSession()
    return _keep(SettingsPage(session, build_problem=lambda: None), session)


def settings_building() -> QWidget:
    session = fx.FakeSession()
    session.engine = EngineState(EnginePhase.BUILDING, progress=0.42)
    return _keep(SettingsPage(session, build_problem=lambda: None), session)


def settings_engines() -> QWidget:
    session = fx.FakeSession()
    session.engines.show(engines.CUDA, engines.VULKAN, current=engines.CUDA.id, previous=(engines.VULKAN.id,))
    return _keep(SettingsPage(session, build_problem=lambda: None), session)


def _get_engine(**state: object) -> QWidget:
    session = fx.FakeSession()
    dialog = GetEngineDialog(session, None, for_windows=True)
    session.engines.show_get(offers=engines.windows_offers(), **state)
    return _keep(dialog, session)


def get_engine_choosing() -> QWidget:
    return _get_engine(phase=GetPhase.CHOOSING)


def get_engine_loading() -> QWidget:
    download = DownloadProgress(
        "llama-b11434-bin-win-cuda-12.4-x64.zip", 1, 2, 90_000_000, 253_938_543, 90_000_000, 645_382_170, 8.4e6, 66.0
    )
    return _get_engine(phase=GetPhase.GETTING, progress=GetProgress(GetStep.DOWNLOADING, "x", download))


def get_engine_failed() -> QWidget:
    params = {"package": "cuda-12.4", "gpu": engines.CARD.name}
    problem = Problem("engine_sees_no_card", params=params, evidence=("--list-devices: (none)",))
    return _get_engine(phase=GetPhase.CHOOSING, problem=problem, failed=("cuda-12.4",))


SCENES: dict[str, Callable[[], QWidget]] = {
    "run-answering": run_answering,
    "run-depth": run_depth,
    "run-chat": run_chat,
    "run-stopped": run_stopped,
    "run-loading": run_loading,
    "run-failed": run_failed,
    "run-differs": run_differs,
    "run-no-model": run_no_model,
    "other-apps": other_apps,
    "machine-laptop": machine_laptop,
    "machine-bare": machine_bare,
    "machine-compare": machine_compare,
    **{f"machine-{path.stem}": saved_machine(path.stem) for path in sorted(DATA.glob("*.json"))},
    "settings-ready": settings_ready,
    "settings-building": settings_building,
    "settings-engines": settings_engines,
    "get-engine-choosing": get_engine_choosing,
    "get-engine-loading": get_engine_loading,
    "get-engine-failed": get_engine_failed,
}
