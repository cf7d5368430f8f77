"""The window: a rail of pages, the page in front, a strip for trouble. Paints first, loads the rest afterwards."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QIcon,
    QKeySequence,
    QPaintEvent,
    QShortcut,
)
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.common.resources import resource_path
from app.session.open_file import open_file
from app.session.phases import RunPhase
from app.settings import Settings
from app.ui.page_builder import PageBuilder
from app.ui.qt_words import follow_language
from app.ui.theme.manager import ThemeManager, ThemeMode
from app.ui.widgets.drop_veil import DropVeil
from app.ui.widgets.message_strip import MessageStrip
from app.ui.widgets.plan_ghost import PlanGhost
from app.ui.widgets.rail import Rail
from app.ui.widgets.shortcut_list import ShortcutList
from app.ui.window_closing import WindowClosing
from app.ui.window_drop import dropped_file
from app.ui.window_keys import KEYS, add_shortcuts
from app.ui.window_pages import PAGES
from app.words import Language, say, set_language, system_language

if TYPE_CHECKING:
    from app.session.app_session import AppSession
    from app.ui.pages.plan import PlanPage
    from app.ui.widgets.launch_strip import LaunchStrip


_OTHER_PAGES_MS = 1500
"""The pages that nobody looks at yet wait for the first plan, or this long when there is none."""

_AFTER_PLAN_MS = 30

_TITLE_BAR = 36
"""Height that the system's title bar may take, in logical pixels."""


def fitted(size: QSize, room: QSize, least: QSize) -> QSize:
    """A window's size on a screen with this much room: 1920 x 1080 at 150 % is smaller than the usual 1366 x 768."""
    return size.boundedTo(QSize(room.width(), room.height() - _TITLE_BAR)).expandedTo(least)


