"""The top of the plan page: which model, which engine, what the plan comes to."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from app.common.units import size_text
from app.model.file_types import quant_name
from app.model.types import ModelInfo
from app.session.state import EnginePhase, EngineState
from app.ui.pages.plan_verdict import verdict
from app.ui.theme.fonts import scaled
from app.ui.widgets.buttons import IconButton, PlainButton
from app.ui.widgets.labels import Chip, ElidedLabel, set_look
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_ENGINE_TOKENS = {
    EnginePhase.LOOKING: "text_dim",
    EnginePhase.BUILDING: "warning",
    EnginePhase.READY: "ok",
    EnginePhase.MISSING: "error",
    EnginePhase.BROKEN: "error",
}


def model_chips(model: ModelInfo) -> tuple[str, ...]:
    """The facts beside the model's name."""
    chips = [model.architecture, " · ".join([size_text(model.file_bytes), main_quant(model)])]
    chips.append(say("plan.chip.layers", n=model.block_count - model.nextn_count))
    if model.expert_count:
        chips.append(say("plan.chip.experts", n=model.expert_count, used=model.expert_used_count))
    return tuple(chips)


def main_quant(model: ModelInfo) -> str:
    """The quantisation as people name it (Q4_K_M); the type of most of the weights where the file does not tell."""
    return quant_name(model) or ""


def model_title(model: ModelInfo) -> str:
    """The model's own name, or the file's."""
    return model.name or PurePath(model.path).stem


def engine_words(engine: EngineState) -> str:
    """The engine chip's text."""
    if engine.phase is EnginePhase.READY:
        # "0.6.0-dev (build 0, commit unknown)": the bracket goes to the tooltip.
        build = (engine.build or "").partition(" (")[0]
        return say("plan.engine.ready", build=build) if build else say("plan.engine.ready_unknown")
    if engine.phase is EnginePhase.BUILDING and engine.progress is not None:
        return say("plan.engine.building_at", percent=round(100 * engine.progress))
    return say(f"plan.engine.{engine.phase.value}")


