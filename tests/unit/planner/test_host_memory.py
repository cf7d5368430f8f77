"""RAM besides weights, caches and buffers: rearranged copies, checkpoints, and what the system must promise."""

from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.hardware.commit import parse_commit
from app.model.types import Role
from app.planner.host_memory import (
    RamLimits,
    checkpoint_bytes,
    committed_bytes,
    is_rearranged,
    rearranged_bytes,
    rearranges,
)
from app.planner.kv import KvSettings, kv_bytes_by_block
from app.planner.placement import locations
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Segment, Wishes
from app.words import Language, say_in

MIB, GIB = 1 << 20, 1 << 30
RAM_DEVICE = Device(RAM, DeviceKind.RAM, 64 * GIB, 50 * GIB, buffer_name="CPU")
CPU_ONLY = DeviceSet((), RAM_DEVICE)
CARD = DeviceSet((Device("CUDA0", DeviceKind.GPU, 12 * GIB, 12 * GIB, buffer_name="CUDA0"),), RAM_DEVICE)
REMOTE = DeviceSet((Device("RPC0", DeviceKind.RPC, 12 * GIB, 12 * GIB, buffer_name="RPC0[h:1]"),), RAM_DEVICE)


def plan_for(model, devices, limits=None, **wishes):
    inputs = PlanInputs(model, devices, Wishes(**{"n_ctx": 8192, "prompt_cache_mib": 0, **wishes}), FALLBACK, 6)
    return make_plan(inputs if limits is None else replace(inputs, ram_limits=limits))


def codes(plan):
    return {p.code for p in plan.problems}


def test_that_only_machines_without_a_gpus_host_memory_rearrange():
    assert rearranges(CPU_ONLY, ())
    assert rearranges(REMOTE, ())
    assert not rearranges(CARD, ())
    assert rearranges(CARD, ("--no-host",))
    assert not rearranges(CPU_ONLY, ("--no-repack",))
    assert not rearranges(CPU_ONLY, ("-nr",))


def test_that_the_rearranged_tensors_are_the_engines(real_headers):
    """llama-server b11434 with AVX-512 and all experts in RAM: CPU_REPACK 12960 MiB, the others stay as they are."""
    model = real_headers["qwen3-30b"]
    where = dict.fromkeys((t.name for t in model.tensors), RAM)
    experts = sum(t.n_bytes for t in model.tensors if t.role is Role.ROUTED_EXPERT and is_rearranged(t))
    assert experts / MIB == 12960.0
    assert rearranged_bytes(model, where) > experts
    assert rearranged_bytes(model, locations(model, plan_for(model, CARD, preset="all-gpu").placement)) == 0


def test_that_a_mapped_file_lies_in_ram_twice_and_a_read_one_does_not(real_headers):
    model = real_headers["qwen3-30b"]
    mapped = plan_for(model, CPU_ONLY, load_mode="mmap").estimate.get(RAM)
    read = plan_for(model, CPU_ONLY, load_mode="none").estimate.get(RAM)
    assert Segment.REPACKED not in read.segments
    assert mapped.total_bytes - read.total_bytes == mapped.segments[Segment.REPACKED] > 12960 * MIB
    assert Segment.REPACKED not in plan_for(model, CARD, load_mode="mmap", preset="all-cpu").estimate.get(RAM).segments


@pytest.mark.parametrize(
    ("load_mode", "weights_mib", "copies_mib"), [("mmap", 5193.78, 2999.25), ("none", 5193.78, 0.0)]
)
def test_that_a_tied_output_is_rearranged_beside_its_embedding(real_headers, load_mode, weights_mib, copies_mib):
    """llama-server b11434, LFM2-8B: mapped CPU_Mapped 5121.78 + CPU_REPACK 3071.25, read CPU 2122.53 + 3071.25."""
    ram = plan_for(real_headers["lfm2-8b"], CPU_ONLY, load_mode=load_mode, n_ctx=2048).estimate.get(RAM)
    assert ram.weights_bytes / MIB == pytest.approx(weights_mib, abs=0.01)
    assert ram.segments.get(Segment.REPACKED, 0) / MIB == pytest.approx(copies_mib, abs=0.01)
    bare = plan_for(real_headers["lfm2-8b"], CPU_ONLY, load_mode=load_mode, extra=("--no-repack",)).estimate.get(RAM)
    assert Segment.REPACKED not in bare.segments
    assert bare.weights_bytes / MIB == pytest.approx(5121.78, abs=0.01)


def test_mem_05_that_repacking_a_mapped_model_is_told_with_both_cures(real_headers):
    """A 17 GiB model and 20 GiB of RAM: mapped and rearranged it would take twice that."""
    model = real_headers["qwen3-30b"]
    tight = replace(CPU_ONLY, ram=replace(RAM_DEVICE, total_bytes=24 * GIB, free_bytes=20 * GIB))
    plan = plan_for(model, tight, load_mode="mmap")
    (problem,) = [p for p in plan.problems if p.code == "mapped_twice"]
    assert problem.params["total_bytes"] > 29 * GIB
    assert problem.params["without_bytes"] < 20 * GIB
    assert plan.estimate.fits
    assert plan.estimate.get(RAM).left_bytes == 0
    sentence = say_in(Language.EN, "problem.mapped_twice", **problem.params)
    assert sentence.index("-lm none") < sentence.index("--no-repack")
    assert "mapped_twice" not in codes(plan_for(model, tight, load_mode="none"))
    assert "mapped_twice" not in codes(plan_for(model, tight, load_mode="mmap", extra=("--no-repack",)))
    assert plan_for(model, tight, load_mode="none").estimate.fits


