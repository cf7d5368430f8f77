"""The stress run on the real engine: RAM and an RPC device, cancelled at once, and a server that dies in it."""

import json
import threading

import psutil
import pytest

from app.__main__ import main
from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.engine.leftovers import known_servers
from app.hardware.probe import probe
from app.planner.devices import DeviceWishes
from app.planner.plan import make_plan
from app.planner.types import Wishes
from app.work.engines import EngineHandle, capabilities_of, open_engine
from app.work.learned import LearnedStore
from app.work.models import open_model
from app.work.planning import plan_inputs
from app.work.stress import StressCancelledError, StressEngine, stress_plan
from app.work.stress_stamp import command_of, kept_stamps

pytestmark = pytest.mark.engine


@pytest.fixture
def run(engine, app_folders, tiny_model):
    """(plan, stress with it): a call gives the stamp."""
    handle = open_engine(engine.path, app_folders)
    assert isinstance(handle, EngineHandle)
    snapshot = probe()
    wishes = Wishes(n_ctx=2048, preset="all-cpu", prompt_cache_mib=0, n_threads=2)
    made = make_plan(plan_inputs(open_model(tiny_model), snapshot, wishes, DeviceWishes(), capabilities_of(handle)))

    def call(depth=None, on_progress=lambda _: None, stop=None, plan=made):
        told = StressEngine(handle.capabilities.build or "", "")
        return stress_plan(plan, engine, told, snapshot, app_folders, depth, on_progress, stop or threading.Event())

    return made, call


def test_that_the_whole_slot_is_filled_and_ram_is_watched(run):
    plan, call = run
    seen = []
    stamp = call(on_progress=seen.append)
    assert stamp.slot_ctx == 2048
    assert stamp.depth == 2040
    assert stamp.command == command_of(plan.argv)
    assert stamp.prompt_tps > 0
    (ram,) = stamp.peaks
    assert ram.peak_bytes > 10 << 20
    assert ram.margin_bytes > 0
    assert seen[0].phase == "loading"
    assert (seen[-1].done, seen[-1].total) == (2040, 2040)


def test_that_a_smaller_depth_is_kept_to(run):
    assert run[1](depth=100).depth == 100


def test_that_cancelling_ends_the_server_and_keeps_nothing(run, app_folders):
    stop = threading.Event()

    def on_progress(progress):
        if progress.phase == "filling":
            stop.set()

    with pytest.raises(StressCancelledError):
        run[1](on_progress=on_progress, stop=stop)
    assert known_servers(app_folders) == ()


def test_that_a_server_that_dies_in_it_is_the_reason(run, app_folders):
    def on_progress(progress):
        if progress.phase == "filling":
            for server in known_servers(app_folders):
                psutil.Process(server.pid).kill()

    with pytest.raises(ProblemError) as told:
        run[1](on_progress=on_progress)
    assert told.value.problem.code not in ("server_unreachable", "server_reply_broken")


def test_that_the_command_line_fills_a_device_of_another_process(engine, rpc_server, tiny_model, capfd):
    words = [
        "stress",
        tiny_model,
        "--rpc",
        rpc_server.endpoint,
        "--ctx",
        "1024",
        "--prompt-cache-mib",
        "0",
        "--threads",
        "2",
    ]
    code = main([*words, "--engine", engine.path, "--json"])
    out, errors = capfd.readouterr()
    assert code == 0, errors
    told = json.loads(out)
    assert told["safe"]
    assert told["depth"] == told["slot_ctx"] - 8
    rpc = next(device for device in told["devices"] if device["name"].startswith("RPC"))
    assert rpc["source"] == "engine"
    assert rpc["peak"] > 0
    assert abs(rpc["peak"] - rpc["planned"]) < 64 << 20
    (stamp,) = kept_stamps(LearnedStore(app_paths().learned_file)).values()
    assert stamp.depth == told["depth"]
