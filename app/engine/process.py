"""A running llama-server.

One owner thread per server holds all of its state; every other thread (window, reader, waiter) only sends it messages.
While it waits for ``/health`` it also watches for the process's end and for Stop, so nothing can wait for ever.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TextIO
from urllib.parse import urlsplit

from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError, fail
from app.engine.child import Child, ChildSpec, iter_lines
from app.engine.environment import engine_environment
from app.engine.events import (
    BuffersKnown,
    EngineEvent,
    EventHandler,
    Exited,
    LoadProgress,
    LogLine,
    Ready,
    ServerState,
    Starting,
)
from app.engine.failure import explain_exit
from app.engine.health import accepts_key, health_status
from app.engine.launcher import launch
from app.engine.leftovers import forget_server, remember_server
from app.engine.log_reader import LogReader
from app.engine.logparse import EngineBuffer, GraphSplits, Listening
from app.engine.mailbox import Mailbox
from app.engine.ports import base_url, port_problem
from app.engine.progress import bytes_touched

_KEPT_LINES = 2000
_TAIL_LINES = 100
_IDLE_LINE = "update_slots: all slots are idle"
"""Said after every look at /slots, twice a second for hours: what a server wrote before it ended must not drown."""
_POLL_S = 0.1
_HEALTH_TIMEOUT_S = 0.5
_LAST_LINES_S = 0.5
_PROGRESS_S = 0.25
_GATHER_S = 0.1
"""A server at work may write hundreds of lines a second: they are read together. Stop and its end wake at once."""
_READER_JOIN_S = 2.0


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """What to run. ``argv`` starts after the program's name.

    ``cpus``: logical CPUs, empty = all; ``prefers_cpus``, ``may_be_slowed``: see ``ChildSpec``. ``host``, ``port`` and
    ``api_key`` are handed to the engine unless ``argv`` already says them. Port 0: the engine takes a free one and
    ``Ready`` tells which. ``log_file``: the engine's output is written there; at ``-lv 5`` that includes prompts in
    clear, at ``-lv 4`` it does not.
    """

    binary_path: str
    argv: tuple[str, ...]
    cpus: tuple[int, ...]
    paths: AppPaths
    log_file: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    api_key: str | None = None
    prefers_cpus: bool = False
    may_be_slowed: bool = False

    @property
    def full_argv(self) -> tuple[str, ...]:
        """The whole command, the program first. The key is not in it: it goes through the environment."""
        more: list[str] = []
        if "--host" not in self.argv:
            more += ["--host", self.host]
        if "--port" not in self.argv:
            more += ["--port", str(self.port)]
        return (self.binary_path, *self.argv, *more)

    @property
    def listen_host(self) -> str:
        """Where it will listen: the command line wins."""
        return _value_of(self.argv, "--host") or self.host

    @property
    def listen_port(self) -> int:
        """The port it will listen on; 0 = not known before it runs."""
        told = _value_of(self.argv, "--port")
        return int(told) if told is not None and told.isascii() and told.isdigit() else self.port

    @property
    def key(self) -> str | None:
        """The key that a client must send."""
        told = _value_of(self.argv, "--api-key")
        return told.split(",")[0] if told else self.api_key


def _value_of(argv: Sequence[str], option: str) -> str | None:
    """The value of the last occurrence of an option, as the engine reads it."""
    for i in range(len(argv) - 2, -1, -1):
        if argv[i] == option:
            return argv[i + 1]
    return None


def start_server(spec: LaunchSpec, on_event: EventHandler) -> ServerProcess:
    """Start a server; what happens to it comes as events, from its owner thread, ``Exited`` last.

    Raises ProblemError when it could not even be tried: ``engine_not_found``, ``engine_broken`` (not executable),
    ``port_in_use``, ``port_forbidden``, ``host_unknown``, ``engine_home_failed``.
    """
    program = Path(spec.binary_path)
    if not program.is_file():
        raise fail("engine_not_found", path=spec.binary_path)
    if not os.access(program, os.X_OK):
        raise fail("engine_broken", path=spec.binary_path, why="not executable")
    problem = port_problem(spec.listen_host, spec.listen_port)
    if problem is not None:
        raise ProblemError(problem)
    return ServerProcess(spec, on_event)


class ServerProcess:
    """One server from its start to its end. Attributes may be read from any thread; they change only in its own."""

    def __init__(self, spec: LaunchSpec, on_event: EventHandler) -> None:
        self.spec = spec
        self.state = ServerState.STOPPED
        self.pid: int | None = None
        self.url: str | None = None
        self.affinity: tuple[int, ...] | None = None
        self.reader = LogReader()
        self._env = engine_environment(spec.paths.engine_home, None if "--api-key" in spec.argv else spec.api_key)
        self._on_event = on_event
        self._mail = Mailbox()
        self._kept: deque[str] = deque(maxlen=_KEPT_LINES)
        self._log: TextIO | None = None
        self._over = threading.Event()
        self._next_poll = self._next_progress = 0.0
        self._answered_at: float | None = None
        self._progress = 0
        self._told_buffers = False
        threading.Thread(target=self._run, name="server-owner", daemon=True).start()

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        self.wait()

    @property
    def is_over(self) -> bool:
        """Has ``Exited`` been sent?"""
        return self._over.is_set()

    @property
    def buffers(self) -> tuple[EngineBuffer, ...]:
        """The engine's buffers as far as its log has told."""
        return self.reader.buffers

    def tail(self, n_lines: int = _TAIL_LINES) -> tuple[str, ...]:
        """The last lines of its output (2000 are kept)."""
        return tuple(self._kept.copy())[-n_lines:]

    def stop(self, grace_s: float = 5.0) -> None:
        """Ask it to end, and kill it with all its children after ``grace_s``. Legal at any time; returns at once."""
        self._mail.ask_stop(time.monotonic() + grace_s)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until it is over (``Exited`` has been delivered); False when the time was too short."""
        return self._over.wait(timeout_s)

    def _run(self) -> None:
        """The owner thread."""
        try:
            child = self._start()
            if child is not None:
                self._live(child)
        finally:
            self._close_log()
            if not self.state.is_over:
                self.state = ServerState.FAILED
            self._over.set()

    def _start(self) -> Child | None:
        self.state = ServerState.STARTING
        try:
            spec = self.spec
            child = launch(
                ChildSpec(
                    spec.full_argv,
                    self._env,
                    spec.cpus,
                    prefers_cpus=spec.prefers_cpus,
                    may_be_slowed=spec.may_be_slowed,
                )
            )
        except (OSError, ValueError) as error:  # ValueError: a word that no command line can carry (half a character)
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self._finish(None, fail("engine_broken", path=self.spec.binary_path, why=why).problem)
            return None
        self.pid = child.pid
        return child

    def _live(self, child: Child) -> None:
        """From the first instruction to the end; whatever goes wrong here, the process does not outlive it."""
        reader = threading.Thread(target=self._read, args=(child,), name="server-output", daemon=True)
        waiter = threading.Thread(target=self._await_exit, args=(child,), name="server-exit", daemon=True)
        pid_file: Path | None = None
        try:
            reader.start()
            waiter.start()
            pid_file = remember_server(self.spec.paths, child.pid, self.spec.binary_path)
            self._log = self._open_log()
            self._emit(Starting(child.pid))
            self._watch(child)
        finally:
            child.kill_tree()
            if waiter.is_alive():
                waiter.join()
            code = child.reap()
            forget_server(pid_file)
        if reader.is_alive():
            reader.join(_READER_JOIN_S)
        self._take_lines()
        self._finish(code, self._reason(code))

    def _watch(self, child: Child) -> None:
        while not self._mail.has_exited:
            self._mail.wait(self._patience(), _GATHER_S if self.state is ServerState.READY else 0.0)
            self._take_lines()
            if self._mail.stop_deadline is not None:
                self._go_on_stopping(child)
            elif self.state is ServerState.STARTING and not self._mail.has_exited:
                self._look_for_readiness(child)

    def _patience(self) -> float | None:
        """How long the owner may sleep; messages wake it."""
        if self.state is ServerState.STARTING:
            return _POLL_S
        deadline = self._mail.stop_deadline
        if self.state is ServerState.STOPPING and deadline is not None:
            left = deadline - time.monotonic()
            return left if left > 0 else None
        return None

    def _go_on_stopping(self, child: Child) -> None:
        deadline = self._mail.stop_deadline
        assert deadline is not None
        if self.state is not ServerState.STOPPING:
            self.state = ServerState.STOPPING
            child.terminate()
        if time.monotonic() >= deadline:
            child.kill_tree()

    def _look_for_readiness(self, child: Child) -> None:
        now = time.monotonic()
        if now < self._next_poll:
            return
        address = self._address()
        if address is not None and self._answers(*address):
            self._answered_at = self._answered_at or now
            # The log is written by another thread of the engine: give its last lines a moment before we sum up.
            if self.reader.url is not None or now - self._answered_at >= _LAST_LINES_S:
                self._become_ready(child, *address)
        elif now >= self._next_progress:
            self._tell_progress(child.pid)
            self._next_progress = now + _PROGRESS_S
        self._next_poll = time.monotonic() + _POLL_S

    def _address(self) -> tuple[str, int] | None:
        port = self.spec.listen_port
        if port == 0:
            told = urlsplit(self.reader.url or "")
            try:
                port = told.port or 0
            except ValueError:
                port = 0
        return (self.spec.listen_host, port) if port else None

    def _answers(self, host: str, port: int) -> bool:
        if health_status(host, port, _HEALTH_TIMEOUT_S) != 200:
            return False
        key = self.spec.key
        return key is None or accepts_key(host, port, key, _HEALTH_TIMEOUT_S)

    def _become_ready(self, child: Child, host: str, port: int) -> None:
        self.url = base_url(host, port)
        self.affinity = child.affinity()
        self.state = ServerState.READY
        full_speed = None if self.spec.may_be_slowed else child.full_speed()  # nobody asked for it
        self._emit(Ready(self.url, child.pid, self.affinity, self.buffers, full_speed))

    def _tell_progress(self, pid: int) -> None:
        touched = bytes_touched(pid)
        if touched is not None and touched > self._progress:
            self._progress = touched
            self._emit(LoadProgress(touched))

    def _take_lines(self) -> None:
        lines = self._mail.take_lines()
        self._write_log(lines)
        for line in lines:
            if not (line.endswith(_IDLE_LINE) and self._kept and self._kept[-1].endswith(_IDLE_LINE)):
                self._kept.append(line)
            fact = self.reader.feed(line)
            self._emit(LogLine(line))
            if isinstance(fact, Listening):
                self._next_poll = 0.0  # no need to wait for the next round
            if isinstance(fact, GraphSplits) and self.reader.has_weights and not self._told_buffers:
                self._told_buffers = True
                self._emit(BuffersKnown(self.buffers))

    def _reason(self, code: int) -> Problem | None:
        if self._mail.stop_deadline is not None:
            return None
        return explain_exit(code, [*self.reader.errors, *self._kept])

    def _finish(self, code: int | None, reason: Problem | None) -> None:
        self.state = ServerState.EXITED if reason is None else ServerState.FAILED
        self._emit(Exited(code, reason, self.tail()))

    def _emit(self, event: EngineEvent) -> None:
        self._on_event(event)

    def _open_log(self) -> TextIO | None:
        if self.spec.log_file is None:
            return None
        try:
            self.spec.log_file.parent.mkdir(parents=True, exist_ok=True)
            return self.spec.log_file.open("w", encoding="utf-8")
        except OSError:
            return None  # the lines are still in the window; a full disk must not stop a server

    def _write_log(self, lines: Sequence[str]) -> None:
        if self._log is None or not lines:
            return
        try:
            self._log.writelines(f"{line}\n" for line in lines)
            self._log.flush()
        except OSError:
            self._close_log()  # as above

    def _close_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            with contextlib.suppress(OSError):  # what it still holds cannot be written either
                log.close()

    def _read(self, child: Child) -> None:
        with child.stdout as stream:
            for line in iter_lines(stream):
                self._mail.put_line(line)

    def _await_exit(self, child: Child) -> None:
        child.wait_exit()
        self._mail.tell_exit()
