"""The log file and the crash report.

Everything stays on this computer, in ``AppPaths.logs``. Reports name versions and the traceback (source lines, no
values of variables), so they hold no prompt and no answer; the user's home folder is written as ``~``.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType

from typing_extensions import override

from app.common.paths import AppPaths

LOG_NAME = "lanewise.log"
LOG_BYTES = 1_000_000
LOG_FILES = 3
CRASH_REPORTS_KEPT = 10

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_LIBRARIES = ("PySide6-Essentials", "pyqtgraph", "numpy", "psutil", "nvidia-ml-py", "gguf", "httpx")

_log = logging.getLogger(__name__)

_Hook = tuple[type[BaseException], BaseException, TracebackType | None]


class RotatingFile(logging.FileHandler):
    """A log file of at most ``LOG_BYTES``; older text moves to ``.1``, ``.2`` and is then dropped.

    Not ``logging.handlers.RotatingFileHandler``: importing that module costs 8 ms of a 100 ms start, and on Windows it
    prints a traceback for every line once a second Lanewise holds the file open. Here such a file just grows on.
    """

    def __init__(self, path: Path, limit_bytes: int = LOG_BYTES, files: int = LOG_FILES) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace", delay=True)
        self._path = path
        self._limit_bytes = limit_bytes
        self._files = files

    @override
    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        # Handler.handle holds the lock here, so no other thread writes while the files change their names.
        if self.stream is not None and self.stream.tell() > self._limit_bytes:
            self.stream.close()
            self._move_on()
            self.stream = self._open()

    def _move_on(self) -> None:
        names = [self._path, *(self._path.with_name(f"{self._path.name}.{n}") for n in range(1, self._files))]
        try:
            for older, newer in zip(names[:0:-1], names[-2::-1], strict=True):
                if newer.exists():
                    newer.replace(older)
        except OSError:
            # Another process has it open (Windows): a long log is better than none. Try again after as much again.
            self._limit_bytes *= 2


@dataclass(frozen=True, slots=True)
class CrashReport:
    """What is known about a bug that nobody caught. ``path`` is None when the report could not be written."""

    summary: str
    text: str
    path: Path | None


def set_up_logging(paths: AppPaths, *, verbose: bool = False) -> Callable[[], None]:
    """Log to a rotating file at INFO (DEBUG when verbose) and to stderr at WARNING; returns what undoes it.

    A folder that cannot be written is itself logged and otherwise ignored: Lanewise runs without a log file. A program
    without a console (pythonw, the Windows shortcut) has no stderr and gets the file only.
    """
    root = logging.getLogger()
    level_before = root.level
    handlers: list[logging.Handler] = []
    if sys.stderr is not None:
        console = logging.StreamHandler(sys.stderr)
        console.setLevel(logging.WARNING)
        handlers.append(console)
    try:
        paths.logs.mkdir(parents=True, exist_ok=True)
        handlers.append(RotatingFile(paths.logs / LOG_NAME))
    except OSError as error:
        problem: OSError | None = error
    else:
        problem = None
    for handler in handlers:
        handler.setFormatter(logging.Formatter(_FORMAT))
        root.addHandler(handler)
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    requests = logging.getLogger("httpx")  # it tells every request: two a second for as long as a server runs
    requests_before = requests.level
    requests.setLevel(logging.NOTSET if verbose else logging.WARNING)
    if problem is not None:
        _log.warning("No log file: %s", problem)

    def undo() -> None:
        root.setLevel(level_before)
        requests.setLevel(requests_before)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()

    return undo


def install_crash_handler(paths: AppPaths, on_crash: Callable[[CrashReport], None]) -> Callable[[], None]:
    """Catch what nobody caught, in any thread: log it, write a report, then tell ``on_crash``. Returns what undoes it.

    ``on_crash`` runs in the thread that failed and must not raise; what it raises is logged. Ctrl-C is not a crash.
    """
    before = sys.excepthook, threading.excepthook

    def handle(error: _Hook, thread_name: str) -> None:
        if issubclass(error[0], KeyboardInterrupt):
            before[0](*error)
            return
        _log.critical("A bug ended %s", thread_name, exc_info=error)
        report = write_crash_report(paths, error, thread_name)
        try:
            on_crash(report)
        except Exception:
            _log.exception("The crash could not be shown")

    def on_main(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        handle((kind, value, trace), threading.current_thread().name)

    def on_thread(args: threading.ExceptHookArgs) -> None:
        if issubclass(args.exc_type, SystemExit):
            return  # as threading's own hook: sys.exit() in a thread just ends the thread
        value = args.exc_value if args.exc_value is not None else args.exc_type()
        handle((args.exc_type, value, args.exc_traceback), args.thread.name if args.thread else "a thread")

    sys.excepthook, threading.excepthook = on_main, on_thread

    def undo() -> None:
        sys.excepthook, threading.excepthook = before

    return undo


def write_crash_report(paths: AppPaths, error: _Hook, thread_name: str) -> CrashReport:
    """Write ``crash-<time>.txt`` beside the log and keep the newest ``CRASH_REPORTS_KEPT`` of them."""
    now = datetime.now().astimezone()
    kind, value, _ = error
    summary = _without_home(f"{kind.__name__}: {value}")
    text = crash_text(error, thread_name, now)
    path = paths.logs / f"crash-{now:%Y%m%d-%H%M%S-%f}.txt"
    try:
        paths.logs.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        for old in sorted(paths.logs.glob("crash-*.txt"))[:-CRASH_REPORTS_KEPT]:
            old.unlink(missing_ok=True)
    except OSError as problem:
        _log.warning("No crash report: %s", problem)
        return CrashReport(summary, text, None)
    return CrashReport(summary, text, path)


def crash_text(error: _Hook, thread_name: str = "MainThread", at: datetime | None = None) -> str:
    """What a crash report says: when, where, which versions, the traceback; without the user's name in paths."""
    lines = [
        "Lanewise crash report",
        f"time      {(at or datetime.now().astimezone()).isoformat(timespec='seconds')}",
        f"thread    {thread_name}",
        *_versions(),
        "",
        _without_home("".join(traceback.format_exception(*error))),
    ]
    return "\n".join(lines)


def _versions() -> list[str]:
    from app.common.system_name import system_name  # here and below: for a report only, not for every start

    found = [("lanewise", _version("lanewise")), ("python", sys.version.split()[0]), ("system", system_name())]
    found += [(name, _version(name)) for name in _LIBRARIES]
    return [f"{name:<20}{version}" for name, version in found]


def _version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def _without_home(text: str) -> str:
    home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text
