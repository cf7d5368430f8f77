"""The wheel, installed away from the checkout, carries its resources and starts."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 110

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Installed:
    """A virtual environment that holds Lanewise from its wheel, and an empty folder to start it in."""

    scripts: Path
    cwd: Path

    def run(self, program, *arguments):
        """Start a program of the environment; nothing of the checkout is on its path."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        env["LANG"] = "C.UTF-8"
        done = subprocess.run(
            [str(self.scripts / program), *arguments],
            cwd=self.cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without isolation: its build backend is one of the pinned packages."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("lanewise-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel in a new environment that borrows this one's packages, so that nothing is fetched again."""
    place = tmp_path_factory.mktemp("installed wheel 目录")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "env")], check=True, timeout=TIMEOUT_S)
    scripts = place / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=TIMEOUT_S)
    (packages,) = (place / "env").rglob("site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (place / "empty").mkdir()
    return Installed(scripts, place / "empty")


def test_that_the_wheel_holds_every_resource_and_no_tests(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    resources = {path.relative_to(ROOT / "resources").as_posix() for path in (ROOT / "resources").rglob("*.*")}
    assert {f"app/_resources/{name}" for name in resources} <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "dev"))]


def test_that_the_installed_package_reads_its_own_resources(installed):
    root = installed.run("python", "-c", "from app.common.resources import resource_root as r; print(r())").strip()
    assert Path(root).is_relative_to(installed.cwd.parent)
    assert Path(root, "themes", "tokens.json").is_file()


def test_that_the_installed_package_describes_this_machine_as_json(installed):
    machine = json.loads(installed.run("python", "-m", "app", "machine", "--json"))
    assert machine["cpu"]
    assert machine["memory"]


def test_that_the_lanewise_command_is_the_same_program(installed):
    assert json.loads(installed.run("lanewise", "machine", "--json"))["cpu"]


def test_that_the_installed_window_opens_and_closes(installed):
    installed.run("python", "-m", "app", "--smoke")
