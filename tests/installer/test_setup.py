"""Install, start, upgrade, refuse, remove: what a user of the installer meets."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from installer.windows.build import version_of_project
from installer.windows.wine_prefix import windows_path
from tests.installer.conftest import Windows, files_of

UNINSTALL = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Lanewise"
OPEN_WITH = r"HKCU\Software\Classes\.gguf\OpenWithProgids"
DEMO = Path("tests/data/tiny-moe-2l.gguf").resolve()


def test_that_a_silent_install_leaves_program_shortcuts_and_an_entry_under_apps(installed: Windows) -> None:
    assert (installed.program / "Lanewise.exe").is_file()
    assert installed.start_menu.is_file()
    assert installed.desktop.is_file()
    entry = installed.registry(UNINSTALL)
    assert version_of_project() in entry
    assert "QuietUninstallString" in entry
    assert not (installed.program / "installation-not-finished.txt").exists()


def test_that_open_with_is_offered_only_when_it_was_ticked(clean: Windows, setup: Path) -> None:
    clean.run(setup, "/S")
    assert "Lanewise.gguf" not in clean.registry(OPEN_WITH)
    clean.run(setup, "/S", "/GGUF=1", "/DESKTOP=0")
    assert "Lanewise.gguf" in clean.registry(OPEN_WITH)
    assert '"%1"' in clean.registry(r"HKCU\Software\Classes\Lanewise.gguf")


def test_that_licences_and_the_bill_of_materials_are_shipped(installed: Windows) -> None:
    licences = {path.name for path in (installed.program / "licences").iterdir()}
    assert {"LGPL-3.txt", "GPL-3.txt", "python.txt", "numpy.txt", "httpx.txt", "lanewise.txt"} <= licences
    parts = json.loads((installed.program / "sbom.cdx.json").read_text(encoding="utf-8"))["components"]
    packages = list((installed.program / "site").glob("*.dist-info"))
    assert len(parts) == len(packages) + 1
    assert all(len(part["hashes"][0]["content"]) == 64 for part in parts)


def test_that_the_window_opens_from_the_start_menu_with_the_demo_model(
    installed: Windows, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    with installed.start("start", "/wait", "/unix", str(installed.start_menu)):
        installed.wait_for_window("lanewise-demo-moe")
        picture = Path(pytestconfig.rootpath) / "dist" / "windows" / "window.png"
        installed.picture(picture, least_bytes=80_000)
        installed.end_all()
    assert picture.stat().st_size > 80_000  # columns, cards and text: an empty window takes about 35 000
    logs = list((installed.data / "data" / "logs").glob("*"))
    assert not [log for log in logs if "Traceback" in log.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "name", ["model with spaces.gguf", "模型 甲.gguf", "long-" + "x" * 150 + "/" + "y" * 120 + ".gguf"]
)
def test_that_a_model_given_by_its_name_is_opened(installed: Windows, tmp_path: Path, name: str) -> None:
    model = tmp_path / name
    model.parent.mkdir(exist_ok=True)
    shutil.copy(DEMO, model)
    with installed.start(installed.program / "Lanewise.exe", windows_path(model)):
        installed.wait_for_window(model.stem[:20])
        installed.end_all()
    code, out, err = installed.run(installed.program / "lanewise-cli.exe", "inspect", windows_path(model), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["architecture"] == "qwen3moe"


def test_that_a_verb_answers_a_wrong_file_with_a_sentence(installed: Windows) -> None:
    code, out, err = installed.run(
        installed.program / "lanewise-cli.exe", "inspect", r"C:\no such file.gguf", "--lang", "zh_CN"
    )
    assert code == 2
    assert out == ""
    assert "no such file.gguf" in err
    assert "Traceback" not in err


def test_that_uninstalling_leaves_nothing_but_the_users_own_data(installed: Windows) -> None:
    installed.run(installed.program / "lanewise-cli.exe", "machine", "--json")
    own = installed.settings / "settings.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("{}", encoding="utf-8")
    code, _, _ = installed.run(installed.program / "uninstall.exe", "/S", f"_?={windows_path(installed.program)}")
    assert code == 0
    left = files_of(installed.program)
    assert left <= {"uninstall.exe"}  # it cannot remove itself when it is told to stay in its place, as here
    assert not installed.start_menu.exists()
    assert not installed.desktop.exists()
    assert installed.registry(UNINSTALL) == ""
    assert installed.registry(r"HKCU\Software\Lanewise") == ""
    assert own.is_file()


def test_that_uninstalling_removes_the_users_data_when_asked_but_never_a_model(installed: Windows) -> None:
    installed.run(installed.program / "lanewise-cli.exe", "machine", "--json")
    model = installed.data / "data" / "models" / "owner" / "千问 30B.gguf"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"hours of download")
    for name in ("data/logs/a.log", "data/demo/x.gguf", "data/learned.sqlite", "cache/engines/b1/llama-server.exe"):
        (installed.data / name).parent.mkdir(parents=True, exist_ok=True)
        (installed.data / name).write_text("", encoding="utf-8")
    purge = ("/S", "/PURGE=1", f"_?={windows_path(installed.program)}")
    installed.run(installed.program / "uninstall.exe", *purge)
    assert files_of(installed.data) == {"data/models/owner/千问 30B.gguf"}
    assert not installed.settings.exists()
    shutil.rmtree(model.parent)
    installed.run(installed.program / "uninstall.exe", *purge)
    assert not installed.data.exists()


def test_that_on_a_chinese_windows_a_folder_with_chinese_and_blanks_is_installed_to_used_and_removed(
    chinese: Windows, setup: Path, tmp_path: Path
) -> None:
    """In code page 936: a shortcut keeps Wine's own share of it in the code page, and 1252 has no Chinese."""
    folder = tmp_path / "我的 程序 (x64)" / "Lanewise"
    code = chinese.install_to(setup, windows_path(folder))
    assert code == 0
    code, out, err = chinese.run(folder / "lanewise-cli.exe", "inspect", windows_path(DEMO), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["architecture"] == "qwen3moe"
    with chinese.start("start", "/wait", "/unix", str(chinese.start_menu)):
        chinese.wait_for_window("lanewise-demo-moe")
        chinese.end_all()
    code, _, _ = chinese.run(folder / "uninstall.exe", "/S", f"_?={windows_path(folder)}")
    assert code == 0
    assert files_of(folder) <= {"uninstall.exe"}
    assert not chinese.start_menu.exists()


def test_that_the_portable_archive_keeps_everything_beside_itself(clean: Windows, built: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(next(built.glob("Lanewise-*-portable.zip"))) as archive:
        archive.extractall(tmp_path / "U 盘 (移动)")
    folder = next((tmp_path / "U 盘 (移动)").iterdir())
    with clean.start(folder / "Lanewise.exe"):
        clean.wait_for_window("lanewise-demo-moe")
        clean.end_all()
    assert (folder / "data" / "data" / "demo" / "lanewise-demo-moe.gguf").is_file()
    assert not clean.data.exists()
    assert not clean.settings.exists()
