"""Runs the plan for the window: the server, its live figures, its log, the check of its buffers, the chat."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import ProblemError
from app.hardware.types import HardwareSnapshot
from app.monitor.ring import RingBuffer
from app.monitor.sample import Sample
from app.planner.types import Plan
from app.session.chat_controller import ChatController
from app.session.event_queue import EventQueue
from app.session.jobs import JobRunner
from app.session.sleep_watch import SleepWatch
from app.session.state import ChatPhase, ChatState, RunPhase, RunState
from app.settings import Settings

if TYPE_CHECKING:
    from app.diagnose.buffers import compare_buffers
    from app.diagnose.placement_check import placement_findings
    from app.engine.events import EngineEvent, Exited
    from app.engine.locate import EngineBinary
    from app.engine.logparse import EngineBuffer
    from app.engine.process import ServerProcess, start_server
    from app.engine.timings import parse_timing
    from app.monitor.loop import MonitorLoop
    from app.work.launching import command_differs, launch_spec
    from app.work.watching import samplers_for
else:
    compare_buffers = later("app.diagnose.buffers", "compare_buffers")
    placement_findings = later("app.diagnose.placement_check", "placement_findings")
    start_server = later("app.engine.process", "start_server")
    parse_timing = later("app.engine.timings", "parse_timing")
    MonitorLoop = later("app.monitor.loop", "MonitorLoop")
    command_differs = later("app.work.launching", "command_differs")
    launch_spec = later("app.work.launching", "launch_spec")
    samplers_for = later("app.work.watching", "samplers_for")

_HISTORY = 3600
"""30 minutes at 2 Hz, 12 at 5 Hz: the longest stretch that can be chosen for the curves is 10."""
_LOG_LINES = 5000
_LOG_FLUSH_MS = 200
_IDLE_LINE = "update_slots: all slots are idle"
"""The engine says so after every look at /slots: twice a second once we watch it."""


class RunController(QObject):
    """Owns the server of this window.

    Signals: ``changed`` the run state, ``chat_changed``, ``log_added(list[str])``, ``sample_added(Sample)``,
    ``failed(Problem)``. Engine events and samples come from other threads and are queued to this one.
    """

    changed = Signal()
    chat_changed = Signal()
    log_added = Signal(list)
    sample_added = Signal(object)
    failed = Signal(object)
    _sample = Signal(int, object)

    def __init__(self, jobs: JobRunner, paths: AppPaths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._paths = paths
        self.settings: Callable[[], Settings] = Settings
        self.state = RunState(RunPhase.STOPPED)
        self.history = RingBuffer(_HISTORY)
        self._server: ServerProcess | None = None
        self._plan: Plan | None = None
        self._snapshot: HardwareSnapshot | None = None
        self._number = 0
        self._is_watched = True
        self._prompt_tps: float | None = None
        self._monitor: MonitorLoop | None = None
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._new_lines: list[str] = []
        self._log_timer = QTimer(self)
        self._log_timer.setSingleShot(True)
        self._log_timer.setInterval(_LOG_FLUSH_MS)
        self._log_timer.timeout.connect(self._flush_log)
        self._chat = ChatController(jobs, self)
        self._chat.changed.connect(self.chat_changed)
        self._chat.failed.connect(self.failed)
        sleep = SleepWatch(jobs, lambda: self.state, parent=self)
        sleep.told.connect(self.failed)
        self.changed.connect(sleep.follow)
        self._events: EventQueue[tuple[int, EngineEvent]] = EventQueue(lambda told: self._on_event(*told), self)
        self._sample.connect(self._on_sample, Qt.ConnectionType.QueuedConnection)

    @property
    def talk(self) -> ChatController:
        """The conversation with the server."""
        return self._chat

    @property
    def chat(self) -> ChatState:
        """The question being answered."""
        return self._chat.state

    @property
    def plan(self) -> Plan | None:
        """The plan that was launched last."""
        return self._plan

    def engine_buffers(self) -> tuple[EngineBuffer, ...]:
        """What the engine has said that it allocated; from any thread."""
        return () if self._server is None else self._server.buffers

    def log_text(self) -> str:
        """The last lines of the engine's output."""
        return "\n".join(self._log)

    def launch(
        self, plan: Plan, binary: EngineBinary, snapshot: HardwareSnapshot, api_key: str, port: int | None = None
    ) -> None:
        """Start the server of a plan; ignored while one is starting or running. ``port``: this time another one."""
        if self._server is not None and not self._server.is_over:
            return
        self._stop_monitor()
        self._number += 1
        number = self._number
        self._log.clear()
        self._prompt_tps = None
        self.history.clear()
        self._plan, self._snapshot = plan, snapshot
        spec = launch_spec(plan, binary, snapshot.cpu, self._paths, api_key, port, self.settings().pinning)
        self._set(
            RunState(
                RunPhase.STARTING,
                api_key=api_key,
                wanted_affinity=spec.cpus,
                to_load_bytes=sum(d.weights_bytes for d in plan.estimate.devices),
            )
        )
        try:
            self._server = start_server(spec, lambda event: self._tell(number, event))
        except ProblemError as error:
            self._server = None
            self._set(RunState(RunPhase.FAILED, problem=error.problem))
            self.failed.emit(error.problem)

    def stop(self) -> None:
        """Stop the server; legal at any time, also while it starts."""
        if self._server is None or self._server.is_over:
            return
        self._chat.forget()
        if self._monitor is not None:
            self._monitor.pause()  # the engine waits for open connections before it ends
        self._set(replace(self.state, phase=RunPhase.STOPPING))
        self._server.stop()

    def watch(self, on: bool) -> None:
        """Live figures for somebody who looks; else the slow pace of the record, which the curves show as a gap."""
        self._is_watched = on
        self.follow_pace()

    @Slot()
    def follow_pace(self) -> None:
        """The user may have chosen another pace."""
        if self._monitor is not None:
            self._monitor.set_period(self._pace(self.state.url))

    def _pace(self, url: str | None) -> float:
        """Seconds between samples. A server that starts (no ``url`` yet) is watched in any case: what it takes while
        it loads is learned from."""
        from app.work.watching import RESTING_S

        return 1 / self.settings().samples_per_second if self._is_watched or url is None else RESTING_S

    def send_prompt(self, text: str) -> None:
        """Ask the running server."""
        if self.state.phase is RunPhase.READY and self.state.url is not None:
            self._chat.ask(self.state.url, self.state.api_key, text, self._chat.take_pending())

    def stop_answer(self) -> None:
        """Stop the answer; the server goes on."""
        self._chat.stop()

    def shown_plan_changed(self, shown: Plan) -> None:
        """The board moved on: say whether it still is what runs."""
        if self._plan is None or self.state.phase not in (RunPhase.STARTING, RunPhase.READY):
            return
        differs = command_differs(self._plan, shown)
        if differs != self.state.plan_differs:
            self._set(replace(self.state, plan_differs=differs))

    def close(self) -> None:
        """Stop the server and join its threads and the monitor's.

        The monitor may be waiting for a server that does not answer: its wait ends with the server.
        """
        self._number += 1  # events that are still queued belong to nobody
        self._chat.forget()
        if self._monitor is not None:
            self._monitor.pause()
        if self._server is not None:
            self._server.stop(grace_s=2.0)
        self._stop_monitor()
        if self._server is not None:
            self._server.wait(10.0)

    def _tell(self, number: int, event: EngineEvent) -> None:
        """In the server's thread. A server that outlives ``close`` is not heard: this object may be destroyed then."""
        if number == self._number:
            self._events.put((number, event))

    def _on_event(self, number: int, event: EngineEvent) -> None:
        if number != self._number:
            return
        from app.engine.events import BuffersKnown, Exited, LoadProgress, LogLine, Ready, Starting  # with a server

        match event:
            case LogLine():
                self._add_log(event.text)
            case Starting():
                self._set(replace(self.state, pid=event.pid))
                self._start_monitor(number, url=None)
            case LoadProgress():
                self._set(replace(self.state, loaded_bytes=event.read_bytes))
            case BuffersKnown():
                self._check_buffers()
            case Ready():
                state = replace(self.state, phase=RunPhase.READY, url=event.url)
                state = replace(state, affinity=event.affinity, full_speed=event.full_speed)
                self.state = state if self.state.phase is RunPhase.STARTING else self.state
                self._check_buffers()
                self._start_monitor(number, url=event.url)
                self._chat.serve(event.url, self.state.api_key)
            case Exited():
                self._on_exited(event)

    def _on_exited(self, event: Exited) -> None:
        self._stop_monitor()
        self._chat.forget(server_ended=True)
        self._flush_log()
        phase = RunPhase.STOPPED if event.reason is None else RunPhase.FAILED
        self._set(RunState(phase, buffers=self.state.buffers, exit_code=event.code, problem=event.reason))
        if event.reason is not None:
            self.failed.emit(event.reason)

    def _check_buffers(self) -> None:
        if self._server is None or self._plan is None:
            return
        rows, log = compare_buffers(self._plan.estimate, self._server.buffers), self._server.reader
        findings = placement_findings(self._plan, log.n_ctx, tuple(log.moved), rows)
        self._set(replace(self.state, buffers=rows, findings=findings))

    def _start_monitor(self, number: int, url: str | None) -> None:
        self._stop_monitor()
        server, snapshot = self._server, self._snapshot
        if server is None or snapshot is None or server.pid is None:
            return

        samplers = samplers_for(snapshot, server.pid, url, self.state.api_key, lambda: server.buffers)
        self._monitor = MonitorLoop(samplers, self._pace(url), lambda sample: self._sample.emit(number, sample))
        self._monitor.start()

    def _stop_monitor(self) -> None:
        if self._monitor is not None:
            self._monitor.stop()
            self._monitor = None

    @Slot(int, object)
    def _on_sample(self, number: int, sample: Sample) -> None:
        if number != self._number or self._monitor is None:
            return
        sample = Sample(sample.t_monotonic, {**sample.values, "tok.prompt": self._take_prompt_speed()})
        self.history.append(sample)
        self.sample_added.emit(sample)

    def _take_prompt_speed(self) -> float | None:
        """While our own chat answers what it tells; else, once, what the log told of anybody's last prompt."""
        told, self._prompt_tps = self._prompt_tps, None
        return self.chat.prompt_tps if self.chat.phase is not ChatPhase.IDLE else told

    def _note_prompt(self, line: str) -> None:
        timing = parse_timing(line)
        if timing is not None and timing.kind == "prompt" and timing.tokens > 1:
            self._prompt_tps = timing.tps  # one token alone is the last of a prompt that was cached: no speed

    def _add_log(self, line: str) -> None:
        if "prompt eval time" in line:
            self._note_prompt(line)
        if line.endswith(_IDLE_LINE) and self._log and self._log[-1].endswith(_IDLE_LINE):
            return
        self._log.append(line)
        self._new_lines.append(line)
        if not self._log_timer.isActive():
            self._log_timer.start()

    @Slot()
    def _flush_log(self) -> None:
        if self._new_lines:
            lines, self._new_lines = self._new_lines, []
            self.log_added.emit(lines)

    def _set(self, state: RunState) -> None:
        self.state = state
        self.changed.emit()
