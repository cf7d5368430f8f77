"""The first run: from nothing to a first answer in four steps. Each can be skipped; a keyboard is enough."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.session.first_run_controller import Step
from app.ui.pages.first_run_answer import ChatStep, PlanStep
from app.ui.pages.first_run_steps import EngineStep, ModelStep, StepPage
from app.ui.theme.fonts import scaled
from app.ui.widgets.buttons import LinkButton, PlainButton, PrimaryButton
from app.ui.widgets.frames import Rule
from app.ui.widgets.labels import DimLabel, SectionTitle, set_look
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_CHARACTERS = 104


class FirstRunDialog(QDialog):
    """Follows ``session.first_run``. ``page_requested(name)`` for what lies on a page of the window."""

    page_requested = Signal(str)

    def __init__(
        self, session: AppSession, parent: QWidget | None, *, for_windows: bool = sys.platform == "win32"
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._first_run = session.first_run
        self.setWindowTitle(say("first_run.title"))
        self.setModal(False)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.pages: dict[Step, StepPage] = {
            Step.ENGINE: EngineStep(session, for_windows=for_windows),
            Step.MODEL: ModelStep(session),
            Step.PLAN: PlanStep(session),
            Step.CHAT: ChatStep(session),
        }
        self._marks: dict[Step, QLabel] = {}
        self._shown: Step | None = None
        self._left_at: QWidget | None = None
        self._make_parts()
        self._lay_out()
        self._connect()
        self._see()
        self.refresh()

    def _make_parts(self) -> None:
        self.stack = QStackedWidget()
        for page in self.pages.values():
            self.stack.addWidget(page)
        self.go = PrimaryButton("")
        self.skip = PlainButton(say("first_run.skip"), look="large")
        self.leave = LinkButton(say("first_run.leave"))

    def _lay_out(self) -> None:
        steps = QVBoxLayout()
        steps.setSpacing(10)
        for number, step in enumerate(Step, start=1):
            label = QLabel(f"{number}  {say(f'first_run.{step.value}')}")
            label.setFont(scaled(label.font(), 1.05))
            self._marks[step] = label
            steps.addWidget(label)
        steps.addStretch(1)
        steps.addWidget(DimLabel(say("first_run.note"), wrap=True))
        side = QWidget()
        side.setLayout(steps)
        side.setFixedWidth(self.fontMetrics().horizontalAdvance("0") * 24)
        body = QHBoxLayout()
        body.setSpacing(24)
        body.addWidget(side)
        body.addWidget(self.stack, 1)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.leave)
        foot.addStretch(1)
        foot.addWidget(self.skip)
        foot.addWidget(self.go)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 18, 24, 18)
        column.setSpacing(12)
        column.addWidget(SectionTitle(say("first_run.headline"), factor=1.35))
        column.addWidget(Rule())
        column.addLayout(body, 1)
        column.addWidget(Rule())
        column.addLayout(foot)
        width = self.fontMetrics().horizontalAdvance("0") * _CHARACTERS
        self.resize(width, round(width * 0.58))

    def _connect(self) -> None:
        session = self._session
        self.go.setDefault(True)
        self.go.clicked.connect(self._on_go)
        self.skip.clicked.connect(self._on_skip)
        self.leave.clicked.connect(self._on_leave)
        self._first_run.changed.connect(self.refresh)
        for signal in (session.engine_changed, session.model_changed, session.run_changed):
            signal.connect(self._see)
        for page in self.pages.values():
            page.changed.connect(self.refresh)
            page.page_requested.connect(self.page_requested)

    @property
    def step(self) -> Step | None:
        """The step that is shown; None when all is behind."""
        return self._first_run.step

    @Slot()
    def _see(self) -> None:
        session = self._session
        model = session.model
        own = model is not None and model.path != str(session.paths.demo_model)
        self._first_run.see(session.engine, has_own_model=own, run=session.run.phase)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show where the user is."""
        step = self.step
        for each, label in self._marks.items():
            behind = self._first_run.is_behind(each)
            mark = "✓" if behind else "▸" if each is step else " "
            label.setText(f"{mark}  {list(Step).index(each) + 1}  {say(f'first_run.{each.value}')}")
            set_look(label, "ok" if behind else "" if each is step else "dim")
        page = self.pages[step or Step.CHAT]
        if step is not self._shown:
            self._shown = step
            self.stack.setCurrentWidget(page)
            page.begin()
            self.go.setFocus()
            self._left_at = self.focusWidget()
        text, is_enabled = page.action()
        was_enabled = self.go.isEnabled()
        self.go.setText(say("first_run.close") if step is None else text)
        self.go.setEnabled(step is None or is_enabled)
        if self.go.isEnabled() and not was_enabled and self.focusWidget() in (None, self._left_at, self.skip):
            self.go.setFocus()  # a button that is off holds no focus: it had gone to the next one
            self._left_at = self.go
        elif was_enabled and not self.go.isEnabled():
            self._left_at = self.focusWidget()
        self.skip.setVisible(step is not None)
        self.leave.setVisible(step is not None)

    @Slot()
    def _on_go(self) -> None:
        step = self.step
        if step is None:
            self.accept()
        else:
            self.pages[step].act()

    @Slot()
    def _on_skip(self) -> None:
        if self.step is not None:
            self.pages[self.step].leave()
            self._first_run.finish(self.step)

    @Slot()
    def _on_leave(self) -> None:
        self._first_run.leave()
        self.accept()

    @override
    def reject(self) -> None:
        """Escape closes the guide for now: the next start goes on where it was."""
        super().reject()


def show_first_run(session: AppSession, parent: QWidget) -> FirstRunDialog:
    """Open the guide over a window, one at a time."""
    opened = [child for child in parent.findChildren(FirstRunDialog) if child.isVisible()]
    dialog = opened[0] if opened else FirstRunDialog(session, parent)
    dialog.show()
    dialog.raise_()
    dialog.activateWindow()
    return dialog