def test_that_our_own_choice_of_loading_never_doubles_what_fits(real_headers):
    plan = plan_for(real_headers["qwen3-30b"], replace(CPU_ONLY, ram=replace(RAM_DEVICE, free_bytes=20 * GIB)))
    assert plan.argv[plan.argv.index("-lm") + 1] == "none"
    assert plan.estimate.fits


def test_that_checkpoints_of_sliding_and_recurrent_models_are_counted(real_headers):
    kv = KvSettings(32768)
    assert checkpoint_bytes(real_headers["qwen3-30b"], kv, ()) == 0
    model = real_headers["gpt-oss-20b"]
    sizes = kv_bytes_by_block(model, kv)
    window = sum(sizes[i] for i, layer in enumerate(model.layers) if layer.sliding)
    assert checkpoint_bytes(model, kv, ()) == 6 * window  # one per 8192 tokens and two at the end
    assert checkpoint_bytes(model, kv, ("-ctxcp", "0")) == 0
    assert checkpoint_bytes(model, kv, ("--ctx-checkpoints", "3")) == 3 * window
    assert checkpoint_bytes(model, KvSettings(1 << 20), ()) == 32 * window
    hybrid = real_headers["qwen3next-80b"]
    state = sum(n for i, n in kv_bytes_by_block(hybrid, kv).items() if hybrid.layers[i].recurrent)
    assert checkpoint_bytes(hybrid, replace(kv, n_slots=2), ()) == 2 * 6 * state
    plan = plan_for(model, CARD, n_ctx=32768)
    assert plan.estimate.get(RAM).segments[Segment.CHECKPOINTS] == 6 * window


def test_that_what_must_be_promised_leaves_a_mapped_file_out(real_headers):
    plan = plan_for(real_headers["qwen3-30b"], CARD, preset="experts-cpu")
    ram, card = plan.estimate.get(RAM), plan.estimate.get("CUDA0")
    assert committed_bytes(plan.estimate, "none", cards_count=False) == ram.total_bytes
    assert committed_bytes(plan.estimate, "mmap", cards_count=False) == ram.total_bytes - ram.weights_bytes
    copied = committed_bytes(plan.estimate, "mmap", cards_count=False, copies=3 * GIB)
    assert copied == ram.total_bytes - ram.weights_bytes + 3 * GIB
    assert committed_bytes(plan.estimate, "none", cards_count=True) == ram.total_bytes + card.total_bytes


def test_that_a_commit_limit_below_the_need_is_an_error_although_ram_is_free(real_headers):
    model = real_headers["qwen3-30b"]
    limits = RamLimits(commit_free_bytes=10 * GIB, cards_count=True)
    plan = plan_for(model, CARD, limits, preset="experts-cpu")
    (problem,) = [p for p in plan.problems if p.code == "commit_too_small"]
    assert plan.estimate.fits
    assert problem.params["missing_bytes"] == problem.params["needed_bytes"] - 10 * GIB > 0
    assert "commit_too_small" not in codes(plan_for(model, CARD, RamLimits(40 * GIB, cards_count=True)))
    assert "commit_too_small" not in codes(plan_for(model, CARD, RamLimits(None)))


@pytest.mark.parametrize(
    ("policy", "meminfo", "expected"),
    [
        ("0\n", "CommitLimit: 100 kB\nCommitted_AS: 40 kB\n", None),
        ("1\n", "CommitLimit:    100 kB\nCommitted_AS:   40 kB\n", None),
        ("2\n", "MemTotal: 9 kB\nCommitLimit:    100 kB\nCommitted_AS:   40 kB\n", 60 * 1024),
        ("2\n", "CommitLimit:    100 kB\nCommitted_AS:   140 kB\n", 0),
        ("2\n", "", None),
        ("", "CommitLimit:    100 kB\n", None),
    ],
)
def test_that_linux_limits_what_it_promises_only_when_told_to(policy, meminfo, expected):
    assert parse_commit(policy, meminfo) == expected


@pytest.mark.parametrize(
    ("capacity_gib", "ram_free_gib", "is_told"),
    [(8, 9, True), (8, 24, False), (40, 9, False)],
    ids=["half of the RAM", "RAM for both", "memory of its own"],
)
def test_that_graphics_inside_the_processor_and_ram_are_not_counted_as_two(
    real_headers, capacity_gib, ram_free_gib, is_told
):
    inside = Device(
        "Vulkan0", DeviceKind.IGPU, capacity_gib * GIB, capacity_gib * GIB - 256 * MIB, buffer_name="Vulkan0"
    )
    ram = Device(RAM, DeviceKind.RAM, 32 * GIB, ram_free_gib * GIB, buffer_name="CPU")
    plan = plan_for(real_headers["deepseek-v2-lite"], DeviceSet((inside,), ram), n_ctx=4096)
    assert plan.estimate.fits
    assert ("memory_shared" in codes(plan)) is is_told
