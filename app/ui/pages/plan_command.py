"""The bottom of the plan page: the command that will run, and Launch."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QFontMetricsF,
    QGuiApplication,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.planner.shells import Shell, length_problem
from app.planner.types import Plan
from app.session.state import EnginePhase, EngineState, RunPhase
from app.settings.settings import SHELLS
from app.ui.pages.plan_files import export_menu
from app.ui.secret import key_in, masked
from app.ui.theme.fonts import mono_font
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import IconButton, LinkButton, PlainButton, PrimaryButton
from app.ui.widgets.labels import ElidedLabel
from app.words import say, say_problem

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_FLAG = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*")
_OVERRIDE = re.compile(r"(?<!\S)(?:-ot|--override-tensor)\s+(\"[^\"]*\"|'[^']*'|\S+)")
_RUNNING = (RunPhase.STARTING, RunPhase.READY, RunPhase.STOPPING)
_LINES_SHOWN = 3
_MOST_DRAWN = 40_000
_PADDING = (5, 4, 3, 4)
"""Left, top, right, bottom, around the lines of the command."""


class CommandColours(QSyntaxHighlighter):
    """Flags in the accent colour, the override patterns in the experts' colour."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        ThemeManager.of_app().theme_changed.connect(self.rehighlight)

    @override
    def highlightBlock(self, text: str) -> None:
        tokens = ThemeManager.of_app().tokens
        for pattern, group, token in ((_FLAG, 0, "accent"), (_OVERRIDE, 1, "role_expert")):
            look = QTextCharFormat()
            look.setForeground(tokens.color(token))
            for match in pattern.finditer(text):
                self.setFormat(match.start(group), match.end(group) - match.start(group), look)


