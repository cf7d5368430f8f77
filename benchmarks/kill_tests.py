"""Kills Lanewise in the middle of a real launch, again and again, and counts the servers that outlive it.

    python -m benchmarks.kill_tests [--wine] [--json] [--kills N] [--seed S] [--longest SECONDS]

Each round starts ``lanewise launch`` (real llama-server, the tiny model of the tests, a free port) and kills its
process with SIGKILL; with ``--wine`` the Windows Lanewise with a real llama-server.exe, by TerminateProcess: one in
four at a random moment within ``--longest`` of its first instruction, the others within ``--longest`` of the moment
when the engine's process was first seen. A process that carries the round's model in its command line some seconds
later (``Arena.grace_s``) is an orphan; with ``--wine`` too it is this system's own process list that tells. Beside
it, as the baseline, the same with a plain ``subprocess.Popen`` in Lanewise's place. Target: 0 orphans in 200 kills.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import psutil

from app.common.paths import app_paths
from app.engine.locate import find_engine

ROOT = Path(__file__).resolve().parent.parent
TINY_MODEL = ROOT / "tests" / "data" / "tiny-moe-2l.gguf"
_LOOK_S = 0.02
_START_S = 60.0
_SHARE_WITH_SERVER = 0.75
"""So many kills come after the engine's process was seen; the others at any moment of the start."""
_PLAIN = (
    "import subprocess, sys; "
    "subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()"
)


@dataclass(frozen=True, slots=True)
class KillResult:
    """``with_server``: kills at a moment when a server (or the program that becomes it) was there; ``orphans``: those
    that outlived the kill by the grace time; ``longest_s``: how long the last one took to end."""

    kills: int
    with_server: int
    orphans: int
    longest_s: float


class Arena(Protocol):
    """Where the program is started and killed. ``grace_s``: what the system gets to end the child of a killed parent.

    ``python`` and ``engine`` are paths as the started programs see them.
    """

    grace_s: float
    python: str
    engine: str

    def path(self, file: Path) -> str:
        """How the started program sees a file."""

    def start(self, words: Sequence[str], home: Path) -> None:
        """Start the program, with ``home`` as its LANEWISE_HOME."""

    def is_running(self) -> bool:
        """Is the program still there?"""

    def kill(self) -> None:
        """Kill the program alone, the hard way; returns when it is gone."""

    def servers(self, mark: str) -> list[psutil.Process]:
        """All processes but the program itself that have the mark in their command line."""


class ThisSystem:
    """The system that this runs on."""

    grace_s = 2.0
    python = sys.executable

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self._process: subprocess.Popen[bytes] | None = None

    def path(self, file: Path) -> str:
        return str(file)

    def start(self, words: Sequence[str], home: Path) -> None:
        environment = {**os.environ, "LANEWISE_HOME": str(home)}
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(words, stdout=nothing, stderr=nothing, env=environment)

    def is_running(self) -> bool:
        assert self._process is not None
        return self._process.poll() is None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def servers(self, mark: str) -> list[psutil.Process]:
        assert self._process is not None
        return [process for process in marked(mark) if process.pid != self._process.pid]


def marked(mark: str) -> Iterator[psutil.Process]:
    """All processes with the mark in their command line."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # it has just ended
            if any(mark in word for word in process.cmdline()):
                yield process


def kill_rounds(
    arena: Arena,
    command: Sequence[str],
    model: Path,
    kills: int,
    seed: int,
    longest_s: float,
    tell: Callable[[KillResult], object] = lambda so_far: None,
) -> KillResult:
    """``command`` with ``MODEL`` in place of the model's path; a copy with a name of its own marks each round.

    ``tell`` hears the result so far after each round.
    """
    chooser = random.Random(seed)
    with_server = orphans = 0
    slowest = 0.0
    result = KillResult(0, 0, 0, 0.0)
    with tempfile.TemporaryDirectory(prefix="kill-", ignore_cleanup_errors=True) as folder:
        for number in range(kills):
            copy = Path(folder) / f"{Path(folder).name}-{number}.gguf"
            mark = copy.stem + ".gguf"
            shutil.copyfile(model, copy)
            arena.start([arena.path(copy) if word == "MODEL" else word for word in command], Path(folder) / "home")
            if chooser.random() < _SHARE_WITH_SERVER:
                _wait_for_server(arena, mark)
            time.sleep(chooser.uniform(0.0, longest_s))
            with_server += bool(arena.servers(mark))
            arena.kill()
            slowest = max(slowest, _wait_gone(arena, mark))
            left = arena.servers(mark)
            orphans += bool(left)
            for process in left:
                process.kill()
            with contextlib.suppress(OSError):  # Windows: a process that is just ending still holds it
                copy.unlink()
            result = KillResult(number + 1, with_server, orphans, round(slowest, 3))
            tell(result)
    return result


def _wait_for_server(arena: Arena, mark: str) -> None:
    """Until the first process of the engine is there; a machine under load takes its time."""
    until = time.monotonic() + _START_S
    while arena.is_running() and not arena.servers(mark) and time.monotonic() < until:
        time.sleep(_LOOK_S)


def _wait_gone(arena: Arena, mark: str) -> float:
    started_at = time.monotonic()
    while arena.servers(mark) and time.monotonic() - started_at < arena.grace_s:
        time.sleep(_LOOK_S)
    return time.monotonic() - started_at


def lanewise_command(arena: Arena) -> list[str]:
    """Our launch of the model."""
    options = ["--preset", "all-cpu", "--ctx", "512", "--prompt-cache-mib", "0", "--threads", "1", "--port", "0"]
    return [arena.python, "-m", "app", "launch", "MODEL", *options, "--engine", arena.engine]


def plain_command(arena: Arena) -> list[str]:
    """The same server under a parent that takes no precautions."""
    words = [arena.engine, "-m", "MODEL", "-c", "512", "-ngl", "0", "-t", "1", "--port", "0", "--host", "127.0.0.1"]
    return [arena.python, "-c", _PLAIN, *words]


def _tell(so_far: KillResult) -> None:
    """Half an hour under Wine: a run that is broken off has told what it saw."""
    print(f"{so_far.kills} kills, {so_far.with_server} with a server, {so_far.orphans} orphans", file=sys.stderr)


@contextlib.contextmanager
def _arena(wine: bool) -> Iterator[Arena | None]:
    if wine:
        from benchmarks.kill_tests_wine import under_wine

        with under_wine() as arena:
            yield arena
        return
    engine = find_engine(None, app_paths())
    yield None if engine is None else ThisSystem(engine.path)


def main() -> int:
    """Run, print, and end with 1 when a server has outlived us."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wine", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--plain", type=int, default=10, help="rounds of the baseline")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=2.0)
    options = parser.parse_args()
    with _arena(options.wine) as arena:
        if arena is None:
            print("no llama-server on this machine", file=sys.stderr)
            return 2
        rest = (options.seed, options.longest)
        plain = kill_rounds(arena, plain_command(arena), TINY_MODEL, options.plain, *rest)
        ours = kill_rounds(arena, lanewise_command(arena), TINY_MODEL, options.kills, *rest, tell=_tell)
    if options.json:
        print(json.dumps({"lanewise": asdict(ours), "plain": asdict(plain)}))
    else:
        for name, result in (("lanewise launch", ours), ("plain Popen", plain)):
            print(
                f"{name}: {result.kills} kills, {result.with_server} with a server, {result.orphans} orphans; "
                f"the slowest end took {result.longest_s} s"
            )
    return int(ours.orphans > 0)


if __name__ == "__main__":
    sys.exit(main())
