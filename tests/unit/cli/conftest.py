"""The command line in this process: main(arguments) -> exit code, standard output, standard error."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.engine.locate import engine_at
from tests.tools.hardware_data import DATA
from tests.tools.small_moe import write_small_moe

NO_GPU = str(DATA / "vm-no-gpu.json")
LAPTOP = str(DATA / "laptop-rtx4080-i7-13700h.json")


@dataclass(frozen=True)
class Said:
    """What one run said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The one line on standard error, with nothing on standard output: bad usage or bad input."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        return line


@pytest.fixture(autouse=True)
def no_engine_on_this_machine(monkeypatch):
    """Only an engine that is named counts: what is installed here must not decide about a test."""
    monkeypatch.setattr("app.work.engines.find_engine", lambda named, _: engine_at(Path(named)) if named else None)
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return call


@pytest.fixture(scope="session")
def moe(tmp_path_factory):
    return write_small_moe(tmp_path_factory.mktemp("模型 and spaces") / "small 小 moe.gguf")


@pytest.fixture(scope="session")
def dense(tmp_path_factory):
    return write_small_moe(tmp_path_factory.mktemp("dense") / "dense.gguf", experts=0)


@pytest.fixture
def plan(run, moe):
    """``plan --json`` of the small model on a machine without a GPU, with more options."""

    def call(*options):
        return run("plan", moe, "--json", "--hardware", NO_GPU, *options)

    return call
