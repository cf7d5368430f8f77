"""One run of llama-server in a terminal: its events in, JSON lines or short text out, until it ends."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.cli.console import print_error, print_json_line, print_note, print_text, problem_line
from app.cli.inputs import PlanCase
from app.cli.launch_events import (
    Event,
    exited_event,
    finding_event,
    is_idle_line,
    log_event,
    readiness_findings,
    ready_event,
    sample_event,
    starting_event,
    timing_event,
)
from app.cli.launch_text import event_lines
from app.common.problem import Problem, ProblemError, Severity
from app.diagnose.buffers import compare_buffers
from app.diagnose.placement_check import placement_findings
from app.engine.events import EngineEvent, Exited, LogLine, Ready, Starting
from app.engine.logparse import EngineBuffer
from app.engine.port_holder import next_free_port, port_holder
from app.engine.process import LaunchSpec, ServerProcess, start_server
from app.engine.timings import parse_timing
from app.monitor.loop import MonitorLoop
from app.monitor.sample import Sample
from app.planner.argv import redact
from app.words import say
from app.work.before_launch import outside_remarks, port_taken
from app.work.learned_launch import LaunchWatch, cards_used
from app.work.watching import samplers_for

_SAMPLE_PERIOD_S = 1.0
_GRACE_S = 5.0
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
_LOOK_S = 0.25
"""How long the main thread waits in one piece, and so how late it may answer Ctrl-C and ``--for``."""


class LaunchRun:
    """Owns the server from its start to its end; everything is written by the thread that calls ``run``.

    Afterwards ``buffers`` are those of a server that was ready (else None), and ``watch`` knows what the cards took.
    """

    def __init__(self, case: PlanCase, spec: LaunchSpec, run_s: float | None, *, as_json: bool) -> None:
        self._case = case
        self._spec = spec
        self._run_s = run_s
        self._as_json = as_json
        self._inbox: queue.SimpleQueue[EngineEvent | Sample | Problem] = queue.SimpleQueue()
        self._monitor: MonitorLoop | None = None
        self._started_at = time.monotonic()
        self._ready_at: float | None = None
        self._was_idle = False
        self._n_signals = self._n_answered = 0
        self._is_stopping = False
        self._exited: Exited | None = None
        self.watch = LaunchWatch()
        self.buffers: tuple[EngineBuffer, ...] | None = None

    def run(self) -> int:
        """Start, tell, stop; the exit code. A reader that goes away ends the server too."""
        for problem in (*self._case.problems, *outside_remarks(self._case.plan)):
            self._tell(finding_event(problem), problem)
        self.watch.before = cards_used(self._case.hardware)
        try:
            server = start_server(self._spec, self._inbox.put)
        except ProblemError as error:
            self._tell(exited_event(None, error.problem, ()))
            self._say_why_not(error.problem)
            return 1
        with _asked_to_end(self._on_signal), server:
            try:
                while self._exited is None:
                    self._take(server)
            finally:
                self._stop_monitor()
        return 0 if self._exited.reason is None and (self._ready_at is not None or self._n_signals) else 1

    def _say_why_not(self, problem: Problem) -> None:
        """A port that is taken: by whom, and which one is free."""
        port = self._spec.listen_port
        is_taken = problem.code in ("port_in_use", "port_forbidden")
        print_error(port_taken(problem, port_holder(port, self._spec.paths)) if is_taken else problem)
        free = next_free_port(self._spec.listen_host, port) if is_taken else None
        if free is not None:
            print_note(say("cli.launch.port_hint", port=free))

    def _on_signal(self) -> None:
        """Only counts: raising here could cut a JSON line in two."""
        self._n_signals += 1

    def _take(self, server: ServerProcess) -> None:
        if self._n_signals > self._n_answered:
            self._n_answered = self._n_signals
            self._stop(server, _GRACE_S if self._n_signals == 1 else 0.0)
        if self._is_time_over():
            self._run_s = None
            self._stop(server, _GRACE_S)
        try:
            item = self._inbox.get(timeout=_LOOK_S)
        except queue.Empty:
            return
        match item:
            case Starting():
                self._tell(starting_event(item.pid, redact(self._spec.full_argv)))
            case LogLine():
                self._on_line(item.text)
            case Ready():
                self._on_ready(item, server)
            case Sample():
                self._on_sample(item)
            case Problem():
                self._tell(finding_event(item), item)
            case Exited():
                self._on_exited(item)
            case _:
                return  # progress and early buffers: the JSON lines tell both when the server is ready

    def _stop(self, server: ServerProcess, grace_s: float) -> None:
        """The monitor first: the engine waits for its open connection before it ends."""
        self._is_stopping = True
        self._stop_monitor()
        server.stop(grace_s)

    def _stop_monitor(self) -> None:
        if self._monitor is not None:
            self._monitor.stop()
            self._monitor = None

    def _is_time_over(self) -> bool:
        if self._run_s is None or self._ready_at is None:
            return False
        return time.monotonic() - self._ready_at >= self._run_s

    def _on_line(self, line: str) -> None:
        self.watch.on_line(line)
        is_idle = is_idle_line(line)
        if not (is_idle and self._was_idle):
            self._tell(log_event(line))
        self._was_idle = is_idle
        timing = parse_timing(line)
        if timing is not None:
            self._tell(timing_event(timing))

    def _on_ready(self, ready: Ready, server: ServerProcess) -> None:
        self._ready_at = time.monotonic()
        self.buffers = ready.buffers
        plan = self._case.plan
        rows = compare_buffers(plan.estimate, ready.buffers)
        took_s = self._ready_at - self._started_at
        self._tell(ready_event(ready.url, ready.pid, ready.affinity, rows, self._spec.key, took_s, ready.full_speed))
        log = server.reader
        moved = placement_findings(plan, log.n_ctx, tuple(log.moved), rows)
        found = readiness_findings(plan, self._spec.cpus, ready.affinity, rows, ready.full_speed)
        for problem in (*found, *moved):
            self._tell(finding_event(problem), problem)
        if self._is_stopping:
            return
        samplers = samplers_for(self._case.hardware, ready.pid, ready.url, self._spec.key, lambda: server.buffers)
        self._monitor = MonitorLoop(samplers, _SAMPLE_PERIOD_S, self._inbox.put, self._inbox.put)
        self._monitor.start()

    def _on_sample(self, sample: Sample) -> None:
        self.watch.on_sample(sample.values)
        if self._ready_at is not None:
            self._tell(sample_event(sample.t_monotonic - self._ready_at, sample.values))

    def _on_exited(self, exited: Exited) -> None:
        self._exited = exited
        self._tell(exited_event(exited.code, exited.reason, exited.tail))
        if exited.reason is None:
            return
        if not self._as_json:
            for line in exited.tail[-10:]:
                print_note(f"  {line}")
        print_error(exited.reason)

    def _tell(self, event: Event, problem: Problem | None = None) -> None:
        """One event: a JSON line, or what a person wants to know of it. Problems are told on standard error too, by
        their sentence."""
        if self._as_json:
            print_json_line(event)
        else:
            for line in event_lines(event):
                print_text(line)
        if problem is not None and (not self._as_json or problem.severity is Severity.ERROR):
            print_note(problem_line(problem))


@contextmanager
def _asked_to_end(on_signal: Callable[[], None]) -> Iterator[None]:
    """While the block runs, Ctrl-C and its kin (SIGTERM, SIGHUP, Ctrl-Break) call ``on_signal`` and do nothing else."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may change what signals do
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda *_: on_signal()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
