"""The card for newer versions: one button that asks, what was found, and the way to it. Nothing happens by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from app.common.problem import ProblemError, Severity
from app.ui.pages.settings_form import FormCard
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.labels import DimLabel, set_look
from app.words import say, say_problem
from app.work.updates import Newest, check_update_address

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class _Found(QWidget):
    """What was found of one program, and buttons to it."""

    def __init__(self, name: str, *buttons: PlainButton) -> None:
        super().__init__()
        self.text = QLabel(say("updates.never"))
        self.text.setWordWrap(True)
        self.text.setAccessibleName(name)
        self.buttons = buttons
        row = QHBoxLayout()
        row.setSpacing(6)
        for button in buttons:
            row.addWidget(button)
            button.hide()
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.text)
        column.addLayout(row)

    def show_found(self, text: str, look: str, *shown: PlainButton) -> None:
        self.text.setText(text)
        set_look(self.text, look)
        for button in self.buttons:
            button.setVisible(button in shown)


class UpdatesCard(FormCard):
    """Follows ``session.updates``. ``get_requested``: the user wants the newer llama.cpp, by the engine manager."""

    get_requested = Signal()

    def __init__(self, session: AppSession, version: Callable[[], str | None], parent: QWidget | None = None) -> None:
        super().__init__(say("updates.title"), parent)
        self._session = session
        self._updates = session.updates
        self._version = version
        self._page: dict[str, str | None] = {"app": None, "engine": None}
        self.look = PlainButton(say("updates.look"))
        self.address = QLineEdit(session.settings.update_address or "")
        self.address.setPlaceholderText(say("updates.address_hint"))
        self.app_page, self.engine_page = (self._page_button(name) for name in ("app", "engine"))
        self.get = PlainButton(say("updates.get"))
        self.app = _Found(say("updates.app"), self.app_page)
        self.engine = _Found(say("updates.engine"), self.get, self.engine_page)
        self.trouble = DimLabel(wrap=True)
        set_look(self.trouble, "warning")
        self._lay_out()
        self.look.clicked.connect(self._on_look)
        self.get.clicked.connect(self.get_requested)
        self.address.editingFinished.connect(self._on_address)
        self._updates.changed.connect(self.refresh)
        self.refresh()

    def _page_button(self, name: str) -> PlainButton:
        button = PlainButton(say("updates.page"))
        button.setAccessibleName(say("updates.page_name", name=say(f"updates.{name}")))
        button.clicked.connect(lambda: self._open(name))
        return button

    def _lay_out(self) -> None:
        self.add_row(say("updates.address"), self.address)
        address = self.address.sizePolicy()
        address.setHorizontalPolicy(address.Policy.Expanding)
        self.address.setSizePolicy(address)
        self.address.setMinimumWidth(self.fontMetrics().averageCharWidth() * 20)
        self.add_row(say("updates.app"), self.app)
        self.add_row(say("updates.engine"), self.engine)
        row = QHBoxLayout()
        row.addWidget(self.look)
        row.addStretch(1)
        self.body.addLayout(row)
        self.add_wide(self.trouble)
        self.add_wide(DimLabel(say("updates.note"), wrap=True))

    @Slot()
    def refresh(self) -> None:
        """Show what is known now."""
        updates = self._updates
        self.look.setText(say("updates.stop") if updates.is_busy else say("updates.look"))
        answer = updates.answer
        self._show("app", self.app, None if answer is None else answer.app)
        self._show("engine", self.engine, None if answer is None else answer.engine)
        self._tell("" if updates.problem is None else say_problem(updates.problem))

    def _show(self, name: str, place: _Found, found: Newest | None) -> None:
        self._page[name] = None if found is None else found.page
        if found is None:
            place.show_found(say("updates.asking" if self._updates.is_busy else "updates.never"), "dim")
        elif found.problem is not None:
            look = "dim" if found.problem.severity is Severity.INFO else "warning"
            place.show_found(say_problem(found.problem), look)
        elif found.is_newer is False:
            place.show_found(say("updates.newest", here=found.here), "ok")
        else:
            shown = [place.buttons[-1]] if found.page else []
            shown += [self.get] if name == "engine" else []
            unlike = "updates.unlike" if found.here else "updates.none_here"
            code = "updates.newer" if found.is_newer else unlike
            place.show_found(say(code, newest=found.newest, here=found.here), "plain", *shown)

    def _tell(self, text: str) -> None:
        self.trouble.setText(text)
        self.trouble.setVisible(bool(text))

    @Slot()
    def _on_look(self) -> None:
        if self._updates.is_busy:
            self._updates.cancel()
        elif self._on_address():
            self._updates.look(self._version())

    @Slot()
    def _on_address(self) -> bool:
        """Keep the address; False when it is none."""
        text = self.address.text().strip()
        try:
            if text:
                check_update_address(text)
        except ProblemError as error:
            self._tell(say_problem(error.problem))
            return False
        self._tell("")
        if text != (self._session.settings.update_address or ""):
            self._session.change_settings(update_address=text or None)
        return True

    def _open(self, name: str) -> None:
        page = self._page[name]
        if page is not None:
            QDesktopServices.openUrl(QUrl(page, QUrl.ParsingMode.StrictMode))
