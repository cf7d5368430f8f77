"""The life of a server process, with a fake one that misbehaves on demand."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import psutil
import pytest

from app.common.problem import ProblemError
from app.engine.events import Exited, LoadProgress, LogLine, Ready, ServerState, Starting
from app.engine.health import accepts_key, health_status
from app.engine.launcher import run_tool
from app.engine.leftovers import kill_leftover, leftover_servers, remember_server
from app.engine.locate import EngineBinary
from app.engine.ports import free_port
from app.engine.probe import dry_run
from app.engine.process import LaunchSpec, start_server
from tests.engine.conftest import FAKE_SERVER
from tests.tools.engine_fixture import PATIENCE_S, is_gone

ROOT = Path(__file__).resolve().parents[2]
KILLED = -signal.SIGKILL if hasattr(signal, "SIGKILL") else 1
"""The exit code of a program that we had to end: TerminateJobObject gives 1 on Windows."""
POLITE = 1 if sys.platform == "win32" else 0
"""After a polite stop; Windows has no polite way to stop a program without a window."""


def test_that_events_come_in_order_and_the_end_is_the_last(launch_fake):
    server, events = launch_fake("--load-s", 0.2, port=free_port(), api_key="k")
    assert events.wait_for(Starting).pid == server.pid
    ready = events.wait_for(Ready)
    assert ready.url == f"http://127.0.0.1:{server.spec.port}"
    assert ready.pid == server.pid
    assert server.state is ServerState.READY
    server.stop()
    ended = events.wait_for(Exited)
    assert (ended.code, ended.reason) == (POLITE, None)
    assert server.wait(PATIENCE_S)
    assert server.state is ServerState.EXITED
    assert any("listening on" in line for line in ended.tail)
    assert isinstance(events.seen[0], Starting)
    assert isinstance(events.seen[-1], Exited)


def test_that_port_zero_takes_the_port_that_the_server_prints(launch_fake):
    server, events = launch_fake(api_key="k")
    url = events.wait_for(Ready).url
    assert server.url == url
    assert int(url.rsplit(":", 1)[1]) > 0


def test_that_readiness_needs_no_log_line(launch_fake):
    _, events = launch_fake("--silent", port=free_port())
    assert events.wait_for(Ready).buffers == ()


def test_that_loading_tells_progress(launch_fake):
    _, events = launch_fake("--load-s", 1)
    assert events.wait_for(LoadProgress).read_bytes > 0


@pytest.mark.skipif(not hasattr(psutil.Process, "cpu_affinity"), reason="no affinity on this system")
def test_that_the_cpus_are_set_before_the_first_instruction_and_read_back(launch_fake):
    cpu = max(psutil.Process().cpu_affinity())
    server, events = launch_fake("--show-environment", cpus=[cpu])
    assert events.wait_for(Ready).affinity == (cpu,)
    assert server.affinity == (cpu,)
    assert f"CPUS [{cpu}]" in server.tail()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_that_cpus_that_do_not_exist_are_reported_and_not_fatal(launch_fake):
    server, events = launch_fake(cpus=[4000])
    assert events.wait_for(Ready).affinity == tuple(sorted(os.sched_getaffinity(0)))
    assert any("these CPUs cannot be used" in line for line in server.tail())


def test_that_nothing_of_the_users_environment_overrides_the_plan(launch_fake, monkeypatch, app_folders):
    monkeypatch.setenv("LLAMA_ARG_OVERRIDE_TENSOR", "x=CPU")
    monkeypatch.setenv("LLAMA_API_KEY", "the user's own")
    server, events = launch_fake("--show-environment", api_key="our key")
    events.wait_for(Ready)
    (line,) = [line for line in server.tail() if line.startswith("ENV ")]
    env = json.loads(line[4:])
    assert not [name for name in env if name.startswith("LLAMA_ARG_")]
    assert env["LLAMA_API_KEY"] == "our key"
    assert env["APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"] == str(app_folders.engine_home)
    assert list(app_folders.engine_home.iterdir()) == []
    assert "our key" not in server.spec.full_argv


def test_that_a_key_of_the_command_line_stays_there(app_folders):
    spec = LaunchSpec("llama-server", ("--api-key", "typed", "--port", "99"), (), app_folders, api_key="made", port=5)
    assert spec.key == "typed"
    assert spec.listen_port == 99
    assert spec.full_argv == ("llama-server", "--api-key", "typed", "--port", "99", "--host", "127.0.0.1")


def test_that_a_server_that_does_not_know_our_key_is_a_stranger(launch_fake):
    port = free_port()
    _, events = launch_fake(port=port, api_key="theirs")
    events.wait_for(Ready)
    assert health_status("127.0.0.1", port, PATIENCE_S) == 200
    assert accepts_key("127.0.0.1", port, "theirs", PATIENCE_S)
    assert not accepts_key("127.0.0.1", port, "ours", PATIENCE_S)
    assert health_status("127.0.0.1", free_port(), PATIENCE_S) is None


def test_that_a_server_outlives_the_thread_that_asked_for_it(launch_fake):
    started = []
    worker = threading.Thread(target=lambda: started.append(launch_fake(api_key="k")))
    worker.start()
    worker.join()
    ((server, events),) = started
    events.wait_for(Ready)
    assert health_status("127.0.0.1", int(server.url.rsplit(":", 1)[1]), PATIENCE_S) == 200
    assert not server.is_over


def test_that_a_crash_while_loading_ends_the_wait(launch_fake):
    server, events = launch_fake("--crash", 7)
    ended = events.wait_for(Exited)
    assert ended.code == 7
    assert ended.reason.code == "engine_exited"
    assert server.state is ServerState.FAILED
    assert not any(isinstance(event, Ready) for event in events.seen)


def test_that_the_reason_of_a_failure_is_read_from_the_log(launch_fake, tmp_path):
    (tmp_path / "oom").write_text(
        "E ggml_backend_buft_alloc_buffer_n_default: failed to allocate CUDA0 buffer of size 8192000000\n"
        "E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n"
    )
    _, events = launch_fake("--say", tmp_path / "oom", "--crash", 1)
    reason = events.wait_for(Exited).reason
    assert reason.code == "kv_oom"
    assert dict(reason.params) == {"device": "CUDA0", "n_bytes": 8192000000}


def test_that_an_error_before_a_flood_is_still_the_reason(launch_fake, tmp_path):
    (tmp_path / "error").write_text("E llama_model_load: error loading model: unknown model architecture: 'x9'\n")
    _, events = launch_fake("--say", tmp_path / "error", "--flood-mib", 2, "--crash", 1)
    assert events.wait_for(Exited).reason.code == "unknown_arch"


def test_that_what_a_server_wrote_does_not_drown_in_its_being_idle(launch_fake, tmp_path):
    idle = "".join(f"{n}.00.000.001 I srv  update_slots: all slots are idle\n" for n in range(3000))
    (tmp_path / "said").write_text(f"slot release: the last words of a request\n{idle}")
    server, events = launch_fake("--say", tmp_path / "said", "--crash", 1)
    assert events.wait_for(Exited).code == 1
    tail = server.tail()
    assert "slot release: the last words of a request" in tail
    assert sum(line.endswith("all slots are idle") for line in tail) == 1


def test_that_a_server_killed_while_it_runs_says_so(launch_fake):
    server, events = launch_fake()
    psutil.Process(events.wait_for(Ready).pid).kill()
    ended = events.wait_for(Exited)
    if sys.platform == "win32":  # a killer chooses the exit code there (psutil: 15), so nobody can tell it from an exit
        assert (ended.code, ended.reason.code) == (15, "engine_exited")
    else:
        assert (ended.code, ended.reason.code) == (KILLED, "engine_killed")
    assert server.state is ServerState.FAILED


def test_that_stop_kills_a_server_that_ignores_the_polite_signal(launch_fake):
    server, events = launch_fake("--ignore-terminate")
    events.wait_for(Ready)
    server.stop(grace_s=0.2)
    ended = events.wait_for(Exited)
    assert ended.code == KILLED
    assert ended.reason is None
    assert server.state is ServerState.EXITED


@pytest.mark.parametrize("option", ["--never-ready", "--hang-health"])
def test_that_stop_works_while_the_server_is_still_loading(launch_fake, option):
    server, events = launch_fake(option, port=free_port())
    while events.wait_for(LogLine).text != "loading":
        pass
    assert server.state is ServerState.STARTING
    server.stop()
    assert events.wait_for(Exited).reason is None
    assert is_gone(server.pid)


def test_that_a_child_of_the_server_ends_with_it(launch_fake, tmp_path):
    server, events = launch_fake("--child", tmp_path / "pid")
    events.wait_for(Ready)
    grandchild = int((tmp_path / "pid").read_text())
    assert psutil.pid_exists(grandchild)
    server.stop()
    events.wait_for(Exited)
    assert is_gone(grandchild)


def test_that_a_child_of_a_server_that_crashed_does_not_stay(launch_fake, tmp_path):
    _, events = launch_fake("--child", tmp_path / "pid", "--crash", 3)
    assert events.wait_for(Exited).code == 3
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_that_fifty_megabytes_of_output_block_nothing(launch_fake):
    server, events = launch_fake("--flood-mib", 50)
    events.wait_for(Ready)
    assert "end of the flood" in server.tail()
    assert len(server.tail(10_000)) <= 2000


def test_that_output_that_is_no_utf8_is_shown_with_replacements(launch_fake, tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xd6\xd0\xce\xc4 gbk\r\n" + "汉字".encode() + b"\nno end")
    server, events = launch_fake("--say", tmp_path / "bytes")
    events.wait_for(Ready)
    assert server.tail()[0].endswith(" gbk")
    assert server.tail()[1] == "汉字"
    assert "no endloading" in server.tail()


def test_that_the_log_file_holds_the_output(launch_fake, tmp_path):
    server, events = launch_fake(log_file=tmp_path / "logs" / "server.log")
    events.wait_for(Ready)
    server.stop()
    events.wait_for(Exited)
    assert server.wait(PATIENCE_S)
    assert "listening on" in (tmp_path / "logs" / "server.log").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_that_a_full_disk_stops_no_server(launch_fake):
    server, events = launch_fake(log_file=Path("/dev/full"))
    events.wait_for(Ready)
    server.stop()
    assert events.wait_for(Exited).reason is None
    assert any("listening on" in line for line in server.tail())


def test_that_stop_may_be_called_often_early_and_late(launch_fake):
    server, events = launch_fake("--never-ready")
    for _ in range(3):
        server.stop()
    events.wait_for(Exited)
    server.stop()
    assert server.wait(PATIENCE_S)
    assert server.state is ServerState.EXITED


def test_that_ten_racing_pairs_of_start_and_stop_all_end(launch_fake):
    pairs = []
    stoppers = []
    for i in range(10):
        server, events = launch_fake("--load-s", 0.02 * i)
        stopper = threading.Timer(0.015 * i, server.stop)
        stopper.start()
        pairs.append((server, events))
        stoppers.append(stopper)
    for server, events in pairs:
        ended = events.wait_for(Exited)
        assert ended.reason is None
        assert server.wait(PATIENCE_S)
        assert is_gone(server.pid)
        assert sum(isinstance(event, Exited) for event in events.seen) == 1
    for stopper in stoppers:
        stopper.join()


def test_that_a_taken_port_is_told_before_anything_starts(launch_fake):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ProblemError) as caught:
            launch_fake(port=taken.getsockname()[1])
    assert caught.value.problem.code == "port_in_use"


def test_that_a_missing_or_unusable_program_is_told(app_folders, tmp_path):
    with pytest.raises(ProblemError, match="engine_not_found"):
        start_server(LaunchSpec(str(tmp_path / "nothing"), (), (), app_folders), print)
    program = tmp_path / "llama-server"
    program.write_text("text")
    if sys.platform == "win32":
        pytest.skip("Windows runs what is a program, whatever its rights: the next test")
    with pytest.raises(ProblemError, match="engine_broken"):
        start_server(LaunchSpec(str(program), (), (), app_folders), print)


def test_that_a_program_the_system_cannot_run_ends_with_a_reason(launch, tmp_path):
    program = tmp_path / "llama-server"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    _, events = launch(program, [])
    reason = events.wait_for(Exited).reason
    if sys.platform == "win32":  # Windows refuses to start it at all
        assert (reason.code, reason.params["path"]) == ("engine_broken", str(program))
    else:
        assert (reason.code, reason.params["why"]) == ("engine_wrong_platform", "Exec format error")


def test_that_a_word_that_no_command_line_can_carry_ends_with_a_reason(launch, app_folders):
    _, events = launch(Path(sys.executable), ["-c", "half\0name"])
    assert events.wait_for(Exited).reason.code == "engine_broken"
    with pytest.raises(ProblemError, match="engine_broken"):
        dry_run(EngineBinary(sys.executable, None), ["-c", "half\0name"], app_folders)


@pytest.mark.skipif(sys.platform == "win32", reason="the double stands in for a Linux child")
@pytest.mark.parametrize(("may_be_slowed", "told"), [(False, False), (True, None)])
def test_that_efficiency_mode_is_no_finding_where_the_engine_may_be_slowed(
    launch_fake, monkeypatch, may_be_slowed, told
):
    monkeypatch.setattr("app.engine._child_linux.LinuxChild.full_speed", lambda _self: False)
    _, events = launch_fake(port=free_port(), api_key="k", may_be_slowed=may_be_slowed)
    assert events.wait_for(Ready).full_speed is told


def test_that_what_windows_says_in_its_own_code_page_is_read_from_a_tool_too():
    text = "load: 模型\nMapViewOfFile failed: 系统找不到指定的文件。\n"
    lines = text.encode("utf-8").splitlines()[0] + b"\n" + text.splitlines()[1].encode("gb18030") + b"\n"
    told = run_tool([sys.executable, "-c", f"import sys; sys.stdout.buffer.write({lines!r})"], dict(os.environ), 60)
    assert told.stdout == text


APP = """
import sys
from pathlib import Path
from app.common.paths import AppPaths
from app.engine.events import Ready
from app.engine.process import LaunchSpec, start_server
base = Path({base!r})
paths = AppPaths(base / "config", base / "data", base / "cache")
def on_event(event):
    if isinstance(event, Ready):
        print(event.pid, flush=True)
