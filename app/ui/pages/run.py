"""The run page: curves first, then chat and log. It shows the session's state and passes the user's wishes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from app.session.state import RunPhase
from app.ui.pages.run_buffers import BufferPane
from app.ui.pages.run_card_line import LiveLine
from app.ui.pages.run_chat import ChatPane
from app.ui.pages.run_chat_link import ChatLink
from app.ui.pages.run_header import RunHeader
from app.ui.pages.run_history import HistoryReader, cpu_load
from app.ui.pages.run_log import LogPane
from app.ui.pages.run_plots import RunPlots
from app.ui.pages.run_splitter import GapSplitter
from app.ui.pages.run_stress import StressRow
from app.ui.pages.run_words import before_launch, failure_sentence, plan_line
from app.words import say

if TYPE_CHECKING:
    from app.monitor.sample import Sample
    from app.planner.types import Plan
    from app.session.app_session import AppSession

_LIVE = (RunPhase.STARTING, RunPhase.READY, RunPhase.STOPPING)
_REPORT_LINES = 60


class RunPage(QWidget):
    """Everything about the running server.

    Signals: ``page_requested`` with the name of another page ("plan", "settings") when the next step is there.
    """

    page_requested = Signal(str)

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._reader = HistoryReader(session.history)
        self._sampled: frozenset[str] = frozenset()
        self._is_stale = False
        self._was_ready = False
        self._is_seen: bool | None = None
        self.other_apps: QWidget | None = None
        self.runs: QWidget | None = None
        self.header = RunHeader()
        self.stress = StressRow(session)
        self.plots = RunPlots(self._reader.read)
        self.live = LiveLine(self._reader.read)
        self.chat = ChatPane()
        self.log = LogPane()
        self.buffers = BufferPane()
        self._lay_out()
        self._connect()
        self.refresh()
        self._follow_eyes()

    def _lay_out(self) -> None:
        right = GapSplitter(Qt.Orientation.Vertical, self.log, self.buffers, (9, 10))
        lower = GapSplitter(Qt.Orientation.Horizontal, self.chat, right, (11, 10))
        upper = QWidget()
        curves = QVBoxLayout(upper)
        curves.setContentsMargins(0, 0, 0, 0)
        curves.setSpacing(0)
        curves.addWidget(self.plots, 1)
        curves.addWidget(self.live)
        self._main = GapSplitter(Qt.Orientation.Vertical, upper, lower, (8, 18))
        frame = QWidget()
        inner = QVBoxLayout(frame)
        inner.setContentsMargins(16, 10, 16, 14)
        inner.addWidget(self._main)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self.stress)
        layout.addWidget(frame, 1)

    def _connect(self) -> None:
        session = self._session
        self.header.launch_requested.connect(session.launch)
        self.header.stop_requested.connect(session.stop)
        self.header.span_changed.connect(self.plots.set_span)
        self.header.apps_requested.connect(self.show_other_apps)
        self.header.runs_requested.connect(self.show_runs)
        self._talk = ChatLink(session, self.chat)
        self.chat.empty.page_requested.connect(self.page_requested)
        self.chat.failure.page_requested.connect(self.page_requested)
        session.run_changed.connect(self._on_run_changed)
        session.plan_changed.connect(self._on_plan_changed)
        session.hardware_changed.connect(self._on_plan_changed)
        session.engine_changed.connect(self._on_run_changed)
        session.log_added.connect(self.log.add)
        session.sample_added.connect(self._on_sample)
        session.runs.requests_changed.connect(self._on_requests)

    @Slot()
    def show_other_apps(self) -> None:
        """Open the window with what other programs need to use this server."""
        from app.ui.pages.run_other_apps import OtherAppsDialog

        if self.other_apps is None:
            self.other_apps = OtherAppsDialog(self._session, self)
        self.other_apps.show()
        self.other_apps.raise_()

    @Slot()
    def show_runs(self) -> None:
        """Open the kept runs."""
        from app.ui.dialogs.runs import RunsDialog

        if self.runs is None:
            self.runs = RunsDialog(self._session, self)
        self.runs.show()
        self.runs.raise_()

    @Slot()
    def refresh(self) -> None:
        """Read everything from the session anew; a page made in the middle of a run shows all of it."""
        self._reader.source = self._session.history
        self._sampled = self._reader.known_keys()
        self.log.set_text(self._session.log_text())
        self._follow_plan()
        self._on_requests()
        self._talk.refresh()

    @Slot()
    def _on_plan_changed(self) -> None:
        """A page that nobody sees follows when it is shown: a drag on the board sends many plans."""
        if not self.isVisible():
            self._is_stale = True
            return
        self._follow_plan()

    def _follow_plan(self) -> None:
        self._is_stale = False
        self.plots.set_plan(self._plan_of_curves(), self._session.hardware, self._sampled)
        self.live.set_names(self._card_names(), self._sampled)
        self._show_cores()
        self._on_run_changed()

    def _card_names(self) -> tuple[str, ...]:
        """The plan's cards as the samples name them: by the engine's name, else by their own."""
        plan, hardware = self._plan_of_curves(), self._session.hardware
        gpus = () if plan is None else plan.devices.gpus
        own = {g.engine_name: g.name for g in hardware.gpus if g.engine_name} if hardware is not None else {}
        sampled = {key[4:].rpartition(".")[0] for key in self._sampled if key.startswith("gpu.")}
        return tuple(name for d in gpus for name in (d.name, own.get(d.name)) if name in sampled and name is not None)

    def _plan_of_curves(self) -> Plan | None:
        """The curves belong to the plan that runs, also when the board has moved on."""
        session = self._session
        return session.running_plan if session.run.phase in _LIVE else session.plan

    @Slot()
    def _on_run_changed(self) -> None:
        session = self._session
        run = session.run
        name = session.model.name if session.model is not None else None
        self.header.set_state(run, session.engine, session.plan, name)
        self.buffers.set_rows(run.buffers, run.findings)
        self._show_cores()
        self._reader.is_live = run.phase in _LIVE
        self.plots.set_live(run.phase in _LIVE)
        if run.phase not in _LIVE:
            self.live.clear()
        self._show_empty_state()
        if run.phase is RunPhase.FAILED:
            evidence = run.problem.evidence if run.problem is not None else ()
            self.chat.failure.set_failure(failure_sentence(run), run.exit_code, evidence, self._report())
        self.chat.set_run_phase(run.phase)
        is_ready = run.phase is RunPhase.READY
        if is_ready and not self._was_ready and self.header.button.hasFocus():
            self.chat.prompt.setFocus(Qt.FocusReason.OtherFocusReason)  # a space in what is typed now would press Stop
        self._was_ready = is_ready

    def _show_cores(self) -> None:
        hardware, run = self._session.hardware, self._session.run
        if hardware is not None:
            marked = run.affinity if run.affinity is not None else run.wanted_affinity
            self.plots.set_cores(hardware.cpu.cores, marked or ())

    def _show_empty_state(self) -> None:
        session = self._session
        plan = session.plan
        line = plan_line(plan, session.model.name) if plan is not None and session.model is not None else ""
        if session.run.phase in (RunPhase.STARTING, RunPhase.STOPPING):
            title = say("run.empty_starting" if session.run.phase is RunPhase.STARTING else "run.phase.stopping")
            self.chat.empty.set_texts(title, say("run.empty_wait"), line, "", "")
            return
        page = "plan" if plan is None or plan.has_errors else "settings" if session.engine.path is None else "plan"
        told = before_launch(session.engine, plan)
        link = say("run.to_settings" if page == "settings" else "run.to_plan")
        self.chat.empty.set_texts(say("run.empty_title"), told.text, line, page, link)

    def _report(self) -> str:
        """What happened, the command without the key, and the end of the log: for a question in a forum."""
        session, run = self._session, self._session.run
        command = session.command_text(session.settings.shell)
        if run.api_key:
            command = command.replace(run.api_key, "***")
        tail = session.log_text().splitlines()[-_REPORT_LINES:]
        parts = [failure_sentence(run), f"exit code: {run.exit_code}", f"engine: {session.engine.build}", "", command]
        return "\n".join([*parts, "", *(run.problem.evidence if run.problem is not None else ()), "", *tail]) + "\n"

    @Slot()
    def _on_requests(self) -> None:
        self.plots.by_depth.set_requests(self._session.runs.requests)

    @Slot(object)
    def _on_sample(self, sample: Sample) -> None:
        keys = frozenset(key for key, value in sample.values.items() if value is not None)
        if not keys <= self._sampled:
            self._sampled |= keys
            self.live.set_names(self._card_names(), self._sampled)
            self.plots.set_plan(self._plan_of_curves(), self._session.hardware, self._sampled)
        self.live.take(sample.values)
        self.plots.cores.take(cpu_load(sample.values), sample.values.get("server.cpu"))
        self.plots.take_sample()
        plan = self._session.plan
        self.chat.set_context(sample.values.get("ctx.used"), plan.n_ctx if plan is not None else None)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.window().installEventFilter(self)
        self._follow_eyes()
        if self._is_stale:
            self._follow_plan()
        is_ready = self._session.run.phase is RunPhase.READY
        (self.chat.prompt if is_ready else self.header.button).setFocus(Qt.FocusReason.OtherFocusReason)

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.window().removeEventFilter(self)
        self._follow_eyes()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.WindowStateChange:
            self._follow_eyes()
        return bool(super().eventFilter(watched, event))

    def _follow_eyes(self) -> None:
        """Live figures only while somebody can see them: the server has better use for the processor."""
        is_seen = self.isVisible() and not self.window().isMinimized()
        if is_seen is not self._is_seen:
            self._is_seen = is_seen
            self._session.watch_server(is_seen)
