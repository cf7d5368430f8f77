"""The Linux menu entry: made for this user, quoted, removed again."""

from __future__ import annotations

import configparser
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "installer" / "linux" / "desktop.sh"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a menu entry of Linux desktops")


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    return subprocess.run(["sh", str(SCRIPT), *arguments], env=environment, capture_output=True, text=True, check=False)


def test_that_the_menu_entry_starts_the_given_command_with_the_file(tmp_path: Path) -> None:
    command = "/opt/100 % mine/lane wise"
    assert run(tmp_path, command).returncode == 0
    entry = tmp_path / ".local/share/applications/lanewise.desktop"
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(entry, encoding="utf-8")
    section = parser["Desktop Entry"]
    assert shlex.split(section["Exec"]) == [command.replace("%", "%%"), "%f"]
    assert (tmp_path / ".local/share/icons/hicolor/scalable/apps" / f"{section['Icon']}.svg").is_file()


def test_that_removing_leaves_no_file(tmp_path: Path) -> None:
    run(tmp_path, "/usr/bin/true")
    assert run(tmp_path, "--remove").returncode == 0
    assert not [path for path in tmp_path.rglob("lanewise*") if path.is_file()]


def test_that_a_missing_program_is_told_before_anything_is_written(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert "pipx install" in done.stderr
    assert not list(tmp_path.iterdir())
