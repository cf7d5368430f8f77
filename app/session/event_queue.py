"""Events from other threads, in order, with one wake-up of the main thread for all that came together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

Item = TypeVar("Item")


class EventQueue(QObject, Generic[Item]):
    """``put`` from any thread; ``handle`` is called in the thread that this object lives in, once for each.

    A queued signal for each line of a talkative server costs a wake-up of the window for each; here a burst of lines
    costs one.
    """

    _woken = Signal()

    def __init__(self, handle: Callable[[Item], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._handle = handle
        self._items: deque[Item] = deque()
        self._is_told = False
        self._woken.connect(self._on_woken, Qt.ConnectionType.QueuedConnection)

    def put(self, item: Item) -> None:
        """Add an item; from any thread."""
        self._items.append(item)
        # No lock: whoever empties the queue lowers the flag first, so that an item is either taken with those before it
        # or told anew.
        if not self._is_told:
            self._tell()

    def _tell(self) -> None:
        self._is_told = True
        self._woken.emit()

    @Slot()
    def _on_woken(self) -> None:
        self._is_told = False
        try:
            for _ in range(len(self._items)):  # those that come meanwhile wait for their turn behind mouse and keys
                if self._items:  # else whoever handled one let the window work meanwhile, which took the rest
                    self._handle(self._items.popleft())
        finally:
            if self._items and not self._is_told:  # an error in one event must not take the others with it
                self._tell()
