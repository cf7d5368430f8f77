"""``python -m app`` and the ``lanewise`` command: a verb is the command line, everything else opens the window."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.cli.verbs import VERBS

if TYPE_CHECKING:
    from app.common.log import CrashReport
    from app.common.start_options import WindowOptions


def main(argv: Sequence[str] | None = None) -> int:
    """Run Lanewise with these arguments (those of the process if None); the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in VERBS:
        from app.cli.main import run

        return run(arguments)
    options = _window_options(arguments)
    return options if isinstance(options, int) else _open_window(options)


def _window_options(arguments: Sequence[str]) -> WindowOptions | int:
    """The usual starts, with nothing or with one file, do not even import the parser: the first paint comes sooner."""
    if len(arguments) > 1 or any(a.startswith("-") or not os.path.isfile(a) for a in arguments):
        from app.cli.window import window_options

        return window_options(arguments)
    from app.cli.languages import choose_language
    from app.common.start_options import WindowOptions

    choose_language([])
    return WindowOptions(model=arguments[0] if arguments else None)


def _open_window(options: WindowOptions) -> int:
    """The window, with a log file and a report for what nobody caught."""
    # Every import would be interrupted by looking for garbage that a start does not make, for a sixth of its time.
    # From the first window on, ``app.ui.garbage`` collects.
    gc.disable()
    if _has_no_display():
        from app.cli.console import print_error
        from app.common.problem import Problem

        print_error(Problem("no_display"))
        return 2
    from app.common.log import install_crash_handler, set_up_logging
    from app.common.paths import app_paths
    from app.common.source_lines import keep_no_source_lines

    keep_no_source_lines()

    crashes: list[CrashReport] = []

    def on_crash(report: CrashReport) -> None:
        crashes.append(report)
        _tell_crash(report)
        notice = sys.modules.get("app.ui.crash_notice")  # where a window was made
        if notice is not None:
            notice.tell(report)

    paths = app_paths()
    close_log = set_up_logging(paths)
    forget_crashes = install_crash_handler(paths, on_crash)
    try:
        from app.ui.start import run_window

        code = run_window(options)
        return 1 if crashes and (options.smoke or options.tour) else code
    except Exception as error:  # what breaks the start itself is reported like any other bug
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    finally:
        forget_crashes()
        close_log()


def _has_no_display() -> bool:
    """On Linux, Qt ends the whole program where it finds no screen."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform == "linux" and not any(os.environ.get(name) for name in screens)


def _tell_crash(report: CrashReport) -> None:
    """On the console, if there is one: the log has the rest."""
    from app.cli.console import print_note
    from app.words import say

    if report.path is not None:
        print_note(say("cli.crash_report", path=str(report.path)))


def _no_packages(error: ModuleNotFoundError) -> str:
    """Another Python than that of .venv was used. In English, since the sentences of app.words need packages too."""
    return (
        f"This Python has no module {error.name}: Lanewise's packages are in .venv. "
        "Run “python3 dev.py run” once, then “.venv/bin/lanewise” (Windows: “.venv\\Scripts\\lanewise”)."
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModuleNotFoundError as missing:
        if (missing.name or "app").partition(".")[0] == "app":
            raise
        sys.exit(_no_packages(missing))
