"""What the tests under Wine are made of: pinned, hashed, and the same versions as everywhere else."""

import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Wine runs on other systems")

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "tests" / "wine" / "requirements.txt"
LINE = re.compile(r"([\w.-]+)==([\w.]+) --hash=sha256:[0-9a-f]{64}")


def _pins(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), "every line needs a version and a hash, and nothing else"
    return {match[1].lower().replace("_", "-"): match[2] for match in found}


def test_that_windows_tests_use_the_pinned_versions_and_numpy_is_the_only_exception():
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)$", constraints.lower()))
    different = {name: version for name, version in _pins(REQUIREMENTS).items() if pinned.get(name) != version}
    assert different == {"numpy": "2.1.3"}


def test_that_paths_are_told_as_wine_shows_them(tmp_path):
    from installer.windows.wine_prefix import windows_path

    folder = tmp_path / "我的 models"
    assert windows_path(folder) == "Z:" + str(folder).replace("/", "\\")


def test_that_old_packages_are_forgotten_and_the_wanted_ones_stay(tmp_path):
    from installer.windows import wine_prefix

    wanted = tmp_path / "requirements.txt"
    wanted.write_text("x==1\n", encoding="utf-8")
    kept = f"site-{wine_prefix._digest(wanted)}"
    for name in (kept, "site-0123456789abcdef", "requirements-0123456789abcdef", "prefix-1"):
        (tmp_path / name).mkdir()
    wine_prefix._forget_old(tmp_path, (wanted,))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["prefix-1", "requirements.txt", kept]


def test_that_programs_of_the_prefix_see_its_own_home_and_no_screen(tmp_path, monkeypatch):
    from installer.windows.wine_prefix import WinePrefix

    monkeypatch.setenv("DISPLAY", ":0")
    prefix = WinePrefix(tmp_path / "p", tmp_path / "py", (tmp_path / "a", tmp_path / "b"), has_qt=False)
    variables = prefix.environment((tmp_path,), EXTRA="1")
    assert variables["HOME"] == str(tmp_path / "p" / "home")
    assert "DISPLAY" not in variables
    assert variables["PYTHONPATH"].count(";") == 2
    assert variables["EXTRA"] == "1"
    assert prefix.python.name == "python.exe"


def test_that_only_what_failed_is_tried_again_and_both_tries_are_counted():
    from tests.wine.run import after_retry, counts, failed_tests

    last = [
        "=========================== short test summary info ===========================",
        "SKIPPED [2] tests\\qt\\test_x.py:3: no bash",
        "FAILED tests/qt/test_x.py::test_that_it_is[a b] - AssertionError: 1 - 2",
        "ERROR tests/qt/test_y.py::test_that_it_ends",
        "1 failed, 7 passed, 2 skipped, 1 error in 3.21s",
    ]
    assert failed_tests(last) == ["tests/qt/test_x.py::test_that_it_is[a b]", "tests/qt/test_y.py::test_that_it_ends"]
    assert counts(last) == {"failed": 1, "passed": 7, "skipped": 2, "error": 1}
    assert after_retry(counts(last), {"passed": 2}) == "9 passed, 2 skipped in 0.0s (both tries)"
    assert after_retry(counts(last), {"failed": 1, "passed": 1}) == "8 passed, 2 skipped, 1 failed in 0.0s (both tries)"
    assert failed_tests(last[:-1]) == []  # a run that was cut off names not all of them


def test_that_a_run_under_wine_tells_every_tenth_each_failure_and_the_test_it_hangs_in():
    from tests.wine.run import Progress

    progress = Progress()
    lines = ["collected 20 items", *[f"tests/qt/test_a.py::test_{n} PASSED   [{n * 5:3}%]" for n in range(1, 4)]]
    lines += ["tests/qt/test_a.py::test_4[a b] SKIPPED (no pipes) [ 20%]", "tests/qt/test_a.py::test_5 FAILED  [ 25%]"]
    lines += ["tests/qt/test_a.py::test_6 "]
    assert [told for line in lines if (told := progress.hear(line)) is not None] == [
        "collected 20 items", "  10 % of the tests", "  20 % of the tests", lines[5], lines[6],
    ]  # fmt: skip
    assert progress.newest == lines[6]
