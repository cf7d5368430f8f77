"""The installed Lanewise runs a real ``llama-server.exe``: launch, cores, answer, stop, kill, nothing left behind."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path

import psutil

from installer.windows.wine_prefix import windows_path
from tests.installer.conftest import Windows

DEMO = Path("tests/data/tiny-moe-2l.gguf").resolve()


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def servers(port: int) -> list[psutil.Process]:
    """The llama-server.exe of this port: under Wine, a Windows program is a process of this machine too."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if words and words[0].endswith("llama-server.exe") and str(port) in words:
            found.append(process)
    return found


def wait_until_gone(port: int, limit_s: float = 60) -> bool:
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        if not servers(port):
            return True
        time.sleep(0.2)
    return False


class Launch:
    """``lanewise-cli launch`` while it runs: its events so far, and a sign that the server is ready (or has ended)."""

    def __init__(self, windows: Windows, engine: Path, seconds: int) -> None:
        self.events: list[dict[str, object]] = []
        self.ready = threading.Event()
        self.port = free_port()  # Wine's ports are this machine's ports: 8080 may be taken
        cli = windows.program / "lanewise-cli.exe"
        options = ("--json", "--port", str(self.port), "--for", str(seconds))
        self.process = windows.start(cli, "launch", windows_path(DEMO), "--engine", windows_path(engine), *options)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                event = json.loads(line)
                self.events.append(event)
                if event["event"] in ("ready", "exited"):
                    self.ready.set()

    def event(self, kind: str) -> dict[str, object]:
        return next(event for event in self.events if event["event"] == kind)

    def wait(self) -> None:
        self.process.wait(90)
        self._reader.join(30)
        assert self.process.stderr is not None
        self.process.stderr.close()


def test_that_the_real_engine_starts_on_the_chosen_cores_answers_and_stops(
    installed: Windows, llama_server: Path
) -> None:
    launch = Launch(installed, llama_server, seconds=8)
    assert launch.ready.wait(120)
    assert servers(launch.port)
    launch.wait()
    kinds = [event["event"] for event in launch.events if event["event"] != "finding"]  # this Windows invents a GPU
    assert kinds[0] == "starting"
    assert kinds[-1] == "exited"
    told = launch.event("ready")
    assert told["affinity"]
    assert told["buffers"]
    assert wait_until_gone(launch.port)


def test_that_no_server_is_left_when_lanewise_is_killed(installed: Windows, llama_server: Path) -> None:
    launch = Launch(installed, llama_server, seconds=300)
    assert launch.ready.wait(120)
    assert launch.event("ready")
    assert len(servers(launch.port)) == 1
    code, _, _ = installed.run("taskkill", "/f", "/im", "lanewise-cli.exe")
    assert code == 0
    assert wait_until_gone(launch.port)
    launch.wait()


def test_that_the_engine_is_asked_about_a_plan_and_agrees(installed: Windows, llama_server: Path) -> None:
    cli = installed.program / "lanewise-cli.exe"
    code, out, err = installed.run(cli, "verify", windows_path(DEMO), "--engine", windows_path(llama_server), "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["overrides_confirmed"] is not False
    for device in answer["devices"]:
        assert device["engine"]
