"""The first run: engine, model, plan, chat. Each step is behind the user when it has happened, or was skipped."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.session.state import EnginePhase, EngineState, RunPhase
from app.settings import Settings


class Step(StrEnum):
    """The four steps, in order; ``first_run.<step>`` are the words."""

    ENGINE = "engine"
    MODEL = "model"
    PLAN = "plan"
    CHAT = "chat"


DONE = "done"
"""In the settings: the whole guide is behind the user and is never shown again."""


class FirstRunController(QObject):
    """``step`` is the first that is not behind the user; what is behind is kept in the settings, so that a program that
    was closed in between goes on there. ``changed`` when it moved on."""

    changed = Signal()

    def __init__(
        self,
        settings: Callable[[], Settings],
        change_settings: Callable[..., Any],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._change = change_settings

    @property
    def is_due(self) -> bool:
        """Should the guide be offered? Not to somebody who has opened a model before there was a guide."""
        settings = self._settings()
        if DONE in settings.first_run:
            return False
        return bool(settings.first_run) or settings.last_model is None

    @property
    def step(self) -> Step | None:
        """Where the user is; None when all is behind."""
        behind = self._settings().first_run
        if DONE in behind:
            return None
        return next((step for step in Step if step.value not in behind), None)

    def is_behind(self, step: Step) -> bool:
        """Was it done or skipped?"""
        return step.value in self._settings().first_run

    def finish(self, step: Step) -> None:
        """This step is behind the user: it has happened, or was skipped."""
        behind = self._settings().first_run
        if step.value in behind or DONE in behind:
            return
        behind = (*behind, step.value)
        if all(each.value in behind for each in Step):
            behind = (*behind, DONE)
        self._change(first_run=behind)
        self.changed.emit()

    def leave(self) -> None:
        """The user needs no guide, now or later."""
        if DONE not in self._settings().first_run:
            self._change(first_run=(*self._settings().first_run, DONE))
            self.changed.emit()

    def see(self, engine: EngineState, *, has_own_model: bool, run: RunPhase) -> None:
        """What has happened by itself: an engine was found, a model was opened, a server runs."""
        if engine.phase is EnginePhase.READY and self.step is Step.ENGINE:
            self.finish(Step.ENGINE)
        if has_own_model and self.step is Step.MODEL:
            self.finish(Step.MODEL)
        if run is RunPhase.READY and self.step is Step.PLAN:
            self.finish(Step.PLAN)
