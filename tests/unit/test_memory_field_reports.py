"""What people reported about host memory and draft layers, each with the answer we give (ids of the reports)."""

from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.planner.argv import ArgvRequest, to_argv
from app.planner.command_import import read_command
from app.planner.command_plan import plan_of_command
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Placement, Role, Segment, Wishes

GIB, MIB = 1 << 30, 1 << 20
CARD = Device("CUDA0", DeviceKind.GPU, 24 * GIB, 23 * GIB, buffer_name="CUDA0")
TRANSITION = replace(FALLBACK, flags=FALLBACK.flags | {"--mlock", "--mmap", "--no-mmap", "-dio"})
"""A build that has ``--load-mode`` and still takes the old switches."""


@pytest.fixture(scope="module")
def hybrid(real_headers):
    return real_headers["qwen35moe-35b"]


def devices(ram_gib):
    return DeviceSet((CARD,), Device(RAM, DeviceKind.RAM, 64 * GIB, ram_gib * GIB, buffer_name="CPU"))


def imported(model, *words, capabilities=FALLBACK, ram_gib=40):
    inputs = PlanInputs(model, devices(ram_gib), Wishes(), capabilities, 6)
    return plan_of_command(read_command(words, capabilities), inputs)


def test_gpu_19_that_a_draft_layer_is_listed_and_counted_only_when_drafting(hybrid):
    assert (hybrid.block_count - hybrid.nextn_count, hybrid.nextn_count) == (40, 1)
    plain = imported(hybrid, "-c", "131072", "-np", "1").plan.estimate.get("CUDA0")
    drafting = imported(hybrid, "--spec-type", "draft-mtp", "-c", "131072", "-np", "1").plan.estimate.get("CUDA0")
    assert Role.MTP not in plain.weights_by_role
    assert Segment.DRAFT not in plain.segments
    assert drafting.weights_by_role[Role.MTP] == sum(t.n_bytes for t in hybrid.tensors if t.role is Role.MTP)
    kv_of_the_layer = 131072 * 2 * 2 * 256 * 2  # two KV heads of 256, keys and values, two bytes
    assert drafting.segments[Segment.DRAFT] > kv_of_the_layer
    assert drafting.kv_bytes > plain.kv_bytes  # states to take drafts back
    assert drafting.total_bytes > plain.total_bytes + drafting.weights_by_role[Role.MTP] + kv_of_the_layer


def test_mem_01_that_old_switches_become_the_mode_that_this_build_lists(hybrid):
    for words, mode in ((("--no-mmap",), "none"), (("--mlock",), "mmap+mlock"), (("-dio",), "dio")):
        result = imported(hybrid, *words, "-ngl", "99")
        argv = result.plan.argv
        assert argv[argv.index("-lm") + 1] == mode
        assert words[0] not in argv
    old = replace(FALLBACK, flags=FALLBACK.flags - {"-lm", "--load-mode"} | {"--mlock", "--mmap", "--no-mmap"})
    request = ArgvRequest("m", devices(8), Wishes(), Placement(4), (), 4096, 1, 0, load_mode="mlock")
    written = to_argv(request, old).argv
    assert {"--no-mmap", "--mlock"} <= set(written)
    assert "-lm" not in written


@pytest.mark.parametrize(
    ("words", "mode"), [(("--no-mmap", "--mlock"), "mlock"), (("--mlock", "--no-mmap"), "none")], ids=["A", "B"]
)
def test_mem_02_that_the_last_of_two_old_switches_counts_where_they_set_a_mode(hybrid, words, mode):
    result = imported(hybrid, *words, "-ngl", "99", capabilities=TRANSITION)
    argv = result.plan.argv
    assert argv[argv.index("-lm") + 1] == mode
    assert argv.count("-lm") == 1
    assert not set(words) & set(argv)
    (notice,) = [p for p in result.problems if p.code == "import_loading_order"]
    assert notice.params["mode"] == mode


def test_mem_02_that_older_builds_combine_them_in_any_order(hybrid):
    old = replace(FALLBACK, flags=FALLBACK.flags - {"-lm", "--load-mode"} | {"--mlock", "--mmap", "--no-mmap"})
    for words in (("--no-mmap", "--mlock"), ("--mlock", "--no-mmap")):
        assert read_command(words, old).wishes.load_mode == "mlock"
        assert not [p for p in read_command(words, old).problems if p.code == "import_loading_order"]


def test_mem_08_that_the_default_prompt_cache_is_listed_and_our_own_leaves_room(hybrid):
    """16 GB of RAM, 4 of them taken; what the plan puts there leaves two and a half."""
    result = imported(hybrid, "-ncmoe", "19", "-c", "8192", "-ngl", "99", ram_gib=12)
    ram = result.plan.estimate.get(RAM)
    assert ram.prompt_cache_bytes == 8 * GIB
    assert "import_prompt_cache" in {p.code for p in result.plan.problems}
    wishes = Wishes(n_ctx=8192, preset="experts-cpu")
    needed = make_plan(PlanInputs(hybrid, devices(60), replace(wishes, prompt_cache_mib=0), FALLBACK, 6))
    free = needed.estimate.get(RAM).total_bytes + 5 * GIB // 2
    tight = DeviceSet((CARD,), Device(RAM, DeviceKind.RAM, free + 4 * GIB, free))
    ours = make_plan(PlanInputs(hybrid, tight, wishes, FALLBACK, 6))
    assert ours.argv[ours.argv.index("-cram") + 1] == "512"
    assert GIB <= ours.estimate.get(RAM).left_bytes <= 2 * GIB
