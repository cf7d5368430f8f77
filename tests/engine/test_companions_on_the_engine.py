"""The real llama-server with a draft model, a projector and a LoRA adapter: what it allocates is what the plan says."""

import re
from dataclasses import replace

import pytest

from app.diagnose.buffers import compare_buffers
from app.engine.capabilities import read_capabilities
from app.engine.events import LogLine, Ready
from app.engine.logparse import BufferKind
from app.engine.rpc import RpcServer
from app.model.demo import make_demo_model
from app.model.reader import read_model
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Segment, Wishes
from app.work.companions import read_companions
from app.work.verifying import verify_plan
from tests.tools.small_lora import write_lora
from tests.tools.sparse_projector import make_projector

pytestmark = pytest.mark.engine

MIB = 1 << 20
_PROJECTOR = re.compile(r"reserve_compute_meta:\s*(\S+) compute buffer size =\s*([\d.]+) MiB")
_LORA = re.compile(r"\s(\S+) LoRA buffer size =\s*([\d.]+) MiB")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.gguf"
    make_demo_model(path)
    return read_model(path)


@pytest.fixture
def own_server(engine, app_folders):
    """An RPC server for one test alone: it may end when its client is killed, as it is at the end of each test."""
    with RpcServer(engine, app_folders) as server:
        yield server


@pytest.fixture
def started(engine, own_server, launch, app_folders, demo):
    """Start the plan of some wishes; the plan, the Ready event and the log."""

    def start(**wishes):
        asked = Wishes(n_ctx=4096, prompt_cache_mib=0, load_mode="none", preset="all-gpu", **wishes)
        card = Device("RPC0", DeviceKind.RPC, 8 << 30, 8 << 30, buffer_name=f"RPC0[{own_server.endpoint}]")
        devices = DeviceSet(
            (card,), Device(RAM, DeviceKind.RAM, 16 << 30, 12 << 30), rpc_servers=(own_server.endpoint,)
        )
        inputs = PlanInputs(demo, devices, asked, read_capabilities(engine, app_folders.cache), n_threads=2, port=0)
        plan = make_plan(replace(inputs, files=read_companions(asked, demo)))
        assert not plan.has_errors, plan.problems
        _, events = launch(engine.path, plan.argv)
        ready = events.wait_for(Ready)
        log = "\n".join(event.text for event in events.seen if isinstance(event, LogLine))
        return plan, ready, log

    return start


def test_that_a_draft_takes_what_the_plan_says_and_leaves_the_models_figures_alone(started, tiny_model):
    plan, ready, _ = started(draft_path=tiny_model)
    rows = compare_buffers(plan.estimate, ready.buffers)
    assert all(row.agrees for row in rows), rows
    (draft,) = [row for row in rows if (row.device, row.what) == ("RPC0", "draft")]
    assert abs(draft.actual_bytes - draft.predicted_bytes) < MIB // 4
    assert any(b.kind is BufferKind.DRAFT for b in ready.buffers)


def test_that_the_dry_run_tells_the_draft_beside_the_model(engine, app_folders, demo, tiny_model):
    asked = Wishes(n_ctx=4096, prompt_cache_mib=0, draft_path=tiny_model)
    devices = DeviceSet((), Device(RAM, DeviceKind.RAM, 16 << 30, 12 << 30))
    inputs = PlanInputs(demo, devices, asked, read_capabilities(engine, app_folders.cache), n_threads=2)
    plan = make_plan(replace(inputs, files=read_companions(asked, demo)))
    result = verify_plan(plan, engine, app_folders)
    assert result.agrees
    (in_ram,) = result.draft
    assert in_ram.name == RAM
    assert abs(in_ram.ours - in_ram.engine) < 4 * MIB
    alone = make_plan(replace(inputs, wishes=replace(asked, draft_path=None)))
    assert verify_plan(alone, engine, app_folders).draft == ()


def test_that_a_projector_takes_what_the_plan_says(started, tmp_path):
    make_projector("gemma3", tmp_path / "mm.gguf", 256, blocks=3)
    plan, ready, log = started(mmproj_path=str(tmp_path / "mm.gguf"), mmproj_offload=False)
    assert all(row.agrees for row in compare_buffers(plan.estimate, ready.buffers))
    said = dict(_PROJECTOR.findall(log))
    assert set(said) == {"CPU"}
    compute = plan.estimate.get(RAM).segments[Segment.PROJECTOR] - plan.files.projector.tensor_bytes
    assert compute / MIB == pytest.approx(float(said["CPU"]), abs=0.1)
    assert Segment.PROJECTOR not in plan.estimate.get("RPC0").segments


def test_that_an_adapter_lies_where_the_plan_says(started, demo, tmp_path):
    names = [t.name for t in demo.tensors if t.name.endswith(("attn_q.weight", "attn_output.weight"))]
    path = write_lora(tmp_path / "lora.gguf", demo, names, rank=16)
    plan, _, log = started(lora_paths=(str(path),))
    said = {name.split("[")[0]: float(mib) for name, mib in _LORA.findall(log)}
    assert set(said) == {"RPC0"}
    assert plan.estimate.get("RPC0").segments[Segment.ADAPTERS] / MIB == pytest.approx(said["RPC0"], abs=0.01)
