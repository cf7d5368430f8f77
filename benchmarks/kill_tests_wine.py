"""The Windows half of ``benchmarks.kill_tests``: Windows Python and a real llama-server.exe under Wine.

A Windows program is a process of this machine too, so that it is this machine's list of processes that tells what is
left, and not the system under test.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from app.common.paths import app_paths
from benchmarks.kill_tests import ROOT, marked
from installer.windows import engine_exe
from installer.windows.build import default_cache
from installer.windows.wine_prefix import WinePrefix, display, locked, make_prefix, windows_path

WHEELS = ROOT / "tests" / "wine" / "requirements.txt"
_ENGINE = "llama-server.exe"


class UnderWine:
    """See ``benchmarks.kill_tests.Arena``; ``helper`` is a ``benchmarks.kill_helper`` that runs in the prefix."""

    grace_s = 5.0

    def __init__(self, helper: subprocess.Popen[str], python: Path, engine: Path) -> None:
        self._helper = helper
        self.python = windows_path(python)
        self.engine = windows_path(engine)

    def path(self, file: Path) -> str:
        return windows_path(file)

    def start(self, words: Sequence[str], home: Path) -> None:
        self._order({"start": list(words), "home": windows_path(home)})

    def is_running(self) -> bool:
        return self._order("poll") is True

    def kill(self) -> None:
        self._order("kill")

    def servers(self, mark: str) -> list[psutil.Process]:
        return [process for process in marked(mark) if _is_engine(process)]

    def _order(self, order: object) -> object:
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        self._helper.stdin.write(json.dumps(order) + "\n")
        self._helper.stdin.flush()
        answer: object = json.loads(self._helper.stdout.readline())
        return answer


def _is_engine(process: psutil.Process) -> bool:
    """The first program in the command line is the engine: Wine's own loader may stand before it."""
    with contextlib.suppress(psutil.Error):
        programs = (word for word in process.cmdline() if word.lower().endswith(".exe"))
        return next(programs, "").endswith(_ENGINE)
    return False


@contextlib.contextmanager
def under_wine() -> Iterator[UnderWine | None]:
    """A Windows to kill programs in; None when llama-server.exe was never built (``installer.windows.engine_exe``)."""
    engine = engine_exe.engine_exe(default_cache())
    if not engine.is_file():
        yield None
        return
    cache = app_paths().cache / "wine"
    with locked(cache), display() as screen:
        prefix = make_prefix(cache, (WHEELS,))
        with running(prefix, engine, screen) as arena:
            yield arena


@contextlib.contextmanager
def running(prefix: WinePrefix, engine: Path, screen: str) -> Iterator[UnderWine]:
    """The helper in a ready prefix, on a screen that is there; ends all of the prefix afterwards."""
    # The installed program has its modules compiled; the checkout belongs to Linux, so they lie in the prefix.
    compiled = {"PYTHONPYCACHEPREFIX": windows_path(prefix.folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = prefix.environment((ROOT,), DISPLAY=screen, PYTHONUTF8="1", **compiled)
    words = ["wine", windows_path(prefix.python), "-m", "benchmarks.kill_helper"]
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as helper:  # fmt: skip
        try:
            yield UnderWine(helper, prefix.python, engine)
        finally:
            prefix.end()
