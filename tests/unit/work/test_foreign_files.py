"""Settings files of other programs, as they lie on a disk: read within bounds, written as a command that reads back."""

import json
import os
import sys

import pytest

from app.common.file_endings import is_foreign
from app.common.problem import ProblemError
from app.planner.pasted import read_pasted
from app.work.foreign_settings import as_text, read_foreign_file

KOBOLD = {"model_param": "/模型/a b.gguf", "contextsize": 8192, "gpulayers": 3, "moecpu": 2, "smartcontext": True}


def write(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_that_the_command_reads_back_and_remarks_stand_above(tmp_path):
    found = read_foreign_file(write(tmp_path, "我的 设置.kcpps", KOBOLD))
    text = as_text(found, ["smartcontext was left out"])
    assert text.startswith("# smartcontext was left out\nllama-server \\\n")
    assert read_pasted(text).argv == found.settings.argv
    assert [(p.code, p.params["program"], p.params["name"]) for p in found.problems] == [
        ("foreign_left_out", "KoboldCpp", "smartcontext")
    ]


@pytest.mark.parametrize(
    "path", ["C:\\%USERPROFILE%\\m.gguf", "/a/$HOME/`id`/m.gguf", '/it\'s/"m".gguf', "\\\\nas\\模 型\\m.gguf"]
)
def test_that_any_path_survives_the_way_into_the_paste_box(tmp_path, path):
    found = read_foreign_file(write(tmp_path, "a.kcpps", {**KOBOLD, "model_param": path}))
    argv = read_pasted(as_text(found, ["one"])).argv
    assert argv[argv.index("-m") + 1] == path


def test_that_files_are_recognised_by_their_names():
    names = ("a.kcpps", "B.KCPPS", "/x/Qwen.gguf.json", "fast.preset.json", "Modelfile", "my.modelfile")
    assert [is_foreign(name) for name in names] == [True] * 6
    assert [is_foreign(name) for name in ("plan.json", "a.gguf", "modelfile.txt")] == [False] * 3


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff\xfe\x00\xd8", "foreign_unreadable"),
        (b"\x80abc", "foreign_unreadable"),
        (b"{}", "foreign_unknown"),
        (b"", "foreign_unknown"),
        (b"[" * 200_000, "foreign_unknown"),
        (b'{"contextsize": 1' + b" " * 3_000_000 + b"}", "foreign_unknown"),
    ],
)
def test_that_a_damaged_file_is_told(tmp_path, content, code):
    path = tmp_path / "a.kcpps"
    path.write_bytes(content)
    with pytest.raises(ProblemError) as caught:
        read_foreign_file(path)
    assert caught.value.problem.code == code


def test_that_a_folder_a_missing_file_and_a_pipe_are_told_at_once(tmp_path):
    paths = [tmp_path, tmp_path / "gone.kcpps"]
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe.kcpps")
        paths.append(tmp_path / "pipe.kcpps")
    codes = []
    for path in paths:
        with pytest.raises(ProblemError) as caught:
            read_foreign_file(path)
        codes.append(caught.value.problem.code)
    assert codes[:2] == ["foreign_unreadable", "file_missing"]
    assert set(codes[2:]) <= {"foreign_unreadable"}


def test_that_a_file_with_utf_16_of_windows_is_read(tmp_path):
    path = tmp_path / "a.kcpps"
    path.write_text(json.dumps(KOBOLD), encoding="utf-16")
    assert "-ngl" in read_foreign_file(path).settings.argv