class PlanHeader(QWidget):
    """Model name and chips, engine chip with its menu, open, undo, redo, and the verdict.

    Signals: ``open_requested`` (the file dialog), ``engine_requested`` (choose a llama-server).
    """

    open_requested = Signal()
    engine_requested = Signal()

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._name = ElidedLabel()
        self._name.setFont(scaled(self.font(), 1.32, bold=True))
        self._chip_row = QHBoxLayout()
        self._chips: list[Chip] = []
        self._verdict = QLabel()
        self._verdict.setFont(scaled(self.font(), 1.12, bold=True))
        self._verdict.setWordWrap(True)
        self._engine = PlainButton("", look="chip")
        self._engine_menu = QMenu(self)
        self._open = PlainButton(say("plan.open"))
        self._plan = PlainButton(say("planfile.menu"))
        self._plan.set_icon("chevron-down")
        self._plan.setToolTip(say("planfile.menu.tip"))
        self._undo = IconButton("undo", say("plan.undo"))
        self._redo = IconButton("redo", say("plan.redo"))
        self._build()
        self._connect()

    def _build(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(8)
        self._name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        line.addWidget(self._name)
        line.addSpacing(4)
        self._chip_row.setSpacing(8)
        line.addLayout(self._chip_row)
        line.addStretch(1)
        for widget in (self._engine, self._open, self._plan, self._undo, self._redo):
            line.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(line)
        column.addWidget(self._verdict)
        self._engine_menu.addAction(say("plan.engine.choose")).setData("choose")
        self._engine_menu.addAction(say("engines.get")).setData("get")
        self._engine_menu.addAction(say("plan.engine.build")).setData("build")
        self._back = self._engine_menu.addAction(say("engines.back", name="—"))
        self._back.setData("back")
        self._back.setVisible(False)
        self._engine.setMenu(self._engine_menu)
        self._undo.setEnabled(False)
        self._redo.setEnabled(False)

    def _connect(self) -> None:
        self._engine_menu.triggered.connect(self._on_engine_action)
        self._session.engines.changed.connect(self.refresh_engine)
        self._open.clicked.connect(self.open_requested)
        stack = self._session.undo_stack
        self._undo.clicked.connect(stack.undo)
        self._redo.clicked.connect(stack.redo)
        stack.canUndoChanged.connect(self._undo.setEnabled)
        stack.canRedoChanged.connect(self._redo.setEnabled)
        stack.undoTextChanged.connect(self._on_undo_text)
        stack.redoTextChanged.connect(self._on_redo_text)
        self._undo.setEnabled(stack.canUndo())
        self._redo.setEnabled(stack.canRedo())

    def set_plan_menu(self, menu: QMenu) -> None:
        """What the Plan button offers: plan files, comparisons, pasted commands."""
        self._plan.setMenu(menu)

    @property
    def verdict_text(self) -> str:
        """The verdict as it reads now."""
        return self._verdict.text()

    @property
    def chip_texts(self) -> tuple[str, ...]:
        """The words of the chips that are shown."""
        return tuple(chip.text() for chip in self._chips if not chip.isHidden())

    @property
    def engine_text(self) -> str:
        """The engine chip's words."""
        return self._engine.text()

    def refresh_model(self) -> None:
        """Show the model's name and chips."""
        model = self._session.model
        texts = model_chips(model) if model is not None else ()
        if texts and not self._session.is_this_machine:
            texts = (say("plan.chip.saved_machine"), *texts)  # first: chips give way from the end
        self._name.setText(model_title(model) if model is not None else say("plan.no_model"))
        for button in (self._open, self._plan, self._undo, self._redo):
            button.setVisible(model is not None)
        while len(self._chips) < len(texts):
            self._chips.append(Chip())
            self._chip_row.addWidget(self._chips[-1])
        for i, chip in enumerate(self._chips):
            chip.setText(texts[i] if i < len(texts) else "")
        self._name.setToolTip(model.path if model is not None else "")
        self._fit_chips()

    def _fit_chips(self) -> None:
        """In a narrow window the chips give way, the last first, before the name is shortened."""
        buttons = (self._engine, self._open, self._plan, self._undo, self._redo)
        room = self.width() - self._name.sizeHint().width() - 16
        room -= sum(button.sizeHint().width() + 8 for button in buttons if not button.isHidden())
        for chip in self._chips:
            room -= chip.sizeHint().width() + 8
            chip.setVisible(bool(chip.text()) and room >= 0)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_chips()

    def refresh_plan(self) -> None:
        """Show the verdict."""
        plan = self._session.plan
        self._verdict.setVisible(plan is not None)
        if plan is not None:
            told = verdict(plan, self._session.model)
            self._verdict.setText(told.text)
            set_look(self._verdict, told.look)

    def refresh_engine(self) -> None:
        """Show the engine's state."""
        engine = self._session.engine
        self._engine.setText(engine_words(engine))
        self._engine.set_icon("dot", _ENGINE_TOKENS[engine.phase], 12)
        self._engine.setToolTip("\n".join(text for text in (engine.build, engine.path) if text))
        self._fit_chips()
        self._engine.setAccessibleName(say("plan.engine.name", state=engine_words(engine)))
        before = self._session.engines.before
        self._back.setVisible(before is not None)
        if before is not None:
            self._back.setText(say("engines.back", name=before.label))
        for action in self._engine_menu.actions():
            if action.data() == "build":
                action.setEnabled(engine.phase not in (EnginePhase.BUILDING, EnginePhase.LOOKING))

    @Slot(QAction)
    def _on_engine_action(self, action: QAction) -> None:
        if action.data() == "choose":
            self.engine_requested.emit()
        elif action.data() == "get":
            from app.ui.dialogs.get_engine import show_get_engine  # few open it, and it costs start-up time

            show_get_engine(self._session, self)
        elif action.data() == "back":
            self._session.engines.go_back()
        else:
            self._session.build_engine()

    @Slot(str)
    def _on_undo_text(self, text: str) -> None:
        self._undo.set_name(say("plan.undo_what", what=text) if text else say("plan.undo"))

    @Slot(str)
    def _on_redo_text(self, text: str) -> None:
        self._redo.set_name(say("plan.redo_what", what=text) if text else say("plan.redo"))
