"""The engine gets an empty config folder of its own, and nothing of the user's variables."""

import os
import tempfile
from pathlib import Path

import pytest

from app.common.problem import ProblemError
from app.engine import environment
from app.engine.environment import engine_environment

HOME = "APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME"


@pytest.fixture
def blocked(tmp_path):
    """A folder that nobody can make: a file stands in the way."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    return tmp_path / "file" / "engine-home"


@pytest.fixture(autouse=True)
def fresh():
    environment._spare_home.cache_clear()
    yield
    environment._spare_home.cache_clear()


def test_that_the_users_own_settings_do_not_reach_the_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "4")
    monkeypatch.setenv("LLAMA_API_KEY", "old")
    variables = engine_environment(tmp_path / "a" / "b", "new")
    assert variables[HOME] == str(tmp_path / "a" / "b")
    assert variables["LLAMA_API_KEY"] == "new"
    assert "LLAMA_ARG_CTX_SIZE" not in variables


def test_that_a_disk_which_cannot_be_written_costs_only_the_place_of_the_empty_folder(blocked):
    spare = Path(engine_environment(blocked)[HOME])
    assert list(spare.iterdir()) == []
    assert engine_environment(blocked)[HOME] == str(spare)
    environment._spare_home().cleanup()
    assert not spare.exists()


def test_that_no_place_at_all_is_one_sentence(blocked, monkeypatch):
    def refuse(**_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(ProblemError) as caught:
        engine_environment(blocked)
    assert caught.value.problem.code == "engine_home_failed"
