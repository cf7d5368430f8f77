"""The engine's own dry run (no weights read) names the same tensors and layers as our rules and shares."""

import re

import pytest

from app.common.capabilities import Capabilities
from app.engine.capabilities import parse_help
from app.engine.environment import engine_environment
from app.engine.launcher import run_tool
from app.model.reader import read_model
from app.model.types import Role
from app.planner.argv import ArgvRequest, to_argv
from app.planner.overrides import compile_overrides, moved_tensors, prove
from app.planner.placement import homes
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Placement, Wishes
from tests.tools.sparse_models import make_sparse

pytestmark = pytest.mark.engine

_GIB = 1024**3
_OVERRIDDEN = re.compile(r"tensor (\S+) \(\d+ MiB \S+\) buffer type overridden to (\S+)")
_LAYER = re.compile(r"layer\s+(\d+) assigned to device (\S+), is_swa")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Header-faithful models, as long as their holes take no room."""
    folder = tmp_path_factory.mktemp("sparse")
    found = {}
    for name in ("qwen3-30b", "gpt-oss-20b"):
        make_sparse(name, folder / f"{name}.gguf")
        found[name] = read_model(str(folder / f"{name}.gguf"))
    return found


@pytest.fixture
def devices(rpc_server):
    gpu = Device("RPC0", DeviceKind.RPC, 64 * _GIB, 64 * _GIB, buffer_name=f"RPC0[{rpc_server.endpoint}]")
    ram = Device(RAM, DeviceKind.RAM, 64 * _GIB, 64 * _GIB)
    return DeviceSet((gpu,), ram, rpc_servers=(rpc_server.endpoint,))


def _experts(model, blocks, device=RAM):
    return {t.name: device for t in model.tensors if t.role is Role.ROUTED_EXPERT and t.block in blocks}


def _placements(model):
    n = model.block_count
    everything = (("RPC0", n + 1),)
    yield Placement(n, everything, _experts(model, range(n)))
    partial = _experts(model, range(n // 2, n)) | {f"blk.{n // 2 - 1}.ffn_down_exps.weight": RAM}
    yield Placement(n, everything, partial)
    yield Placement(n, (("RPC0", n // 3),), _experts(model, range(0, n // 2, 2), "RPC0"))
    yield Placement(n, everything, {"output.weight": RAM, **{t.name: RAM for t in model.tensors if t.block in (1, 4)}})


def _request(model, placement, devices):
    rules = compile_overrides(model, placement, devices)
    assert prove(model, placement, devices, rules) is None
    return ArgvRequest(
        model_path=model.path,
        devices=devices,
        wishes=Wishes(),
        placement=placement,
        overrides=rules,
        n_ctx=4096,
        n_slots=1,
        prompt_cache_mib=0,
        n_threads=2,
        load_mode="none",
        port=0,
    )


@pytest.mark.parametrize("name", ["qwen3-30b", "gpt-oss-20b"])
def test_that_the_engine_moves_exactly_the_tensors_and_layers_of_the_placement(
    name, models, engine, devices, app_folders
):
    if engine.fit_params is None:
        pytest.skip("this engine was built without llama-fit-params")
    model = models[name]
    environment = engine_environment(app_folders.engine_home)
    options = parse_help(run_tool([engine.fit_params, "--help"], environment, 60).stdout)
    known = Capabilities(options - {"-fit", "--fit"})  # it is the fit, so it takes no -fit off
    buffers = {d.override_name: d.name for d in devices.gpus}
    for placement in _placements(model):
        argv = to_argv(_request(model, placement, devices), known).argv
        argv = argv[: argv.index("-lv")] if "-lv" in argv else argv
        ran = run_tool([engine.fit_params, *argv, "-fitp", "on", "-lv", "5"], environment, 60)
        log = ran.stderr + ran.stdout
        assert ran.code == 0, log[-2000:]
        moved = {tensor: buffers.get(buffer, RAM) for tensor, buffer in _OVERRIDDEN.findall(log)}
        assert moved == moved_tensors(model, placement)
        placed = {int(unit): RAM if device == "CPU" else device for unit, device in _LAYER.findall(log)}
        assert tuple(placed[unit] for unit in range(model.block_count + 1)) == homes(placement)
