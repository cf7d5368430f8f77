"""Where things lie on Windows, with blanks and Chinese characters in every name."""

from pathlib import Path

from app.common.paths import app_paths
from app.hardware.probe import probe
from app.hardware.snapshot_file import load_snapshot, save_snapshot
from app.settings import Settings, load_settings, save_settings


def test_that_settings_roam_and_the_rest_stays_on_this_computer(monkeypatch):
    monkeypatch.delenv("LANEWISE_HOME")
    monkeypatch.setenv("APPDATA", "C:\\Users\\王 小\\AppData\\Roaming")
    monkeypatch.setenv("LOCALAPPDATA", "C:\\Users\\王 小\\AppData\\Local")
    paths = app_paths()
    assert paths.config == Path("C:/Users/王 小/AppData/Roaming/Lanewise")
    assert paths.cache == Path("C:/Users/王 小/AppData/Local/Lanewise/cache")
    assert paths.settings_file.name == "settings.json"


def test_that_files_with_any_name_are_written_whole_and_read_back(tmp_path):
    folder = tmp_path / "我的 模型 (1)"
    settings = folder / "settings.json"
    save_settings(settings, Settings(last_model="D:\\模型\\千问 30B.gguf"))
    assert load_settings(settings).last_model == "D:\\模型\\千问 30B.gguf"
    snapshot = probe()
    save_snapshot(folder / "本机.json", snapshot)
    assert load_snapshot(folder / "本机.json") == snapshot
    assert sorted(p.name for p in folder.iterdir()) == ["settings.json", "本机.json"]
