"""Real processes: the fake server always, the real llama-server where there is one."""

import sys
from pathlib import Path

import pytest

from tests.tools.engine_fixture import app_folders, engine, launch, rpc_server, tiny_model

__all__ = ["app_folders", "engine", "launch", "rpc_server", "tiny_model"]

FAKE_SERVER = Path(__file__).resolve().parent / "fake_server.py"


@pytest.fixture
def launch_fake(launch):
    """Start the fake server with some of its options."""

    def start(*options, **more):
        return launch(sys.executable, [str(FAKE_SERVER), *map(str, options)], **more)

    return start
