"""The machine as the window knows it: looked at when there is a reason, never by a clock.

While no server runs and nobody asks for live values, no driver is polled: a card of a hybrid laptop would be kept
awake. Free memory is read again at the start, when the window comes to the front, when a model is opened and just
before a launch; its age is known, so that it can be shown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.common.problem import Problem, Severity
from app.common.units import MIB
from app.engine.locate import EngineBinary
from app.hardware.types import HardwareSnapshot
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.snapshot_files import read_machine
from app.work.machine import MachineCalls, with_free_now

_FOCUS_WAIT_MS = 300
"""Windows come and go while one switches between them; the one that stays in front counts."""
_FRESH_MS = 10_000
"""Younger figures are not read again for a window that comes to the front or a model that is opened."""
_LAUNCH_FRESH_MS = 2_000
_AUTO_MEASURE_MS = 1_500
"""The first plan is on the screen and the window has painted before the cores are taken for a second."""
_VRAM_STEP, _RAM_STEP = 64 * MIB, 512 * MIB
"""Smaller changes of free memory are noise: the board stays as it is."""


class FreeReason(StrEnum):
    """Why free memory is read again."""

    FOCUS = "focus"
    MODEL = "model"
    LAUNCH = "launch"


class MachineController(QObject):
    """Owns the hardware snapshot.

    Signals: ``changed`` the snapshot is another one; ``freshness_changed`` free memory was read again; ``failed
    (Problem)``; ``measuring_changed`` a RAM measurement began or ended. ``binary`` gives the engine to ask, if any;
    ``is_quiet`` says whether no server runs: while one does, its own memory would be counted as somebody else's.
    """

    changed = Signal()
    freshness_changed = Signal()
    measuring_changed = Signal()
    failed = Signal(object)

    def __init__(
        self,
        jobs: JobRunner,
        binary: Callable[[], EngineBinary | None],
        is_quiet: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._binary = binary
        self._is_quiet = is_quiet
        self._calls = MachineCalls()
        self._look_id = 0
        self._is_reading = False
        self._waiting: list[Callable[[], None]] = []
        self._age = QElapsedTimer()
        self._cancel: threading.Event | None = None
        self._was_measured_for_plan = False
        self.hardware: HardwareSnapshot | None = None
        self.is_saved = False
        self.rpc_servers: tuple[str, ...] = ()
        self._focus_timer = self._timer(_FOCUS_WAIT_MS, self._on_focus_settled)
        self._measure_timer = self._timer(_AUTO_MEASURE_MS, self._on_time_to_measure)
        app = QGuiApplication.instance()
        self._watched = app if isinstance(app, QGuiApplication) else None
        if self._watched is not None:
            self._watched.applicationStateChanged.connect(self._on_application_state)

    def _timer(self, interval_ms: int, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(interval_ms)
        timer.timeout.connect(slot)
        return timer

    def use_calls(self, calls: MachineCalls) -> None:
        """Other ways to ask the hardware (a test's)."""
        self._calls = calls

    # ---- looking ----------------------------------------------------------------------------------------------------

    def use_snapshot(self, snapshot: HardwareSnapshot) -> None:
        """Show a saved machine instead of this one (``--hardware FILE``)."""
        self._look_id += 1  # what a look at this machine still finds out is not wanted any more
        self.cancel_measuring()
        self.is_saved = True
        self._age.invalidate()
        self.hardware = snapshot
        self.changed.emit()

    def read_other(self, path: str) -> HardwareSnapshot | None:
        """A saved machine to compare with; None after telling why it cannot be read."""
        other = read_machine(path)
        if isinstance(other, Problem):
            self.failed.emit(other)
            return None
        return other

    def look_first(self) -> None:
        """The probes' answer, before the engine has been found; what the engine says comes later and then counts."""

        def on_done(snapshot: HardwareSnapshot | None, error: Exception | None) -> None:
            if self.hardware is None:
                self._on_look(self._look_id, snapshot, error)

        self._jobs.run(lambda: self._calls.look(None, ()), on_done)

    def ask_engine(self) -> None:
        """The search for an engine has ended: join what it says with what the probes found."""
        if self.is_saved:
            return
        calls, binary, servers = self._calls, self._binary(), self.rpc_servers
        # Whether the probes have answered shows only once this job runs: it often waits behind theirs.
        self._look(lambda: calls.ask_engine(self.hardware or calls.look(None, ()), binary, servers))

    def look_again(self) -> None:
        """Look at this machine anew, whole (also after a saved one was shown)."""
        self.is_saved = False
        calls, binary, servers = self._calls, self._binary(), self.rpc_servers
        self._look(lambda: calls.look(binary, servers))

    def _look(self, look: Callable[[], HardwareSnapshot]) -> None:
        """Look in the background; only the newest look counts."""
        self._look_id += 1
        look_id = self._look_id
        self._jobs.run(look, lambda result, error: self._on_look(look_id, result, error))

    def _on_look(self, look_id: int, snapshot: HardwareSnapshot | None, error: Exception | None) -> None:
        if look_id != self._look_id:
            return
        if error is not None or snapshot is None:
            self.failed.emit(problem_of(error))
            return
        self._age.start()
        self.hardware = _with_known_speed(snapshot, self.hardware)
        self.changed.emit()

    # ---- free memory ------------------------------------------------------------------------------------------------

    @property
    def age_seconds(self) -> float | None:
        """How old the figures of free memory are; None for a saved machine and before the first look."""
        return self._age.elapsed() / 1000 if self._age.isValid() and not self.is_saved else None

    def refresh_free(self, reason: FreeReason, then: Callable[[], None] | None = None) -> None:
        """Read free memory again where that makes sense, then call ``then``, in any case and once."""
        if then is not None:
            self._waiting.append(then)
        if self._is_reading:
            return
        fresh_ms = _LAUNCH_FRESH_MS if reason is FreeReason.LAUNCH else _FRESH_MS
        is_fresh = self._age.isValid() and self._age.elapsed() < fresh_ms
        snapshot = self.hardware
        if snapshot is None or self.is_saved or is_fresh or not self._is_quiet():
            self._call_waiting()
            return
        # The engine takes up to seconds and opens every device: a window that comes to the front is not worth that.
        binary = None if reason is FreeReason.FOCUS else self._binary()
        calls, servers, look_id = self._calls, self.rpc_servers, self._look_id
        self._is_reading = True
        self._jobs.run(
            lambda: with_free_now(snapshot, calls, binary, servers),
            lambda result, error: self._on_free(look_id, result, error),
        )

    def _on_free(self, look_id: int, snapshot: HardwareSnapshot | None, error: Exception | None) -> None:
        self._is_reading = False
        if error is not None:
            self.failed.emit(problem_of(error))
        elif snapshot is not None and look_id == self._look_id and self.hardware is not None:
            self._age.start()
            if _moved(self.hardware, snapshot):
                self.hardware = _with_known_speed(snapshot, self.hardware)
                self.changed.emit()
            self.freshness_changed.emit()
        self._call_waiting()

    def _call_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()

    @Slot(Qt.ApplicationState)
    def _on_application_state(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self._focus_timer.start()
        else:
            self._focus_timer.stop()

    @Slot()
    def _on_focus_settled(self) -> None:
        self.refresh_free(FreeReason.FOCUS)

    # ---- RAM speed --------------------------------------------------------------------------------------------------

    @property
    def is_measuring(self) -> bool:
        """Is RAM being read now?"""
        return self._cancel is not None

    def measure(self) -> None:
        """Measure RAM reading for about a second. A saved machine or a running server is told instead of measured."""
        if self.is_saved:
            self.failed.emit(Problem("saved_machine_not_measured", Severity.INFO))
        elif not self._is_quiet():
            self.failed.emit(Problem("bandwidth_server_runs", Severity.WARNING))
        else:
            self._measure(tells_trouble=True)

    def measure_for_plan(self) -> None:
        """There is a plan: if this machine's RAM was never measured, do so once the window has come to rest."""
        snapshot = self.hardware
        is_known = snapshot is None or snapshot.memory.measured_gbs is not None
        if not (is_known or self.is_saved or self._was_measured_for_plan or self.is_measuring):
            self._measure_timer.start()

    def cancel_measuring(self) -> None:
        """Stop a measurement at once: a server is about to start, or the user has changed his mind."""
        self._measure_timer.stop()
        if self._cancel is not None:
            self._cancel.set()

    @Slot()
    def _on_time_to_measure(self) -> None:
        if self.is_saved or self.is_measuring or not self._is_quiet():
            return
        self._was_measured_for_plan = True
        self._measure(tells_trouble=False)

    def _measure(self, *, tells_trouble: bool) -> None:
        snapshot = self.hardware
        if snapshot is None or self.is_measuring:
            return
        cancel = self._cancel = threading.Event()
        calls = self._calls

        def on_done(result: HardwareSnapshot | None, error: Exception | None) -> None:
            self._cancel = None
            if result is not None and not self.is_saved and self.hardware is not None:
                self.hardware = _with_speed_of(self.hardware, result)
                self.changed.emit()
                for problem in result.problems[len(snapshot.problems) :]:  # it could not be remembered
                    self.failed.emit(problem)
            elif error is not None and tells_trouble and not cancel.is_set():
                self.failed.emit(problem_of(error))
            if cancel.is_set():
                self._was_measured_for_plan = False  # the next plan may try again
            self.measuring_changed.emit()

        self._jobs.run(lambda: calls.measure(snapshot, cancel.is_set), on_done)
        self.measuring_changed.emit()

    def close(self) -> None:
        """Stop a measurement; nobody is answered any more. A second call does nothing."""
        if self._watched is not None:
            self._watched.applicationStateChanged.disconnect(self._on_application_state)
            self._watched = None
        self.cancel_measuring()
        self._focus_timer.stop()
        self._waiting.clear()


def _moved(before: HardwareSnapshot, after: HardwareSnapshot) -> bool:
    """Is the free memory so different, a card awake or asleep or the plug pulled now, that the board should know?"""
    if len(before.gpus) != len(after.gpus) or before.power != after.power:
        return True
    for old, new in zip(before.gpus, after.gpus, strict=True):
        if replace(old, free_bytes=None, engine_free_bytes=None) != replace(
            new, free_bytes=None, engine_free_bytes=None
        ) or _apart(old.free_bytes, new.free_bytes, _VRAM_STEP):
            return True
    return _apart(before.memory.available_bytes, after.memory.available_bytes, _RAM_STEP)


def _apart(old: int | None, new: int | None, step: int) -> bool:
    if old is None or new is None:
        return old is not new
    return abs(old - new) >= step


def _with_speed_of(snapshot: HardwareSnapshot, measured: HardwareSnapshot) -> HardwareSnapshot:
    """The snapshot with another's measured RAM speed."""
    memory = replace(
        snapshot.memory,
        measured_gbs=measured.memory.measured_gbs,
        measured_at=measured.memory.measured_at,
    )
    sources = {**snapshot.sources, "memory.measured_gbs": measured.sources.get("memory.measured_gbs", "measured")}
    return replace(snapshot, memory=memory, sources=sources)


def _with_known_speed(new: HardwareSnapshot, old: HardwareSnapshot | None) -> HardwareSnapshot:
    """A measured RAM speed outlives another look at the same machine; that of a saved one does not come along."""
    if old is None or new.memory.measured_gbs is not None or old.memory.measured_gbs is None:
        return new
    if (new.cpu.name, new.memory.total_bytes) != (old.cpu.name, old.memory.total_bytes):
        return new
    return _with_speed_of(new, old)
