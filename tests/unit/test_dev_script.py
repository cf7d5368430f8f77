"""dev.py: what it finds missing, what it says, and how it counts. Nothing here installs or starts a real tool."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def dev(monkeypatch):
    """The script as a module of its own, so that a test may change it."""
    spec = importlib.util.spec_from_file_location("dev_script", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "dev_script", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(dev, tmp_path, monkeypatch):
    """An empty checkout with the two files that decide what is installed."""
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "VENV_PYTHON", tmp_path / "python")
    monkeypatch.setattr(dev, "STAMP", tmp_path / "stamp.json")
    (tmp_path / "python").write_bytes(b"")
    return tmp_path


class Commands:
    """Stands in for ``lines_of``: keeps each command; ``answers`` maps a word of a command to (exit code, output)."""

    def __init__(self):
        self.seen = []
        self.answers = {}

    def __call__(self, command, env=None, limit_s=0.0):
        self.seen.append(list(command))
        code, text = next((answer for word, answer in self.answers.items() if word in command), (0, ""))
        if isinstance(code, list):  # one code for each time
            code = code.pop(0)
        yield from text.splitlines()
        if code:
            raise subprocess.CalledProcessError(code, command)


@pytest.fixture
def commands(dev, monkeypatch):
    stand_in = Commands()
    monkeypatch.setattr(dev, "lines_of", stand_in)
    return stand_in


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


def test_that_the_script_needs_only_the_standard_library():
    tree = ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"))
    assert set(_imports(tree)) <= sys.stdlib_module_names


def test_that_an_old_python_can_read_the_script_far_enough_to_be_refused():
    ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 7))


def test_that_every_dependency_is_pinned_once_and_no_host_is_named():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = [line.split("==") for line in text.splitlines() if line and not line.startswith("#")]
    names = [name.lower() for name, _ in pins]
    assert len(names) == len(set(names))
    assert "://" not in text
    assert "index" not in text
    wanted = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("PySide6-Essentials", "pyqtgraph", "httpx", "pytest-qt", "hatchling"):
        assert f'"{name}>=' in wanted
        assert name.lower() in names


def test_that_missing_libraries_become_debian_packages_named_once(dev, monkeypatch):
    monkeypatch.setattr(dev.sys, "platform", "linux")
    monkeypatch.setattr(dev, "has_library", lambda name: name not in ("libglib-2.0.so.0", "libgthread-2.0.so.0"))
    monkeypatch.setattr(dev, "has_cjk_font", lambda: False)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert dev.missing_for_qt(pictures=True) == ["libglib2.0-0", "fonts-noto-cjk"]
    assert dev.missing_for_qt(pictures=False) == ["libglib2.0-0"]


def test_that_a_display_asks_for_the_libraries_of_its_kind(dev, monkeypatch):
    monkeypatch.setattr(dev.sys, "platform", "linux")
    monkeypatch.setattr(dev, "has_library", lambda name: name in dev.QT_LIBRARIES)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    assert dev.missing_for_qt(pictures=False) == list(dev.X11_LIBRARIES.values())
    assert dev.has_display()
    monkeypatch.delenv("DISPLAY")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert dev.missing_for_qt(pictures=False) == list(dev.WAYLAND_LIBRARIES.values())


def test_that_windows_always_has_a_display_and_needs_no_packages(dev, monkeypatch):
    monkeypatch.setattr(dev.sys, "platform", "win32")
    assert dev.has_display()
    assert dev.missing_for_qt(pictures=True) == []
    assert dev.missing_for_build() == []


def test_that_without_root_the_one_line_to_type_is_printed(dev, monkeypatch, commands):
    monkeypatch.setattr(dev, "can_install", lambda: False)
    monkeypatch.setattr(dev.shutil, "which", lambda name: "/usr/bin/apt-get")
    with pytest.raises(SystemExit) as stopped:
        dev.install_system(["cmake", "g++"], "Building llama-server")
    assert str(stopped.value).splitlines()[-1].strip() == "sudo apt-get install -y cmake g++"
    assert commands.seen == []


def test_that_a_system_without_apt_is_told_what_is_needed(dev, monkeypatch):
    monkeypatch.setattr(dev, "can_install", lambda: False)
    monkeypatch.setattr(dev.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="libegl1"):
        dev.install_system(["libegl1"], "The window")


def test_that_package_lists_are_fetched_only_when_an_install_fails(dev, monkeypatch, commands):
    monkeypatch.setattr(dev, "can_install", lambda: True)
    dev.install_system(["cmake"], "Building llama-server")
    assert [command[1] for command in commands.seen] == ["install"]
    commands.seen.clear()
    commands.answers["install"] = ([100, 0], "E: Unable to locate package cmake")
    dev.install_system(["cmake"], "Building llama-server")
    assert [command[1] for command in commands.seen] == ["install", "update", "install"]


def test_that_a_failing_install_shows_its_last_words(dev, monkeypatch, commands, capsys):
    monkeypatch.setattr(dev, "can_install", lambda: True)
    commands.answers["install"] = (100, "E: no space left on device")
    with pytest.raises(SystemExit, match="could not install cmake"):
        dev.install_system(["cmake"], "Building llama-server")
    assert "no space left" in capsys.readouterr().out


def test_that_packages_are_installed_again_only_when_the_pins_change(dev, checkout):
    assert not dev.is_installed(dev=False)
    dev.STAMP.write_text(json.dumps({"wanted": dev.wanted_stamp(), "dev": False}), encoding="utf-8")
    assert dev.is_installed(dev=False)
    assert not dev.is_installed(dev=True)
    with (checkout / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("[tool.something]\nelse = 1\n")
    assert dev.is_installed(dev=False)
    with (checkout / "constraints.txt").open("a", encoding="utf-8") as file:
        file.write("new==1\n")
    assert not dev.is_installed(dev=False)


def test_that_a_damaged_stamp_means_installing_again(dev, checkout):
    dev.STAMP.write_text("[]", encoding="utf-8")
    assert not dev.is_installed(dev=False)


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("===== 2 failed, 12 passed, 1 error in 3.21s =====", {"failed": 2, "passed": 12, "error": 1}),
        ("12 passed in 0.30s", {"passed": 12}),
        ("==== 800 passed, 3 skipped, 1 warning in 71.02s (0:01:11) ====", {"passed": 800, "skipped": 3, "warning": 1}),
        ("===== no tests ran in 0.01s =====", {}),
    ],
)
def test_that_the_closing_line_of_pytest_is_counted(dev, commands, line, counts):
    commands.answers["pytest"] = (0, f"tests/unit/test_x.py ....\n{line}")
    result = dev.run_stage("engine")
    assert result.ok
    assert result.counts == counts


@pytest.fixture
def two_folders(checkout, dev, monkeypatch):
    """Tests enough for two processes, on a machine with two cores."""
    for name, size in {
        "unit/big/test_a.py": 90,
        "unit/big/test_b.py": 20,
        "unit/test_c.py": 60,
        "unit/d/test_d.py": 40,
    }.items():
        path = checkout / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#" * size)
    (checkout / "tests/unit/d/helper.py").write_text("#" * 1000)
    monkeypatch.setattr(dev.os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_folders")
def test_that_a_folder_of_tests_is_shared_out_whole_and_evenly(dev):
    assert dev.halves("tests/unit") == [["tests/unit/big"], ["tests/unit/test_c.py", "tests/unit/d"]]


@pytest.mark.usefixtures("two_folders")
def test_that_two_processes_count_as_one_stage_and_either_can_fail_it(dev, commands, capsys):
    commands.answers["tests/unit/big"] = (0, "12 passed in 0.30s")
    commands.answers["tests/unit/d"] = (1, "== 1 failed, 7 passed in 0.20s ==")
    result = dev.run_stage("unit")
    assert not result.ok
    assert result.counts == {"passed": 19, "failed": 1}
    assert [line for line in capsys.readouterr().out.splitlines() if "passed" in line] == [
        "12 passed in 0.30s", "== 1 failed, 7 passed in 0.20s ==",
    ]  # fmt: skip
    commands.answers["tests/unit/d"] = (0, "7 passed in 0.20s")
    commands.answers["tests/unit/big"] = (-9, "")
    assert dev.run_stage("unit").note == "ended: it took too long"


@pytest.mark.usefixtures("two_folders")
@pytest.mark.parametrize("cores", [1, None])
def test_that_one_core_and_a_chosen_test_take_one_process(dev, commands, monkeypatch, cores):
    dev.run_stage("unit", ["-k", "units"])
    monkeypatch.setattr(dev.os, "cpu_count", lambda: cores)
    dev.run_stage("unit")
    assert ["tests/unit" in command for command in commands.seen] == [True, True]


def test_that_every_stage_keeps_compiled_modules_although_this_shell_keeps_none(dev, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in dev.environment()
    assert dev.environment(LANG="C")["LANG"] == "C"


def test_that_wine_that_cannot_be_had_is_a_skip_with_its_reason_and_a_failure_is_one(dev, commands, capsys):
    commands.answers["tests.wine.run"] = (77, "skipped: needs wine (as root: apt-get install -y wine)")
    skipped = dev.run_stage("wine")
    assert skipped.ok
    assert skipped.note == "skipped: needs wine (as root: apt-get install -y wine)"
    commands.answers["tests.wine.run"] = (1, "=== 1 failed, 30 passed, 2 skipped in 9.1s ===")
    wine = dev.WineInBackground()
    failed = wine.wait()
    assert not failed.ok
    assert failed.counts == {"failed": 1, "passed": 30, "skipped": 2}
    assert "1 failed, 30 passed" in capsys.readouterr().out


def test_that_a_stage_without_tests_fails_and_says_so(dev, commands):
    commands.answers["pytest"] = (5, "no tests ran in 0.01s")
    result = dev.run_stage("qt")
    assert not result.ok
    assert result.note == "no tests were found"


def test_that_every_lint_tool_runs_although_the_first_one_fails(dev, commands, capsys):
    commands.answers["check"] = (1, "E501 line too long")
    result = dev.run_stage("lint")
    assert not result.ok
    assert result.note == "ruff check"
    assert len(commands.seen) == len(dev.LINT)
    assert "E501" in capsys.readouterr().out


def test_that_the_summary_ends_with_the_sum_alone_on_its_line(dev, capsys):
    results = [
        dev.Result("lint", seconds=4.0),
        dev.Result("unit", seconds=9.0, counts={"passed": 10, "skipped": 1}),
        dev.Result("qt", ok=False, seconds=20.0, counts={"passed": 5, "failed": 1, "error": 2}),
        dev.Result("e2e", ok=False, note="no engine"),
    ]
    dev.summary(results, 754.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "15 passed, 3 failed, 1 skipped"
    assert lines[-2] == "All of it took 12 min 34 s."
    assert "(no engine)" in next(line for line in lines if line.startswith("e2e"))


def test_that_testing_goes_on_after_a_failure_and_then_says_no(dev, monkeypatch, capsys):
    ran = []

    class Engine:
        def wait(self):
            return False

    class Wine:
        def wait(self):
            return dev.Result("wine", note="skipped: no apt here")

    def run_stage(name, extra=()):
        ran.append(name)
        return dev.Result(name, ok=name != "lint", counts={} if name == "lint" else {"passed": 3})

    monkeypatch.setattr(dev, "missing_for_qt", lambda pictures: [])
    monkeypatch.setattr(dev, "missing_for_checks", list)
    monkeypatch.setattr(dev, "ensure_venv", lambda dev: None)
    monkeypatch.setattr(dev, "EngineInBackground", Engine)
    monkeypatch.setattr(dev, "WineInBackground", Wine)
    monkeypatch.setattr(dev, "run_stage", run_stage)
    assert dev.verb_test([]) == 1
    assert ran == ["lint", "unit", "qt", "slow", "windows"]
    assert capsys.readouterr().out.splitlines()[-1] == "12 passed, 0 failed"


def test_that_an_unknown_verb_lists_the_verbs(dev, capsys):
    assert dev.main(["frobnicate"]) == 2
    assert dev.main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in dev.VERBS)


def test_that_running_without_a_display_takes_the_tour_with_the_model_given(dev, monkeypatch, commands, tmp_path):
    monkeypatch.setattr(dev, "has_display", lambda: False)
    monkeypatch.setattr(dev, "missing_for_qt", lambda pictures: [])
    monkeypatch.setattr(dev, "ensure_venv", lambda dev: None)
    monkeypatch.setattr(dev, "ensure_engine", lambda: True)
    monkeypatch.setattr(dev, "TOUR", tmp_path / "tour")
    monkeypatch.chdir(tmp_path)
    assert dev.main(["run", "my model.gguf"]) == 0
    assert commands.seen[0][1:] == ["-m", "app", "--tour", str(tmp_path / "tour"), str(tmp_path / "my model.gguf")]
    commands.answers["--tour"] = (1, "step 3 failed")
    assert dev.main(["run"]) == 1


def test_that_a_program_that_hangs_is_ended_and_counts_as_failed(dev):
    with pytest.raises(subprocess.CalledProcessError):
        list(dev.lines_of([sys.executable, "-c", "import time; time.sleep(100)"], limit_s=0.2))


def test_that_output_is_read_as_utf8_and_broken_bytes_do_not_stop_it(dev):
    program = "import sys; sys.stdout.buffer.write('显存\\n'.encode() + b'\\xff\\n')"
    assert list(dev.lines_of([sys.executable, "-c", program])) == ["显存", "\ufffd"]
