"""Beside the table: what this machine could run of the well-known models, and where is looked for files."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.common.units import size_text
from app.ui.widgets.buttons import IconButton, LinkButton
from app.ui.widgets.frames import CardFrame, Rule, ScrollCard
from app.ui.widgets.labels import DimLabel, ElidedLabel, SectionTitle, set_look
from app.words import say
from app.work.library.suggest import Suggestion
from app.work.library.types import Place, Source
from app.work.library.words import size_class, speed_words, verdict_words


class SuggestionRow(QWidget):
    """One model: name and size, verdict and speed, a link to get it. ``wanted(repository:quant)``."""

    wanted = Signal(str)

    def __init__(self, suggestion: Suggestion, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.suggestion = suggestion
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 6, 8, 6)
        column.setSpacing(2)
        if suggestion.is_example:
            column.addWidget(DimLabel(say("models.example"), wrap=True))
        head = QHBoxLayout()
        head.setSpacing(6)
        name = ElidedLabel(suggestion.name)
        font = name.font()
        font.setBold(True)
        name.setFont(font)
        head.addWidget(name, 1)
        self.get = LinkButton(say("models.get"))
        self.get.setAccessibleName(say("models.get_name", name=suggestion.name, quant=suggestion.quant))
        self.get.setVisible(suggestion.repository is not None)
        self.get.clicked.connect(self._on_get)
        head.addWidget(self.get)
        column.addLayout(head)
        size = size_text(suggestion.file_bytes)
        facts = (size_class(suggestion.parameters, suggestion.active_parameters), suggestion.quant, size)
        column.addWidget(DimLabel(" · ".join(facts), wrap=True))
        verdict = QLabel(f"{verdict_words(suggestion.verdict)} · {speed_words(suggestion.verdict)}")
        verdict.setWordWrap(True)
        runs = suggestion.verdict is not None and suggestion.verdict.runs
        set_look(verdict, "ok" if suggestion.runs_well else "warning" if runs else "error")
        column.addWidget(verdict)

    @Slot()
    def _on_get(self) -> None:
        self.wanted.emit(f"{self.suggestion.repository}:{self.suggestion.quant}")


class SuggestionsCard(ScrollCard):
    """The suggestions in order; a sentence while they are worked out. ``wanted(link)``."""

    wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(say("models.suggestions"), parent)
        self.rows: list[SuggestionRow] = []
        self._shown: tuple[Suggestion, ...] | None = ()
        self.show_suggestions(None)

    def show_suggestions(self, found: tuple[Suggestion, ...] | None) -> None:
        """Show them; None: not known yet."""
        if found == self._shown:
            return
        self._shown = found
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(2, 4, 2, 4)
        column.setSpacing(0)
        self.rows = []
        if found is None:
            label = DimLabel(say("models.suggesting"), wrap=True)
            label.setContentsMargins(10, 8, 10, 8)
            column.addWidget(label)
        for suggestion in found or ():
            if self.rows:
                column.addWidget(Rule())
            row = SuggestionRow(suggestion)
            row.wanted.connect(self.wanted)
            self.rows.append(row)
            column.addWidget(row)
        column.addStretch(1)
        self.set_content(content)


class PlacesCard(CardFrame):
    """Where is looked: the user's folders can be removed, other programs' are only named. ``removed(folder)``."""

    removed = Signal(str)
    add_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=12, spacing=4)
        head = QHBoxLayout()
        head.addWidget(SectionTitle(say("models.places")), 1)
        self.add = LinkButton(say("models.add_folder"))
        self.add.clicked.connect(self.add_wanted)
        head.addWidget(self.add)
        self.body.addLayout(head)
        self._list = QVBoxLayout()
        self._list.setSpacing(2)
        self.body.addLayout(self._list)
        self.body.addWidget(DimLabel(say("models.read_only"), wrap=True))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.remove_buttons: list[IconButton] = []
        self._shown: tuple[Place, ...] = ()

    def show_places(self, places: Sequence[Place]) -> None:
        """Show them."""
        if tuple(places) == self._shown:
            return
        self._shown = tuple(places)
        while (item := self._list.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.remove_buttons = []
        for place in places:
            self._list.addWidget(self._row(place))

    def _row(self, place: Place) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        own = place.source is Source.FOLDER
        text = str(place.path) if own else f"{say(f'library.source.{place.source.value}')} · {place.path}"
        label = ElidedLabel(text, mode=Qt.TextElideMode.ElideMiddle)
        line.addWidget(label, 1)
        if own:
            button = IconButton("close", say("models.remove_folder", folder=str(place.path)), bare=True)
            button.setProperty("folder", str(place.path))
            button.clicked.connect(self._on_remove)
            self.remove_buttons.append(button)
            line.addWidget(button)
        return row

    @Slot()
    def _on_remove(self) -> None:
        sender = self.sender()
        if sender is not None:
            self.removed.emit(str(sender.property("folder")))
