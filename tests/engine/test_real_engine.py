"""The engine package against the real llama-server and ggml-rpc-server."""

import dataclasses
import os
import shutil
import socket
import sys
import threading
import time

import psutil
import pytest

from app.common.problem import ProblemError
from app.common.units import MIB
from app.engine import devices as devices_module
from app.engine import process
from app.engine.apikey import new_api_key
from app.engine.capabilities import read_capabilities
from app.engine.client import ServerClient
from app.engine.devices import list_devices
from app.engine.events import BuffersKnown, Exited, Ready, ServerState
from app.engine.locate import EngineBinary
from app.engine.logparse import RAM, BufferKind
from app.engine.ports import free_port
from app.engine.probe import dry_run
from app.engine.rpc import RpcServer
from app.engine.slotrate import SlotRate
from app.engine.sse import ChatDelta, ChatDone, ChatTimings, PromptProgress
from tests.tools.engine_fixture import PATIENCE_S, is_gone

pytestmark = pytest.mark.engine

PROMPT = [{"role": "user", "content": "hello there"}]


@pytest.fixture
def arguments(tiny_model):
    """A small exact launch, without anything left to the engine; its random weights would end any answer early."""
    return ["-m", tiny_model, "-c", "4096", "-np", "1", "-fit", "off", "-lv", "4", "-cram", "0", "--ignore-eos"]


@pytest.fixture
def served(engine, launch, arguments):
    """A running server with a key: (process, events, its Ready event)."""
    server, events = launch(engine.path, arguments, api_key=new_api_key(), port=free_port())
    return server, events, events.wait_for(Ready)


@pytest.fixture
def client(served):
    server, _, ready = served
    with ServerClient(ready.url, server.spec.api_key) as client:
        yield client


def rpc_arguments(rpc_server):
    return ["--rpc", rpc_server.endpoint, "-dev", "RPC0", "-ngl", "99", "-ot", "exps=CPU", "-nr", "-lm", "none"]


def sizes(buffers, kind):
    return {b.device: round(b.n_bytes / MIB, 2) for b in buffers if b.kind is kind}


def test_that_the_engine_tells_its_options(engine, app_folders):
    capabilities = read_capabilities(engine, app_folders.cache)
    assert capabilities.build
    assert {"-ot", "-ngl", "-fit", "--log-jsonl", "--rpc", "-dev", "-lv"} <= capabilities.flags


def test_that_a_server_becomes_ready_and_stops_politely(served):
    server, events, ready = served
    assert ready.url == f"http://127.0.0.1:{server.spec.port}"
    assert server.state is ServerState.READY
    assert {b.kind for b in ready.buffers} >= {BufferKind.WEIGHTS, BufferKind.KV, BufferKind.COMPUTE}
    assert {b.device for b in ready.buffers} == {RAM}
    server.stop(grace_s=PATIENCE_S)
    assert events.wait_for(Exited).code == 0
    assert server.state is ServerState.EXITED
    assert is_gone(ready.pid)


def test_that_the_buffers_are_known_before_the_server_is_ready(engine, launch, arguments):
    _, events = launch(engine.path, arguments, port=0)
    known = events.wait_for(BuffersKnown).buffers
    assert known == events.wait_for(Ready).buffers


def test_that_only_the_key_opens_the_server(served, client):
    server, _, ready = served
    assert client.health() == 200
    assert client.props()["total_slots"] == 1
    assert server.spec.api_key not in " ".join(psutil.Process(ready.pid).cmdline())
    with ServerClient(ready.url, None) as stranger:
        assert stranger.health() == 200
        with pytest.raises(ProblemError, match="server_key_wrong"):
            stranger.props()
        with pytest.raises(ProblemError, match="server_key_wrong"):
            stranger.stream_chat(PROMPT, print, threading.Event())


@pytest.mark.skipif(sys.platform != "linux", reason="reads the affinity of single threads")
def test_that_every_thread_of_the_server_stays_on_the_chosen_cpus(engine, launch, arguments):
    cpu = min(os.sched_getaffinity(0))
    _, events = launch(engine.path, [*arguments, "-t", "1"], cpus=[cpu])
    ready = events.wait_for(Ready)
    assert ready.affinity == (cpu,)
    threads = [thread.id for thread in psutil.Process(ready.pid).threads()]
    assert len(threads) > 1
    assert {frozenset(os.sched_getaffinity(thread)) for thread in threads} == {frozenset({cpu})}


