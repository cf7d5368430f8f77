"""From dry runs and launches into the store and back into the planner's values."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.common.capabilities import Capabilities
from app.diagnose.buffers import BufferRow
from app.hardware.gpus_nvml import NvmlSession
from app.hardware.snapshot_file import load_snapshot
from app.monitor.nvml import NvmlSampler
from app.planner.devices import DeviceWishes
from app.planner.learned import MemoryFigures
from app.planner.learned_devices import learning_keys
from app.planner.plan import make_plan
from app.planner.types import RAM, Segment, Wishes
from app.work.learned import LearnedStore
from app.work.learned_launch import LaunchWatch, cards_used
from app.work.learned_memory import (
    PlanContext,
    Told,
    forget_memory,
    formula_of,
    from_buffers,
    from_verification,
    learn_figures,
    learn_overheads,
    load_learned,
)
from app.work.planning import plan_inputs
from app.work.verifying import Verification, VerifiedDevice
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml
from tests.unit.planner.synthetic_boards import QWEN3

MIB = 1 << 20
SNAPSHOT = load_snapshot(Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json")
ENGINE = Capabilities(frozenset(), "b11434")


@pytest.fixture
def store(tmp_path):
    return LearnedStore(tmp_path / "learned.sqlite")


def _context(store, **wishes):
    learned = load_learned(store).learned
    wishes = Wishes(**{"preset": "experts-cpu", **wishes})
    inputs = plan_inputs(QWEN3, SNAPSHOT, wishes, DeviceWishes(), ENGINE, learned=learned)
    plan = make_plan(inputs)
    return PlanContext(plan, QWEN3, "b11434", learning_keys(plan.devices, SNAPSHOT))


def _told(context, device="CUDA0", **more_mib):
    ours = formula_of(context.plan.estimate.get(device))
    changed = {what: getattr(ours, what) + mib * MIB for what, mib in more_mib.items()}
    return Told(device, replace(ours, **changed))


def test_that_an_engine_that_agrees_teaches_nothing_and_makes_no_file(store):
    context = _context(store)
    assert not learn_figures(store, context, (_told(context), _told(context, compute=3), _told(context, RAM)))
    assert not store.path.exists()


def test_that_a_difference_corrects_the_next_plan_of_the_kind_and_is_forgotten_when_it_is_gone(store):
    context = _context(store)
    before = context.plan.estimate.get("CUDA0")
    assert learn_figures(store, context, (_told(context, compute=200),))
    after = _context(store)
    corrected = after.plan.estimate.get("CUDA0")
    assert corrected.formula is not None
    assert corrected.compute_bytes > before.compute_bytes
    assert formula_of(corrected).compute == corrected.formula.compute
    assert _context(store, n_ubatch=512, cache_type_k="q8_0").plan.estimate.get("CUDA0").formula is None
    assert learn_figures(store, after, (_told(after),))
    assert _context(store).plan.estimate.get("CUDA0").formula is None


def test_that_the_same_difference_is_kept_once_and_a_new_one_replaces_it(store):
    context = _context(store)
    assert learn_figures(store, context, (_told(context, compute=200),))
    assert not learn_figures(store, context, (_told(context, compute=200),))
    assert learn_figures(store, context, (_told(context, compute=300),))
    (observation,) = store.load("verify").observations
    said = observation.value["engine"]["compute"] - observation.value["ours"]["compute"]
    assert said == 300 * MIB


def test_that_a_plan_of_the_engines_own_fit_and_a_saved_card_teach_nothing(store):
    context = _context(store, preset="fit")
    assert not learn_figures(store, context, (_told(context, compute=900),))
    context = replace(_context(store), keys={})
    assert not learn_figures(store, context, (_told(context, compute=900),))
    assert not learn_overheads(store, context, {"CUDA0": 5})


def test_that_a_dry_run_with_tensors_elsewhere_is_no_teacher():
    figures = MemoryFigures(1, 2, 3)
    device = VerifiedDevice("CUDA0", figures, figures)
    assert from_verification(Verification((device,), (), 0.1))[0].figures == figures
    assert from_verification(Verification((device,), ("blk.0.ffn_up.weight",), 0.1)) == ()
    assert from_verification(Verification((VerifiedDevice("CUDA0", figures, None),), (), 0.1)) == ()


def test_that_a_launchs_buffers_teach_what_they_tell_and_no_more(store):
    context = _context(store)
    ours = formula_of(context.plan.estimate.get("CUDA0"))
    rows = (
        BufferRow("CUDA0", "weights", ours.weights, ours.weights, True),
        BufferRow("CUDA0", "compute", ours.compute, ours.compute + 99 * MIB, False),
        BufferRow(RAM, "weights", 5, 7 * MIB, None),
        BufferRow("CUDA0", "draft", 7 * MIB, 9 * MIB, True),
        BufferRow("CUDA9", "kv", 0, 4 * MIB, False),
    )
    (told,) = from_buffers(rows, context.plan)
    assert told == Told("CUDA0", MemoryFigures(ours.weights, ours.kv, ours.compute + 99 * MIB))
    assert from_buffers((), context.plan) == ()


def test_that_overheads_of_launches_become_the_cards_overhead(store):
    context = _context(store)
    assert context.plan.estimate.get("CUDA0").overhead_kind == "estimated"
    for mib in (210, 260, 230):
        assert learn_overheads(store, context, {"CUDA0": mib * MIB, "CUDA7": 5})
    estimate = _context(store).plan.estimate.get("CUDA0")
    assert (estimate.overhead_bytes, estimate.overhead_kind, estimate.overhead_launches) == (260 * MIB, "calibrated", 3)
    assert forget_memory(store) is None
    assert _context(store).plan.estimate.get("CUDA0").overhead_kind == "estimated"


def test_that_observations_of_another_version_are_passed_over_and_a_damaged_file_is_told(store):
    store.add("verify", "no list", {"ours": 1})
    store.add("verify", '["b1", "qwen3moe", "RAM", {}]', {"situation": "nonsense"})
    store.add("overhead", "x", {"card": "CUDA a", "engine": "b1", "bytes": "many"})
    assert load_learned(store).learned.is_empty
    store.path.write_bytes(b"x" * 4096)
    assert load_learned(store).problem.code == "learned_damaged"


# --- what a launch takes ----------------------------------------------------------------------------------------------


@pytest.fixture
def plan(store):
    return _context(store).plan


def _buffers(plan, device="CUDA0", less_mib=0):
    found = plan.estimate.get("CUDA0")
    n_bytes = found.weights_bytes + found.kv_bytes + found.compute_bytes - less_mib * MIB
    return (BufferRow(device, "weights", 0, n_bytes, None), BufferRow(RAM, "kv", 0, 5, None)), n_bytes


def test_that_the_servers_own_share_counts_first_and_at_its_highest(plan):
    buffers, printed = _buffers(plan)
    watch = LaunchWatch()
    watch.before = {"CUDA0": 100.0}
    for more in (50, 240, 230):
        watch.on_sample({"gpu.CUDA0.process": printed + more * MIB, "gpu.CUDA0.used": printed + 9e9, "cpu.0": 5.0})
    assert watch.overheads(buffers, plan) == {"CUDA0": 240 * MIB}


def test_that_the_whole_card_counts_against_what_it_held_before(plan):
    buffers, printed = _buffers(plan)
    watch = LaunchWatch()
    watch.on_sample({"gpu.CUDA0.process": None, "gpu.CUDA0.used": float(printed + 700 * MIB)})
    assert watch.overheads(buffers, plan) == {}
    watch.before = {"CUDA0": 400.0 * MIB}
    assert watch.overheads(buffers, plan) == {"CUDA0": 300 * MIB}


@pytest.mark.parametrize(("more_mib", "expected"), [(-20, {"CUDA0": 0}), (-900, {}), (3000, {})])
def test_that_spilled_buffers_and_other_programs_are_no_overhead(plan, more_mib, expected):
    buffers, printed = _buffers(plan)
    watch = LaunchWatch()
    watch.before = {"CUDA0": 0.0}
    watch.on_sample({"gpu.CUDA0.used": float(printed + more_mib * MIB)})
    assert watch.overheads(buffers, plan) == expected


def test_that_a_projector_which_nobody_prints_is_no_overhead(plan):
    buffers, printed = _buffers(plan)
    card = replace(plan.estimate.get("CUDA0"), segments={Segment.PROJECTOR: 800 * MIB})
    beside = replace(plan, estimate=replace(plan.estimate, devices=(card,)))
    watch = LaunchWatch()
    watch.on_sample({"gpu.CUDA0.dedicated": float(printed + 1000 * MIB)})
    assert watch.overheads(buffers, beside) == {}
    assert watch.overheads(buffers, plan) == {"CUDA0": 1000 * MIB}


def test_that_a_log_that_tells_of_one_of_two_models_teaches_nothing(plan):
    buffers, printed = _buffers(plan, less_mib=150)
    watch = LaunchWatch()
    watch.on_sample({"gpu.CUDA0.process": float(printed + 9000 * MIB)})
    assert watch.overheads(buffers, plan) == {}


_USING = "0.00.032.091 I llama_prepare_model_devices: using device {} (127.0.0.1:51777) (unknown id) - {} MiB free"
_AT_EXIT = (
    "3.39 I common_memory_breakdown_print: |   - {} (127.0.0.1:51777) | 24105 = {} + (  58 =  15 + 32 + 11) + -58 |"
)


def test_that_the_engines_own_free_figures_count_where_they_move(plan):
    for device, free_after, expected in (("Vulkan0", 24105, {}), ("CUDA0", 0, {})):
        watch = LaunchWatch()
        watch.on_line(_USING.format(device, 24105))
        watch.on_line(_AT_EXIT.format(device, free_after))
        assert watch.overheads(_buffers(plan, device)[0], plan) == expected
    renamed = replace(
        plan, estimate=replace(plan.estimate, devices=(replace(plan.estimate.devices[0], device="RPC0"),))
    )
    buffers, printed = _buffers(plan, "RPC0")
    watch = LaunchWatch()
    watch.on_line(_USING.format("RPC0", 24105))
    watch.on_line(_AT_EXIT.format("RPC0", 24105 - printed // MIB - 130))
    assert watch.overheads(buffers, renamed)["RPC0"] // MIB == 129
    watch.on_line(_AT_EXIT.format("RPC0", 17592186044402))
    assert watch.overheads(buffers, renamed)["RPC0"] // MIB == 129


def test_that_nvml_tells_the_cards_before_and_the_process_while_it_runs():
    entries = [SimpleNamespace(pid=7, usedGpuMemory=5), SimpleNamespace(pid=4242, usedGpuMemory=612000000)]
    nvml = FakeNvml(RTX_4080_LAPTOP | {"ComputeRunningProcesses": entries})
    card = replace(SNAPSHOT.gpus[0], uuid="GPU-aaaa", engine_name="CUDA0")
    snapshot = replace(SNAPSHOT, gpus=(card,))
    assert cards_used(snapshot, lambda: NvmlSession(nvml)) == {"CUDA0": 900000000.0}
    assert cards_used(replace(SNAPSHOT, gpus=()), lambda: NvmlSession(nvml)) == {}
    assert nvml.opened == 0
    sampler = NvmlSampler(("GPU-aaaa",), {"GPU-aaaa": "CUDA0"}, lambda: NvmlSession(nvml), pid=4242)
    values = sampler.sample()
    sampler.close()
    assert values["gpu.CUDA0.process"] == 612000000.0
