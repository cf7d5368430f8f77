"""The last two steps of the first run: launch the plan, ask a first question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QLabel
from typing_extensions import override

from app.session.first_run_controller import Step
from app.session.state import ChatPhase, EnginePhase, RunPhase
from app.ui.pages.first_run_steps import StepPage
from app.ui.pages.plan_verdict import verdict
from app.ui.widgets.frames import ScrollCard
from app.ui.widgets.labels import DimLabel, set_look
from app.ui.widgets.launch_strip import LaunchStrip
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class PlanStep(StepPage):
    """The plan's verdict in one sentence; Launch."""

    def __init__(self, session: AppSession) -> None:
        super().__init__(session, Step.PLAN)
        self.model = QLabel()
        self.model.setWordWrap(True)
        self.verdict = QLabel()
        self.verdict.setWordWrap(True)
        self.status = DimLabel(wrap=True)
        self.hindrance = LaunchStrip(session.launching)
        for widget in (self.model, self.verdict, self.status, self.hindrance):
            self.column.addWidget(widget)
        self.column.addLayout(self.trouble)
        self.column.addStretch(1)
        session.plan_changed.connect(self._refresh)
        session.run_changed.connect(self._refresh)
        session.engine_changed.connect(self._refresh)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        session = self._session
        self.model.setText("" if session.model is None else say("first_run.plan.model", name=session.model.name))
        if session.plan is not None:
            told = verdict(session.plan, session.model)
            self.verdict.setText(told.text)
            set_look(self.verdict, told.look)
        run = session.run
        is_starting = run.phase is RunPhase.STARTING
        self.status.setText(say("first_run.plan.starting") if is_starting else "")
        self.trouble.show_problem(run.problem if run.phase is RunPhase.FAILED else None)
        self.changed.emit()

    @override
    def action(self) -> tuple[str, bool]:
        """Launch, once there is a plan and an engine."""
        session = self._session
        may = session.plan is not None and not session.plan.has_errors and session.engine.phase is EnginePhase.READY
        return say("first_run.plan.launch"), may and session.run.phase in (RunPhase.STOPPED, RunPhase.FAILED)

    @override
    def act(self) -> None:
        """Start the server with this plan."""
        self._session.launch()


class ChatStep(StepPage):
    """A first question and its answer."""

    def __init__(self, session: AppSession) -> None:
        super().__init__(session, Step.CHAT)
        self.question = QLabel(say("first_run.chat.question"))
        self.question.setWordWrap(True)
        self.answer = ScrollCard(say("first_run.chat.answer"))
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setContentsMargins(10, 8, 10, 8)
        self._text.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.answer.set_content(self._text)
        self.speed = DimLabel(wrap=True)
        self.column.addWidget(self.question)
        self.column.addWidget(self.answer, 1)
        self.column.addWidget(self.speed)
        self.demo = DimLabel(say("chat.demo"), wrap=True)
        self.column.addWidget(self.demo)
        self.column.addLayout(self.trouble)
        self._is_asked = False
        session.chat_changed.connect(self._refresh)
        session.run_changed.connect(self._refresh)
        self._refresh()

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._text.text()

    @Slot()
    def _refresh(self) -> None:
        chat, plan = self._session.chat, self._session.running_plan
        self.demo.setVisible(plan is not None and plan.model_path == str(self._session.paths.demo_model))
        self._text.setText(chat.answer or chat.reasoning)
        self.speed.setText("" if chat.decode_tps is None else say("first_run.chat.speed", tps=chat.decode_tps))
        self.trouble.show_problem(chat.problem)
        first_run = self._session.first_run
        has_begun = bool(chat.answer or chat.reasoning)
        if self._is_asked and has_begun and first_run.step is Step.CHAT:
            self._is_asked = False
            first_run.finish(Step.CHAT)
        self.changed.emit()

    @override
    def action(self) -> tuple[str, bool]:
        """Ask, once the server is ready."""
        ready = self._session.run.phase is RunPhase.READY
        return say("first_run.chat.ask"), ready and self._session.chat.phase is ChatPhase.IDLE

    @override
    def act(self) -> None:
        """Ask the first question."""
        self._is_asked = True
        self._session.send_prompt(self.question.text())