def test_that_a_chat_streams_text_figures_and_its_end(client):
    events = []
    done = client.stream_chat(PROMPT, events.append, threading.Event(), max_tokens=16)
    assert isinstance(events[0], PromptProgress)
    assert "".join(e.text for e in events if isinstance(e, ChatDelta))
    assert events[-1] == done
    assert done.finish_reason in ("length", "stop")
    last = [e for e in events if isinstance(e, ChatTimings)][-1]
    assert 0 < last.predicted_n <= 16
    assert last.prompt_n > 0


def test_that_prompts_stay_out_of_the_log(served, client):
    server, events, _ = served
    done = client.stream_chat([{"role": "user", "content": "xylophone"}], print, threading.Event(), max_tokens=4)
    assert done.finish_reason == "length"
    server.stop()
    events.wait_for(Exited)
    assert server.wait(PATIENCE_S)
    assert not [line for line in server.tail(2000) if "xylophone" in line]


def test_that_cancelling_an_answer_frees_the_server(client):
    stop = threading.Event()
    events = []

    def on_event(event):
        events.append(event)
        if isinstance(event, ChatDelta):
            stop.set()

    assert client.stream_chat(PROMPT, on_event, stop, max_tokens=100_000) == ChatDone("cancelled")
    assert events[-1] == ChatDone("cancelled")
    assert client.completion("a", 4, seed=1).tokens  # the only slot is free again


def test_that_an_answer_can_be_cancelled_while_it_waits_in_the_queue(client):
    stop_first, stop_second, first_runs = threading.Event(), threading.Event(), threading.Event()

    def on_first(event):
        if isinstance(event, ChatTimings):
            first_runs.set()

    def ask():
        while not stop_first.is_set():  # the context is small: ask again until the test is done
            client.stream_chat(PROMPT, on_first, stop_first)

    thread = threading.Thread(target=ask)
    thread.start()
    assert first_runs.wait(PATIENCE_S)
    stop_second.set()
    assert client.stream_chat(PROMPT, print, stop_second) == ChatDone("cancelled")
    stop_first.set()
    thread.join()


def test_that_completions_with_a_seed_repeat(client):
    first = client.completion("the sea", 12, seed=7)
    assert len(first.tokens) == 12
    assert first.predicted_tps > 0
    assert client.completion("the sea", 12, seed=7).tokens == first.tokens


def test_that_live_speed_is_seen_while_someone_else_generates(client):
    done = threading.Event()

    def work():
        while not done.is_set():
            client.completion("once", 900, seed=3)

    worker = threading.Thread(target=work)
    worker.start()
    rate = SlotRate()
    until = time.monotonic() + PATIENCE_S
    seen = None
    while seen is None and time.monotonic() < until:
        (speed,) = rate.update(client.slots(time.monotonic()))
        if speed.tps and speed.is_busy:
            seen = speed
        done.wait(0.1)  # the engine answers between two tokens: asking without pause would slow it down
    done.set()
    worker.join()
    assert seen.n_ctx == 4096
    assert 0 < seen.fill <= 1


def test_that_a_refused_request_says_why(client):
    with pytest.raises(ProblemError) as caught:
        client.stream_chat([{"role": "user", "content": "x " * 9000}], print, threading.Event())
    assert caught.value.problem.code == "server_refused"
    assert "context" in caught.value.problem.params["why"]


def test_that_a_server_that_is_gone_is_unreachable(served):
    server, events, ready = served
    server.stop()
    events.wait_for(Exited)
    with ServerClient(ready.url, None) as client:
        assert client.health() is None
        with pytest.raises(ProblemError, match="server_unreachable"):
            client.slots(0.0)
        with pytest.raises(ProblemError, match="server_unreachable"):
            client.stream_chat(PROMPT, print, threading.Event())


def test_that_a_server_killed_in_the_middle_of_an_answer_is_told(served, client):
    _, events, ready = served
    victim = psutil.Process(ready.pid)

    def on_event(event):
        if isinstance(event, ChatDelta) and victim.is_running():
            victim.kill()

    with pytest.raises(ProblemError, match="server_unreachable"):
        client.stream_chat(PROMPT, on_event, threading.Event(), max_tokens=100_000)
    assert events.wait_for(Exited).reason.code == "engine_killed"


