"""A file has one name, whichever way it comes in; on Windows that is the name with backslashes."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QUrl
from PySide6.QtWidgets import QFileDialog, QWidget

from app.ui import file_paths
from app.ui.window_drop import dropped_file

NAMES = ["model.gguf", "my model (1).gguf", "模型/千问 30B.gguf", "/".join(["x" * 60] * 5) + "/long.gguf"]


@pytest.mark.parametrize("name", NAMES, ids=["plain", "blanks", "chinese", "long"])
def test_that_a_dialog_and_a_drag_name_a_file_as_the_system_does(qtbot, tmp_path, monkeypatch, name):
    wanted = str(tmp_path / name)
    qts_name = wanted.replace("\\", "/") if sys.platform == "win32" else wanted  # Qt writes "/" on every system
    parent = QWidget()
    qtbot.addWidget(parent)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (qts_name, ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([qts_name], ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (qts_name, ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: qts_name)
    told = {file_paths.ask_open(parent, "", ""), file_paths.ask_save(parent, "", ""), file_paths.ask_folder(parent, "")}
    assert told == set(file_paths.ask_open_many(parent, "", "")) == {wanted}
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(wanted), QUrl("https://example.org/other.gguf")])
    assert file_paths.dropped_paths(data) == [wanted]
    assert dropped_file(data) == wanted


def test_that_a_cancelled_dialog_gives_nothing(qtbot, monkeypatch):
    parent = QWidget()
    qtbot.addWidget(parent)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    assert file_paths.ask_open(parent, "", "") == ""


def test_that_a_file_of_a_network_share_is_dropped_with_its_server():
    data = QMimeData()
    data.setUrls([QUrl("file://nas/models/%E5%8D%83%E9%97%AE%2030B.gguf")])
    assert file_paths.dropped_paths(data) == [str(Path("//nas/models/千问 30B.gguf"))]
