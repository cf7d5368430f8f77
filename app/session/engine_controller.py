"""Finds, chooses and builds the engine for the window; the machine is looked at once per engine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.common.paths import AppPaths
from app.engine.build import build_engine
from app.hardware.types import HardwareSnapshot
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.session.state import EnginePhase, EngineState
from app.work.engines import EngineHandle, open_engine
from app.work.machine import ask_engine, look_at_machine, with_measured_ram


class EngineController(QObject):
    """Owns the engine handle and the hardware snapshot.

    Signals: ``changed`` the engine's state; ``hardware_changed`` the snapshot; ``failed(Problem)``.
    """

    changed = Signal()
    hardware_changed = Signal()
    failed = Signal(object)
    _build_progress = Signal(object)

    def __init__(self, jobs: JobRunner, paths: AppPaths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._paths = paths
        self._cancel_build = threading.Event()
        self._look_id = 0
        self._machine_id = 0
        self._is_saved = False
        self.handle: EngineHandle | None = None
        self.hardware: HardwareSnapshot | None = None
        self.state = EngineState(EnginePhase.LOOKING)
        self.rpc_servers: tuple[str, ...] = ()
        self._build_progress.connect(self._on_build_progress)

    def use_snapshot(self, snapshot: HardwareSnapshot) -> None:
        """Show a saved machine instead of this one (``--hardware FILE``)."""
        self._machine_id += 1  # what a look at this machine still finds out is not wanted any more
        self._is_saved = True
        self.hardware = snapshot
        self.hardware_changed.emit()

    def look(self, explicit: str | None, keep_snapshot: bool = False) -> None:
        """Find the engine and look at the machine, in the background; the probes answer first."""
        self._look_id += 1
        look_id = self._look_id
        self._set(EngineState(EnginePhase.LOOKING))
        if self.hardware is None and not keep_snapshot:
            self._jobs.run(lambda: look_at_machine(None), self._on_first_look)

        def on_engine(handle: EngineHandle | None, error: Exception | None) -> None:
            if look_id != self._look_id:
                return
            if error is not None:
                self._engine_failed(error, explicit)
                handle = None
            self.handle = handle
            if handle is not None:
                build = handle.capabilities.build
                self._set(EngineState(EnginePhase.READY, handle.binary.path, build))
            elif error is None:
                self._set(EngineState(EnginePhase.MISSING))
            if not keep_snapshot and not self._is_saved:
                self._probe(self._look_again)

        self._jobs.run(lambda: open_engine(explicit, self._paths), on_engine)

    def refresh_hardware(self) -> None:
        """Look at the machine again (free memory changes all the time); a search for the engine goes on."""
        self._is_saved = False
        binary = self.handle.binary if self.handle else None
        servers = self.rpc_servers
        self._probe(lambda: look_at_machine(binary, servers))

    def measure_ram(self) -> None:
        """Measure RAM reading for about a second."""
        snapshot = self.hardware
        if snapshot is None:
            return
        machine_id = self._machine_id
        self._jobs.run(
            lambda: with_measured_ram(snapshot), lambda result, error: self._on_hardware(machine_id, result, error)
        )

    def build(self, on_built: Callable[[], None]) -> None:
        """Build llama.cpp from its source package, once; minutes long, with progress."""
        if self.state.phase is EnginePhase.BUILDING:
            return
        self._cancel_build.clear()
        self._set(EngineState(EnginePhase.BUILDING, progress=0.0))

        def on_done(_: object, error: Exception | None) -> None:
            if error is None:
                on_built()
            else:
                self._engine_failed(error, None)

        self._jobs.run(lambda: build_engine(self._paths, self._build_progress.emit, self._cancel_build.is_set), on_done)

    def close(self) -> None:
        """Give up a running build; the job runner waits for its end."""
        self._cancel_build.set()

    def _on_first_look(self, snapshot: HardwareSnapshot | None, error: Exception | None) -> None:
        """The probes' answer; the engine's comes later and then counts."""
        if self.hardware is None:
            self._on_hardware(self._machine_id, snapshot, error)

    def _probe(self, look: Callable[[], HardwareSnapshot]) -> None:
        """Look in the background; only the newest look counts."""
        self._machine_id += 1
        machine_id = self._machine_id
        self._jobs.run(look, lambda result, error: self._on_hardware(machine_id, result, error))

    def _look_again(self) -> HardwareSnapshot:
        binary = self.handle.binary if self.handle else None
        if self.hardware is not None:
            return ask_engine(self.hardware, binary, self.rpc_servers)
        return look_at_machine(binary, self.rpc_servers)

    def _on_hardware(self, machine_id: int, snapshot: HardwareSnapshot | None, error: Exception | None) -> None:
        if machine_id != self._machine_id:
            return
        if error is not None or snapshot is None:
            self.failed.emit(problem_of(error))
            return
        self.hardware = _with_known_speed(snapshot, self.hardware)
        self.hardware_changed.emit()

    def _engine_failed(self, error: Exception, explicit: str | None) -> None:
        problem = problem_of(error)
        self._set(EngineState(EnginePhase.BROKEN, explicit, problem=problem))
        self.failed.emit(problem)

    @Slot(object)
    def _on_build_progress(self, progress: object) -> None:
        if self.state.phase is EnginePhase.BUILDING:
            fraction = getattr(progress, "fraction", None)
            self._set(EngineState(EnginePhase.BUILDING, progress=fraction))

    def _set(self, state: EngineState) -> None:
        self.state = state
        self.changed.emit()


def _with_known_speed(new: HardwareSnapshot, old: HardwareSnapshot | None) -> HardwareSnapshot:
    """A measured RAM speed outlives another look at the same machine; that of a saved one does not come along."""
    if old is None or new.memory.measured_gbs is not None or old.memory.measured_gbs is None:
        return new
    if (new.cpu.name, new.memory.total_bytes) != (old.cpu.name, old.memory.total_bytes):
        return new
    sources = {**new.sources, "memory.measured_gbs": old.sources.get("memory.measured_gbs", "measured")}
    return replace(new, memory=replace(new.memory, measured_gbs=old.memory.measured_gbs), sources=sources)