def test_that_an_rpc_server_is_a_device_with_its_override_name(engine, rpc_server, app_folders):
    (device,) = list_devices(engine, (rpc_server.endpoint,), app_folders)
    assert device.name == "RPC0"
    assert device.buffer_name == f"RPC0[{rpc_server.endpoint}]"
    assert device.total_bytes > 0


def test_that_devices_of_two_rpc_servers_carry_their_own_buffer_names(engine, rpc_server, app_folders):
    with RpcServer(engine, app_folders) as second:
        devices = list_devices(engine, (rpc_server.endpoint, second.endpoint), app_folders)
        assert [d.name for d in devices] == ["RPC0", "RPC1"]
        with pytest.raises(ProblemError) as caught:  # the engine itself lists the names it accepts
            dry_run(engine, ["--rpc", f"{rpc_server.endpoint},{second.endpoint}", "-ot", "x=?"], app_folders)
    names = caught.value.problem.params["available"].split(", ")
    assert set(names) == {"CPU", *(d.buffer_name for d in devices)}


def test_that_a_silent_rpc_server_is_told_instead_of_an_abort(engine, app_folders):
    with pytest.raises(ProblemError, match="rpc_unreachable"):
        list_devices(engine, (f"127.0.0.1:{free_port()}",), app_folders)


@pytest.mark.parametrize("hangs_up", [True, False])
def test_that_a_program_that_is_no_rpc_server_is_told(engine, app_folders, monkeypatch, hangs_up):
    monkeypatch.setattr(devices_module, "_RPC_TIMEOUT_S", 1.0)
    callers = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            for _ in range(2):  # our own look, then the engine
                callers.append(listener.accept()[0])
                if hangs_up:
                    callers[-1].close()

        thread = threading.Thread(target=answer)
        thread.start()
        endpoint = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ProblemError) as caught:
            list_devices(engine, (endpoint,), app_folders)
        thread.join()
    for caller in callers:
        caller.close()
    assert (caught.value.problem.code, caught.value.problem.params["endpoint"]) == ("rpc_not_answering", endpoint)


def test_that_experts_in_ram_and_the_rest_on_the_device_are_where_the_log_says(engine, launch, arguments, rpc_server):
    _, events = launch(engine.path, [*arguments, *rpc_arguments(rpc_server)])
    buffers = events.wait_for(Ready).buffers
    assert set(sizes(buffers, BufferKind.WEIGHTS)) == {RAM, "RPC0"}
    assert set(sizes(buffers, BufferKind.KV)) == {"RPC0"}
    assert all(b.device == "RPC0" for b in buffers if b.buffer_name.startswith("RPC0["))


def test_that_a_dry_run_gives_the_figures_of_the_real_run(engine, launch, arguments, rpc_server, app_folders):
    argv = [*arguments, *rpc_arguments(rpc_server)]
    dry = {device.device: device for device in dry_run(engine, argv, app_folders)}
    assert set(dry) == {"RPC0", RAM}
    _, events = launch(engine.path, argv)
    buffers = events.wait_for(Ready).buffers
    for device, figures in dry.items():
        real = {kind: sum(b.n_bytes for b in buffers if (b.device, b.kind) == (device, kind)) for kind in BufferKind}
        assert figures.weights_bytes // MIB == real[BufferKind.WEIGHTS] // MIB
        assert figures.kv_bytes // MIB == (real[BufferKind.KV] + real[BufferKind.OUTPUT]) // MIB
        assert figures.compute_bytes // MIB == real[BufferKind.COMPUTE] // MIB


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--frobnicate"], "unknown_argument"),
        (["-ctk", "q9_9"], "bad_argument_value"),
        (["-ot", "x(=CPU"], "bad_regex"),
        (["-ot", "x=cpu"], "unknown_buffer_type"),
        (["-dev", "CUDA7"], "bad_argument_value"),
        (["-ctv", "q8_0", "-fa", "off"], "v_cache_needs_fa"),
        (["-m", "nowhere.gguf"], "file_missing"),
    ],
)
def test_that_the_dry_run_and_the_launch_give_the_reason_of_a_bad_command(
    engine, launch, arguments, app_folders, more, code
):
    with pytest.raises(ProblemError) as caught:
        dry_run(engine, [*arguments, *more], app_folders)
    assert caught.value.problem.code == code
    _, events = launch(engine.path, [*arguments, *more])
    assert events.wait_for(Exited).reason.code == code


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda data: b"GGML" + data[4:], "bad_magic"),
        (lambda data: data[: len(data) - 20_000], "file_truncated"),
        (lambda data: data.replace(b"qwen3moe", b"qwen9moe"), "unknown_arch"),
    ],
)
def test_that_a_damaged_file_gives_its_reason(engine, launch, tiny_model, tmp_path, damage, code):
    with open(tiny_model, "rb") as file:
        (tmp_path / "bad.gguf").write_bytes(damage(file.read()))
    _, events = launch(engine.path, ["-m", str(tmp_path / "bad.gguf"), "-c", "256"])
    assert events.wait_for(Exited).reason.code == code


