"""``launch`` and ``verify`` as a user runs them: a process of their own, the real llama-server, the demo model."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.common.paths import app_paths
from app.engine.client import ServerClient
from app.engine.rpc import RpcServer
from app.model.demo import make_demo_model

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("演示 model") / "demo 模型.gguf"
    make_demo_model(path)
    return path


@pytest.fixture
def lanewise(engine, lanewise_home, tmp_path):
    """Start the command line; what still runs at the end of the test is ended."""
    started = []
    errors = (tmp_path / "stderr").open("w", encoding="utf-8")

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "app", *map(str, arguments), "--engine", engine.path],
            cwd=ROOT, env={**os.environ, "LANEWISE_HOME": str(lanewise_home)}, encoding="utf-8",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(TIMEOUT_S)
        process.stdout.close()
    errors.close()


def _next(process, kind):
    """The next event of a kind; AssertionError when the output ends before."""
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == kind:
            return event
    raise AssertionError(f"no {kind}; exit code {process.wait(TIMEOUT_S)}")


def _rest(process):
    """All events up to the end, and the exit code."""
    events = [json.loads(line) for line in process.stdout]
    return events, process.wait(TIMEOUT_S)


def _is_gone(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        server = psutil.Process(pid)
        with contextlib.suppress(psutil.TimeoutExpired):
            server.wait(TIMEOUT_S)
        return not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    return True


def test_that_launch_tells_the_whole_life_of_a_server_and_stops_by_itself(lanewise, demo):
    process = lanewise("launch", demo, "--for", "2", "--json", "--port", "0", "--ctx", "1024")
    starting = _next(process, "starting")
    ready = _next(process, "ready")
    assert ready["pid"] == starting["pid"]
    assert ready["url"].startswith("http://127.0.0.1:")
    assert ready["affinity"] is None or set(ready["affinity"]) <= set(range(os.cpu_count()))
    assert {buffer["what"] for buffer in ready["buffers"]} == {"weights", "kv", "compute"}
    assert all(buffer["agrees"] for buffer in ready["buffers"]), ready
    assert ready["api_key"] not in " ".join(starting["command"])
    events, code = _rest(process)
    assert code == 0
    sample = next(e for e in events if e["event"] == "sample")
    assert sample["values"]["server.rss"] > 1_000_000
    assert events[-1] == {"event": "exited", "code": events[-1]["code"], "reason": None, "tail": []}
    assert _is_gone(ready["pid"])


def test_that_an_answer_of_the_server_is_told_with_the_engines_own_timings(lanewise, demo):
    process = lanewise("launch", demo, "--json", "--port", "0", "--ctx", "1024")
    ready = _next(process, "ready")
    with ServerClient(ready["url"], ready["api_key"]) as client:
        assert len(client.completion("the sea", n_predict=12, seed=1).tokens) == 12
    prompt, decode = _next(process, "timing"), _next(process, "timing")
    assert (prompt["kind"], decode["kind"], decode["tokens"]) == ("prompt", "decode", 12)
    assert decode["tok_per_s"] > 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_that_the_speed_of_a_run_is_the_next_plans(lanewise, demo):
    wishes = ("--json", "--ctx", "2048", "--preset", "all-cpu", "--slots", "1")
    process = lanewise("launch", demo, *wishes, "--port", "0")
    ready = _next(process, "ready")
    with ServerClient(ready["url"], ready["api_key"]) as client:
        for start in ("the sea", "a harbour"):
            told = client.completion(f"{start} {'and the wind ' * 34}", n_predict=64, seed=1)
            assert len(told.tokens) == 64
    process.send_signal(signal.SIGTERM)
    events, _ = _rest(process)
    timings = [e for e in events if e["event"] == "timing"]
    prompts = [t["tok_per_s"] for t in timings if t["kind"] == "prompt" and t["tokens"] >= 256]
    decodes = [t["tok_per_s"] for t in timings if t["kind"] == "decode"]
    assert len(prompts) == len(decodes) == 2
    planned = lanewise("plan", demo, *wishes)
    plan = json.loads(planned.communicate(timeout=TIMEOUT_S)[0])
    if plan["speed_runs"] == 0:
        assert max(_others_cpus(event) for event in events) > 0.75, "only a busy computer teaches nothing"
        return
    assert plan["speed"]["kind"] == "calibrated"
    assert plan["speed_runs"] <= 2
    assert min(decodes) * 0.7 <= plan["speed"]["decode"] <= max(decodes) * 1.5
    assert min(prompts) * 0.7 <= plan["speed"]["prompt"] <= max(prompts) * 1.5


def _others_cpus(event):
    """How many CPUs programs other than the server used, as a sample tells."""
    values = event.get("values", {})
    cpus = [v or 0.0 for name, v in values.items() if name.startswith("cpu.")]
    return (sum(cpus) - (values.get("server.cpu") or 0.0)) / 100


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_that_a_signal_stops_the_server_cleanly(lanewise, demo, number):
    process = lanewise("launch", demo, "--json", "--port", "0", "--ctx", "1024")
    ready = _next(process, "ready")
    process.send_signal(number)
    events, code = _rest(process)
    assert (code, events[-1]["event"], events[-1]["reason"]) == (0, "exited", None)
    assert _is_gone(ready["pid"])


def test_that_a_server_does_not_outlive_the_reader_of_its_events(lanewise, demo):
    process = lanewise("launch", demo, "--json", "--port", "0", "--ctx", "1024")
    pid = _next(process, "ready")["pid"]
    process.stdout.close()
    assert process.wait(TIMEOUT_S) == 0
    assert _is_gone(pid)


def test_that_an_engine_that_refuses_its_arguments_gives_the_reason(lanewise, demo, tmp_path):
    process = lanewise("launch", demo, "--json", "--port", "0", "--extra", "--no-such-flag")
    events, code = _rest(process)
    assert code == 1
    assert events[-1]["reason"]["code"] == "unknown_argument"
    assert any("--no-such-flag" in line for line in events[-1]["tail"])
    assert {e["code"] for e in events if e["event"] == "finding"} == {"extra_unknown_flag"}
    assert "--no-such-flag" in (tmp_path / "stderr").read_text(encoding="utf-8").splitlines()[-1]


def test_that_a_port_that_is_taken_is_told_before_anything_starts(lanewise, demo):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = lanewise("launch", demo, "--json", "--port", taken.getsockname()[1])
        events, code = _rest(process)
    assert code == 1
    assert [event["event"] for event in events] == ["exited"]
    assert events[0]["reason"]["code"] == "port_in_use"


def test_that_a_plan_that_does_not_fit_is_not_launched(lanewise, demo):
    process = lanewise("launch", demo, "--json", "--port", "0", "--ram-mib", "5")
    assert _rest(process) == ([], 1)


@pytest.mark.parametrize(
    "wishes",
    [
        ("--preset", "experts-cpu"),
        ("--preset", "all-gpu", "--place", "experts:2-3=RAM", "--place", "experts:5:up=RAM"),
        ("--preset", "all-gpu", "--ngl", "5", "--kv", "ram"),
        ("--preset", "all-cpu"),
    ],
    ids=lambda wishes: " ".join(wishes),
)
def test_that_verify_compares_every_figure_with_the_engine(lanewise, engine, demo, wishes):
    with RpcServer(engine, app_paths()) as device:
        process = lanewise("verify", demo, "--json", "--ctx", "2048", "--rpc", device.endpoint, *wishes)
        out = process.stdout.read()
        assert process.wait(TIMEOUT_S) == 0, out
    result = json.loads(out)
    assert result["overrides_confirmed"] is True
    assert [d["name"] for d in result["devices"]] == ["RPC0", "RAM"]
    assert all(d["agrees"] for d in result["devices"])
    assert all(abs(d["difference"]) < 20 * 2**20 for d in result["devices"])
