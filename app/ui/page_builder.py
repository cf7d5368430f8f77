"""Makes the pages that nobody looks at yet, one by one, in the pauses of whoever works in the window."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication, QWidget
from typing_extensions import override

_GAP_MS = 40
"""Between two pages the event loop has this long for paints and keys."""

_HANDS_OFF_MS = 300
"""No page is made until mouse and keyboard have been still for this long: a page takes up to a tenth of a second."""

_INPUT = frozenset(
    (
        QEvent.Type.KeyPress,
        QEvent.Type.KeyRelease,
        QEvent.Type.MouseButtonPress,
        QEvent.Type.MouseButtonRelease,
        QEvent.Type.MouseMove,
        QEvent.Type.Wheel,
        QEvent.Type.DragMove,
        QEvent.Type.TouchUpdate,
        QEvent.Type.InputMethod,
    )
)


def import_plots() -> None:
    """numpy and pyqtgraph, a third of a second that would stop the event loop. Plain imports: they make no object of
    Qt's. What cannot be imported is told when the page that needs it is made."""
    with contextlib.suppress(ImportError):
        importlib.import_module("numpy")
        importlib.import_module("pyqtgraph")


class PageBuilder(QObject):
    """``make_next`` makes one page and says whether there was one to make. A page that is asked for sooner is simply
    made then, by the window; nothing here is in its way."""

    def __init__(
        self, window: QWidget, make_next: Callable[[], bool], prepare: Callable[[], None] = import_plots
    ) -> None:
        super().__init__(window)
        self._window = window
        self._make_next = make_next
        self._prepare = prepare
        self._thread: threading.Thread | None = None
        self._since_input = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setInterval(_GAP_MS)
        self._timer.timeout.connect(self._step)

    @property
    def is_at_work(self) -> bool:
        """Are there pages to make?"""
        return self._timer.isActive()

    @Slot()
    def begin(self) -> None:
        """Make what is missing; called again, it changes nothing. A window that nobody sees needs no more pages."""
        if self.is_at_work or not self._window.isVisible():
            return
        if self._thread is None:
            # Python waits for it at its end: a thread is not to be cut off in the middle of an import.
            self._thread = threading.Thread(target=self._prepare, name="plots", daemon=False)
            self._thread.start()
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)  # only while pages are made: it sees every event
        self._timer.start()

    @Slot()
    def _step(self) -> None:
        if not self._window.isVisible() or (not self._has_to_wait() and not self._make_next()):
            self._end()

    def _has_to_wait(self) -> bool:
        is_preparing = self._thread is not None and self._thread.is_alive()
        return is_preparing or (self._since_input.isValid() and not self._since_input.hasExpired(_HANDS_OFF_MS))

    def _end(self) -> None:
        self._timer.stop()
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _INPUT:
            self._since_input.start()
        return False
