"""The mirrored graph: the allocator's rules, the blocks left out, figures that other people's engines printed."""

from dataclasses import replace

import pytest

from app.planner import compute
from app.planner.engine_traits import mainline_traits
from app.planner.graph.allocate import Allocator
from app.planner.graph.ggml import Graph, leaf, like, mul_mat, new, reshape, shape, stored
from app.planner.graph.repeats import representative
from app.planner.graph.schedule import Scheduler
from app.planner.kv import KvSettings
from app.planner.memory import RunSettings, estimate
from app.planner.placement import all_in_ram, all_on_gpu, with_experts_in_ram
from app.planner.types import RAM, KvHome, Placement
from tests.unit.planner.synthetic_boards import ARCH_TENSORS, ONE_GPU, arch_model, device_set, gpu

MIB = 1 << 20
ROW = shape(256, 4)
"""4 KiB of F32."""
TWO_CUDA = device_set(gpu("CUDA0"), gpu("CUDA1"))


def _sizes(*outputs, homes=1, offloads=None):
    """Buffers of the graph that ends in these tensors; backends: ``homes`` devices, the last of them the CPU."""
    graph = Graph()
    for output in outputs:
        graph.expand(output)
    scheduler = Scheduler(homes, offloads or (False,) * homes)
    scheduler.run(graph)
    allocator = Allocator((32,) * homes, (False,) * homes)
    allocator.run(scheduler.order, scheduler.leafs)
    return allocator.sizes


def _matrix(home, rows=256):
    return stored(shape(256, rows), 4 * 256 * rows, home, is_weight=True)


def test_that_a_sum_takes_over_the_memory_of_a_row_nobody_else_needs():
    row = leaf(ROW)
    product = mul_mat(_matrix(0), row)
    assert _sizes(like("scale", product)) == (2 * 4096,)


def test_that_a_row_still_needed_keeps_its_memory():
    product = mul_mat(_matrix(0), leaf(ROW))
    scaled = like("scale", product)
    assert _sizes(new("mix", ROW, scaled, product)) == (3 * 4096,)


def test_that_a_view_keeps_what_it_views_alive():
    product = mul_mat(_matrix(0), leaf(ROW))
    flat = reshape(product, 1024)
    row = product
    for _ in range(4):
        row = mul_mat(_matrix(0), row)
    assert _sizes(new("mix", ROW, row, flat)) == (3 * 4096,)


def test_that_memory_is_used_again_once_its_tensor_is_done():
    row = leaf(ROW)
    for _ in range(10):
        row = mul_mat(_matrix(0), row)
    assert _sizes(row) == (2 * 4096,)


def test_that_a_row_is_copied_to_the_device_that_reads_it():
    row = leaf(ROW)
    assert _sizes(mul_mat(_matrix(0), row), homes=2) == (2 * 4096, 4096)


def test_that_a_small_batch_stays_with_its_weight_and_a_large_one_takes_it_to_the_card():
    for n_tokens, on_card in ((31, False), (32, True)):
        row = leaf(shape(256, n_tokens))
        card, _ = _sizes(mul_mat(_matrix(1), row), homes=2, offloads=(True, False))
        assert card == (256 * 256 * 4 + 2 * n_tokens * 1024 if on_card else 0)


def test_that_three_of_many_equal_blocks_stand_for_them():
    assert representative("a" * 9) == (0, 1, 8)
    assert representative("ab" * 9) == (0, 1, 2, 3, 16, 17)
    assert representative("aaab" * 9) == (0, 1, 2, 3, 32, 33, 34, 35)
    assert representative("aaaaabbbbb") == (0, 1, 4, 5, 6, 9)
    assert representative("") == ()


