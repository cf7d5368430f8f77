"""The top of the run page: state, Launch/Stop, address and key, where the server runs, how far it has loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QProgressBar, QSizePolicy, QVBoxLayout, QWidget

from app.session.state import EngineState, RunPhase, RunState
from app.ui.pages.run_parts import fix_size
from app.ui.pages.run_words import cpus_sentence, run_sentence
from app.ui.theme.fonts import mono_font
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import IconButton, PlainButton
from app.ui.widgets.combo import Combo
from app.ui.widgets.labels import Chip, DimLabel, ElidedLabel, SectionTitle, set_look
from app.words import say

if TYPE_CHECKING:
    from app.planner.types import Plan

SPANS_S = (120.0, 300.0, 600.0)
"""How much of the past the curves show, by choice."""

_DOTS = {
    RunPhase.STOPPED: "text_dim",
    RunPhase.STARTING: "warning",
    RunPhase.READY: "ok",
    RunPhase.STOPPING: "warning",
    RunPhase.FAILED: "error",
}
_ACTIVE = (RunPhase.STARTING, RunPhase.READY, RunPhase.STOPPING)


class CopyField(QWidget):
    """A label, a read-only text that can be selected, and a Copy button; its width never changes with its text.

    A secret is dots until the eye beside it is pressed; Copy copies it all the same.
    """

    def __init__(self, label: str, characters: int, parent: QWidget | None = None, *, is_secret: bool = False) -> None:
        super().__init__(parent)
        self._label = label
        caption = DimLabel(label)
        self._field = QLineEdit()
        self._field.setReadOnly(True)
        self._field.setFont(mono_font(self.font()))
        self._field.setAccessibleName(label)
        self._field.setPlaceholderText(say("run.after_launch"))
        self._field.setFixedWidth(self._field.fontMetrics().horizontalAdvance("0") * characters + 22)
        caption.setBuddy(self._field)
        self._copy = IconButton("copy", say("run.copy_what", what=label), bare=True)
        self._copy.setEnabled(False)
        self._copy.clicked.connect(self._on_copy)
        self._is_secret = is_secret
        self._reveal = IconButton("eye", say("key.show"), bare=True)
        self._reveal.setCheckable(True)
        self._reveal.setVisible(False)
        self._reveal.toggled.connect(self._on_reveal)
        if is_secret:
            self._field.setEchoMode(QLineEdit.EchoMode.Password)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for widget in (caption, self._field, self._reveal, self._copy):
            layout.addWidget(widget)

    @property
    def text(self) -> str:
        """What is copied."""
        return self._field.text()

    @property
    def shown_text(self) -> str:
        """What can be read on the screen."""
        return self._field.displayText()

    @property
    def copy_button(self) -> IconButton:
        """The Copy button."""
        return self._copy

    def set_text(self, text: str | None) -> None:
        """Show a text; None empties the field."""
        if self._field.text() != (text or ""):
            self._field.setText(text or "")
            self._field.setCursorPosition(0)
            self._field.setToolTip("" if self._is_secret else text or "")
            self._reveal.setVisible(self._is_secret and bool(text))
            self._copy.set_name(say("run.copy_what", what=self._label))
        self._copy.setEnabled(text is not None)

    @Slot(bool)
    def _on_reveal(self, is_shown: bool) -> None:
        self._field.setEchoMode(QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password)
        self._field.setCursorPosition(0)
        self._reveal.set_icon("eye-off" if is_shown else "eye")
        self._reveal.set_name(say("key.hide" if is_shown else "key.show"))

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._field.text())
        self._copy.set_name(say("run.copied_what", what=self._label))


class RunHeader(QFrame):
    """Says the state in words and offers the one button that is right in it."""

    launch_requested = Signal()
    stop_requested = Signal()
    apps_requested = Signal()
    runs_requested = Signal()
    span_changed = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run = RunState(RunPhase.STOPPED)
        self._theme = ThemeManager.of_app()
        self._make_parts()
        self._lay_out()
        self._theme.theme_changed.connect(self._refresh_dots)

    def _make_parts(self) -> None:
        self._dot = QLabel("●")
        self._state = SectionTitle(factor=1.3)
        self._model, self._engine, self._pid = Chip(), Chip(), Chip()
        self._span = Combo()
        self._span.set_choices([(say("run.span", n=s / 60), s) for s in SPANS_S], SPANS_S[0])
        self._span.setAccessibleName(say("run.span_name"))
        self._span.currentIndexChanged.connect(self._on_span)
        self.apps_button = PlainButton(say("other_apps.open"))
        self.apps_button.clicked.connect(self.apps_requested)
        self.runs_button = PlainButton(say("runs.open"))
        self.runs_button.clicked.connect(self.runs_requested)
        self._button = PlainButton("")
        fix_size(self._button, 18)
        self._button.clicked.connect(self._on_button)
        self._sentence = ElidedLabel()
        self._sentence.setFont(SectionTitle(factor=1.05).font())
        self._sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._address = CopyField(say("run.address"), 24)
        self._key = CopyField(say("run.api_key"), 36, is_secret=True)
        self._cpus_icon = QLabel()
        self._cpus_icon.setFixedWidth(16)
        self._cpus = ElidedLabel()
        self._cpus.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setFixedHeight(3)
        self._progress.setAccessibleName(say("run.progress_name"))
        policy = self._progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._progress.setSizePolicy(policy)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(8)
        for widget in (self._dot, self._state, self._model, self._engine, self._pid):
            top.addWidget(widget)
        top.addStretch(1)
        top.addWidget(self.runs_button)
        top.addWidget(self.apps_button)
        top.addWidget(self._span)
        top.addWidget(self._button)
        bottom = QHBoxLayout()
        bottom.setSpacing(18)
        bottom.addWidget(self._address)
        bottom.addWidget(self._key)
        cpus = QHBoxLayout()
        cpus.setSpacing(6)
        cpus.addWidget(self._cpus_icon)
        cpus.addWidget(self._cpus, 1)
        bottom.addLayout(cpus, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 10, 16, 0)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addWidget(self._sentence)
        layout.addLayout(bottom)
        layout.addWidget(self._progress)

    @property
    def button(self) -> PlainButton:
        """Launch or Stop."""
        return self._button

    @property
    def sentence(self) -> str:
        """The sentence under the state."""
        return self._sentence.text()

    @property
    def address(self) -> CopyField:
        """The server's address."""
        return self._address

    @property
    def key(self) -> CopyField:
        """The server's API key."""
        return self._key

    @property
    def progress(self) -> QProgressBar:
        """How much of the model has been read."""
        return self._progress

    def set_state(self, run: RunState, engine: EngineState, plan: Plan | None, model_name: str | None) -> None:
        """Show the state of everything that a launch needs."""
        self._run = run
        self._state.setText(say(f"run.phase.{run.phase.value}"))
        told = run_sentence(run, engine, plan)
        self._sentence.setText(told.text)
        self._sentence.setAccessibleName(told.text)
        set_look(self._sentence, told.tone)
        self._show_chip(self._model, model_name)
        self._show_chip(self._engine, engine.build)
        self._show_chip(self._pid, None if run.pid is None else f"PID {run.pid}")
        self._address.set_text(run.url)
        self._key.set_text(run.api_key)
        self._cpus.setText(cpus_sentence(run).text)
        self._set_button(run, can_launch=plan is not None)
        self._set_progress(run)
        self._refresh_dots()

    @staticmethod
    def _show_chip(chip: Chip, text: str | None) -> None:
        chip.setText(text or "")
        chip.setVisible(bool(text))

    def _set_button(self, run: RunState, *, can_launch: bool) -> None:
        active = run.phase in _ACTIVE
        code = "run.stop" if active else "run.launch"
        if run.phase is RunPhase.STOPPING:
            code = "run.stop_now"
        self._button.setText(say(code))
        self._button.setEnabled(active or can_launch)
        self._button.setToolTip("" if self._button.isEnabled() else say("run.no_model"))
        set_look(self._button, "plain" if active else "primary")
        self._button.set_icon("stop" if active else "play", "error" if active else "accent_text")

    def _set_progress(self, run: RunState) -> None:
        loading = run.phase is RunPhase.STARTING
        self._progress.setVisible(loading)
        if not loading:
            return
        if run.to_load_bytes and run.loaded_bytes is not None:
            self._progress.setRange(0, 1000)
            self._progress.setValue(round(1000 * min(1.0, run.loaded_bytes / run.to_load_bytes)))
        else:
            self._progress.setRange(0, 0)

    @Slot()
    def _refresh_dots(self) -> None:
        palette = self._dot.palette()
        palette.setColor(QPalette.ColorRole.WindowText, self._theme.tokens.color(_DOTS[self._run.phase]))
        self._dot.setPalette(palette)
        told = cpus_sentence(self._run)
        name = {"ok": "check", "warning": "warning"}.get(told.tone)
        if name is None:
            self._cpus_icon.clear()
        else:
            icon = self._theme.icon(name, told.tone, 16)
            self._cpus_icon.setPixmap(icon.pixmap(QSize(16, 16), self.devicePixelRatioF()))
        self._cpus_icon.setAlignment(Qt.AlignmentFlag.AlignCenter)

    @Slot()
    def _on_button(self) -> None:
        if self._run.phase in _ACTIVE:
            self.stop_requested.emit()
        else:
            self.launch_requested.emit()

    @Slot()
    def _on_span(self) -> None:
        self.span_changed.emit(float(self._span.currentData()))
