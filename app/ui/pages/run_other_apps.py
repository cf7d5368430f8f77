"""Use in other apps: address, model name and key, settings to copy for the usual programs, and a test."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.session.state import RunPhase
from app.ui.pages.run_header import CopyField
from app.ui.secret import masked
from app.ui.theme.fonts import mono_font
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.combo import Combo
from app.ui.widgets.labels import DimLabel, SectionTitle, set_look
from app.words import say, say_problem
from app.work.other_apps import AppAccess, Recipe, access_of, recipes

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_SIZE = QSize(860, 520)
_APPS = ("open_webui", "open_webui_docker", "continue", "sillytavern", "curl")


class OtherAppsDialog(QDialog):
    """Follows the session while it is open: before a launch it shows what will hold, the test waits for the server."""

    def __init__(self, session: AppSession, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._recipes: dict[str, Recipe] = {}
        self.setWindowTitle(say("other_apps.title"))
        self.setModal(False)
        self.resize(_SIZE.boundedTo(parent.window().size() - QSize(40, 40)))
        self.address = CopyField(say("other_apps.address"), 28)
        self.model = CopyField(say("other_apps.model"), 34)
        self.key = CopyField(say("run.api_key"), 38, is_secret=True)
        self.app = Combo()
        self.app.set_choices([(say(f"other_apps.app.{code}"), code) for code in _APPS], _APPS[0])
        self.app.setAccessibleName(say("other_apps.app"))
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(mono_font(self.text.font()))
        self.text.setAccessibleName(say("other_apps.settings"))
        self.note = DimLabel(wrap=True)
        self.copy = PlainButton(say("other_apps.copy"))
        self.copy.set_icon("copy")
        self.test = PrimaryButton(say("other_apps.test"))
        self.said = DimLabel(wrap=True)
        self.close_button = PlainButton(say("ui.close"))
        self._lay_out()
        self.app.currentIndexChanged.connect(self._show_recipe)
        self.copy.clicked.connect(self._on_copy)
        self.test.clicked.connect(self._on_test)
        self.close_button.clicked.connect(self.close)
        session.run_changed.connect(self.refresh)
        session.plan_changed.connect(self.refresh)
        session.other_apps.changed.connect(self._show_test)
        self.refresh()

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(18)
        first.addWidget(self.address)
        first.addWidget(self.model)
        first.addStretch(1)
        second = QHBoxLayout()
        second.addWidget(self.key)
        second.addStretch(1)
        third = QHBoxLayout()
        third.setSpacing(8)
        third.addWidget(SectionTitle(say("other_apps.settings")))
        third.addWidget(self.app)
        third.addStretch(1)
        third.addWidget(self.copy)
        last = QHBoxLayout()
        last.setSpacing(12)
        last.addWidget(self.test)
        last.addWidget(self.said, 1)
        last.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 16)
        column.setSpacing(10)
        for row in (first, second, third):
            column.addLayout(row)
        column.addWidget(self.note)
        column.addWidget(self.text, 1)
        column.addLayout(last)

    @property
    def access(self) -> AppAccess | None:
        """What the running server takes, else what the plan on the board will; None without either."""
        session, run = self._session, self._session.run
        plan = session.running_plan if run.url is not None else session.plan
        if plan is None:
            return None
        return access_of(plan.argv, run.url, run.api_key or _key_of(plan.argv))

    @Slot()
    def refresh(self) -> None:
        """Show the present server or plan."""
        access = self.access
        self.address.set_text(access.base_url if access else None)
        self.model.set_text(access.model if access else None)
        self.key.set_text(access.api_key if access else None)
        shell = self._session.settings.shell
        told = recipes(access, shell, is_linux=sys.platform == "linux") if access else ()
        self._recipes = {recipe.code: recipe for recipe in told}
        self._show_recipe()
        self._show_test()

    @Slot()
    def _show_recipe(self) -> None:
        recipe, access = self._recipes.get(str(self.app.currentData())), self.access
        self.copy.setEnabled(recipe is not None)
        self.copy.setText(say("other_apps.copy"))
        self.note.setText(say(f"other_apps.note.{recipe.note}") if recipe else say("other_apps.no_plan"))
        text = masked(recipe.text, access.api_key) if recipe and access else ""
        if self.text.toPlainText() != text:
            self.text.setPlainText(text)

    @Slot()
    def _show_test(self) -> None:
        session, tests = self._session, self._session.other_apps
        is_ready = session.run.phase is RunPhase.READY
        self.test.setEnabled(is_ready and not tests.is_testing)
        look = "dim"
        if tests.is_testing:
            text = say("other_apps.testing")
        elif tests.problem is not None:
            text, look = say_problem(tests.problem), "error"
        elif tests.answer is not None:
            names = ", ".join(tests.answer.models)
            text = say("other_apps.answered", models=names, seconds=tests.answer.seconds, text=tests.answer.text)
        else:
            text = "" if is_ready else say("other_apps.not_running")
        self.said.setText(text)
        set_look(self.said, look)

    @Slot()
    def _on_copy(self) -> None:
        recipe = self._recipes.get(str(self.app.currentData()))
        if recipe is not None:
            QGuiApplication.clipboard().setText(recipe.text)
            self.copy.setText(say("other_apps.copied"))

    @Slot()
    def _on_test(self) -> None:
        access = self.access
        if access is not None:
            self._session.other_apps.test(access)


def _key_of(argv: tuple[str, ...]) -> str | None:
    return argv[argv.index("--api-key") + 1] if "--api-key" in argv[:-1] else None
