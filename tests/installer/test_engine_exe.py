"""The installed Lanewise runs a real ``llama-server.exe``: launch, cores, answer, stop, kill, nothing left behind."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from installer.windows.wine_prefix import windows_path
from tests.installer.conftest import Windows

DEMO = Path("tests/data/tiny-moe-2l.gguf").resolve()


def processes(windows: Windows, name: str) -> int:
    """How many programs of this name run."""
    _, out, _ = windows.run("tasklist")
    return sum(line.lower().startswith(name) for line in out.splitlines())


def wait_until_gone(windows: Windows, name: str, limit_s: float = 30) -> bool:
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        if processes(windows, name) == 0:
            return True
        time.sleep(0.5)
    return False


@contextmanager
def launched(windows: Windows, engine: Path, *more: str) -> Iterator[tuple[list[dict[str, object]], threading.Event]]:
    """``lanewise-cli launch``: its events so far, and a sign that the server is ready."""
    events: list[dict[str, object]] = []
    ready = threading.Event()
    cli = windows.program / "lanewise-cli.exe"
    arguments = ("launch", windows_path(DEMO), "--engine", windows_path(engine), "--json", *more)
    with windows.start(cli, *arguments) as process:

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                event = json.loads(line)
                events.append(event)
                if event["event"] in ("ready", "exited"):
                    ready.set()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        yield events, ready
        process.wait(60)
        reader.join(30)


def test_that_the_real_engine_starts_on_the_chosen_cores_answers_and_stops(
    installed: Windows, llama_server: Path
) -> None:
    with launched(installed, llama_server, "--for", "8") as (events, ready):
        assert ready.wait(120)
    kinds = [event["event"] for event in events]
    assert kinds[0] == "starting"
    assert "ready" in kinds
    assert kinds[-1] == "exited"
    told = next(event for event in events if event["event"] == "ready")
    assert told["affinity"]
    assert told["buffers"]
    assert processes(installed, "llama-server.exe") == 0


def test_that_no_server_is_left_when_lanewise_is_killed(installed: Windows, llama_server: Path) -> None:
    with launched(installed, llama_server, "--for", "300") as (events, ready):
        assert ready.wait(120)
        assert events[-1]["event"] != "exited"
        assert processes(installed, "llama-server.exe") == 1
        installed.run("taskkill", "/f", "/im", "lanewise-cli.exe")
        assert wait_until_gone(installed, "llama-server.exe")


def test_that_the_engine_is_asked_about_a_plan_and_agrees(installed: Windows, llama_server: Path) -> None:
    cli = installed.program / "lanewise-cli.exe"
    code, out, err = installed.run(cli, "verify", windows_path(DEMO), "--engine", windows_path(llama_server), "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["overrides_confirmed"] is not False
    for device in answer["devices"]:
        assert device["engine"]
