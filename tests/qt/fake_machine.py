"""The machine's part of a fake session: no hardware is asked, and a verdict is worked out at once."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal

from app.common.problem import Problem
from app.diagnose.machine_upgrades import Judgement
from app.hardware.types import HardwareSnapshot
from app.work.machine_verdict import judge_machine
from app.work.other_apps import AppAccess, AppAnswer
from app.work.vram_users import CardUsers


class FakeMachine(QObject):
    """What ``AppSession.machine`` shows of itself."""

    freshness_changed = Signal()
    measuring_changed = Signal()

    def __init__(self, calls: list[tuple[object, ...]]) -> None:
        super().__init__()
        self._calls = calls
        self.age_seconds: float | None = 12.0
        self.is_measuring = False
        self.other: HardwareSnapshot | None = None

    def set_measuring(self, on: bool) -> None:
        self.is_measuring = on
        self.measuring_changed.emit()

    def cancel_measuring(self) -> None:
        self._calls.append(("cancel_measuring",))
        self.set_measuring(False)

    def read_other(self, path: str) -> HardwareSnapshot | None:
        self._calls.append(("read_other", path))
        return self.other


class FakeVramUsers(QObject):
    """What ``AppSession.vram_users`` shows: counts the questions; a test sets the answer."""

    changed = Signal()

    def __init__(self, session: Any) -> None:
        super().__init__()
        self._session = session
        self.asked = 0
        self.is_asking = False
        self.result: tuple[CardUsers, ...] | None = None

    def ask(self) -> None:
        self.asked += 1
        self.is_asking = self.result is None

    def of(self, engine_name: str) -> CardUsers | None:
        names = [gpu.engine_name for gpu in self._session.hardware.gpus]
        return self.result[names.index(engine_name)] if self.result and engine_name in names else None

    def tell(self, *result: CardUsers) -> None:
        self.result, self.is_asking = result, False
        self.changed.emit()


class FakeOtherApps(QObject):
    """What ``AppSession.other_apps`` shows; a test sets the answer."""

    changed = Signal()

    def __init__(self, calls: list[tuple[object, ...]]) -> None:
        super().__init__()
        self._calls = calls
        self.is_testing = False
        self.answer: AppAnswer | None = None
        self.problem: Problem | None = None

    def test(self, access: AppAccess) -> None:
        self._calls.append(("test_app", access))
        self.is_testing = True
        self.changed.emit()

    def end(self, answer: AppAnswer | None = None, problem: Problem | None = None) -> None:
        self.is_testing, self.answer, self.problem = False, answer, problem
        self.changed.emit()


class FakeJudge(QObject):
    """Judges at once, on the thread that asks."""

    changed = Signal()

    def __init__(self, session: Any) -> None:
        super().__init__()
        self._session = session
        self.result: Judgement | None = None
        self.is_on = False

    def ask(self) -> None:
        if self.is_on and self._session.hardware is not None:
            self.result = judge_machine(self._session.hardware)
            self.changed.emit()

    def judge_each(self, machines, then) -> None:
        then(tuple(judge_machine(machine) for machine in machines))
