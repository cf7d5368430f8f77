"""Starting with the system: what is written where, and that it comes back as it was meant."""

import re
import sys
from pathlib import Path

import pytest

from app.common.problem import ProblemError
from app.work.autostart import (
    StartCommand,
    autostart_file,
    desktop_entry,
    is_on,
    is_switched_off,
    run_value,
    start_command,
    switch_off,
    switch_on,
)

on_linux = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows keeps a value in the registry: tests/wine/test_windows_behaviour.py"
)


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "配置 folder"))
    return tmp_path / "配置 folder"


def exec_words(entry):
    """As a desktop reads it: first the file's escapes, then the quotes of the Exec key."""
    line = next(line for line in entry.splitlines() if line.startswith("Exec="))
    line = line.replace("\\\\", "\\").replace("%%", "%")
    return [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r'"((?:\\.|[^"\\])*)"', line)]


@on_linux
def test_that_switching_on_and_off_leaves_nothing(config):
    assert not is_on()
    switch_on(StartCommand(("/opt/lanewise-window", "--tray")))
    assert is_on()
    assert autostart_file().read_text(encoding="utf-8").startswith("[Desktop Entry]\nType=Application\n")
    assert [p.name for p in autostart_file().parent.iterdir()] == ["lanewise.desktop"]
    switch_off()
    switch_off()
    assert not is_on()


@on_linux
@pytest.mark.parametrize("plan", ["/home/me/方案 1.json", '/odd "quoted" $HOME `x` 100%.json', "/back\\slash.json"])
def test_that_any_path_comes_back_as_one_word(plan):
    command = start_command(plan, "/usr/bin/python3.11")
    assert exec_words(desktop_entry(command)) == list(command.words)
    assert command.words[-3:] == ("--tray", "--launch", plan)


@on_linux
def test_that_a_source_tree_starts_in_its_own_folder(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    command = start_command(None, "/nowhere/python3")
    assert command.words == ("/nowhere/python3", "-m", "app", "--tray")
    assert (Path(command.folder) / "app" / "__main__.py").is_file()
    assert f"Path={command.folder}" in desktop_entry(command)


@on_linux
def test_that_the_installed_program_starts_itself(tmp_path):
    (tmp_path / "lanewise-window").touch()
    assert start_command(None, str(tmp_path / "python")).words[0] == str(tmp_path / "lanewise-window")
    assert start_command("p.json", "C:/Lanewise/Lanewise.exe").words[0] == "C:/Lanewise/Lanewise.exe"


@on_linux
def test_that_a_line_break_in_a_path_writes_no_second_line():
    with pytest.raises(ProblemError) as caught:
        switch_on(StartCommand(("x", "a\nHidden=true")))
    assert caught.value.problem.code == "autostart_failed"
    assert not is_on()


@on_linux
def test_that_a_folder_that_cannot_be_written_is_told(config):
    config.write_text("a file")
    with pytest.raises(ProblemError) as caught:
        switch_on(StartCommand(("x",)))
    assert caught.value.problem.code == "autostart_failed"


def test_that_the_command_of_the_run_key_is_quoted_as_windows_reads_it():
    command = start_command("D:\\我的 方案\\plan 1.json", "C:\\Users\\王 小\\Programs\\Lanewise\\Lanewise.exe")
    if sys.platform != "win32":  # a Windows path is one name here
        command = StartCommand(("C:\\Users\\王 小\\Programs\\Lanewise\\Lanewise.exe", *command.words[-3:]))
    assert run_value(command) == (
        '"C:\\Users\\王 小\\Programs\\Lanewise\\Lanewise.exe" --tray --launch "D:\\我的 方案\\plan 1.json"'
    )


def test_that_a_command_that_windows_would_pass_over_is_refused():
    exact = StartCommand(("C:\\Lanewise.exe", "--tray", "--launch", "p" * (260 - 32)))
    assert len(run_value(exact)) == 260
    with pytest.raises(ProblemError) as caught:
        run_value(StartCommand((*exact.words[:-1], exact.words[-1] + "p")))
    assert caught.value.problem.code == "autostart_too_long"
    assert caught.value.problem.params == {"characters": 261, "most": 260}


def test_that_a_source_tree_is_no_start_with_windows():
    with pytest.raises(ProblemError) as caught:
        run_value(StartCommand(("python.exe", "-m", "app"), "C:\\lanewise"))
    assert caught.value.problem.code == "autostart_from_source"


@pytest.mark.parametrize(
    ("noted", "off"),
    [
        (None, False),
        (b"", False),
        (b"\x02" + bytes(11), False),
        (b"\x03" + bytes(11), True),
        (b"\x07", True),
        (3, False),
    ],
)
def test_that_what_the_task_manager_has_switched_off_is_off(noted, off):
    assert is_switched_off(noted) is off
