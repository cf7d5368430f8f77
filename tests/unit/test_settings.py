"""The settings file: what is written is read back, and a broken file never stops the program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from app.common.problem import ProblemError
from app.settings import Settings, changed, load, load_settings, save_settings
from app.settings.store import upgraded
from app.words import say_problem


def test_that_settings_come_back_as_they_were_saved(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "设置" / "settings.json"
    wanted = Settings(
        language="zh_CN", theme="dark", engine_path="D:\\llama 引擎", last_model="/m/千问.gguf", shell="cmd",
        details_open=True, reserve_mib=0, rpc_servers=("10.0.0.2:50052",), window_geometry="AAH/",
    )  # fmt: skip
    save_settings(path, wanted)
    assert load(path).settings == wanted
    assert load(path).problem is None
    assert load_settings(path) == wanted


def test_that_a_missing_file_means_defaults_without_a_complaint(tmp_path: Path) -> None:
    loaded = load(tmp_path / "settings.json")
    assert loaded.settings == Settings()
    assert loaded.problem is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"theme": 3',
        b'{"details_open": "yes"}',
        b'{"version": "1"}',
        b'{"version": 0}',
        b'{"rpc_servers": "one"}',
        b'{"reserve_mib": 1.5}',
        b"\xff\xfe\x00broken",
        b"[" * 100_000,
    ],
)
def test_that_a_damaged_file_is_kept_and_defaults_hold(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    loaded = load(path)
    assert loaded.settings == Settings()
    assert loaded.problem is not None
    assert loaded.problem.code == "settings_damaged"
    assert (tmp_path / "settings.json.bad").read_bytes() == content
    assert not path.exists()
    assert "settings.json.bad" in say_problem(loaded.problem)


def test_that_a_choice_of_a_newer_version_falls_back_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"version": 9, "theme": "contrast", "shell": "bash", "orbit": 3, "reserve_mib": -4}))
    loaded = load(path)
    assert loaded.problem is None
    assert loaded.settings == Settings(shell="bash")


@pytest.mark.parametrize("geometry", ["!!!notbase64", "AAA", "窗口"])
def test_that_a_window_geometry_that_is_none_falls_back_alone(tmp_path: Path, geometry: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"theme": "dark", "window_geometry": geometry}))
    assert load(path).settings == Settings(theme="dark")


def test_that_a_path_that_is_no_unicode_survives(tmp_path: Path) -> None:
    wanted = Settings(last_model="/m/\udcc4\udca3.gguf")  # a name in GBK, as Python reads it on Linux
    save_settings(tmp_path / "settings.json", wanted)
    assert load(tmp_path / "settings.json").settings == wanted


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_that_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.json")
    assert load(tmp_path / "settings.json").settings == Settings()


def test_that_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"language": "en"}')
    assert load(path).settings.language == "en"


def test_that_a_folder_in_the_place_of_the_file_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.mkdir()
    loaded = load(path)
    assert loaded.settings == Settings()
    assert loaded.problem is not None
    assert loaded.problem.code == "settings_unreadable"
    assert path.is_dir()


def test_that_an_interrupted_write_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    save_settings(path, Settings(theme="dark"))

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.common.whole_file.os.fsync", no_space)
    with pytest.raises(ProblemError) as caught:
        save_settings(path, Settings(theme="light"))
    assert caught.value.problem.code == "settings_not_saved"
    assert "No space left" in say_problem(caught.value.problem)
    assert load(path).settings.theme == "dark"
    assert [item.name for item in tmp_path.iterdir()] == ["settings.json"]


def test_that_upgrades_run_one_after_another() -> None:
    steps = {
        1: lambda data: {**data, "version": 2, "shell": data["console"]},
        2: lambda data: {**data, "version": 3, "theme": "dark"},
    }
    result = upgraded({"version": 1, "console": "cmd"}, steps, to_version=3)
    assert (result["version"], result["shell"], result["theme"]) == (3, "cmd", "dark")


def test_that_a_choice_outside_its_list_is_refused_in_code() -> None:
    with pytest.raises(ValueError, match="theme"):
        changed(Settings(), theme="pink")
    with pytest.raises(ValueError, match="reserve"):
        changed(Settings(), reserve_mib=-1)
    assert changed(Settings(), reserve_mib=600).reserve_mib == 600


def test_that_the_first_shell_is_the_one_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert Settings().shell == "powershell"
    monkeypatch.setattr(sys, "platform", "linux")
    assert Settings().shell == "bash"
