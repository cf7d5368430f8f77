"""The plan page's doors: plan files, comparisons, pasted commands, exports. Menus, keys and file dialogs."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.ui.file_paths import ask_open, ask_save
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession
    from app.ui.dialogs.compare_plans import CompareDialog
    from app.ui.dialogs.paste_command import PasteDialog
    from app.ui.dialogs.plan_shelf import PlanShelfDialog

EXPORTS = {
    "cmd": ".bat",
    "powershell": ".ps1",
    "bash": ".sh",
    "preset": ".ini",
    "llama-swap": ".yaml",
    "transformers": ".py",
}
"""What can be exported, in the menu's order, and each one's file name ending."""

_SCRIPTS = ("cmd", "powershell", "bash")
_PLAN_ENDING = ".json"


class PlanFileActions(QObject):
    """Grants the page's wishes that need a file dialog or a window of their own."""

    def __init__(self, session: AppSession, page: QWidget) -> None:
        super().__init__(page)
        self._session = session
        self._page = page
        self._paste: PasteDialog | None = None
        self._compare: CompareDialog | None = None
        self._shelf: PlanShelfDialog | None = None
        session.plan_files.comparison_changed.connect(self._on_comparison)
        session.paste.offered.connect(self.paste_text)

    # Plan files.

    @Slot()
    def save(self) -> None:
        """Save into the plan's own file; ask for one when it has none."""
        if self._session.plan_files.path is None:
            self.save_as()
        elif self._session.plan is not None:
            self._session.plan_files.save()

    @Slot()
    def save_as(self) -> None:
        """Ask for a file and save the plan there."""
        plan = self._session.plan
        if plan is None:
            return
        known = self._session.plan_files.path
        start = known or str(self._folder() / f"{PurePath(plan.model_path).stem}{_PLAN_ENDING}")
        path = self._ask_where(say("planfile.save_as").rstrip("…"), start, say("planfile.kind"), _PLAN_ENDING)
        if path:
            self._session.plan_files.save(path)

    @Slot()
    def open(self) -> None:
        """Ask for a plan file and open it."""
        path = self._ask_which(say("planfile.open").rstrip("…"))
        if path:
            self._session.plan_files.open(path)

    # Comparing.

    @Slot()
    def compare_before(self) -> None:
        """Compare the board with the plan before the last step."""
        self._session.plan_files.compare_with_before()

    @Slot()
    def compare_file(self) -> None:
        """Ask for a plan file and compare the board with it."""
        path = self._ask_which(say("planfile.compare_file").rstrip("…"))
        if path:
            self._session.plan_files.compare_with_file(path)

    @Slot()
    def _on_comparison(self) -> None:
        comparison = self._session.plan_files.comparison
        if comparison is None or (self._compare is not None and self._compare.isVisible()):
            return
        from app.ui.dialogs.compare_plans import CompareDialog

        if self._compare is None:
            self._compare = CompareDialog(self._session, self._page)
            self._compare.file_requested.connect(self.compare_file)
        self._compare.show_comparison()
        self._compare.show()
        self._compare.raise_()

    # Pasted commands.

    @Slot()
    def paste(self) -> None:
        """Open the paste box."""
        from app.ui.dialogs.paste_command import PasteDialog

        if self._paste is None:
            self._paste = PasteDialog(self._session, self._page)
        self._paste.open_box()

    @Slot(str)
    def paste_text(self, text: str) -> None:
        """Open the paste box with this text in it."""
        self.paste()
        if self._paste is not None:
            self._paste.box.set_text(text)

    @Slot()
    def take_settings(self) -> None:
        """Ask for a settings file of another program and show it as a command."""
        kinds = f"{say('planfile.foreign_kind')} (*.kcpps *.kcppt *.json *Modelfile*);;{say('plan.dialog.all')} (*)"
        path = ask_open(self._page, say("planfile.foreign").rstrip("…"), str(Path.home()), kinds)
        if path:
            self._session.paste.take_file(path)

    @Slot()
    def shelf(self) -> None:
        """Open the plans that are kept for this model."""
        from app.ui.dialogs.plan_shelf import PlanShelfDialog

        if self._shelf is None:
            self._shelf = PlanShelfDialog(self._session, self._page)
        self._shelf.open_shelf()

    @Slot()
    def pass_through(self) -> None:
        """Open the form for sampling and the chat template."""
        from app.ui.dialogs.pass_through import PassThroughDialog

        dialog = PassThroughDialog(self._session, self._page)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    # Exports.

    @Slot(str)
    def export(self, kind: str) -> None:
        """Ask for a file and write the plan there as this kind."""
        plan = self._session.plan
        if plan is None:
            return
        ending = EXPORTS[kind]
        title = say("plan.dialog.export") if kind in _SCRIPTS else say(f"export.dialog.{kind}")
        start = str(self._folder() / f"{PurePath(plan.model_path).stem}{ending}")
        path = self._ask_where(title, start, say(f"export.kind.{kind}"), ending)
        if path:
            self._session.plan_files.export(path, kind)

    # Dialogs.

    def _folder(self) -> Path:
        recent = self._session.settings.recent_plans
        folder = Path(recent[0]).parent if recent else Path.home()
        return folder if folder.is_dir() else Path.home()

    def _ask_which(self, title: str) -> str:
        kinds = f"{say('planfile.kind')} (*{_PLAN_ENDING});;{say('plan.dialog.all')} (*)"
        return ask_open(self._page, title, str(self._folder()), kinds)

    def _ask_where(self, title: str, start: str, kind: str, ending: str) -> str:
        path = ask_save(self._page, title, start, f"{kind} (*{ending})")
        return path if not path or PurePath(path).suffix else f"{path}{ending}"


