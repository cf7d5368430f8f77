"""What can go wrong with an installation: it is refused before anything changes, or everything is as it was before."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from installer.windows.wine_prefix import windows_path
from tests.installer.conftest import Windows, files_of

UNINSTALL = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Lanewise"
ENVIRONMENT = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
VERSION = r"HKLM\Software\Microsoft\Windows NT\CurrentVersion"
UNFINISHED = "installation-not-finished.txt"
PREVIOUS = "previous-version"
REFUSED = 2


@contextlib.contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted as root outside a container")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_that_a_place_that_cannot_be_written_is_refused_before_anything_changes(clean: Windows, setup: Path) -> None:
    programs = clean.program.parent
    shutil.rmtree(programs, ignore_errors=True)
    programs.write_text("a file where the folder should be: nothing can be made in it", encoding="utf-8")
    try:
        code, _, _ = clean.run(setup, "/S")
    finally:
        programs.unlink()
    assert code == REFUSED
    assert clean.registry(UNINSTALL) == ""


def test_that_a_folder_of_something_else_is_refused_and_stays_as_it_is(
    clean: Windows, setup: Path, tmp_path: Path
) -> None:
    other = tmp_path / "工作 files"
    (other / "site").mkdir(parents=True)  # a name that the program has too
    (other / "site" / "my pages.html").write_text("mine", encoding="utf-8")
    code = clean.install_to(setup, windows_path(other))
    assert code == REFUSED
    assert files_of(other) == {"site/my pages.html"}
    assert clean.registry(UNINSTALL) == ""


def test_that_a_folder_whose_name_is_too_long_is_refused(clean: Windows, setup: Path, tmp_path: Path) -> None:
    code = clean.install_to(setup, f"{windows_path(tmp_path)}\\{'x' * 120}\\{'y' * 60}")
    assert code == REFUSED
    assert not list(tmp_path.iterdir())


def test_that_a_full_disk_is_refused_before_anything_changes(clean: Windows, setup: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "size=20m") as small:
        code = clean.install_to(setup, f"{windows_path(small)}\\Lanewise")
        assert code == REFUSED
        assert not list(small.iterdir())


def test_that_a_disk_that_fills_in_the_middle_leaves_nothing_or_the_version_before(
    clean: Windows, setup: Path, tmp_path: Path
) -> None:
    """Room for the bytes, but only for the first 400 files and folders."""
    with small_disk(tmp_path / "odd", "size=400m,nr_inodes=400") as odd:
        place = f"{windows_path(odd)}\\Lanewise"
        code = clean.install_to(setup, place)
        assert code == REFUSED
        assert not list(odd.iterdir())
        assert clean.registry(UNINSTALL) == ""
        before = odd / "Lanewise"
        for name in ("runtime/python313.dll", "site/old.py", "program/old.py", "licences/old.txt", "Lanewise.exe"):
            (before / name).parent.mkdir(parents=True, exist_ok=True)
            (before / name).write_text(f"the old {name}", encoding="utf-8")
        old = {name: (before / name).read_text(encoding="utf-8") for name in files_of(before)}
        code = clean.install_to(setup, place)
        assert code == REFUSED
        assert {name: (before / name).read_text(encoding="utf-8") for name in files_of(before)} == old
        assert clean.registry(UNINSTALL) == ""


def test_that_a_half_finished_install_says_so_and_is_repaired_by_the_next_one(installed: Windows, setup: Path) -> None:
    before = files_of(installed.program)
    shutil.rmtree(installed.program / "site")
    (installed.program / "runtime" / "python313.dll").write_bytes(b"cut")
    (installed.program / UNFINISHED).write_text("", encoding="utf-8")
    code, _, err = installed.run(installed.program / "lanewise-cli.exe", "machine")
    assert code == 1
    assert "not completely installed" in err
    code, _, _ = installed.run(setup, "/S")
    assert code == 0
    assert files_of(installed.program) == before


def test_that_an_upgrade_that_was_cut_short_is_finished_by_the_next_one(installed: Windows, setup: Path) -> None:
    before = files_of(installed.program)
    kept = installed.program / PREVIOUS
    kept.mkdir()
    for name in ("runtime", "site"):  # moved aside already, and the new ones have just begun
        (installed.program / name).rename(kept / name)
        (installed.program / name).mkdir()
    (installed.program / "site" / "half.py").write_text("", encoding="utf-8")
    (installed.program / UNFINISHED).write_text("", encoding="utf-8")
    code, _, _ = installed.run(setup, "/S")
    assert code == 0
    assert files_of(installed.program) == before


def test_that_a_running_lanewise_is_never_overwritten_and_an_upgrade_works_after_it_ended(
    installed: Windows, setup: Path
) -> None:
    before = files_of(installed.program)
    with installed.start(installed.program / "Lanewise.exe"):
        installed.wait_for_window("Lanewise$")
        code, _, _ = installed.run(setup, "/S")
        assert code == REFUSED
        code, _, _ = installed.run(installed.program / "uninstall.exe", "/S", f"_?={windows_path(installed.program)}")
        assert code == REFUSED
        assert files_of(installed.program) == before
        installed.end_all()
    (installed.program / "site" / "left-by-an-older-version.py").write_text("", encoding="utf-8")
    code, _, _ = installed.run(setup, "/S")
    assert code == 0
    assert files_of(installed.program) == before


def test_that_a_second_setup_at_the_same_time_is_refused(clean: Windows, setup: Path) -> None:
    with clean.start(setup) as first:
        clean.wait_for_window("Lanewise")
        code, _, _ = clean.run(setup, "/S")
        assert code == REFUSED
        assert not clean.program.exists()
        first.kill()
        clean.end_all()


def test_that_a_windows_before_10_is_refused(clean: Windows, setup: Path) -> None:
    try:
        clean.run("winecfg", "-v", "win7")
        code, _, _ = clean.run(setup, "/S")
    finally:
        clean.run("winecfg", "-v", "win10")
    assert code == REFUSED
    assert not clean.program.exists()


def test_that_windows_10_before_1903_is_refused(clean: Windows, setup: Path) -> None:
    try:
        for name in ("CurrentBuild", "CurrentBuildNumber"):
            clean.run("reg", "add", VERSION, "/v", name, "/d", "17763", "/f")  # version 1809
        clean.end_all()
        code, _, _ = clean.run(setup, "/S")
    finally:
        clean.run("winecfg", "-v", "win10")
    assert code == REFUSED
    assert not clean.program.exists()


def test_that_a_computer_with_an_arm_processor_is_asked_about_first(clean: Windows, setup: Path) -> None:
    name = ("/v", "PROCESSOR_ARCHITECTURE")
    try:
        clean.prefix.stay_on()  # a Windows that starts writes down its processor again
        clean.run("reg", "add", ENVIRONMENT, *name, "/d", "ARM64", "/f")
        code, _, _ = clean.run(setup, "/S")
        assert code == REFUSED
        assert not clean.program.exists()
        code, _, _ = clean.run(setup, "/S", "/ARM64=1")
        assert code == 0
        assert (clean.program / "Lanewise.exe").is_file()
    finally:
        clean.run("reg", "add", ENVIRONMENT, *name, "/d", "AMD64", "/f")
