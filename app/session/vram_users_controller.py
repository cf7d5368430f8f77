"""Who uses the cards' memory: asked when somebody looks, never by a clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, QObject, Signal, Slot

from app.common.later import later
from app.hardware.types import HardwareSnapshot
from app.session.errors import problem_of
from app.session.jobs import JobRunner

if TYPE_CHECKING:
    from app.work.vram_users import CardUsers, look_at_users
else:
    look_at_users = later("app.work.vram_users", "look_at_users")

_FRESH_MS = 5_000
"""Younger answers are shown again instead of asking anew."""


class VramUsersController(QObject):
    """``result``: one for each card of the machine; None until it was asked, and for a saved machine.

    Signal: ``changed``. ``machine`` gives this machine, None for a saved one.
    """

    changed = Signal()

    def __init__(
        self, jobs: JobRunner, machine: Callable[[], HardwareSnapshot | None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._machine = machine
        self._is_asking = False
        self._age = QElapsedTimer()
        self._cards: tuple[str, ...] = ()
        self._result: tuple[CardUsers, ...] | None = None
        self.look: Callable[[HardwareSnapshot], tuple[CardUsers, ...]] = look_at_users

    @property
    def result(self) -> tuple[CardUsers, ...] | None:
        """The last answer, as long as it is about the cards that are shown."""
        snapshot = self._machine()
        return self._result if snapshot is not None and _cards(snapshot) == self._cards else None

    def of(self, engine_name: str) -> CardUsers | None:
        """The answer for the card that the engine calls so."""
        snapshot, result = self._machine(), self.result
        if snapshot is None or result is None:
            return None
        names = [gpu.engine_name for gpu in snapshot.gpus]
        return result[names.index(engine_name)] if engine_name in names else None

    @property
    def is_asking(self) -> bool:
        """Is an answer on its way?"""
        return self._is_asking

    @Slot()
    def ask(self) -> None:
        """Somebody looks: ask in the background, unless that was done a moment ago."""
        snapshot = self._machine()
        if snapshot is None or not snapshot.gpus or self._is_asking:
            return
        if self.result is not None and self._age.isValid() and self._age.elapsed() < _FRESH_MS:
            return
        self._is_asking = True
        self._jobs.run(lambda: self.look(snapshot), lambda result, error: self._on_done(snapshot, result, error))

    def _on_done(
        self, snapshot: HardwareSnapshot, result: tuple[CardUsers, ...] | None, error: Exception | None
    ) -> None:
        self._is_asking = False
        if result is None:
            problem_of(error)  # a mistake of ours goes to the log; the line stays away
            return
        self._age.start()
        self._cards, self._result = _cards(snapshot), result
        self.changed.emit()


def _cards(snapshot: HardwareSnapshot) -> tuple[str, ...]:
    return tuple(gpu.uuid or gpu.luid or gpu.pci_id or gpu.name for gpu in snapshot.gpus)
