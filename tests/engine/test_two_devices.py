"""Two RPC servers as two unequal cards: the engine's dry run gives the homes, the buffers and the names of our plan."""

import pytest

from app.common.paths import app_paths
from app.engine.capabilities import FALLBACK
from app.engine.rpc import RpcServer
from app.model.reader import read_model
from app.planner.moves import move
from app.planner.placement import in_use
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.work.verifying import verify_plan
from tests.tools.sparse_models import make_sparse

pytestmark = pytest.mark.engine

MIB = 1 << 20


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("sparse") / "qwen3-30b.gguf"
    make_sparse("qwen3-30b", path)
    return read_model(str(path))


@pytest.fixture(scope="module")
def endpoints(engine):
    with RpcServer(engine, app_paths()) as one, RpcServer(engine, app_paths()) as other:
        yield one.endpoint, other.endpoint


def _inputs(model, endpoints, *free_mib, **wishes):
    gpus = tuple(
        Device(f"RPC{i}", DeviceKind.RPC, mib * MIB, mib * MIB, buffer_name=f"RPC0[{endpoint}]")
        for i, (mib, endpoint) in enumerate(zip(free_mib, endpoints, strict=True))
    )
    devices = DeviceSet(gpus, Device(RAM, DeviceKind.RAM, 64 << 30, 60 << 30), rpc_servers=endpoints)
    return PlanInputs(model, devices, Wishes(**{"n_ctx": 8192, **wishes}), FALLBACK, n_threads=2)


@pytest.mark.parametrize(
    ("free_mib", "wishes"),
    [
        ((8192, 3000), {}),
        ((2500, 9000), {"cache_type_k": "q8_0", "cache_type_v": "q8_0", "n_ctx": 32768}),
        ((2200, 1500), {"n_ctx": 32768}),
        ((12000, 11000), {}),
    ],
    ids=["large and small", "small and large", "too small for all layers", "room for everything"],
)
def test_that_a_plan_over_two_devices_is_what_the_engine_would_allocate(model, endpoints, engine, free_mib, wishes):
    plan = make_plan(_inputs(model, endpoints, *free_mib, **wishes))
    assert len(in_use(plan.devices, plan.placement).gpus) == 2
    assert plan.estimate.fits
    verification = verify_plan(plan, engine, app_paths())
    assert not verification.unconfirmed
    for device in verification.devices:
        assert device.agrees, device
        assert abs(device.difference) <= 4 * MIB, device


def test_that_experts_on_the_other_card_are_confirmed_by_name(model, endpoints, engine):
    inputs = _inputs(model, endpoints, 8192, 3000)
    placement = make_plan(inputs).placement
    last_in_ram = max(int(name.split(".")[1]) for name, device in placement.overrides.items() if device == RAM)
    first = placement.home_of_unit(0)
    moved = move(model, inputs.devices, placement, ("experts:0-2",), "RPC1").placement
    back = move(model, inputs.devices, moved, (f"experts:{last_in_ram}",), "RPC0").placement
    assert first == "RPC0"
    plan = make_plan(inputs, back, is_edited=True)
    verification = verify_plan(plan, engine, app_paths())
    assert not verification.unconfirmed
    assert len(plan.placement.overrides) > 9
    assert all(device.agrees for device in verification.devices), verification
