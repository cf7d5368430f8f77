"""What stands behind the first plan, imported in a thread: the window answers meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module

from PySide6.QtCore import QObject, QTimer, Signal, Slot

MODULES = (
    "app.planner.plan",
    "app.work.planning",
    "app.work.models",
    "app.work.machine",
    "app.work.engines",
    "app.work.engine_registry",
    "app.work.stress_stamp",
    "app.work.effort",
    "app.work.plan_shelf",
    "app.planner.second_gpu",
    "app.hardware.snapshot_file",
    "app.monitor.ring",
)
"""Roots: with what they import, most of what the session and the plan page need. Nothing of Qt's is among it."""

_LOOK_MS = 4


class WarmUp(QObject):
    """Signal ``done`` once, from the thread of this object, when everything is there.

    A module that cannot be imported is left to whoever needs it, who fails where it can be told.
    """

    done = Signal()

    def __init__(self, parent: QObject | None = None, modules: Sequence[str] = MODULES) -> None:
        super().__init__(parent)
        self._modules = modules
        # Python waits for it at its end: a thread is not to be cut off in the middle of an import.
        self._thread = threading.Thread(target=self._work, name="warm-up", daemon=False)
        self._end = threading.Event()
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    def begin(self) -> None:
        """Import from now on."""
        self._thread.start()
        self._timer.start()

    def end(self) -> None:
        """The window goes: the module at hand is the last one, and is waited for."""
        self._timer.stop()
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        for name in self._modules:
            if self._end.is_set():
                return
            try:
                import_module(name)
            except Exception:  # told by the import of the session, on the main thread
                return

    @Slot()
    def _look(self) -> None:
        if not self._thread.is_alive():
            self._timer.stop()
            self.done.emit()
