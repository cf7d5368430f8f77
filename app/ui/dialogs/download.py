"""Gets a model: a link, its files with a verdict each, progress, cancel, what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QProgressBar,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.common.problem import ProblemError
from app.common.units import size_text
from app.session.hub_controller import HubPhase, HubState
from app.ui.dialogs.get_engine import download_text
from app.ui.file_paths import ask_folder
from app.ui.theme.fonts import tabular
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.labels import DimLabel, SectionTitle, set_look
from app.ui.widgets.problem_lines import ProblemLines
from app.ui.widgets.tick_box import TickBox
from app.words import say
from app.work.downloads.addresses import parse_address
from app.work.hub.choices import Choice, Choices
from app.work.hub.words import choice_words, set_title
from app.work.library.words import speed_words

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_CHARACTERS = 112
_STEPS = 1000
_COLUMNS = ("name", "size", "quant", "verdict", "speed")


def show_download(session: AppSession, parent: QWidget, link: str = "") -> DownloadDialog:
    """Open the window over the one that ``parent`` belongs to, one at a time; with a link its files are listed."""
    window = parent.window()
    opened = [child for child in window.findChildren(DownloadDialog) if child.isVisible()]
    dialog = opened[0] if opened else DownloadDialog(session, window)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
    if link:
        dialog.look(link)
    return dialog


class DownloadDialog(QDialog):
    """Follows ``session.hub``. The network is used when the user asks for a list, and not before."""

    def __init__(self, session: AppSession, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._session = session
        self._hub = session.hub
        self._shown: Choices | None = None
        self._phase = self._hub.state.phase
        self.setWindowTitle(say("get_model.title"))
        if self._hub.state.phase is HubPhase.DONE:
            self._hub.forget()
        self._make_parts()
        self._lay_out()
        self._connect()
        self.refresh()

    def _make_parts(self) -> None:
        self.link = QLineEdit()
        self.link.setPlaceholderText(say("get_model.link_hint"))
        self.link.setAccessibleName(say("get_model.link"))
        self.mirror = QLineEdit(self._session.settings.model_mirror or "")
        self.mirror.setPlaceholderText(say("get_model.mirror_hint"))
        self.mirror.setAccessibleName(say("get_model.mirror"))
        self.look_button = PlainButton(say("get_model.look"))
        self.files = _make_table()
        self.basis = DimLabel()
        self.projector = TickBox(say("get_model.projector"))
        self.space = QLabel()
        self.folder = PlainButton(say("get_model.folder"))
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(say("get_model.title"))
        self.status = DimLabel(wrap=True)
        self.trouble = ProblemLines(with_evidence=True)
        self.cancel = PlainButton(say("ui.close"), look="large")
        self.go = PrimaryButton(say("get_model.go"))

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 18)
        column.setSpacing(8)
        column.addWidget(SectionTitle(say("get_model.title"), factor=1.2))
        column.addWidget(DimLabel(say("get_model.intro"), wrap=True))
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        for row, (code, edit) in enumerate((("link", self.link), ("mirror", self.mirror))):
            label = QLabel(say(f"get_model.{code}"))
            label.setBuddy(edit)
            grid.addWidget(label, row, 0)
            grid.addWidget(edit, row, 1)
        grid.addWidget(self.look_button, 0, 2)
        column.addLayout(grid)
        column.addWidget(self.files, 1)
        options = QHBoxLayout()
        options.setSpacing(10)
        options.addWidget(self.projector)
        options.addWidget(self.basis)
        options.addStretch(1)
        options.addWidget(self.space)
        options.addWidget(self.folder)
        column.addLayout(options)
        column.addWidget(self.status)
        column.addWidget(self.bar)
        column.addLayout(self.trouble)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addStretch(1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.go)
        column.addLayout(foot)
        width = self.fontMetrics().horizontalAdvance("0") * _CHARACTERS
        self.resize(width, round(width * 0.6))

    def _connect(self) -> None:
        self.look_button.clicked.connect(self._on_look)
        self.link.returnPressed.connect(self._on_look)
        self.mirror.editingFinished.connect(self._on_mirror)
        self.files.currentCellChanged.connect(self._show_space)
        self.files.cellActivated.connect(self._on_go)
        self.projector.toggled.connect(self._show_space)
        self.folder.clicked.connect(self._on_folder)
        self.go.clicked.connect(self._on_go)
        self.cancel.clicked.connect(self._on_cancel)
        self._hub.changed.connect(self.refresh)
        self.link.setFocus()

    def look(self, link: str) -> None:
        """List what is behind this link."""
        self.link.setText(link)
        self._on_look()

    @property
    def chosen(self) -> int | None:
        """The marked row."""
        row = self.files.currentRow()
        return row if row >= 0 else None

    @Slot()
    def refresh(self) -> None:
        """Show the state of the transfer."""
        state = self._hub.state
        self._show_files(state)
        self._show_progress(state)
        self.trouble.show_problem(state.problem)
        is_fetching = state.phase is HubPhase.FETCHING
        for widget in (self.link, self.mirror, self.look_button, self.files, self.projector, self.folder):
            widget.setEnabled(not is_fetching)
        self.cancel.setText(say("get_model.cancel" if state.is_busy else "ui.close"))
        is_done = state.phase is HubPhase.DONE
        self.go.setText(say("get_model.open" if is_done else "get_model.go"))
        self.go.setEnabled(is_done or (state.choices is not None and not is_fetching and self.chosen is not None))
        self._show_space()
        self._move_focus(state.phase)

    def _move_focus(self, phase: HubPhase) -> None:
        """Where the next key belongs: into the list when it has come, on Open when the file has."""
        before, self._phase = self._phase, phase
        if phase is before:
            return
        if phase is HubPhase.DONE:
            self.go.setFocus()
        elif phase is HubPhase.CHOOSING and before is not HubPhase.FETCHING:
            if self.link.hasFocus() or self.look_button.hasFocus():
                self.files.setFocus()
        elif phase is HubPhase.CHOOSING:
            self.go.setFocus()
        self.go.setDefault(phase in (HubPhase.CHOOSING, HubPhase.DONE) and not self.link.hasFocus())

    def _show_files(self, state: HubState) -> None:
        if state.choices is self._shown:
            return
        before, self._shown = self._shown, state.choices
        choices = () if state.choices is None else state.choices.choices
        same = before is not None and state.choices is not None and before.link == state.choices.link
        row = self.files.currentRow() if same and self.files.hasFocus() else None
        self.files.setRowCount(len(choices))
        for index, choice in enumerate(choices):
            for column, item in enumerate(_cells(choice)):
                self.files.setItem(index, column, item)
        if state.choices is not None:
            self.files.setCurrentCell(state.choices.best if row is None else row, 0)
        has_projector = any(choice.set.is_projector for choice in choices)
        self.projector.setVisible(has_projector)

    def _show_progress(self, state: HubState) -> None:
        self.bar.setVisible(state.is_busy)
        progress = state.progress
        fraction = progress.fraction if progress is not None else None
        self.bar.setRange(0, 0 if fraction is None else _STEPS)
        if fraction is not None:
            self.bar.setValue(round(fraction * _STEPS))
        text = ""
        if state.phase in (HubPhase.LISTING, HubPhase.JUDGING):
            text = say(f"get_model.{state.phase.value}")
        elif progress is not None:
            text = download_text(progress)
        elif state.done is not None:
            check = say("hub.checked" if state.done.is_checked else "hub.unchecked")
            text = say("get_model.done", path=state.done.path, check=check)
        self.status.setText(text)
        self.status.setVisible(bool(text))

    @Slot()
    def _show_space(self) -> None:
        state, chosen = self._hub.state, self.chosen
        choices = state.choices
        is_known = choices is not None and chosen is not None and chosen < len(choices.choices)
        self.space.setVisible(is_known and state.phase is not HubPhase.DONE)
        self.basis.setVisible(is_known)
        if choices is None or chosen is None or not is_known:
            return
        space = self._hub.space(chosen, with_projector=self.projector.isChecked())
        if space is not None:
            code = "get_model.no_space" if space.is_enough is False else "get_model.space"
            folder = str(self._session.library.download_folder)
            self.space.setText(say(code, needed=space.needed_bytes, free=space.free_bytes, folder=folder))
            set_look(self.space, "error" if space.is_enough is False else "dim")
        basis = choices.choices[chosen].basis
        self.basis.setText(say("get_model.basis", basis=say(f"hub.basis.{basis.value}")))

    @Slot()
    def _on_look(self) -> None:
        if self._on_mirror():
            self._hub.look(self.link.text())

    @Slot()
    def _on_mirror(self) -> bool:
        """Keep the mirror's address; False when it is none."""
        text = self.mirror.text().strip()
        try:
            if text:
                parse_address(text)
        except ProblemError as error:
            self.trouble.show_problem(error.problem)
            return False
        if text != (self._session.settings.model_mirror or ""):
            self._session.change_settings(model_mirror=text or None)
        return True

    @Slot()
    def _on_folder(self) -> None:
        folder = ask_folder(self, say("get_model.folder"), str(self._session.library.download_folder))
        if folder:
            self.use_folder(folder)

    def use_folder(self, folder: str) -> None:
        """Downloads go there from now on."""
        self._session.change_settings(download_folder=str(Path(folder)))
        self._show_space()

    @Slot()
    def _on_go(self) -> None:
        state, chosen = self._hub.state, self.chosen
        if state.phase is HubPhase.DONE and state.done is not None:
            self._session.open_model(state.done.path)
            self.accept()
        elif chosen is not None and not state.is_busy:
            self._hub.fetch(chosen, with_projector=self.projector.isChecked())

    @Slot()
    def _on_cancel(self) -> None:
        if self._hub.state.is_busy:
            self._hub.cancel()
        else:
            self.reject()

    @override
    def reject(self) -> None:
        """Escape ends a transfer, as Cancel does; what has arrived is kept."""
        self._hub.cancel()
        super().reject()


def _make_table() -> QTableWidget:
    table = QTableWidget(0, len(_COLUMNS))
    table.setHorizontalHeaderLabels([say(f"models.column.{name}") for name in _COLUMNS])
    table.setAccessibleName(say("get_model.files"))
    table.setFont(tabular(table.font()))
    table.setShowGrid(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setTabKeyNavigation(False)
    table.setWordWrap(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 10)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    return table


def _cells(choice: Choice) -> list[QTableWidgetItem]:
    size = choice.set.size_bytes
    texts = (
        set_title(choice.set),
        "—" if size is None else size_text(size),
        choice.set.quant or "—",
        choice_words(choice),
        speed_words(choice.verdict),
    )
    items = [QTableWidgetItem(text) for text in texts]
    verdict = choice.verdict
    if verdict is not None:
        items[3].setForeground(ThemeManager.of_app().tokens.color("ok" if verdict.runs else "error"))
    return items
