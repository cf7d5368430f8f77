"""Python's garbage collection, on the main thread only.

Collecting runs in whichever thread happens to allocate. A window that ended as a cycle would be destroyed in a worker
thread, in the middle of reading a file, and Qt aborts: its objects and timers belong to the main thread.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

_LOOK_MS = 500


def set_aside() -> None:
    """What exists now stays until ``take_back``: collecting does not look through it again.

    A start makes some 200 000 objects, modules and classes almost all of them; going through them once takes as long
    as several frames.
    """
    gc.freeze()


def take_back() -> None:
    """The end: what was set aside may be in cycles, and goes with the rest."""
    gc.unfreeze()


class MainThreadGarbage(QObject):
    """Switches automatic collecting off and collects by the same thresholds from a timer of this thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.collect_due)
        self._timer.start()

    @Slot()
    def collect_due(self) -> None:
        """Collect the oldest generation that is over its threshold; nothing when none is."""
        for generation in (2, 1, 0):
            if gc.get_count()[generation] > gc.get_threshold()[generation] > 0:
                gc.collect(generation)
                return
