"""The engine card of the settings page: which llama-server is used, choosing another, building one."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QProgressBar, QWidget

from app.common.problem import Problem
from app.session.state import EnginePhase, EngineState
from app.ui.file_paths import ask_folder, ask_open
from app.ui.pages.run_words import engine_sentence
from app.ui.pages.settings_form import FormCard
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.labels import DimLabel, set_look
from app.words import say, say_problem

_ICONS = {"ok": "check", "warning": "warning", "error": "error", "plain": "info"}
_TOKENS = {"ok": "ok", "warning": "warning", "error": "error", "plain": "text_dim"}


class EngineCard(FormCard):
    """Says what was found in words; every way to change it is one button."""

    path_chosen = Signal(str)
    build_requested = Signal()

    def __init__(self, build_problem: Problem | None, parent: QWidget | None = None) -> None:
        super().__init__(say("settings.engine"), parent)
        self._theme = ThemeManager.of_app()
        self._build_problem = build_problem
        self._state = EngineState(EnginePhase.LOOKING)
        self._make_status()
        self._make_path_row()
        self._make_build_row()
        self._theme.theme_changed.connect(self._refresh_icon)

    def _make_status(self) -> None:
        self._icon, self._status = QLabel(), QLabel()
        self._status.setWordWrap(True)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._icon)
        line.addWidget(self._status, 1)
        self.body.insertLayout(1, line)

    def _make_path_row(self) -> None:
        self._path = QLineEdit()
        self._path.setPlaceholderText(say("settings.engine_auto"))
        self._path.setAccessibleName(say("settings.engine_path"))
        self._path.editingFinished.connect(self._on_typed)
        self._browse = PlainButton(say("settings.browse"))
        self._browse.clicked.connect(self._on_browse)
        self._folder = PlainButton(say("settings.browse_folder"))
        self._folder.clicked.connect(self._on_folder)
        self._auto = PlainButton(say("settings.find"))
        self._auto.clicked.connect(self._on_auto)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self._path, 1)
        for button in (self._browse, self._folder, self._auto):
            row.addWidget(button)
        self._found = DimLabel(wrap=True)
        self.add_row(say("settings.engine_path"), row).setBuddy(self._path)
        self.add_row(say("settings.engine_in_use"), self._found)

    def _make_build_row(self) -> None:
        self._build = PlainButton(say("settings.build"))
        self._build.clicked.connect(self.build_requested)
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(say("settings.build"))
        policy = self._progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._progress.setSizePolicy(policy)
        self._percent = DimLabel()
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(self._build)
        row.addWidget(self._progress, 1)
        row.addWidget(self._percent)
        problem = self._build_problem
        note = say("settings.build_note") if problem is None else say_problem(problem)
        self.add_row(say("settings.build_label"), row, note).setBuddy(self._build)

    @property
    def status(self) -> str:
        """The state in words."""
        return self._status.text()

    @property
    def build_button(self) -> PlainButton:
        """Builds llama.cpp from source."""
        return self._build

    @property
    def path_field(self) -> QLineEdit:
        """The chosen path; empty = found automatically."""
        return self._path

    @property
    def progress(self) -> QProgressBar:
        """How far the build is."""
        return self._progress

    def set_state(self, state: EngineState, chosen: str | None) -> None:
        """Show what is in use; ``chosen`` is the path from the settings, None = automatic."""
        self._state = state
        told = engine_sentence(state)
        self._status.setText(told.text)
        set_look(self._status, told.tone)
        self._found.setText(state.path or say("settings.engine_none"))
        if not self._path.hasFocus():
            self._path.setText(chosen or "")
        is_building = state.phase is EnginePhase.BUILDING
        self._build.setEnabled(self._build_problem is None and not is_building)
        self._build.setText(say("settings.building" if is_building else "settings.build"))
        self._progress.setVisible(is_building)
        self._percent.setText("")
        if is_building and state.progress is not None:
            self._progress.setRange(0, 1000)
            self._progress.setValue(round(state.progress * 1000))
            self._percent.setText(f"{state.progress * 100:.0f} %")
        elif is_building:
            self._progress.setRange(0, 0)
        self._refresh_icon()

    @Slot()
    def _refresh_icon(self) -> None:
        tone = engine_sentence(self._state).tone
        icon = self._theme.icon(_ICONS[tone], _TOKENS[tone], 16)
        self._icon.setPixmap(icon.pixmap(QSize(16, 16), self.devicePixelRatioF()))

    @Slot()
    def _on_typed(self) -> None:
        if self._path.isModified():
            self._path.setModified(False)
            self.path_chosen.emit(self._path.text().strip())

    @Slot()
    def _on_browse(self) -> None:
        path = ask_open(self, say("settings.browse_title"), self._path.text())
        if path:
            self.path_chosen.emit(path)

    @Slot()
    def _on_folder(self) -> None:
        path = ask_folder(self, say("settings.browse_title"), self._path.text())
        if path:
            self.path_chosen.emit(path)

    @Slot()
    def _on_auto(self) -> None:
        self._path.clear()
        self.path_chosen.emit("")
