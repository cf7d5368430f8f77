"""The plan page: the session's plan as a verdict, wishes, a board, speeds and a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.hardware.types import HardwareSnapshot
from app.ui.board.board import Board
from app.ui.file_paths import ask_open
from app.ui.pages.plan_command import CommandPanel
from app.ui.pages.plan_files import PlanFileActions, plan_menu
from app.ui.pages.plan_header import PlanHeader
from app.ui.pages.plan_kept import KeptLine
from app.ui.pages.plan_overrides import OverridesCard
from app.ui.pages.plan_side import SidePanel
from app.ui.pages.plan_slider import ExpertSlider
from app.ui.pages.plan_stamp import PlanStamp
from app.ui.pages.plan_wishes import WishesRow
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.frames import Rule
from app.ui.widgets.labels import DimLabel
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_NO_REFUSAL = ("engine_probe_unsupported", "engine_probe_timeout", "engine_broken", "internal_error")
"""The engine could not be asked: that says nothing of the plan."""


def machine_line(hardware: HardwareSnapshot | None) -> str:
    """What an empty page says of this machine: the cards the engine can use, and the RAM."""
    if hardware is None:
        return say("plan.empty.looking")
    facts = [
        say("plan.empty.gpu", name=gpu.name, size=gpu.total_bytes / 1024**3)
        for gpu in hardware.gpus
        if gpu.total_bytes is not None and not gpu.is_software
    ]
    if not hardware.gpus:
        facts.append(say("plan.empty.no_gpu"))
    if hardware.memory.total_bytes is not None:
        facts.append(say("plan.empty.ram", size=hardware.memory.total_bytes / 1024**3))
    return say("plan.empty.machine", facts=" · ".join(facts))


class PlanPage(QWidget):
    """Reads the session's state on its signals and sends wishes; keeps no state of the plan itself.

    ``launch_requested``: the user pressed Launch (the window then shows the run page).
    """

    launch_requested = Signal()

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._is_loading = session.is_loading  # the last model is asked for before this page is made
        self.files = PlanFileActions(session, self)
        self.header = PlanHeader(session)
        self.header.set_plan_menu(plan_menu(self.files, session, self.header))
        self.stamp = PlanStamp(session)
        self.wishes = WishesRow(session)
        self.slider = ExpertSlider(session)
        self.board = Board(session)
        self.kept = KeptLine(session)
        self.no_gpu = DimLabel(wrap=True)
        self.overrides = OverridesCard()
        self.side = SidePanel(session, self.board)
        self.command = CommandPanel(session)
        self.empty = EmptyState("drop", say("plan.empty.title"), say("plan.empty.note"), drop=True)
        self.open_button = PrimaryButton(say("plan.open"))
        self.demo_button = PlainButton(say("plan.empty.demo"), look="large")
        self._stack = QStackedWidget()
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._build()
        self._connect()
        self._refresh_all()

    def _build(self) -> None:
        self.empty.buttons.addWidget(self.open_button)
        self.empty.buttons.addWidget(self.demo_button)
        top = QWidget()
        head = QVBoxLayout(top)
        head.setContentsMargins(16, 10, 16, 8)
        head.setSpacing(7)
        head.addWidget(self.header)
        head.addWidget(self.stamp)
        head.addWidget(self.wishes)
        self._stack.addWidget(self._planning())
        self._stack.addWidget(self._invitation())
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        page.addWidget(top)
        page.addWidget(Rule())
        page.addWidget(self._stack, 1)
        page.addWidget(self.command)

    def _planning(self) -> QWidget:
        widget = QWidget()
        left = QVBoxLayout()
        left.setSpacing(8)
        left.addWidget(self.slider)
        left.addWidget(self.no_gpu)
        left.addWidget(self.kept)
        left.addWidget(self.board, 1)
        left.addWidget(self.overrides)
        line = QHBoxLayout(widget)
        line.setContentsMargins(16, 8, 16, 10)
        line.setSpacing(12)
        line.addLayout(left, 1)
        line.addWidget(self.side)
        self.side.setFixedWidth(self.side.fontMetrics().horizontalAdvance("0") * 38)
        return widget

    def _invitation(self) -> QWidget:
        widget = QWidget()
        line = QVBoxLayout(widget)
        line.setContentsMargins(16, 14, 16, 16)
        line.addWidget(self.empty)
        return widget

    def _connect(self) -> None:
        session = self._session
        session.model_changed.connect(self._on_model)
        session.plan_changed.connect(self._on_plan)
        session.verification_changed.connect(self._on_verification)
        session.engine_changed.connect(self._on_engine)
        session.run_changed.connect(self._on_engine)
        session.hardware_changed.connect(self._on_hardware)
        session.settings_changed.connect(self._on_settings)
        session.model_loading_changed.connect(self._on_loading)
        self.header.open_requested.connect(self.choose_model)
        self.header.engine_requested.connect(self.choose_engine)
        self.open_button.clicked.connect(self.choose_model)
        self.demo_button.clicked.connect(session.open_demo)
        self.wishes.details_toggled.connect(self._on_details)
        self.board.announced.connect(self.command.say)
        self.command.launch_requested.connect(self.launch_requested)
        self.command.export_requested.connect(self.files.export)
        self.command.paste_requested.connect(self.files.paste)

    # What the user asks for.

    @Slot()
    def choose_model(self) -> None:
        """Ask for a model file."""
        last = self._session.settings.last_model
        folder = str(Path(last).parent) if last else str(Path.home())
        path = ask_open(
            self, say("plan.dialog.open"), folder, f"{say('plan.dialog.models')} (*.gguf);;{say('plan.dialog.all')} (*)"
        )
        if path:
            self._session.open_model(path)

    @Slot()
    def choose_engine(self) -> None:
        """Ask for a llama-server."""
        path = ask_open(self, say("plan.dialog.engine"), str(Path.home()))
        if path:
            self._session.choose_engine(path)

    @Slot()
    def launch(self) -> None:
        """What the Launch button does, when it can be pressed."""
        if self.command.launch.isEnabled() and not self.command.launch.isHidden():
            self.command.request_launch()

    # What the session says.

    @Slot()
    def _on_model(self) -> None:
        self.header.refresh_model()
        self._refresh_stack()

    @Slot()
    def _on_plan(self) -> None:
        plan = self._session.plan
        self.command.forget()  # what it told was about the plan before; the board tells a new move right now
        if plan is not None:
            self.board.refresh()
            self.slider.refresh()
        self.header.refresh_plan()
        self.wishes.refresh()
        if plan is not None:
            self.overrides.show_rows(plan.overrides)
            self.side.refresh()
            self._show_refusal()
        self._refresh_no_gpu()
        self.kept.refresh()
        self.command.refresh()
        self._refresh_stack()

    @Slot()
    def _on_hardware(self) -> None:
        self.header.refresh_model()  # it says when the machine is a saved one
        self._on_plan()

    @Slot()
    def _on_verification(self) -> None:
        result = self._session.verification
        self.overrides.model.set_confirmed(None if result is None else not result.unconfirmed)
        self._show_refusal()

    def _show_refusal(self) -> None:
        """Why the engine would not load this plan, as it says itself, among the plan's notes."""
        plan, refusal = self._session.plan, self._session.verification_problem
        if plan is None:
            return
        known = {*_NO_REFUSAL, *(problem.code for problem in plan.problems)}
        self.side.notes.show_problems(
            (*plan.problems, *(() if refusal is None or refusal.code in known else (refusal,)))
        )

    @Slot()
    def _on_engine(self) -> None:
        self.header.refresh_engine()
        self.command.refresh()

    @Slot()
    def _on_settings(self) -> None:
        self._show_details(self._session.settings.details_open)
        self.command.refresh()

    @Slot(bool)
    def _on_loading(self, loading: bool) -> None:
        self._is_loading = loading
        self._refresh_stack()

    @Slot(bool)
    def _on_details(self, shown: bool) -> None:
        self.overrides.setVisible(shown)
        self._session.change_settings(details_open=shown)

    def _show_details(self, shown: bool) -> None:
        with QSignalBlocker(self.wishes):
            self.wishes.show_details(shown)
        self.overrides.setVisible(shown)

    def _refresh_no_gpu(self) -> None:
        plan = self._session.plan
        none = plan is not None and not plan.devices.gpus and not plan.devices.off
        self.no_gpu.setVisible(none)
        if none:
            self.no_gpu.setText(say("plan.no_gpu"))

    def _refresh_stack(self) -> None:
        loading = self._is_loading
        has_plan = self._session.plan is not None
        self._stack.setCurrentIndex(0 if has_plan else 1)
        self.wishes.setVisible(has_plan)
        self.command.setVisible(has_plan)
        waits = self._session.model is not None and self._session.hardware is None
        self.empty.busy.setVisible(loading or waits)
        self.open_button.setVisible(not (loading or waits))
        self.demo_button.setVisible(not (loading or waits))
        if waits and not loading:
            self.empty.set_words(say("plan.empty.looking"), say("plan.waiting.note"))
        elif loading:
            self.empty.set_words(say("plan.loading.title"), say("plan.loading.note"))
        else:
            self.empty.set_words(say("plan.empty.title"), say("plan.empty.note"))
        self.empty.set_foot(machine_line(self._session.hardware))

    def _refresh_all(self) -> None:
        self._show_details(self._session.settings.details_open)
        self._on_model()
        self._on_engine()
        self._on_plan()
        self._on_verification()  # a page made anew for another language
        self.board.refresh_verification()
