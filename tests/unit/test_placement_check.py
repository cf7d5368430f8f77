"""What the engine did otherwise than planned while it loaded: tensors that a device refused, a context that shrank."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.diagnose.buffers import BufferRow
from app.diagnose.placement_check import placement_findings
from app.engine.log_reader import LogReader
from app.engine.logparse import TensorsMoved
from app.hardware.snapshot_file import load_snapshot
from app.planner.devices import DeviceWishes
from app.planner.plan import make_plan
from app.planner.types import RAM, Wishes
from app.work.engines import capabilities_of
from app.work.models import open_model
from app.work.planning import plan_inputs
from tests.tools.engine_fixture import TINY_MODEL

LAPTOP = Path(__file__).parents[1] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"


@pytest.fixture(scope="module")
def plan():
    wishes, model = Wishes(n_ctx=4096), open_model(str(TINY_MODEL))
    return make_plan(plan_inputs(model, load_snapshot(LAPTOP), wishes, DeviceWishes(), capabilities_of(None)))


def test_that_a_device_that_refuses_tensors_is_named_with_the_bytes_it_lacks(plan):
    rows = (BufferRow("CUDA0", "weights", 1000, 700, False), BufferRow(RAM, "weights", 5, 305, False))
    (found,) = placement_findings(plan, 4096, [TensorsMoved("blk.1.ffn_up_exps.weight", 2, "CUDA0", "CPU")], rows)
    assert found.code == "tensors_refused"
    assert (found.params["device"], found.params["got"], found.params["n"]) == ("CUDA0", RAM, 3)
    assert found.params["n_bytes"] == 300


@pytest.mark.parametrize(("wanted", "got"), [("CPU_REPACK", "CPU"), ("CUDA_Host", "CPU"), ("AMX", "CPU_Mapped")])
def test_that_another_kind_of_buffer_on_the_same_device_is_no_news(plan, wanted, got):
    assert placement_findings(plan, 4096, [TensorsMoved("token_embd.weight", 0, wanted, got)], ()) == ()


def test_that_a_context_below_the_plans_is_told_and_a_padded_one_is_not(plan):
    (found,) = placement_findings(plan, 2048, (), ())
    assert (found.code, found.params["n_ctx"], found.params["wanted"]) == ("context_smaller", 2048, 4096)
    assert placement_findings(plan, 4352, (), ()) == ()
    assert placement_findings(plan, None, (), ()) == ()
    assert placement_findings(replace(plan, n_ctx=4096), 4096, (), ()) == ()


def test_that_the_bytes_are_unknown_where_the_rows_do_not_tell(plan):
    (found,) = placement_findings(plan, 4096, [TensorsMoved("a", 0, "CUDA0", "CPU")], ())
    assert found.params["n_bytes"] is None


def test_that_the_engines_own_lines_are_read_for_it(plan):
    reader = LogReader()
    reader.feed(
        "load_tensors: tensor 'blk.0.attn_q.weight' (q5_K) (and 3 others) cannot be used with preferred buffer type "
        "Vulkan0, using CPU instead"
    )
    reader.feed("llama_context: n_ctx         = 2048")
    codes = [found.code for found in placement_findings(plan, reader.n_ctx, reader.moved, ())]
    assert codes == ["context_smaller", "tensors_refused"]
