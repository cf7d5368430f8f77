"""The models page: every model file of this computer with a verdict, and what could be downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QProgressBar, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.file_paths import ask_folder
from app.ui.pages.models_side import PlacesCard, SuggestionsCard
from app.ui.pages.models_table import ModelsTable, Shown
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.combo import Combo
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say, say_problem
from app.work.library.places import all_places
from app.work.library.types import Entry
from app.work.library.walk import folder_of
from app.work.library.words import entry_words

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_SIDE_CHARACTERS = 42
_FILTER_MS = 120
_FIT_MS = 1000


class ModelsPage(QWidget):
    """Follows ``session.library``. Looks for files when it is seen for the first time."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._library = session.library
        self._make_parts()
        self._lay_out()
        self._connect()
        self._refresh()
        self._on_suggested()

    def _make_parts(self) -> None:
        self.count = DimLabel()
        self.busy = QProgressBar()
        self.busy.setRange(0, 0)
        self.busy.setTextVisible(False)
        self.busy.setFixedWidth(120)
        self.busy.setAccessibleName(say("models.scanning"))
        self.words = QLineEdit()
        self.words.setPlaceholderText(say("models.filter"))
        self.words.setAccessibleName(say("models.filter"))
        self.words.setClearButtonEnabled(True)
        self.shown = Combo()
        self.shown.setAccessibleName(say("models.shown"))
        self.shown.set_choices([(say(f"models.shown.{each.value}"), each.value) for each in Shown], "models")
        self.scan = PlainButton(say("models.scan"))
        self.download = PrimaryButton(say("models.download"))
        self.table = ModelsTable()
        self.empty = EmptyState("models", say("models.none"), say("models.none_note"), drop=False)
        self.empty_add = PlainButton(say("models.add_folder"), look="large")
        self.empty_add_open = PrimaryButton(say("models.add_that_folder"))
        self.empty.buttons.addWidget(self.empty_add_open)
        self.empty.buttons.addWidget(self.empty_add)
        self.stack = QStackedWidget()
        self.detail = DimLabel(wrap=True)
        self.open = PlainButton(say("models.open"))
        self.folder = PlainButton(say("models.show_folder"))
        self.notes = DimLabel(wrap=True)
        self.suggestions = SuggestionsCard()
        self.places = PlacesCard()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_FILTER_MS)
        self._fitting = QTimer(self)
        self._fitting.setSingleShot(True)
        self._fitting.setInterval(_FIT_MS)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(SectionTitle(say("page.models"), factor=1.25))
        head.addWidget(self.count)
        head.addWidget(self.busy)
        head.addStretch(1)
        head.addWidget(self.words, 2)
        head.addWidget(self.shown)
        head.addWidget(self.scan)
        head.addWidget(self.download)
        card = CardFrame(margin=8, spacing=0)
        self.stack.addWidget(self.table)
        self.stack.addWidget(self.empty)
        card.body.addWidget(self.stack, 1)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.detail, 1)
        foot.addWidget(self.folder)
        foot.addWidget(self.open)
        left = QVBoxLayout()
        left.setSpacing(8)
        left.addWidget(card, 1)
        left.addLayout(foot)
        left.addWidget(self.notes)
        side = QWidget()
        side.setFixedWidth(self.fontMetrics().horizontalAdvance("0") * _SIDE_CHARACTERS)
        right = QVBoxLayout(side)
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(6)
        right.addWidget(SectionTitle(say("models.suggestions")))
        right.addWidget(DimLabel(say("models.suggestions_note"), wrap=True))
        right.addWidget(self.suggestions, 1)
        right.addWidget(self.places)
        body = QHBoxLayout()
        body.setSpacing(12)
        body.addLayout(left, 1)
        body.addWidget(side)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(10)
        column.addLayout(head)
        column.addLayout(body, 1)
        for first, second in ((self.words, self.shown), (self.shown, self.table), (self.table, self.open)):
            QWidget.setTabOrder(first, second)

    def _connect(self) -> None:
        self._library.changed.connect(self._refresh)
        self._library.suggested.connect(self._on_suggested)
        self._session.hardware_changed.connect(self._on_hardware)
        self._session.settings_changed.connect(self._show_places)
        self.words.textChanged.connect(self._timer.start)
        self.words.returnPressed.connect(self._on_filter_entered)
        self._timer.timeout.connect(self._filter)
        self._fitting.timeout.connect(self._fit_now)
        self.shown.currentIndexChanged.connect(self._filter)
        self.scan.clicked.connect(self._on_scan)
        self.download.clicked.connect(self._on_download)
        self.table.opened.connect(self._session.open_model)
        self.table.selected.connect(self._show_detail)
        self.table.seen.connect(self._library.look_at)
        self.open.clicked.connect(self.table.open_current)
        self.folder.clicked.connect(self._on_folder)
        self.suggestions.wanted.connect(self.show_download)
        self.places.add_wanted.connect(self._on_add)
        self.empty_add.clicked.connect(self._on_add)
        self.empty_add_open.clicked.connect(self._on_add_open)
        self._session.model_changed.connect(self._show_empty)
        self.places.removed.connect(self.remove_folder)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._library.ensure()
        self.words.setFocus()

    @Slot()
    def _refresh(self) -> None:
        entries = self._library.entries
        self.table.entries.set_rows(entries)
        if self.table.current is None and self.table.filter.rowCount():
            self.table.selectRow(0)
        is_scanning = self._library.is_scanning
        self.busy.setVisible(is_scanning)
        self.scan.setText(say("models.stop" if is_scanning else "models.scan"))
        models = sum(entry.is_model for entry in entries)
        running = sum(entry.verdict is not None and entry.verdict.runs for entry in entries)
        self.count.setText(say("models.count", models=models, running=running))
        is_empty = not entries and not is_scanning and self._library.was_scanned
        self.stack.setCurrentWidget(self.empty if is_empty else self.table)
        self.notes.setText("\n".join(say_problem(problem) for problem in self._library.problems()[:3]))
        self.notes.setVisible(bool(self.notes.text()))
        self._show_places()
        self._show_detail()
        self._fit_columns()
        if is_scanning:
            self.table.tell_seen()

    def _fit_columns(self) -> None:
        """At once when a search has ended or the first files are there, then once a second while more come in."""
        if not self._library.is_scanning or not self._fitting.isActive():
            self._fit_now()

    @Slot()
    def _fit_now(self) -> None:
        if self.table.filter.rowCount():
            self.table.fit_columns()
            if self._library.is_scanning:
                self._fitting.start()

    @Slot()
    def _show_places(self) -> None:
        places = self._library.places
        if not places:
            places = all_places(self._session.settings.model_folders, with_known=False)
        self.places.show_places(places)
        self._show_empty()

    @Slot()
    def _show_empty(self) -> None:
        """The words for an empty list: a file of the user's that is open lies somewhere, so that place is offered."""
        folder = self._open_folder()
        model = self._session.model
        note = say("models.none_note")
        if folder is not None and model is not None:
            note = say("models.none_but_open", name=Path(model.path).name, folder=folder)
        self.empty.set_words(say("models.none"), note)
        self.empty_add_open.setVisible(folder is not None)

    def _open_folder(self) -> str | None:
        """The folder of the user's model that is open (the demo is none), where it is not looked through."""
        model = self._session.model
        if model is None or model.path != self._session.settings.last_model:
            return None
        chosen = all_places(self._session.settings.model_folders, with_known=False)
        folder = Path(folder_of(model.path))
        is_known = any(folder.is_relative_to(place.path) for place in (*self._library.places, *chosen))
        return None if is_known else str(folder)

    @Slot()
    def _on_add_open(self) -> None:
        folder = self._open_folder()
        if folder is not None:
            self.add_folder(folder)

    @Slot()
    def _show_detail(self) -> None:
        entry = self.table.current
        self.open.setEnabled(entry is not None and entry.is_model)
        self.folder.setEnabled(entry is not None)
        self.detail.setText("" if entry is None else detail_text(entry))

    @Slot()
    def _filter(self) -> None:
        self.table.filter.set_filter(self.words.text(), Shown(self.shown.currentData()))
        if self.table.filter.rowCount():
            self.table.selectRow(0)
        self.table.fit_columns()
        self._show_detail()
        self.table.tell_seen()

    @Slot()
    def _on_filter_entered(self) -> None:
        """Enter in the filter opens the first that is left."""
        self._filter()
        self.table.open_current()

    @Slot()
    def _on_suggested(self) -> None:
        self.suggestions.show_suggestions(self._library.suggestions)

    @Slot()
    def _on_hardware(self) -> None:
        if self.isVisible():
            self._library.ensure()

    @Slot()
    def _on_scan(self) -> None:
        if self._library.is_scanning:
            self._library.cancel()
        else:
            self._library.scan()

    @Slot()
    def _on_folder(self) -> None:
        entry = self.table.current
        if entry is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(folder_of(entry.path)))

    @Slot()
    def _on_add(self) -> None:
        folder = ask_folder(self, say("models.add_folder"))
        if folder:
            self.add_folder(folder)

    def add_folder(self, folder: str) -> None:
        """Look there too from now on."""
        folders = self._session.settings.model_folders
        if folder not in folders:
            self._session.change_settings(model_folders=(*folders, folder))
            self._library.scan()

    @Slot(str)
    def remove_folder(self, folder: str) -> None:
        """Do not look there any more; nothing is deleted."""
        kept = tuple(each for each in self._session.settings.model_folders if each != folder)
        self._session.change_settings(model_folders=kept)
        self._library.scan()

    @Slot()
    def _on_download(self) -> None:
        self.show_download("")

    @Slot(str)
    def show_download(self, link: str) -> None:
        """Open the window that fetches a model."""
        from app.ui.dialogs.download import show_download

        show_download(self._session, self, link)


def detail_text(entry: Entry) -> str:
    """The line below the table: path, what there is beside it, what is odd."""
    parts = [entry.path]
    if entry.summary.problem is not None:
        parts = [entry_words(entry)]
    if entry.beside:
        parts.append(say("models.beside", n=len(entry.beside)))
    if entry.note is not None:
        parts.append(say_problem(entry.note))
    return "  ·  ".join(parts)