class CommandView(QPlainTextEdit):
    """The command line, to read and to select from."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "command")
        self.setReadOnly(True)
        self.setAcceptDrops(False)
        self.setTabChangesFocus(True)
        self.setFont(mono_font(self.font()))
        self.document().setDocumentMargin(0)
        self.setViewportMargins(*_PADDING)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(say("plan.command.name"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.colours = CommandColours(self.document())

    def show_command(self, text: str) -> None:
        """Show a command; the place stays when nothing changed. Of one that no shell would take the beginning."""
        if len(text) > _MOST_DRAWN:
            text = f"{text[: _MOST_DRAWN - 1]}…"
        if text != self.toPlainText():
            self.setPlainText(text)

    @override
    def sizeHint(self) -> QSize:
        """Whole lines only: half a line would look like a mistake."""
        line = ceil(QFontMetricsF(self.font()).lineSpacing())
        _, above, _, below = _PADDING
        return QSize(300, line * _LINES_SHOWN + above + below + 2 * self.frameWidth())


class CommandPanel(QFrame):
    """Shell tabs, command, Copy, Export, Launch or Stop, and the status line of the page.

    The API key is dots until the eye is pressed; what is copied holds it. Signals: ``launch_requested``,
    ``export_requested(kind)``, ``paste_requested``.
    """

    launch_requested = Signal()
    export_requested = Signal(str)
    paste_requested = Signal()

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "band")
        self._session = session
        self.tabs = QButtonGroup(self)
        self.tabs.setExclusive(True)
        self._is_asked = False
        self.status = ElidedLabel()
        self.status.setProperty("look", "dim")
        self.command = CommandView()
        self.copy = PlainButton(say("plan.copy"), look="large")
        self.export = PlainButton(say("plan.export"), look="large")
        self.launch = PrimaryButton(say("plan.launch"))
        self.stop = PlainButton(say("plan.stop"), look="large")
        self.paste = LinkButton(say("paste.open"))
        self.reveal = IconButton("eye", say("key.show"), bare=True)
        self.reveal.setCheckable(True)
        self._export_menu = export_menu(self)
        self._build()
        self._connect()

    def _build(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(2)
        for i, shell in enumerate(SHELLS):
            tab = PlainButton(say(f"plan.shell.{shell}"), look="tab")
            tab.setCheckable(True)
            tab.setProperty("shell", shell)
            self.tabs.addButton(tab, i)
            top.addWidget(tab)
        top.addSpacing(8)
        top.addWidget(self.paste)
        top.addSpacing(12)
        top.addWidget(self.status, 1)
        top.addWidget(self.reveal)
        self.status.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        left = QVBoxLayout()
        left.setSpacing(3)
        left.addLayout(top)
        left.addWidget(self.command)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.copy, self.export, self.launch, self.stop):
            buttons.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
        line = QHBoxLayout(self)
        line.setContentsMargins(16, 6, 16, 10)
        line.setSpacing(12)
        line.addLayout(left, 1)
        line.addLayout(buttons)
        self.copy.set_icon("copy")
        self.export.set_icon("export")
        self.export.setMenu(self._export_menu)
        self.launch.set_icon("play", "accent_text", 14)
        self.stop.set_icon("stop", "error", 14)
        self.launch.setToolTip(say("plan.launch.tip"))
        self.copy.setToolTip(say("plan.copy.tip"))

    def _connect(self) -> None:
        self.tabs.buttonClicked.connect(self._on_tab)
        self.copy.clicked.connect(self.copy_command)
        self._export_menu.triggered.connect(self._on_export)
        self.launch.clicked.connect(self.request_launch)
        session = self._session
        for signal in (session.run_changed, session.engine_changed, session.launching.changed, session.message_raised):
            signal.connect(self._on_answer)
        self.stop.clicked.connect(self._session.stop)
        self.reveal.toggled.connect(self._show_command)
        self.paste.clicked.connect(self.paste_requested)

    @property
    def shell(self) -> str:
        """The shell whose command is shown."""
        return self._session.settings.shell

    def refresh(self) -> None:
        """Follow plan, engine, run and settings."""
        for button in self.tabs.buttons():
            button.setChecked(button.property("shell") == self.shell)
        plan = self._session.plan
        self._show_command()
        phase = self._session.run.phase
        running = phase in _RUNNING
        self.launch.setVisible(not running)
        self.stop.setVisible(running)
        self.stop.setEnabled(phase is not RunPhase.STOPPING)
        self.stop.setText(say("plan.stopping") if phase is RunPhase.STOPPING else say("plan.stop"))
        hindrance = launch_hindrance(plan, self._session.engine)
        self.launch.setEnabled(hindrance is None)
        self.launch.setToolTip(hindrance or say("plan.launch.tip"))
        if hindrance is not None and plan is not None:
            self.say(hindrance)
        elif self.status.property("hindrance"):
            self.say("")
        self.status.setProperty("hindrance", hindrance is not None)

    @Slot()
    def _show_command(self) -> None:
        plan = self._session.plan
        key = None if plan is None else key_in(plan.argv)
        is_shown = self.reveal.isChecked()
        self.reveal.setVisible(key is not None)
        self.reveal.set_icon("eye-off" if is_shown else "eye")
        self.reveal.set_name(say("key.hide" if is_shown else "key.show"))
        text = "" if plan is None else self._session.command_text(self.shell)
        self.command.show_command(text if is_shown else masked(text, key))

    def say(self, text: str) -> None:
        """Show a text in the status line."""
        self.status.setText(text)

    def forget(self) -> None:
        """Clear the status line, unless it says why Launch cannot be pressed, or that a launch is looked into."""
        if not self.status.property("hindrance") and not self._is_asked:
            self.say("")

    @Slot()
    def request_launch(self) -> None:
        """Ask for the launch and say so at once: looking at memory, port and engine comes first and takes a moment."""
        self._is_asked = True
        self.say(say("plan.launching"))
        self.launch_requested.emit()

    @Slot()
    def _on_answer(self) -> None:
        """It starts, or there is a question or a message: all of them are seen elsewhere."""
        if self._is_asked:
            self._is_asked = False
            self.forget()

    @Slot()
    def copy_command(self) -> None:
        """Copy the command and say so, or that this shell would cut it."""
        if self._session.plan is None:
            return
        text = self._session.command_text(self.shell)
        QGuiApplication.clipboard().setText(text)
        too_long = length_problem(text, Shell(self.shell))
        self.say(say_problem(too_long) if too_long else say("plan.copied", shell=say(f"plan.shell.{self.shell}")))

    @Slot(QPushButton)
    def _on_tab(self, button: QPushButton) -> None:
        self._session.change_settings(shell=str(button.property("shell")))
        self.refresh()

    @Slot(QAction)
    def _on_export(self, action: QAction) -> None:
        self.export_requested.emit(str(action.data()))


def launch_hindrance(plan: Plan | None, engine: EngineState) -> str | None:
    """Why Launch cannot be pressed, in words; None when it can. An over-full plan may be launched: the user decides."""
    if plan is None:
        return say("plan.hindrance.no_model")
    if engine.phase is not EnginePhase.READY:
        return say(f"plan.hindrance.{engine.phase.value}")
    return None
