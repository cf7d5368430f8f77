"""The plans of this model: what is kept, under which name and with which note; open, keep, delete, export together."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.file_paths import ask_save
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.ui.widgets.tick_box import TickBox
from app.words import say
from app.words.catalogue import number_text
from app.work.plan_shelf import LONGEST_NAME, LONGEST_NOTE, Labels, ShelfPlan

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_COLUMNS = ("name", "model", "context", "saved", "note")
_PATH = Qt.ItemDataRole.UserRole


class PlanShelfDialog(QDialog):
    """Shows ``session.shelf``. Name and note are those of the marked plan, or of the one that is being kept."""

    def __init__(self, session: AppSession, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._session = session
        self._shelf = session.shelf
        self.setWindowTitle(say("shelf.title"))
        self.list = QTreeWidget()
        self.list.setHeaderLabels([say(f"shelf.column.{name}") for name in _COLUMNS])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.setAccessibleName(say("shelf.title"))
        self.all_models = TickBox(say("shelf.all"))
        self.all_models.setChecked(self._shelf.shows_all)
        self.empty = DimLabel(say("shelf.empty"), wrap=True)
        self.name = QLineEdit()
        self.name.setMaxLength(LONGEST_NAME)
        self.name.setPlaceholderText(say("shelf.name_hint"))
        self.name.setAccessibleName(say("shelf.column.name"))
        self.note = QPlainTextEdit()
        self.note.setPlaceholderText(say("shelf.note_hint"))
        self.note.setAccessibleName(say("shelf.column.note"))
        self.note.setTabChangesFocus(True)
        self.note.setFixedHeight(self.fontMetrics().lineSpacing() * 4)
        self._make_buttons()
        self._lay_out()
        self._connect()
        self.refresh()

    def _make_buttons(self) -> None:
        self.keep = PlainButton(say("shelf.keep"))
        self.keep.setToolTip(say("shelf.keep_note"))
        self.rename = PlainButton(say("shelf.rename"))
        self.delete = PlainButton(say("shelf.delete"))
        self.router = PlainButton(say("shelf.router"))
        self.router.setToolTip(say("shelf.router_note"))
        self.close_button = PlainButton(say("ui.close"), look="large")
        self.open_button = PrimaryButton(say("shelf.open"))

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self.keep)
        row.addWidget(self.rename)
        row.addStretch(1)
        row.addWidget(self.delete)
        row.addWidget(self.router)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.open_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 16)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.addWidget(SectionTitle(say("shelf.title")))
        head.addStretch(1)
        head.addWidget(self.all_models)
        column.addLayout(head)
        column.addWidget(self.empty)
        column.addWidget(self.list, 1)
        column.addWidget(self.name)
        column.addWidget(self.note)
        column.addLayout(row)
        column.addLayout(foot)
        self.resize(QSize(760, 520))

    def _connect(self) -> None:
        self._shelf.changed.connect(self.refresh)
        self.list.itemSelectionChanged.connect(self._on_selection)
        self.list.itemActivated.connect(self._on_open)
        self.all_models.toggled.connect(self._shelf.show_all)
        self.name.textChanged.connect(self._refresh_buttons)
        self.keep.clicked.connect(self._on_keep)
        self.rename.clicked.connect(self._on_rename)
        self.delete.clicked.connect(self._on_delete)
        self.router.clicked.connect(self._on_router)
        self.open_button.clicked.connect(self._on_open)
        self.close_button.clicked.connect(self.reject)

    def open_shelf(self) -> None:
        """Show the window with what is kept now."""
        self._shelf.look()
        self.show()
        self.raise_()
        self.name.setFocus()

    @Slot()
    def refresh(self) -> None:
        """Follow the shelf; the marked plans stay marked."""
        marked = self._marked()
        self.list.clear()
        for plan in self._shelf.plans:
            item = QTreeWidgetItem(_columns(plan))
            item.setData(0, _PATH, plan.path)
            item.setToolTip(_COLUMNS.index("note"), plan.labels.note)
            self.list.addTopLevelItem(item)
            item.setSelected(plan.path in marked)
        for column in range(len(_COLUMNS) - 1):
            self.list.resizeColumnToContents(column)
        self.list.setColumnHidden(_COLUMNS.index("model"), not self._shelf.shows_all)
        self.empty.setVisible(not self._shelf.plans)
        self._refresh_buttons()

    def _marked(self) -> tuple[str, ...]:
        return tuple(str(item.data(0, _PATH)) for item in self.list.selectedItems())

    @Slot()
    def _on_selection(self) -> None:
        self.delete.setText(say("shelf.delete"))
        marked = self._marked()
        plan = next((p for p in self._shelf.plans if marked == (p.path,)), None)
        if plan is not None:
            self.name.setText(_name(plan))
            self.note.setPlainText(plan.labels.note)
        self._refresh_buttons()

    @Slot()
    def _refresh_buttons(self) -> None:
        n_marked = len(self.list.selectedItems())
        has_name = bool(self.name.text().strip())
        self.keep.setEnabled(has_name and self._session.plan is not None)
        self.rename.setEnabled(has_name and n_marked == 1)
        self.open_button.setEnabled(n_marked == 1)
        self.delete.setEnabled(n_marked > 0)
        self.router.setEnabled(n_marked > 0)

    def _labels(self) -> Labels:
        return Labels(self.name.text().strip(), self.note.toPlainText()[:LONGEST_NOTE])

    @Slot()
    def _on_keep(self) -> None:
        self._shelf.keep(self._labels())

    @Slot()
    def _on_rename(self) -> None:
        for path in self._marked():
            self._shelf.relabel(path, self._labels())

    @Slot()
    def _on_delete(self) -> None:
        """A second press deletes: the first one says so."""
        if self.delete.text() == say("shelf.delete"):
            self.delete.setText(say("shelf.delete_really", n=len(self._marked())))
            return
        self.delete.setText(say("shelf.delete"))
        for path in self._marked():
            self._shelf.remove(path)

    @Slot()
    def _on_open(self) -> None:
        marked = self._marked()
        if len(marked) == 1:
            self._shelf.open(marked[0])
            self.accept()

    @Slot()
    def _on_router(self) -> None:
        kind = f"{say('export.kind.preset')} (*.ini)"
        start = str(Path.home() / "models.ini")
        path = ask_save(self, say("export.dialog.preset"), start, kind)
        if path:
            self._shelf.export_router(self._marked(), path)


def _name(plan: ShelfPlan) -> str:
    return plan.labels.name or PurePath(plan.path).stem


def _columns(plan: ShelfPlan) -> list[str]:
    saved = datetime.fromtimestamp(plan.saved_at_s).astimezone()
    context = "—" if plan.n_ctx is None else number_text(plan.n_ctx)
    return [_name(plan), plan.model or "—", context, f"{saved:%Y-%m-%d %H:%M}", " ".join(plan.labels.note.split())]
