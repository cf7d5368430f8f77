"""The chain of numbers on a real llama-server: board -> command -> buffers the engine allocates -> tokens.

A ggml-rpc-server on the loopback address stands in for a graphics card. Repacked CPU kernels may round differently, so
every run says ``-nr``; then all placements must generate the same tokens as the run without any device.
"""

import queue

import pytest

from app.common.paths import app_paths
from app.diagnose.buffers import compare_buffers
from app.engine.apikey import new_api_key
from app.engine.client import ServerClient
from app.engine.devices import list_devices
from app.engine.events import Exited, Ready
from app.engine.process import start_server
from app.engine.rpc import RpcServer
from app.hardware.devices import with_engine_devices
from app.hardware.probe import probe
from app.model.demo import make_demo_model
from app.model.reader import read_model
from app.model.types import Role
from app.planner.devices import DeviceWishes
from app.planner.moves import move
from app.planner.placement import locations
from app.planner.plan import make_plan
from app.planner.types import RAM, KvHome, MoveResult, Wishes
from app.work.engines import open_engine
from app.work.launching import launch_spec
from app.work.planning import plan_inputs

pytestmark = pytest.mark.engine

PROMPT = "the sea and the harbour "
N_TOKENS = 24

MOVES = {
    "everything on the GPU": (),
    "experts in RAM": (("experts:0-7", RAM),),
    "half of the experts in RAM": (("experts:4-7", RAM),),
    "three layers at home in RAM": (("attention:0-2", RAM),),
    "three layers at home in RAM with their experts": (("attention:0-2", RAM), ("experts:0-2", RAM)),
    "five layers at home in RAM and all experts on the GPU but two": (("attention:0-4", RAM), ("experts:6-7", RAM)),
    "single tensors and the output head in RAM": (("experts:3:up", RAM), ("experts:5:down", RAM), ("output", RAM)),
}


@pytest.fixture(scope="module")
def handle(engine, tmp_path_factory):
    opened = open_engine(engine.path, app_paths())
    assert opened is not None
    return opened


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("模型 with space") / "demo 模型.gguf"
    make_demo_model(path)
    return read_model(path)


@pytest.fixture(scope="module")
def device(engine):
    with RpcServer(engine, app_paths()) as server:
        yield server


@pytest.fixture(scope="module")
def snapshot(handle, device):
    return with_engine_devices(probe(), list_devices(handle.binary, (device.endpoint,)))


def _plan(model, snapshot, handle, device, moves, **wishes):
    wishes = Wishes(**{"n_ctx": 1024, "preset": "all-gpu", "extra": ("-nr",), "prompt_cache_mib": 0, **wishes})
    inputs = plan_inputs(
        model, snapshot, wishes, DeviceWishes(rpc_servers=(device.endpoint,)), handle.capabilities, port=0
    )
    placement = make_plan(inputs).placement
    for card_id, target in moves:
        result = move(model, inputs.devices, placement, (card_id,), target)
        assert isinstance(result, MoveResult), result
        placement = result.placement
    return make_plan(inputs, placement, is_edited=True)


def _run(plan, snapshot, handle):
    """Launch the plan, compare the buffers, generate: (rows, affinity, tokens)."""
    events = queue.Queue()
    spec = launch_spec(plan, handle.binary, snapshot.cpu, app_paths(), new_api_key())
    with start_server(spec, events.put) as server:
        while True:
            event = events.get(timeout=60)
            assert not isinstance(event, Exited), event.tail[-10:]
            if isinstance(event, Ready):
                break
        rows = compare_buffers(plan.estimate, server.buffers)
        with ServerClient(event.url, spec.api_key) as client:
            tokens = client.completion(PROMPT, n_predict=N_TOKENS, seed=1).tokens
    return rows, event.affinity, tokens


@pytest.fixture(scope="module")
def tokens_without_a_device(demo, snapshot, handle, device):
    plan = _plan(demo, snapshot, handle, device, (), preset="all-cpu")
    _, _, tokens = _run(plan, snapshot, handle)
    assert len(tokens) == N_TOKENS
    return tokens