def test_that_a_port_taken_after_the_check_is_still_told(engine, launch, arguments, monkeypatch):
    monkeypatch.setattr(process, "port_problem", lambda host, port: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        _, events = launch(engine.path, arguments, port=port)
        reason = events.wait_for(Exited).reason
    assert reason.code == "port_in_use"
    assert reason.params["port"] == str(port)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_that_a_device_that_runs_full_is_named(engine, launch, arguments, app_folders):
    with RpcServer(engine, app_folders, address_space_bytes=700 * MIB) as small:
        argv = [*arguments, "--rpc", small.endpoint, "-dev", "RPC0", "-ngl", "99", "-c", "4000000"]
        _, events = launch(engine.path, argv)
        reason = events.wait_for(Exited).reason
    assert reason.code == "kv_oom"
    assert reason.params["device"] == "RPC0"
    assert reason.params["n_bytes"] > 900 * MIB


def test_that_a_path_with_spaces_and_chinese_characters_loads(engine, launch, tiny_model, tmp_path):
    folder = tmp_path / "我的 模型"
    folder.mkdir()
    shutil.copy(tiny_model, folder / "测试 model.gguf")
    _, events = launch(engine.path, ["-m", str(folder / "测试 model.gguf"), "-c", "256"])
    assert events.wait_for(Ready).url


def test_that_the_users_own_settings_do_not_change_the_plan(engine, launch, arguments, tmp_path, monkeypatch):
    (tmp_path / "llama.cpp").mkdir()
    (tmp_path / "llama.cpp" / "config.ini").write_text("ctx-size = 512\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("LLAMA_ARG_THREADS", "77")
    server, events = launch(engine.path, [word for word in arguments if word not in ("-c", "4096")])
    events.wait_for(Ready)
    assert server.reader.n_ctx != 512
    assert not any("n_threads = 77" in line for line in server.tail(2000))


def test_that_the_rpc_server_ends_with_its_block(engine, app_folders):
    with RpcServer(engine, app_folders) as server:
        pid = server.pid
        assert psutil.pid_exists(pid)
    assert server.pid is None
    assert is_gone(pid)


def test_that_an_engine_without_rpc_server_says_so(engine, app_folders):
    with pytest.raises(ProblemError, match="rpc_server_missing"):
        RpcServer(dataclasses.replace(engine, rpc_server=None), app_folders)


def test_that_an_rpc_server_that_cannot_start_is_told(engine, app_folders):
    if sys.platform != "linux":
        pytest.skip("limits the address space")
    with pytest.raises(ProblemError, match="rpc_server_failed"), RpcServer(engine, app_folders, 1 * MIB):
        pass


def test_that_a_dry_run_of_a_program_that_never_ends_is_given_up(app_folders, tmp_path):
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    with pytest.raises(ProblemError, match="engine_probe_timeout"):
        dry_run(EngineBinary(str(program)), [], app_folders, timeout_s=0.3)


def test_that_an_old_build_without_dry_run_is_named(app_folders, tmp_path):
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\necho 'error: invalid argument: --log-jsonl' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(ProblemError, match="engine_probe_unsupported"):
        dry_run(EngineBinary(str(program)), [], app_folders)