server = start_server(LaunchSpec(sys.executable, ({fake!r},), (), paths), on_event)
server.wait()
"""


@pytest.fixture
def other_app(tmp_path):
    """A Lanewise of its own process, with one server; gives (its process, the server's pid)."""
    code = textwrap.dedent(APP).format(base=str(tmp_path), fake=str(FAKE_SERVER))
    app = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    yield app, int(app.stdout.readline())
    app.kill()
    app.wait()
    app.stdout.close()


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no signal at the parent's death")
def test_that_no_server_outlives_an_app_that_was_killed(other_app, app_folders):
    app, pid = other_app
    app.kill()
    app.wait()
    assert is_gone(pid)
    assert leftover_servers(app_folders) == ()


def test_that_a_server_whose_app_lives_is_no_leftover(other_app, app_folders):
    assert leftover_servers(app_folders) == ()
    assert len(list((app_folders.cache / "running").iterdir())) == 1


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def orphan(file):
    """Pretend that the Lanewise that started this server is gone."""
    data = json.loads(file.read_text())
    data["owner_started_at"] -= 5000
    file.write_text(json.dumps(data))


def test_that_a_leftover_of_a_crash_is_found_and_ended(sleeper, app_folders):
    file = remember_server(app_folders, sleeper.pid, "/some/llama-server")
    orphan(file)
    (left,) = leftover_servers(app_folders)
    assert (left.pid, left.program) == (sleeper.pid, "llama-server")
    assert kill_leftover(left)
    assert is_gone(sleeper.pid)
    assert leftover_servers(app_folders) == ()
    assert not file.exists()


def test_that_another_program_with_an_old_pid_is_left_alone(sleeper, app_folders):
    file = remember_server(app_folders, sleeper.pid, "/some/llama-server")
    orphan(file)
    (left,) = leftover_servers(app_folders)
    data = json.loads(file.read_text())
    data["started_at"] -= 5000
    file.write_text(json.dumps(data))
    assert leftover_servers(app_folders) == ()
    assert kill_leftover(type(left)(left.pid, left.started_at - 5000, left.program, 1, 1.0))
    assert sleeper.poll() is None


def test_that_damaged_pid_files_are_removed(app_folders):
    folder = app_folders.cache / "running"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text("{")
    (folder / "2.json").write_text('{"pid": 1}')
    assert leftover_servers(app_folders) == ()
    assert list(folder.iterdir()) == []


def test_that_an_ended_server_leaves_no_pid_file(launch_fake, app_folders):
    server, events = launch_fake()
    events.wait_for(Ready)
    assert len(list((app_folders.cache / "running").iterdir())) == 1
    server.stop()
    events.wait_for(Exited)
    assert list((app_folders.cache / "running").iterdir()) == []
