"""The doctor page: what is wrong with the run, the plan or the machine, or with a log from elsewhere, and its fix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.common.problem import Severity
from app.diagnose.doctor.types import Finding
from app.session.doctor_controller import DoctorController, DoctorState
from app.ui.file_paths import ask_open, dropped_paths
from app.ui.pages.doctor_card import FindingCard, FineCard
from app.ui.widgets.buttons import IconButton, PlainButton
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import Chip, DimLabel, SectionTitle, set_look
from app.words import say, say_problem

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_NO_LOGS = (".gguf", ".json", ".png", ".jpg", ".exe", ".zip")
_FEW_CHARACTERS = 8


class DoctorPage(QWidget):
    """Shows the findings of ``session.doctor``. Signals: ``page_requested`` with the page where a fix can be seen."""

    page_requested = Signal(str)

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._doctor: DoctorController = session.doctor
        self._shown: tuple[object, ...] = ()
        self.cards: list[FindingCard] = []
        self.setAcceptDrops(True)
        self._make_head()
        self.empty = EmptyState("check", "", "", drop=True)
        self._empty_open = PlainButton(say("doctor_page.open"))
        self._empty_open.clicked.connect(self.choose_log)
        self.empty.buttons.addWidget(self._empty_open)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        self._scroll.setAccessibleName(say("page.doctor"))
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._stack = QStackedWidget()
        frame = QWidget()
        inner = QVBoxLayout(frame)
        inner.setContentsMargins(16, 10, 16, 14)
        inner.addWidget(self.empty)
        self._stack.addWidget(frame)
        self._stack.addWidget(self._scroll)
        self._lay_out()
        self._doctor.changed.connect(self.refresh)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Paste), self).activated.connect(self.paste)
        self.refresh()

    def _make_head(self) -> None:
        self._title = SectionTitle(say("page.doctor"), factor=1.5)
        self._source = Chip()
        self._close = IconButton("close", say("doctor_page.close_log"), bare=True)
        self._close.clicked.connect(self._doctor.close_log)
        self._count = DimLabel()
        self.open_button = PlainButton(say("doctor_page.open"))
        self.open_button.set_icon("open")
        self.open_button.clicked.connect(self.choose_log)
        self.paste_button = PlainButton(say("doctor_page.paste"))
        self.paste_button.clicked.connect(self.paste)
        self.again_button = PlainButton(say("doctor_page.again"))
        self.again_button.set_icon("redo")
        self.again_button.clicked.connect(self._doctor.examine)
        self.copy_button = PlainButton(say("doctor_page.copy"))
        self.copy_button.set_icon("copy")
        self.copy_button.setToolTip(say("doctor_page.copy_tip"))
        self.copy_button.clicked.connect(self._on_copy)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(16, 12, 16, 4)
        head.setSpacing(10)
        for widget in (self._title, self._source, self._close, self._count):
            head.addWidget(widget)
        head.addStretch(1)
        for button in (self.open_button, self.paste_button, self.again_button, self.copy_button):
            head.addWidget(button)
        self._trouble = DimLabel(wrap=True)
        self._trouble.setContentsMargins(16, 0, 16, 4)
        set_look(self._trouble, "error")
        self._trouble.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self._trouble)
        column.addWidget(self._stack, 1)

    @Slot()
    def refresh(self) -> None:
        """Show the doctor's state."""
        state = self._doctor.state
        self._show_head(state)
        shown = (state.findings, state.may_launch_again)
        if shown != self._shown or not state.findings:
            self._shown = shown
            self._show_findings(state)
        self._stack.setCurrentIndex(1 if state.findings else 0)
        self.empty.busy.setVisible(state.is_busy and not state.findings)

    def _show_head(self, state: DoctorState) -> None:
        if state.log_name is not None:
            source = say("doctor_page.of_log", name=state.log_name) if state.log_name else say("doctor_page.of_text")
        else:
            source = say("doctor_page.of_run" if state.was_run else "doctor_page.of_plan")
        self._source.setText(source)
        self._close.setVisible(state.log_name is not None)
        errors = sum(1 for f in state.findings if f.severity is Severity.ERROR)
        warnings = sum(1 for f in state.findings if f.severity is Severity.WARNING)
        notes = len(state.findings) - errors - warnings
        counted = say("cli.doctor.count", errors=errors, warnings=warnings, notes=notes) if state.findings else ""
        self._count.setText(say("doctor_page.busy") if state.is_busy else counted)
        self.copy_button.setEnabled(bool(state.findings))
        self.copy_button.setText(say("doctor_page.copy"))
        self._trouble.setVisible(state.problem is not None)
        if state.problem is not None:
            self._trouble.setText(say_problem(state.problem))

    def _show_findings(self, state: DoctorState) -> None:
        """Make the cards anew: findings change when something has happened, not by themselves."""
        position = self._scroll.verticalScrollBar().value()
        code = "log" if state.log_name is not None else "run" if state.was_run else "plan"
        self.empty.set_words(say(f"doctor_page.fine_{code}"), say("doctor_page.fine_note"))
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(16, 6, 16, 14)
        column.setSpacing(10)
        self.cards = []
        if all(finding.severity is Severity.INFO for finding in state.findings):
            column.addWidget(FineCard(say(f"doctor_page.fine_{code}")))
        first_fix = next((i for i, f in enumerate(state.findings) if f.fix is not None), None)
        offered: set[tuple[str, ...]] = set()
        for index, finding in enumerate(state.findings):
            may_launch = index == 0 and state.may_launch_again
            card = FindingCard(index, _once(finding, offered), is_first=index == first_fix, may_launch=may_launch)
            card.fix_requested.connect(self._on_fix)
            card.engine_requested.connect(self.get_engine)
            card.launch_requested.connect(self._doctor.apply_and_launch)
            self.cards.append(card)
            column.addWidget(card)
        column.addStretch(1)
        self._scroll.setWidget(body)  # Qt deletes the old one
        self._scroll.verticalScrollBar().setValue(position)

    @Slot()
    def choose_log(self) -> None:
        """Ask for a log file."""
        path = ask_open(self, say("doctor_page.open"), "", say("doctor_page.log_files"))
        if path:
            self._doctor.open_log(path)

    @Slot()
    def paste(self) -> None:
        """Judge the text of the clipboard."""
        text = QGuiApplication.clipboard().text()
        if len(text.strip()) >= _FEW_CHARACTERS:
            self._doctor.read_text(text)

    @Slot()
    def get_engine(self) -> None:
        """Ask which llama-server to get."""
        from app.ui.dialogs.get_engine import show_get_engine  # few open it, and it costs start-up time

        show_get_engine(self._session, self)

    @Slot(int)
    def _on_fix(self, index: int) -> None:
        if self._doctor.apply(index):
            self.page_requested.emit("plan")

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._doctor.report())
        self.copy_button.setText(say("doctor_page.copied"))

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _log_path(event) is not None:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
        else:
            event.ignore()  # a model: the window's

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        path = _log_path(event)
        if path is not None:
            event.accept()
            self._doctor.open_log(path)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._doctor.watch(on=True)

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._doctor.watch(on=False)


def _once(finding: Finding, offered: set[tuple[str, ...]]) -> Finding:
    """The finding without a fix that a card above it offers already."""
    fix = finding.fix
    if fix is None or fix.plan.argv not in offered:
        offered |= set() if fix is None else {fix.plan.argv}
        return finding
    return replace(finding, fix=None)


def _log_path(event: QDropEvent) -> str | None:
    """The first local file of a drag that may be a log."""
    paths = dropped_paths(event.mimeData())
    return next((path for path in paths if not path.lower().endswith(_NO_LOGS)), None)