@pytest.mark.parametrize("moves", MOVES.values(), ids=MOVES)
def test_that_a_placement_is_what_the_engine_allocates_and_gives_the_same_tokens(
    moves, demo, snapshot, handle, device, tokens_without_a_device
):
    plan = _plan(demo, snapshot, handle, device, moves)
    where = locations(demo, plan.placement)
    rows, affinity, tokens = _run(plan, snapshot, handle)
    by_what = {(row.device, row.what): row for row in rows}
    assert all(row.agrees is not False for row in rows), rows
    on_gpu = sum(t.n_bytes for t in demo.tensors if where[t.name] == "RPC0")
    assert by_what["RPC0", "weights"].actual_bytes == pytest.approx(on_gpu, abs=11_000)
    assert by_what["RPC0", "weights"].agrees
    assert by_what["RPC0", "kv"].agrees
    assert tokens == tokens_without_a_device
    assert affinity == snapshot.cpu.recommended_cpus


@pytest.mark.parametrize(
    "wishes",
    [
        {"kv_home": KvHome.RAM},
        {"cache_type_k": "q8_0", "cache_type_v": "q8_0"},
        {"n_slots": 4, "n_ctx": 4096},
        {"n_ctx": 2048, "n_ubatch": 128},
    ],
    ids=lambda wishes: " ".join(f"{k}={v}" for k, v in wishes.items()),
)
def test_that_kv_wishes_are_what_the_engine_allocates(wishes, demo, snapshot, handle, device):
    plan = _plan(demo, snapshot, handle, device, MOVES["half of the experts in RAM"], **wishes)
    rows, _, _ = _run(plan, snapshot, handle)
    assert {row.what for row in rows} == {"weights", "kv", "compute"}
    assert all(row.agrees is not False for row in rows), rows


def test_that_the_experts_really_left_the_gpu(demo, snapshot, handle, device):
    everything = _plan(demo, snapshot, handle, device, ())
    moved = _plan(demo, snapshot, handle, device, MOVES["experts in RAM"])
    experts = sum(t.n_bytes for t in demo.tensors if t.role is Role.ROUTED_EXPERT)
    assert experts > 10_000_000
    before = next(r for r in _run(everything, snapshot, handle)[0] if (r.device, r.what) == ("RPC0", "weights"))
    after = next(r for r in _run(moved, snapshot, handle)[0] if (r.device, r.what) == ("RPC0", "weights"))
    assert before.actual_bytes - after.actual_bytes == pytest.approx(experts, abs=21_000)


@pytest.fixture(scope="module")
def second_device(engine):
    with RpcServer(engine, app_paths()) as server:
        yield server


def test_that_a_model_spread_over_two_unequal_cards_gives_the_same_tokens(
    demo, handle, device, second_device, tokens_without_a_device
):
    servers = (device.endpoint, second_device.endpoint)
    snapshot = with_engine_devices(probe(), list_devices(handle.binary, servers))
    room = DeviceWishes(free_mib={"RPC0": 12, "RPC1": 9}, reserve_mib=0, rpc_servers=servers)
    wishes = Wishes(n_ctx=1024, extra=("-nr",), prompt_cache_mib=0)
    plan = make_plan(plan_inputs(demo, snapshot, wishes, room, handle.capabilities, port=0))
    where = locations(demo, plan.placement)
    assert {where[t.name] for t in demo.tensors if t.role is Role.ROUTED_EXPERT} == {"RPC0", "RPC1", RAM}
    rows, _, tokens = _run(plan, snapshot, handle)
    by_what = {(row.device, row.what): row for row in rows}
    for name in ("RPC0", "RPC1"):
        held = sum(t.n_bytes for t in demo.tensors if where[t.name] == name)
        assert by_what[name, "weights"].actual_bytes == pytest.approx(held, abs=11_000)
        assert by_what[name, "kv"].agrees
    assert all(row.agrees is not False for row in rows), rows
    assert tokens == tokens_without_a_device
