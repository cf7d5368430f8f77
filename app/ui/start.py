"""Starts the window: paint first, then look for the engine, at the machine and into the file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.common.paths import app_paths
from app.common.problem import Problem, ProblemError
from app.common.start_options import WindowOptions
from app.session.open_file import open_file
from app.settings import LoadedSettings, changed, load
from app.ui.crash_notice import install_notice
from app.ui.ending import end_window
from app.ui.garbage import MainThreadGarbage, set_aside, take_back
from app.ui.main_window import MainWindow
from app.ui.one_window import OneWindow
from app.ui.theme.manager import ThemeManager, ThemeMode
from app.ui.warm_up import WarmUp
from app.words import join_figures

if TYPE_CHECKING:
    # Imported after the first paint: what stands behind the session takes longer than showing the frame.
    from app.session.app_session import AppSession

_SMOKE_LIMIT_MS = 30_000
_GUIDE_MS = 500
"""The plan of the demo stands behind the first steps by then; they are a hundred modules more."""


def make_application() -> QApplication:
    """The QApplication with our name; the one that exists, when there is one."""
    found = QApplication.instance()
    if isinstance(found, QApplication):
        return found
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Lanewise")
    app.setApplicationDisplayName("Lanewise")
    app.setDesktopFileName("lanewise")
    join_figures(on=True)
    return app


def start_settings(options: WindowOptions) -> LoadedSettings:
    """The saved settings with the options of the command line on top; light enough for the first paint."""
    told = {"language": options.language, "theme": options.theme}
    loaded = load(app_paths().settings_file)
    return replace(loaded, settings=changed(loaded.settings, **{k: v for k, v in told.items() if v is not None}))


def make_session(options: WindowOptions) -> AppSession:
    """A session with the options of the command line on top of the saved settings (they are not saved)."""
    from app.session.app_session import AppSession

    session = AppSession()
    if options.language is not None:
        session.override_settings(language=options.language)
    if options.theme is not None:
        session.override_settings(theme=options.theme)
    if options.rpc_servers:
        session.use_rpc_servers(options.rpc_servers)
    return session


class Starter:
    """What happens after the first paint: the session, the engine, the machine, the file."""

    def __init__(
        self,
        window: MainWindow,
        options: WindowOptions,
        problem: Problem | None = None,
        one: OneWindow | None = None,
        warm_up: WarmUp | None = None,
    ) -> None:
        """``problem``: what was wrong with the settings; whoever read them first has put a damaged file aside.
        ``warm_up``: the start is then made in steps, between which the window answers; else at once."""
        self._window = window
        self._options = options
        self._one = one
        self._warm_up = warm_up
        self._has_begun = False
        self._is_guided = False
        self._problems = [] if problem is None else [problem]
        self.session: AppSession | None = None

    def begin(self) -> None:
        """Make the session; look for everything; open the asked-for, the last, or the demo model. A bug on the way is
        shown with its report, since a window without a session shows nothing."""
        if self._has_begun:
            return  # begun in the tray: the window is painted when it is first opened from there
        self._has_begun = True
        if self._warm_up is None:
            self._step(0)
        else:
            if self._one is not None:
                self._one.listen()
            self._warm_up.done.connect(lambda: self._step(0))
            self._warm_up.begin()

    def _step(self, number: int) -> None:
        """This part of the start and those after it; where the window is to answer in between, from its event loop."""
        parts: tuple[Callable[[], None], ...] = (_import_session, self._make_session, self._import_page, self._attach)
        try:
            parts[number]()
        except Exception as error:
            self._tell_failure(error)
            return
        if number + 1 == len(parts):
            return
        if self._warm_up is None:
            self._step(number + 1)
        else:
            QTimer.singleShot(0, self._window, lambda: self._step(number + 1))

    def _import_page(self) -> None:
        """The page in front, which ``attach`` makes; then all that a start imports is there and stays."""
        import app.ui.pages.plan
        import app.ui.widgets.launch_strip  # noqa: F401

        if self._warm_up is not None:
            set_aside()

    def _tell_failure(self, error: Exception) -> None:
        sys.excepthook(type(error), error, error.__traceback__)
        if not self._options.smoke:
            from app.common.log import crash_text
            from app.ui.dialogs.start_failed import StartFailed

            why = f"{type(error).__name__}: {error}"
            StartFailed(why, crash_text((type(error), error, error.__traceback__)), self._window).exec()
        QApplication.exit(1)

    def _make_session(self) -> None:
        options = self._options
        if self._one is not None:
            self._one.listen()
        session = self.session = make_session(options)
        snapshot = None
        if options.hardware:
            from app.hardware.snapshot_file import load_snapshot

            try:
                snapshot = load_snapshot(Path(options.hardware))
            except ProblemError as error:  # told by the window, which then shows this machine
                self._problems.append(error.problem)
        if options.build_engine:
            session.engine_changed.connect(self._on_engine)
        session.start(options.engine, snapshot)
        last = session.settings.last_model
        session.plan_files.last_model = last
        if options.model is not None:
            open_file(session, options.model)
        elif last is not None and os.path.isfile(last):
            session.open_model(last)
        else:
            session.open_demo()

    def _attach(self) -> None:
        session = self.session
        assert session is not None
        self._window.attach(session)
        self._join_tray(session)
        if self._one is not None:
            self._one.open_in(self._window, session)
            self._problems += self._one.problems
        for problem in self._problems:
            session.message_raised.emit(problem)
        if self._warm_up is not None:
            QTimer.singleShot(_GUIDE_MS, self._window, self.guide)

    def guide(self) -> None:
        """The first steps, for somebody who came with nothing: no model, no other machine, a window to be seen."""
        options, session = self._options, self.session
        came_with_something = options.model or options.hardware or options.engine or options.smoke
        if session is None or came_with_something or self._is_guided or not self._window.isVisible():
            return
        self._is_guided = True
        if session.first_run.is_due:
            from app.ui.pages.first_run import show_first_run

            show_first_run(session, self._window)

    def _join_tray(self, session: AppSession) -> None:
        """Where the desktop has a tray: the icon, and the launch that was asked for."""
        from app.ui.start_hidden import LaunchWhenReady
        from app.ui.tray import Tray, tray_exists

        if not self._options.smoke and tray_exists():
            self._window.closing.use_tray(Tray(session, self._window))
        if self._options.launch and self._options.model is not None:
            LaunchWhenReady(session, self._options.model, session)

    def _on_engine(self) -> None:
        from app.session.phases import EnginePhase

        assert self.session is not None
        if self.session.engine.phase is EnginePhase.MISSING:
            self.session.engine_changed.disconnect(self._on_engine)
            self.session.build_engine()


def _import_session() -> None:
    import app.session.app_session  # noqa: F401  # a step of its own: what is left of it takes some 30 ms


def _may_hide() -> bool:
    """Hidden without a tray, the window could never be found."""
    from app.ui.tray import tray_exists

    return tray_exists()


def run_window(options: WindowOptions) -> int:
    """Show the window until it is closed; the exit code."""
    if options.tour is not None:
        from app.ui.tour import run_tour

        return run_tour(options)
    app = make_application()
    one = OneWindow(app_paths(), options)
    if one.was_handed_over:
        return 0
    loaded = start_settings(options)
    theme = ThemeManager(ThemeMode(loaded.settings.theme), app)
    theme.apply(app)
    MainThreadGarbage(app)
    window = MainWindow(None, theme, loaded.settings)
    warm_up = None if options.smoke else WarmUp(window)  # smoke: the window is closed when everything has been made
    starter = Starter(window, options, loaded.problem, one, warm_up)
    window.first_painted.connect(starter.begin)
    window.first_painted.connect(starter.guide)
    if not options.smoke:
        install_notice(window)
    if options.smoke:
        window.first_painted.connect(lambda: QTimer.singleShot(0, app.quit))
        QTimer.singleShot(_SMOKE_LIMIT_MS, lambda: app.exit(1))  # a crash before the first paint must not hang
    if options.tray and not options.smoke and _may_hide():
        app.setQuitOnLastWindowClosed(False)
        QTimer.singleShot(0, starter.begin)
    else:
        window.show()
    try:
        return app.exec()
    finally:
        window.hide()
        one.close()
        if warm_up is not None:
            warm_up.end()
        take_back()
        end_window(window, starter.session)
