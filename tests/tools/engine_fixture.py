"""Fixtures with a real llama-server; a conftest that wants them imports them by name."""

import os
import queue
import time
from pathlib import Path

import psutil
import pytest

from app.common.paths import AppPaths
from app.engine.events import Exited
from app.engine.locate import engine_at, find_engine
from app.engine.process import LaunchSpec, start_server
from app.engine.rpc import RpcServer

TINY_MODEL = Path(__file__).resolve().parent.parent / "data" / "tiny-moe-2l.gguf"
"""A real qwen3moe of 0.4 MB that llama-server loads: 2 layers, 4 experts, random weights."""

PATIENCE_S = 60


@pytest.fixture(scope="session")
def engine(user_paths):
    """The real engine: LANEWISE_TEST_ENGINE, else what Lanewise itself would find on this machine."""
    named = os.environ.get("LANEWISE_TEST_ENGINE")
    found = engine_at(Path(named)) if named else find_engine(None, user_paths)
    if found is None:
        pytest.skip("no llama-server on this machine (python3 dev.py engine-build makes one)")
    return found


@pytest.fixture(scope="session")
def tiny_model():
    return str(TINY_MODEL)


@pytest.fixture
def app_folders(tmp_path):
    """Folders of a fresh Lanewise."""
    return AppPaths(tmp_path / "config", tmp_path / "data", tmp_path / "cache")


@pytest.fixture(scope="session")
def rpc_server(engine, tmp_path_factory):
    """A ggml-rpc-server on loopback: a GPU for machines that have none."""
    if engine.rpc_server is None:
        pytest.skip("this engine was built without ggml-rpc-server")
    base = tmp_path_factory.mktemp("rpc")
    with RpcServer(engine, AppPaths(base / "config", base / "data", base / "cache")) as server:
        yield server


def is_gone(pid):
    """Has this process, which need not be ours, ended? Waits for it."""
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return True
    _, alive = psutil.wait_procs([process], timeout=PATIENCE_S)
    return not alive or alive[0].status() == psutil.STATUS_ZOMBIE


class Events:
    """Collects a server's events; waits for one of a kind without polling."""

    def __init__(self):
        self._queue = queue.Queue()
        self.seen = []

    def __call__(self, event):
        self._queue.put(event)

    def wait_for(self, kind, patience_s=PATIENCE_S):
        """The next event of that class; AssertionError when none comes."""
        until = time.monotonic() + patience_s
        while True:
            try:
                event = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {kind.__name__}; seen: {self.seen[-20:]}") from None
            self.seen.append(event)
            if isinstance(event, kind):
                return event
            assert not isinstance(event, Exited), f"ended before {kind.__name__}: {event}"


@pytest.fixture
def launch(app_folders):
    """Start a server and get (process, events); whatever still runs at the end of the test is stopped."""
    running = []

    def start(binary_path, argv, cpus=(), **more):
        events = Events()
        spec = LaunchSpec(str(binary_path), tuple(argv), tuple(cpus), app_folders, **more)
        running.append(start_server(spec, events))
        return running[-1], events

    yield start
    for server in running:
        server.stop(0)
    for server in running:
        assert server.wait(PATIENCE_S)