class MainWindow(QWidget):
    """Shows an ``AppSession``.

    Signals: ``first_painted`` once, after the window has been seen for the first time: the moment to begin with
    everything that takes time. The session is the caller's: it is not closed with the window. It may come later
    (``attach``), since importing it and what stands behind it takes longer than showing the frame.
    """

    first_painted = Signal()

    def __init__(self, session: AppSession | None, theme: ThemeManager, settings: Settings | None = None) -> None:
        super().__init__()
        shown = session.settings if session is not None else settings or Settings()
        self._attached: AppSession | None = None
        self._theme = theme
        self._pages: dict[str, QWidget] = {}
        self._was_painted = False
        self._builder = PageBuilder(self, self._make_next_page)
        self._run_phase = RunPhase.STOPPED
        self._language = _wanted_language(shown.language)
        set_language(self._language)
        follow_language()
        theme.set_mode(ThemeMode(shown.theme))
        self.setAcceptDrops(True)
        self.setMinimumSize(QSize(1040, 640))
        self.resize(1366, 768)
        self.setWindowIcon(QIcon(str(resource_path("icons/lanewise.svg"))))
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(0)
        self._veil = DropVeil(self)
        self._front = "plan"
        self._build_frame()
        self._ghost.setFocus()
        if shown.window_geometry:
            self.restoreGeometry(QByteArray(b64decode(shown.window_geometry)))
        self._fit_screen()
        self._refresh_title()
        if session is not None:
            self.attach(session)

    def _fit_screen(self) -> None:
        """Launch is at the bottom right: a window larger than the screen would hide it."""
        room = self.screen().availableGeometry()
        size = fitted(self.size(), room.size(), self.minimumSize())
        if size != self.size() and not self.isMaximized() and not self.isFullScreen():
            self.resize(size)
            self.move(room.topLeft())

    def attach(self, session: AppSession) -> None:
        """Show this session; once, before or after the first paint."""
        assert self._attached is None
        self._attached = session
        self.closing = WindowClosing(session, self)
        self._run_phase = session.run.phase
        self._make_shortcuts()
        self._add_launch_strip()
        session.model_changed.connect(self._on_model)
        from app.ui.window_messages import WindowMessages  # not for the first paint: it imports the session's parts

        self.messages = WindowMessages(session, self)
        self.strip.action_wanted.connect(self.messages.get_engine)
        session.settings_changed.connect(self._on_settings)
        session.run_changed.connect(self._on_run)
        session.plan_changed.connect(self._on_plan)
        session.plan_files.changed.connect(self._refresh_title)
        self._refresh_title()
        if self._was_painted:
            QTimer.singleShot(0, self, self._show_pages)

    @property
    def _session(self) -> AppSession:
        assert self._attached is not None
        return self._attached

    # Pages.

    def _build_frame(self) -> None:
        """Rail, strip and an empty stack, in the current language; the pages come after the first paint."""
        self.rail = Rail()
        for number, kind in enumerate(PAGES, start=1):
            self.rail.add_page(kind.name, kind.name, say(f"page.{kind.name}"), f"Ctrl+{number}", bottom=kind.bottom)
        self.rail.chosen.connect(self.show_page)
        self.strip = MessageStrip()
        self._stack = QStackedWidget()
        self._ghost = PlanGhost()
        self._stack.addWidget(self._ghost)
        self._pages = {}
        self.launch_strip: LaunchStrip | None = None
        self._body = QWidget()
        column = QVBoxLayout(self._body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.strip)
        column.addWidget(self._stack, 1)
        self._add_launch_strip()
        self._row.addWidget(self.rail)
        self._row.addWidget(self._body, 1)
        self.rail.show_page(self._front)

    def _add_launch_strip(self) -> None:
        """Needs a session, which may come after the frame."""
        layout = self._body.layout()
        if self._attached is not None and self.launch_strip is None and isinstance(layout, QVBoxLayout):
            from app.ui.widgets.launch_strip import LaunchStrip

            self.launch_strip = LaunchStrip(self._attached.launching)
            layout.insertWidget(1, self.launch_strip)

    @property
    def plan_page(self) -> PlanPage:
        """The plan page."""
        return cast("PlanPage", self.page("plan"))

    @property
    def page_name(self) -> str:
        """The name of the page in front."""
        return self._front

    def page(self, name: str) -> QWidget:
        """A page, made now if it was not needed before."""
        if name not in self._pages:
            make = next(kind.make for kind in PAGES if kind.name == name)
            self._pages[name] = make(self._session)
            self._stack.addWidget(self._pages[name])
            self._connect_page(self._pages[name])
        return self._pages[name]

    def _connect_page(self, page: QWidget) -> None:
        """The wishes of pages that are the window's to grant."""
        for signal, slot in (("launch_requested", self._on_launch), ("page_requested", self.show_page)):
            if hasattr(page, signal):
                getattr(page, signal).connect(slot)

    @Slot(str)
    def show_page(self, name: str) -> None:
        """Bring a page to the front."""
        self._front = name
        if self._attached is not None:
            self._stack.setCurrentWidget(self.page(name))
        self.rail.show_page(name)

    def _make_next_page(self) -> bool:
        """The next page that is missing; False when there is none."""
        missing = next((kind.name for kind in PAGES if kind.name not in self._pages), None)
        if missing is not None and self._attached is not None:
            self.page(missing)
        return missing is not None

    # Keys.

    def _make_shortcuts(self) -> None:
        stack = self._session.undo_stack
        slots: dict[str, Callable[[], object]] = {
            "Ctrl+O": self._on_open_key,
            "Ctrl+S": lambda: self.plan_page.files.save(),
            "Ctrl+Shift+O": lambda: self.plan_page.files.open(),
            "Ctrl+Shift+V": lambda: self.plan_page.files.paste(),
            "Ctrl+D": lambda: self.plan_page.files.compare_before(),
            "Ctrl+Z": stack.undo,
            "Ctrl+Shift+Z": stack.redo,
            "Ctrl+Y": stack.redo,
            "Ctrl+L": self._on_launch_key,
            "Ctrl+Shift+C": self._on_copy_key,
            "Ctrl+Q": self.close,
            "F1": self.show_keys,
        }
        add_shortcuts(self, slots)
        for number in range(1, len(PAGES) + 1):
            shortcut = QShortcut(QKeySequence(f"Ctrl+{number}"), self)
            shortcut.setProperty("page", PAGES[number - 1].name)
            shortcut.activated.connect(self._on_page_key)

    @Slot()
    def show_keys(self) -> None:
        """Show the list of keys."""
        ShortcutList(KEYS, self).show()

    @Slot()
    def _on_page_key(self) -> None:
        sender = self.sender()
        if sender is not None:
            self.show_page(str(sender.property("page")))

    @Slot()
    def _on_open_key(self) -> None:
        self.plan_page.choose_model()

    @Slot()
    def _on_copy_key(self) -> None:
        self.plan_page.command.copy_command()

    @Slot()
    def _on_launch_key(self) -> None:
        self.plan_page.launch()

    @Slot()
    def _on_launch(self) -> None:
        self._session.launch()

    # What the session says.

    @Slot()
    def _on_model(self) -> None:
        self._refresh_title()
        if self._session.model is not None and self._front != "plan":
            self.show_page("plan")

    @Slot()
    def _on_plan(self) -> None:
        self._refresh_title()
        if self._was_painted and self._session.plan is not None:
            QTimer.singleShot(_AFTER_PLAN_MS, self._builder, self._builder.begin)

    @Slot()
    def _on_run(self) -> None:
        """A server that starts brings the run page to the front, once."""
        before, self._run_phase = self._run_phase, self._session.run.phase
        if self._run_phase is RunPhase.STARTING and before is not RunPhase.STARTING:
            self.show_page("run")

    @Slot()
    def _on_settings(self) -> None:
        self._theme.set_mode(ThemeMode(self._session.settings.theme))
        wanted = _wanted_language(self._session.settings.language)
        if wanted is not self._language:
            self._language = wanted
            set_language(wanted)
            follow_language()
            QTimer.singleShot(0, self, self._rebuild)

    @Slot()
    def _rebuild(self) -> None:
        """Make every page anew in the new language; the state is the session's, so nothing is lost."""
        self._row.removeWidget(self._body)
        self._row.removeWidget(self.rail)
        for widget in (self.rail, self._body):
            widget.hide()
            widget.deleteLater()
        told = self.strip.problem
        self._build_frame()
        self.strip.action_wanted.connect(self.messages.get_engine)
        if told is not None:
            self.messages.show(told)
        self.show_page(self._front)
        self._refresh_title()
        self._builder.begin()

    @Slot()
    def _refresh_title(self) -> None:
        """The file of the model on the board, and the plan's with a mark while it is not saved."""
        session = self._attached
        model = session.model if session is not None and session.plan is not None else None
        file = PurePath(model.path).name if model is not None else None
        plan = session.plan_files.path if session is not None and file else None
        if plan is not None:
            self.setWindowTitle(say("window.title_plan", plan=PurePath(plan).name, file=file))
        else:
            self.setWindowTitle(say("window.title", file=file) if file else say("window.title_empty"))
        self.setWindowModified(session is not None and session.plan_files.is_modified)

    # Qt overrides.

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            QTimer.singleShot(0, self, self._on_first_paint)

    @Slot()
    def _on_first_paint(self) -> None:
        if self._attached is not None:
            self._show_pages()
        self.first_painted.emit()

    def _show_pages(self) -> None:
        """The page in front now, the others when there is time."""
        self.show_page(self._front)
        # Else the first button of the rail would be in focus, with its ring, before anybody has touched a key.
        self.page(self._front).setFocus()
        QTimer.singleShot(_OTHER_PAGES_MS, self._builder, self._builder.begin)

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._attached is not None and dropped_file(event.mimeData()) is not None:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self._veil.cover()
        else:
            event.ignore()

    @override
    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._veil.hide()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        self._veil.hide()
        path = dropped_file(event.mimeData())
        if path is None:
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        open_file(self._session, path)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        if self._attached is not None:
            if not self.closing.may_close():
                event.ignore()
                return
            geometry = b64encode(self.saveGeometry().data()).decode("ascii")
            self._attached.change_settings(window_geometry=geometry)
        super().closeEvent(event)


def _wanted_language(setting: str) -> Language:
    return system_language() if setting == "system" else Language(setting)