def plan_menu(actions: PlanFileActions, session: AppSession, parent: QWidget) -> QMenu:
    """The menu of the header's Plan button."""
    menu = QMenu(parent)
    for code, keys, slot in (
        ("planfile.save", "Ctrl+S", actions.save),
        ("planfile.save_as", "", actions.save_as),
        ("planfile.open", "Ctrl+Shift+O", actions.open),
    ):
        _add(menu, code, keys).triggered.connect(slot)
    _add(menu, "shelf.title", "").triggered.connect(actions.shelf)
    recent = _RecentMenu(session, menu)
    menu.addMenu(recent)
    menu.addSeparator()
    _add(menu, "planfile.compare_before", "Ctrl+D").triggered.connect(actions.compare_before)
    _add(menu, "planfile.compare_file", "").triggered.connect(actions.compare_file)
    menu.addSeparator()
    _add(menu, "passed.open", "").triggered.connect(actions.pass_through)
    _add(menu, "paste.open", "Ctrl+Shift+V").triggered.connect(actions.paste)
    _add(menu, "planfile.foreign", "").triggered.connect(actions.take_settings)
    return menu


def _add(menu: QMenu, code: str, keys: str) -> QAction:
    """An entry that names its key; the key itself is the window's, so that it holds on every page."""
    native = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    return menu.addAction(f"{say(code)}\t{native}" if keys else say(code))


class _RecentMenu(QMenu):
    """The plans saved or opened last; files that are gone are not listed."""

    def __init__(self, session: AppSession, parent: QWidget) -> None:
        super().__init__(say("planfile.recent"), parent)
        self._session = session
        self.aboutToShow.connect(self.fill)
        self.triggered.connect(self._on_chosen)
        self.fill()

    @Slot()
    def fill(self) -> None:
        """List them anew."""
        self.clear()
        paths = [path for path in self._session.settings.recent_plans if Path(path).is_file()]
        for path in paths:
            place = PurePath(path)
            self.addAction(say("planfile.recent_item", name=place.name, folder=str(place.parent))).setData(path)
        if not paths:
            self.addAction(say("planfile.recent_none")).setEnabled(False)

    @Slot(QAction)
    def _on_chosen(self, action: QAction) -> None:
        if action.data():
            self._session.plan_files.open(str(action.data()))


def export_menu(parent: QWidget) -> QMenu:
    """The menu of the Export button; each action's data is the kind."""
    menu = QMenu(parent)
    for kind in EXPORTS:
        if kind == "preset":
            menu.addSeparator()
        menu.addAction(say(f"plan.export.{kind}")).setData(kind)
    return menu
