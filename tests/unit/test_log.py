"""The log file stays small, and a bug leaves a report that names versions and the traceback."""

import logging
import sys
import threading

import pytest

from app.common import log
from app.common.paths import AppPaths
from tests.tools.systems import UNDER_WINE


@pytest.fixture
def paths(tmp_path):
    return AppPaths(tmp_path / "config", tmp_path / "data", tmp_path / "cache")


@pytest.fixture
def crashes(paths):
    """Reports that reached the window, with the handler taken out again at the end."""
    seen = []
    undo = log.install_crash_handler(paths, seen.append)
    yield seen
    undo()


def _raise_in_thread(error):
    def body():
        raise error

    thread = threading.Thread(target=body, name="worker-7")
    thread.start()
    thread.join()


def test_that_messages_reach_the_log_file_with_level_and_logger_name(paths):
    undo = log.set_up_logging(paths)
    logging.getLogger("app.engine").info("loaded %s", "模型.gguf")
    logging.getLogger("app.engine").debug("detail")
    undo()
    text = (paths.logs / log.LOG_NAME).read_text(encoding="utf-8")
    assert "INFO app.engine: loaded 模型.gguf" in text
    assert "detail" not in text


def test_that_only_warnings_reach_stderr(paths, capsys):
    undo = log.set_up_logging(paths, verbose=True)
    logging.getLogger("app").info("quiet")
    logging.getLogger("app").warning("loud")
    undo()
    assert "loud" in capsys.readouterr().err
    assert "quiet" in (paths.logs / log.LOG_NAME).read_text(encoding="utf-8")


def test_that_the_log_does_not_fill_with_every_question_to_a_running_server(paths):
    undo = log.set_up_logging(paths)
    logging.getLogger("httpx").info("HTTP Request: GET /slots")
    logging.getLogger("httpx").warning("trouble")
    undo()
    text = (paths.logs / log.LOG_NAME).read_text(encoding="utf-8")
    assert "trouble" in text
    assert "/slots" not in text


def test_that_undo_leaves_the_root_logger_as_it_was(paths):
    root = logging.getLogger()
    before = list(root.handlers), root.level
    log.set_up_logging(paths)()
    assert (list(root.handlers), root.level) == before


def test_that_an_unwritable_folder_costs_only_the_log_file(paths, capsys):
    paths.data.parent.mkdir(parents=True, exist_ok=True)
    paths.data.write_text("a file where a folder should be", encoding="utf-8")
    undo = log.set_up_logging(paths)
    undo()
    assert "No log file" in capsys.readouterr().err


def test_that_a_program_without_a_console_still_logs(paths, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    undo = log.set_up_logging(paths)
    logging.getLogger("app").warning("no console here")
    undo()
    assert "no console here" in (paths.logs / log.LOG_NAME).read_text(encoding="utf-8")


def test_that_old_log_text_moves_on_and_the_oldest_is_dropped(tmp_path):
    handler = log.RotatingFile(tmp_path / "a.log", limit_bytes=40, files=3)
    for n in range(9):
        handler.handle(logging.LogRecord("x", logging.INFO, "", 0, f"line {n} " + "." * 40, None, None))
    handler.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a.log", "a.log.1", "a.log.2"]
    assert (tmp_path / "a.log.1").read_text(encoding="utf-8").startswith("line 8")
    assert (tmp_path / "a.log.2").read_text(encoding="utf-8").startswith("line 7")


@pytest.mark.skipif(UNDER_WINE, reason="Wine puts a folder in the place of a file, which Windows refuses")
def test_that_a_log_that_cannot_be_renamed_goes_on_in_the_same_file(tmp_path):
    blocked = tmp_path / "a.log.1"
    (blocked / "not-empty").mkdir(parents=True)
    (tmp_path / "a.log.2").write_text("", encoding="utf-8")
    handler = log.RotatingFile(tmp_path / "a.log", limit_bytes=10, files=3)
    for n in range(2):
        handler.handle(logging.LogRecord("x", logging.INFO, "", 0, f"long enough {n}", None, None))
    handler.close()
    assert (tmp_path / "a.log").read_text(encoding="utf-8").splitlines() == ["long enough 0", "long enough 1"]


def test_that_a_crash_in_a_thread_writes_a_report_and_tells_the_window(paths, crashes):
    _raise_in_thread(ZeroDivisionError("no tokens"))
    (report,) = crashes
    assert report.summary == "ZeroDivisionError: no tokens"
    text = report.path.read_text(encoding="utf-8")
    assert text == report.text
    assert "worker-7" in text
    assert "Traceback" in text
    assert "numpy" in text
    assert sys.version.split()[0] in text


def test_that_a_crash_on_the_main_thread_uses_the_same_report(crashes):
    try:
        raise ValueError("bad")
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    assert crashes[0].summary == "ValueError: bad"
    assert crashes[0].path.is_file()


def test_that_leaving_a_thread_with_sys_exit_is_not_a_crash(crashes):
    _raise_in_thread(SystemExit(0))
    assert crashes == []


def test_that_ctrl_c_goes_to_the_hook_that_was_there_before(paths, monkeypatch):
    passed_on = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: passed_on.append(error[0]))
    crashes = []
    undo = log.install_crash_handler(paths, crashes.append)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    undo()
    assert passed_on == [KeyboardInterrupt]
    assert crashes == []
    assert not paths.logs.exists()


def test_that_a_window_that_cannot_show_the_crash_does_not_hide_the_report(paths, caplog):
    def broken(_report):
        raise RuntimeError("no window")

    undo = log.install_crash_handler(paths, broken)
    _raise_in_thread(ValueError("first"))
    undo()
    assert "The crash could not be shown" in caplog.text
    assert len(list(paths.logs.glob("crash-*.txt"))) == 1


def test_that_a_report_names_no_home_folder(paths, monkeypatch, tmp_path, crashes):
    monkeypatch.setattr("app.common.log.Path.home", lambda: tmp_path / "alice")
    _raise_in_thread(FileNotFoundError(f"{tmp_path / 'alice'}/models/a.gguf"))
    assert crashes[0].summary == "FileNotFoundError: ~/models/a.gguf"
    assert "alice" not in crashes[0].text


@pytest.mark.slow
def test_that_only_the_newest_reports_are_kept(paths, crashes):
    for n in range(log.CRASH_REPORTS_KEPT + 3):
        _raise_in_thread(ValueError(f"crash {n}"))
    kept = sorted(paths.logs.glob("crash-*.txt"))
    assert len(kept) == log.CRASH_REPORTS_KEPT
    assert kept[-1] == crashes[-1].path


def test_that_a_report_that_cannot_be_written_is_still_shown(paths, crashes):
    paths.data.parent.mkdir(parents=True, exist_ok=True)
    paths.data.write_text("", encoding="utf-8")
    _raise_in_thread(ValueError("lost"))
    assert crashes[0].path is None
    assert "lost" in crashes[0].text
