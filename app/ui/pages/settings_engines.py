"""The engines card of the settings page: every llama-server side by side, the one in use, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.common.problem import Problem
from app.ui.file_paths import ask_folder
from app.ui.widgets.buttons import IconButton, PlainButton
from app.ui.widgets.frames import CardFrame, Rule
from app.ui.widgets.labels import Chip, DimLabel, ElidedLabel, SectionTitle
from app.ui.widgets.problem_lines import ToneLine
from app.words import say
from app.work.engine_store import KnownEngine, in_order

if TYPE_CHECKING:
    from app.session.engines_controller import EnginesController

_ICON = QSize(16, 16)


def backends_text(engine: KnownEngine) -> str:
    """'CUDA + CPU', the graphics cards' first."""
    names = sorted(engine.backends, key=lambda name: (name in ("cpu", "rpc"), name))
    return " + ".join(say(f"engine.backend.{name}") for name in names)


class EngineRow(QFrame):
    """One engine: build, backends, where it is, its devices, its warnings; Use and Forget."""

    use_requested = Signal(str)
    forget_requested = Signal(str)

    def __init__(
        self, engine: KnownEngine, *, is_current: bool, warnings: tuple[Problem, ...], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.engine = engine
        title = f"{engine.label} · {backends_text(engine)}"
        self.setAccessibleName(title)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(SectionTitle(title))
        if is_current:
            head.addWidget(Chip(say("engines.in_use")))
        head.addStretch(1)
        self.use = PlainButton(say("engines.use"))
        self.use.setAccessibleName(say("engines.use_name", name=title))
        self.use.clicked.connect(self._on_use)
        self.forget = IconButton("close", say("engines.forget", name=title), bare=True)
        self.forget.clicked.connect(self._on_forget)
        for button in (self.use, self.forget):
            button.setVisible(not is_current)
            head.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(3)
        column.addLayout(head)
        for text in self._facts():
            label = ElidedLabel(text, mode=Qt.TextElideMode.ElideMiddle)
            label.setProperty("look", "dim")
            column.addWidget(label)
        for warning in warnings:
            column.addWidget(ToneLine(warning))

    def _facts(self) -> list[str]:
        engine = self.engine
        source = say(f"engine.source.{engine.source}")
        facts = [f"{say(f'engine.kind.{engine.kind}')} · {source} · SHA-256 {engine.short_hash}…"]
        if engine.devices is None:
            facts.append(say("engines.devices_unknown"))
        else:
            facts.append("  ·  ".join(engine.devices) or say("engines.devices_none"))
        return [*facts, engine.path]

    @Slot()
    def _on_use(self) -> None:
        self.use_requested.emit(self.engine.id)

    @Slot()
    def _on_forget(self) -> None:
        self.forget_requested.emit(self.engine.id)


class EnginesCard(CardFrame):
    """Shows ``EnginesController.list``; ``get_requested``: open the window that fetches one."""

    get_requested = Signal()

    def __init__(self, engines: EnginesController, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=8)
        self._engines = engines
        self.rows: list[EngineRow] = []
        self.setAccessibleName(say("engines.title"))
        self.body.addWidget(SectionTitle(say("engines.title")))
        self._none = DimLabel(say("engines.none"), wrap=True)
        self.body.addWidget(self._none)
        self._list = QVBoxLayout()
        self._list.setSpacing(6)
        self.body.addLayout(self._list)
        self.get_button = PlainButton(say("engines.get"))
        self.add_button = PlainButton(say("engines.add"))
        self.back_button = PlainButton(say("engines.back", name="—"))
        self.back_button.set_icon("undo")
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        for button in (self.get_button, self.add_button, self.back_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        self.body.addLayout(buttons)
        self.get_button.clicked.connect(self.get_requested)
        self.add_button.clicked.connect(self._on_add)
        self.back_button.clicked.connect(engines.go_back)
        engines.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the list anew."""
        while (item := self._list.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.rows = []
        store = self._engines.list.store
        for number, engine in enumerate(in_order(store.engines)):
            if number:
                self._list.addWidget(Rule())
            is_current = engine.id == store.current
            row = EngineRow(engine, is_current=is_current, warnings=self._engines.warnings(engine))
            row.use_requested.connect(self._engines.use)
            row.forget_requested.connect(self._engines.forget)
            self._list.addWidget(row)
            self.rows.append(row)
        self._none.setVisible(not self.rows)
        before = self._engines.before
        self.back_button.setVisible(before is not None)
        if before is not None:
            self.back_button.setText(say("engines.back", name=before.label))

    @Slot()
    def _on_add(self) -> None:
        path = ask_folder(self, say("engines.add_title"))
        if path:
            self._engines.add(path)