def _plans(model):
    n = model.block_count
    half = Placement(n, (("CUDA0", n // 2 + 1),))
    full = all_on_gpu(model, ONE_GPU)
    yield ONE_GPU, full
    yield ONE_GPU, half
    yield ONE_GPU, all_in_ram(model, ONE_GPU)
    yield ONE_GPU, with_experts_in_ram(model, full, ONE_GPU, frozenset(range(n // 3)))
    yield ONE_GPU, replace(with_experts_in_ram(model, full, ONE_GPU, frozenset(range(n))), kv_home=KvHome.RAM)
    two = Placement(n, (("CUDA0", n // 2), ("CUDA1", n + 1 - n // 2)))
    yield TWO_CUDA, two
    yield TWO_CUDA, with_experts_in_ram(model, two, TWO_CUDA, frozenset(range(n // 2, n)))


@pytest.mark.share(1)
@pytest.mark.parametrize("name", ["qwen3-30b", "gpt-oss-20b", "qwen3next-80b"])
def test_that_the_blocks_left_out_change_nothing(real_headers, monkeypatch, name):
    model = real_headers[name]
    settings = RunSettings(KvSettings(16384, 512, n_slots=4))
    few = [estimate(model, plan, devices, settings) for devices, plan in _plans(model)]
    monkeypatch.setattr(compute, "representative", lambda kinds: tuple(range(len(kinds))))
    for one, (devices, plan) in zip(few, _plans(model), strict=True):
        assert one.devices == estimate(model, plan, devices, settings).devices


PRINTED = (
    # model, build, context, micro-batch, MiB that the engine printed: card, host
    ("glm45-air", 6200, 131072, 4096, 3584.09, 2112.11),
    ("gpt-oss-20b", 7300, 131072, 2048, 1672.08, 1064.59),
)


@pytest.mark.share(1)
@pytest.mark.parametrize(("name", "build", "n_ctx", "n_ubatch", "card", "host"), PRINTED)
def test_that_what_engines_printed_on_other_machines_is_met(real_headers, name, build, n_ctx, n_ubatch, card, host):
    model = real_headers[name]
    settings = RunSettings(KvSettings(n_ctx, n_ubatch), engine=mainline_traits(build))
    sizes = estimate(model, all_on_gpu(model, ONE_GPU), ONE_GPU, settings)
    assert sizes.get("CUDA0").compute_bytes / MIB == pytest.approx(card, abs=0.01)
    assert sizes.get(RAM).compute_bytes / MIB == pytest.approx(host, abs=0.01)


def test_that_two_cards_with_everything_on_them_hold_each_input_four_times(real_headers):
    model = real_headers["qwen3-30b"]
    n = model.block_count
    two = Placement(n, (("CUDA0", n // 2), ("CUDA1", n + 1 - n // 2)))
    settings = RunSettings(KvSettings(131072, 512))
    together = estimate(model, two, TWO_CUDA, settings).get("CUDA0").compute_bytes
    one_moved = with_experts_in_ram(model, two, TWO_CUDA, frozenset({0}))
    alone = estimate(model, one_moved, TWO_CUDA, replace(settings, op_offload=False)).get("CUDA0").compute_bytes
    mask = 131072 * 512 * 2
    assert 3 * mask <= together - alone < 3 * mask + 64 * MIB


def test_that_experts_in_ram_are_copied_to_a_card_but_not_to_a_remote_one(real_headers):
    model = real_headers["qwen3-30b"]
    full = all_on_gpu(model, ONE_GPU)
    plan = with_experts_in_ram(model, full, ONE_GPU, frozenset(model.expert_blocks))
    settings = RunSettings(KvSettings(4096, 512))
    copied = estimate(model, plan, ONE_GPU, settings).get("CUDA0").compute_bytes
    left = estimate(model, plan, ONE_GPU, replace(settings, op_offload=False)).get("CUDA0").compute_bytes
    largest = max(t.n_bytes for t in model.tensors if t.block in model.expert_blocks)
    assert copied - left >= largest // 2


@pytest.mark.share(10)
@pytest.mark.parametrize("architecture", sorted(ARCH_TENSORS))
def test_that_every_architecture_gets_a_figure(architecture):
    model = replace(arch_model(architecture, 3), architecture=architecture)
    settings = RunSettings(KvSettings(4096))
    sizes = estimate(model, all_on_gpu(model, ONE_GPU), ONE_GPU, settings)
    assert sizes.get("CUDA0").compute_bytes > 0


def test_that_a_result_is_found_again_and_not_made_twice(real_headers, monkeypatch):
    model = real_headers["gpt-oss-20b"]
    settings = RunSettings(KvSettings(8192, 256))
    first = estimate(model, all_on_gpu(model, ONE_GPU), ONE_GPU, settings)

    def refuse(*args):
        raise AssertionError("made twice")

    monkeypatch.setattr(compute, "_simulated", refuse)
    assert estimate(model, all_on_gpu(model, ONE_GPU), ONE_GPU, settings) == first
