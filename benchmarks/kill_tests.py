"""Kills Lanewise in the middle of a real launch, again and again, and counts the servers that outlive it.

    python -m benchmarks.kill_tests [--json] [--kills N] [--seed S] [--longest SECONDS]

Each round starts ``lanewise launch`` (real llama-server, the tiny model of the tests, a free port) and kills its
process with SIGKILL (on Windows TerminateProcess): one in four at a random moment within ``--longest`` of its first
instruction, the others within ``--longest`` of the moment when the engine's process was first seen.
A process that carries the round's model in its command line two seconds later is an orphan. Beside it, as the
baseline, the same with a plain ``subprocess.Popen`` in Lanewise's place. Target: 0 orphans in 200 kills.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from app.common.paths import app_paths
from app.engine.locate import EngineBinary, find_engine

ROOT = Path(__file__).resolve().parent.parent
TINY_MODEL = ROOT / "tests" / "data" / "tiny-moe-2l.gguf"
GRACE_S = 2.0
"""The kernel ends the child when its parent has ended; a loaded machine needs a moment for it."""
_LOOK_S = 0.02
_START_S = 30.0
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


def kill_rounds(command: Sequence[str], model: Path, kills: int, seed: int, longest_s: float) -> KillResult:
    """``command`` with ``MODEL`` in place of the model's path; a copy with a name of its own marks each round."""
    chooser = random.Random(seed)
    with_server = orphans = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        for number in range(kills):
            marked = Path(folder) / f"round-{number}-{os.getpid()}.gguf"
            shutil.copyfile(model, marked)
            words = [str(marked) if word == "MODEL" else word for word in command]
            environment = {**os.environ, "LANEWISE_HOME": str(Path(folder) / "home")}
            app = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            if chooser.random() < _SHARE_WITH_SERVER:
                _wait_for_server(marked, app)
            time.sleep(chooser.uniform(0.0, longest_s))
            with_server += bool(_marked(marked, app.pid))
            app.kill()
            app.wait()
            took = _wait_gone(marked)
            slowest = max(slowest, took)
            left = _marked(marked, app.pid)
            orphans += bool(left)
            for process in left:
                process.kill()
            marked.unlink()
    return KillResult(kills, with_server, orphans, round(slowest, 3))


def _marked(model: Path, app_pid: int) -> list[psutil.Process]:
    """All processes but the app itself that have the model in their command line."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.pid != app_pid and any(str(model) in word for word in process.info["cmdline"] or ())
    ]


def _wait_for_server(model: Path, app: subprocess.Popen[bytes]) -> None:
    """Until the first process of the engine is there; a machine under load takes its time."""
    until = time.monotonic() + _START_S
    while app.poll() is None and not _marked(model, app.pid) and time.monotonic() < until:
        time.sleep(_LOOK_S)


def _wait_gone(model: Path) -> float:
    started_at = time.monotonic()
    while _marked(model, 0) and time.monotonic() - started_at < GRACE_S:
        time.sleep(_LOOK_S)
    return time.monotonic() - started_at


def lanewise_command(engine: EngineBinary) -> list[str]:
    """Our launch of the model."""
    options = ["--preset", "all-cpu", "--ctx", "512", "--prompt-cache-mib", "0", "--threads", "1", "--port", "0"]
    return [sys.executable, "-m", "app", "launch", "MODEL", *options, "--engine", engine.path]


def plain_command(engine: EngineBinary) -> list[str]:
    """The same server under a parent that takes no precautions."""
    words = [engine.path, "-m", "MODEL", "-c", "512", "-ngl", "0", "-t", "1", "--port", "0", "--host", "127.0.0.1"]
    return [sys.executable, "-c", _PLAIN, *words]


def main() -> int:
    """Run, print, and end with 1 when a server has outlived us."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--plain", type=int, default=10, help="rounds of the baseline")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=2.0)
    options = parser.parse_args()
    engine = find_engine(None, app_paths())
    if engine is None:
        print("no llama-server on this machine", file=sys.stderr)
        return 2
    ours = kill_rounds(lanewise_command(engine), TINY_MODEL, options.kills, options.seed, options.longest)
    plain = kill_rounds(plain_command(engine), TINY_MODEL, options.plain, options.seed, options.longest)
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
