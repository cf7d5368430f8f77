"""A failure is read whatever was put around the log's lines, in whatever encoding they were written."""

import html
import tracemalloc

import pytest

from app.common.problem import Severity
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.types import Facts
from app.engine.line_shape import looks_for, shape_of
from app.engine.log_decoding import local_text
from app.work.doctor_log import facts_of, log_from_file
from tests.tools.bench_logs import bench_logs

LOGS = [log for log in bench_logs() if "wrapped terminal" not in log.name]
ISO = "2026-01-05T10:11:12"

LINE_BY_LINE = {
    "colours": "\x1b[31m{}\x1b[0m",
    "more colours": "\x1b[0m\x1b[38;5;9m{}\x1b[K",
    "docker with times": ISO + ".000000123Z {}",
    "docker compose": "llama-server-1  | {}",
    "journald": "Nov 29 17:03:46 my-box llama-server[4242]: {}",
    "journald short-iso": ISO + "+0100 my-box llama-server[4242]: {}",
    "journald short-iso-precise": ISO + ".123456+01:00 my-box bash[4242]: {}",
    "kubernetes": ISO + ".123456789+01:00 stderr F {}",
    "quoted": "> {}",
    "indented": "    {}",
    "tab": "\t{}",
    "LM Studio": "[2026-01-05 10:11:12][DEBUG] {}",
    "date and level": "2026-01-05 10:11:12 [DEBUG] {}",
    "a clock": "10:11:12.123 {}",
    "a tag": "[qwen3] {}",
    "a stream's name": "[stderr] {}",
    "Python's logging": "2026-01-05 10:11:12,123 - llama - INFO - {}",
    "Jan": "[2026-01-05][10:11:12][app_lib::core][INFO] [llamacpp] {}",
    "numbered": "  12: {}",
    "tabby": ISO + ".6Z  WARN llama_cpp_server::supervisor: crates/llama-cpp-server/src/supervisor.rs:110: <chat>: {}",
    "a build server": ISO + ".1234567Z ##[error]{}",
}
AROUND = {
    "a fence": ("Hi, my server does not start:", "```shell", "```", "Any ideas?"),
    "details": ("<details><summary>Log</summary>", "```", "```", "</details>"),
}


def _around(name):
    before, after = AROUND[name][:2], AROUND[name][2:]
    return lambda lines: [*before, *lines, *after]


WRAPS = {
    **{name: lambda lines, form=form: [form.format(line) for line in lines] for name, form in LINE_BY_LINE.items()},
    **{name: _around(name) for name in AROUND},
    "HTML": lambda lines: [html.escape(line) for line in lines],
    "quoted fence": lambda lines: ["> ```", *(f"> {line}" for line in lines), "> ```"],
    "PowerShell": lambda lines: [f"llama-server.exe : {lines[0]}", *lines[1:]],
}
ENCODINGS = {"utf-8": "\r\n", "utf-16": "\r\n", "utf-16-le": "\n", "utf-8-sig": "\r\n"}


def _is_right(log, findings):
    if log.code is None:
        return all(finding.severity is not Severity.ERROR for finding in findings)
    return bool(findings) and findings[0].code in {log.code, *log.aliases}


def _wrong(tmp_path, logs, wrap, encoding="utf-8", ending="\n"):
    path = tmp_path / "a log.txt"
    for log in logs:
        path.write_bytes(ending.join(wrap(list(log.lines))).encode(encoding))
        findings = examine(Facts(log=facts_of(log_from_file(path))))
        if not _is_right(log, findings):
            yield log.name, log.code, [finding.code for finding in findings]


@pytest.mark.parametrize("name", WRAPS)
@pytest.mark.share(2)
def test_that_what_stands_around_the_lines_hides_no_cause(tmp_path, name):
    start = list(WRAPS).index(name)
    assert list(_wrong(tmp_path, LOGS[start % 23 :: 23], WRAPS[name])) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", WRAPS)
def test_that_nothing_around_the_lines_hides_any_cause(tmp_path, name):
    assert list(_wrong(tmp_path, LOGS, WRAPS[name])) == []


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_that_no_encoding_hides_a_cause(tmp_path, encoding):
    start = list(ENCODINGS).index(encoding)
    assert list(_wrong(tmp_path, LOGS[start::29], list, encoding, ENCODINGS[encoding])) == []


WINDOWS = [
    ("gb18030", "load_backend: failed to load D:\\llama\\ggml-cuda.dll: 找不到指定的模块。", "gpu_backend_not_loaded"),
    ("gb18030", "error loading model: MapViewOfFile failed: 页面文件太小，无法完成操作。", "commit_limit"),
    ("gb18030", "error loading model: read error: 系统资源不足，无法完成请求的服务。", "host_oom"),
    ("gb18030", "bind: 以一种访问权限不允许的方式做了一个访问套接字的尝试。", "port_forbidden"),
    ("gb18030", "bind 127.0.0.1:8080: 通常每个套接字地址(协议/网络地址/端口)只允许使用一次。", "port_in_use"),
    ("big5", "error loading model: MapViewOfFile failed: 分頁檔太小，無法完成此操作。", "commit_limit"),
    ("cp932", "MapViewOfFile failed: ページング ファイルが小さすぎるため、この操作を完了できません。", "commit_limit"),
    ("cp949", "MapViewOfFile failed: 이 작업을 완료하기에 페이징 파일이 너무 작습니다.", "commit_limit"),
    ("cp1251", "OSError: Файл подкачки слишком мал для завершения операции", "commit_limit"),
    ("cp1252", "failed: Die Auslagerungsdatei ist zu klein, um diesen Vorgang durchzuführen.", "commit_limit"),
    ("cp1252", "failed: El archivo de paginación es demasiado pequeño para la operación.", "commit_limit"),
]


@pytest.mark.parametrize(("code_page", "line", "code"), WINDOWS)
def test_that_windows_own_words_are_read_in_the_code_page_of_its_language(tmp_path, code_page, line, code):
    path = tmp_path / "windows.log"
    utf8 = "0.00.000.100 I srv    load_model: loading model 'D:\\模型\\x.gguf'\r\n".encode()
    path.write_bytes(utf8 + line.encode(code_page) + b"\r\n")
    text = log_from_file(path)
    assert text.lines[1] == line
    assert "模型" in text.lines[0]
    assert examine(Facts(log=facts_of(text)))[0].code == code


def test_that_broken_bytes_of_no_language_stay_broken_characters():
    assert local_text(b"token \xff\xfe\x80 end") == "token \ufffd\ufffd\ufffd end"


def test_that_lines_of_one_shape_are_looked_at_once_and_alike():
    assert shape_of("Task 12 FAILED") == shape_of("task 98 failed")
    asks = looks_for(["fail"], foreign=True)
    assert asks("It FAILED 3 times")
    assert asks("失败")
    assert not asks("all is well")


def test_that_long_lines_are_looked_at_but_not_kept():
    asks = looks_for(["fail"])
    assert asks("x" * 900 + " it FAILED")
    tracemalloc.start()
    try:
        for number in range(300):
            asks(chr(0x4E00 + number) * 900)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000
