"""What every test gets: a home of its own, the English language, and the same hypothesis examples in every CI run."""

import itertools
import os

import hypothesis
import pytest

from app.common.paths import app_paths
from app.engine.locate import find_engine
from app.words import Language, set_language

# No deadline: the machine's load must not decide. In CI the examples are derived from the test, so that a change that
# does not touch a test cannot make it fail.
hypothesis.settings.register_profile("lanewise", deadline=None, max_examples=30)
hypothesis.settings.register_profile("lanewise-ci", deadline=None, max_examples=20, derandomize=True, database=None)
hypothesis.settings.load_profile("lanewise-ci" if os.environ.get("CI") else "lanewise")

# Taken before any test redirects it: the engine that `dev.py` built lies in the user's own cache folder.
_USER_PATHS = app_paths()
_USER_ENGINE = os.environ.get("LANEWISE_ENGINE")

_numbers = itertools.count()


@pytest.fixture(scope="session")
def user_paths():
    """The folders of the person who runs the tests; only read from them (engines)."""
    return _USER_PATHS


@pytest.fixture(scope="session")
def engine(user_paths):
    """The llama-server of this computer, found as Lanewise finds it; ``dev.py`` has built one if there was none."""
    found = find_engine(_USER_ENGINE, user_paths)
    if found is None:
        pytest.fail("No llama-server here. Build it once with: python3 dev.py engine-build")
    return found


@pytest.fixture(scope="session")
def _homes(tmp_path_factory):
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def lanewise_home(_homes, monkeypatch):
    """An empty LANEWISE_HOME for this test, made by whoever writes to it first, and English words."""
    home = _homes / f"home-{next(_numbers)}"
    monkeypatch.setenv("LANEWISE_HOME", str(home))
    monkeypatch.delenv("LANEWISE_ENGINE", raising=False)
    set_language(Language.EN)
    yield home
    set_language(Language.EN)
