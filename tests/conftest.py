"""What every test gets: a home of its own, the English language, and the same hypothesis examples in every CI run.

Two things keep the ``unit`` stage (``-m "not slow"``) short without leaving anything out. Of the cases of a test marked
``share(n)`` it runs n, always the same; the others are ``slow``. Hypothesis makes few examples there and many in the
``slow`` stage, where its tests run once more.
"""

import gc
import itertools
import os
import random
import tempfile
from pathlib import Path

import hypothesis
import pytest

from app.common.paths import app_paths
from app.engine.locate import find_engine
from app.words import Language, set_language

# No deadline: the machine's load must not decide. In CI the examples are derived from the test, so that a change that
# does not touch a test cannot make it fail.
IN_CI = {"derandomize": True, "database": None} if os.environ.get("CI") else {}
EXAMPLES = {"not slow": 5, "slow": 40}
for _stage in ("not slow", "slow", ""):
    hypothesis.settings.register_profile(_stage, deadline=None, max_examples=EXAMPLES.get(_stage, 20), **IN_CI)

# Taken before any test redirects it: the engine that `dev.py` built lies in the user's own cache folder.
_USER_PATHS = app_paths()
_USER_ENGINE = os.environ.get("LANEWISE_ENGINE")

_numbers = itertools.count()
_HOMES = pytest.StashKey[str]()


def pytest_configure(config):
    stage = config.getoption("markexpr")
    hypothesis.settings.load_profile(stage if stage in EXAMPLES else "")
    homes = tempfile.TemporaryDirectory(prefix="lanewise-homes-", ignore_cleanup_errors=True)
    config.add_cleanup(homes.cleanup)
    config.stash[_HOMES] = homes.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Before ``-m`` chooses: what is beyond a share is slow; generated examples belong to both stages."""
    shared = {}
    for item in items:
        share = item.get_closest_marker("share")
        if share and not item.get_closest_marker("slow"):
            shared.setdefault((item.nodeid.split("[")[0], share.args[0]), []).append(item)
        if config.getoption("markexpr") == "slow" and hypothesis.is_hypothesis_test(item.function):
            item.add_marker(pytest.mark.slow)
    for (name, count), cases in shared.items():
        ids = sorted(case.nodeid for case in cases)
        stays = random.Random(name).sample(ids, min(count, len(ids)))
        for case in cases:
            if case.nodeid not in stays:
                case.add_marker(pytest.mark.slow)


def pytest_collection_finish(session):
    """Without a window: what was imported and collected is not looked through again, and what plans leave behind only
    now and then, a ninth of the time of the tests that plan. Files and sockets left open are told all the same, at the
    latest at the end of the run. With one, tests/qt/conftest.py decides, and the window itself (app/ui/garbage.py)."""
    if not session.config.pluginmanager.has_plugin("pytest-qt"):
        gc.freeze()
        gc.set_threshold(100_000, 20, 20)


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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """An empty LANEWISE_HOME for this test, made by whoever writes to it first, no named engine, and English words.

    A hook, because a fixture that every test uses costs more than many of the tests themselves.
    """
    os.environ["LANEWISE_HOME"] = os.path.join(item.config.stash[_HOMES], f"home-{next(_numbers)}")
    os.environ.pop("LANEWISE_ENGINE", None)
    set_language(Language.EN)


@pytest.fixture
def lanewise_home():
    """This test's LANEWISE_HOME; the folder is there once somebody has written to it."""
    return Path(os.environ["LANEWISE_HOME"])
