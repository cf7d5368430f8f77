"""Files that two programs have open at once: on Windows a reader forbids the rename over what it reads meanwhile."""

import logging
import subprocess
import sys
import threading

import pytest

from app.common.log import RotatingFile
from app.common.problem import ProblemError
from app.settings import Settings, load_settings, save_settings

READER = """
import sys, time
from pathlib import Path
from app.settings import load
print("reading", flush=True)
wrong = reads = 0
while reads < 25:
    loaded = load(Path(sys.argv[1]))
    reads += 1
    wrong += loaded.problem is not None or not loaded.settings.last_model
    time.sleep(0.01)  # a program that looks again and again, not one that never lets go
print(reads, wrong, flush=True)
"""


def test_that_another_process_that_reads_sees_a_whole_file_and_never_stops_a_save(tmp_path):
    path = tmp_path / "我的 设置" / "settings.json"
    save_settings(path, Settings(last_model="D:\\0"))
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(path)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8",
    ) as reader:  # fmt: skip
        assert reader.stdout.readline() == "reading\n"
        saves = 0
        while reader.poll() is None:
            saves += 1
            save_settings(path, Settings(last_model=f"D:\\模型\\{saves}" + "x" * (saves % 3000)))
        reads, wrong = map(int, reader.stdout.readline().split())
    assert saves > 0
    assert (reads, wrong) == (25, 0)
    assert load_settings(path).last_model.startswith(f"D:\\模型\\{saves}")
    assert [p.name for p in path.parent.iterdir()] == ["settings.json"]


def test_that_a_save_waits_for_a_reader_that_is_about_to_end(tmp_path):
    path = tmp_path / "settings.json"
    save_settings(path, Settings(last_model="old"))
    file = path.open(encoding="utf-8")
    ending = threading.Timer(0.1, file.close)
    ending.start()
    save_settings(path, Settings(last_model="new"))
    ending.join()
    assert load_settings(path).last_model == "new"


def test_that_a_reader_that_does_not_end_is_told_and_the_old_file_stays(tmp_path):
    path = tmp_path / "settings.json"
    save_settings(path, Settings(last_model="old"))
    with path.open(encoding="utf-8"), pytest.raises(ProblemError) as caught:
        save_settings(path, Settings(last_model="new"))
    assert caught.value.problem.code == "settings_not_saved"
    assert load_settings(path).last_model == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["settings.json"]


def test_that_a_log_that_somebody_reads_goes_on_and_is_moved_when_the_reader_has_ended(tmp_path, capsys):
    path = tmp_path / "lanewise.log"
    handler = RotatingFile(path, limit_bytes=1000, files=2)
    log = logging.getLogger("test.rotation")
    log.addHandler(handler)
    log.propagate = False
    try:
        log.warning("first")
        with path.open(encoding="utf-8"):
            for _ in range(30):
                log.warning("x" * 100)
            assert [p.name for p in tmp_path.iterdir()] == ["lanewise.log"]
        for _ in range(60):
            log.warning("y" * 100)
    finally:
        log.removeHandler(handler)
        handler.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lanewise.log", "lanewise.log.1"]
    kept = "".join(p.read_text(encoding="utf-8") for p in tmp_path.iterdir())
    assert "y" * 100 in kept
    assert capsys.readouterr().err == ""  # no traceback for each line
