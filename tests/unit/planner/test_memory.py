"""The memory estimate against the real engine's own figures, and what must hold for any plan."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.types import Role
from app.planner.kv import CACHE_TYPES, KvSettings, kv_bytes_by_block, row_bytes, sliding_cells
from app.planner.memory import RunSettings, default_prompt_cache_mib, estimate
from app.planner.placement import all_in_ram, all_on_gpu, with_experts_in_ram
from app.planner.types import RAM
from tests.tools.dry_run_cases import CPU_ONLY, MODEL_NAMES, PLACEMENTS, WITH_RPC, dry_runs
from tests.unit.planner.synthetic_boards import ONE_GPU, QWEN3, moe

MIB = 1 << 20
ESTIMATED = {"deepseek-v4-flash"}
"""Models whose graph is not mirrored: on the safe side is all that can be asked."""


@pytest.fixture(scope="module")
def compared(real_headers):
    """(run, device, predicted, told) of every sixth run; ``benchmarks.engine_agreement --recorded`` does them all."""
    rows = []
    for run in dry_runs()[::6]:
        model = real_headers[run.model]
        predicted = estimate(model, run.place(model), run.devices, run.settings)
        rows += [(run, device, predicted.get(device), told) for device, told in run.mib.items()]
    return rows


@pytest.mark.slow
def test_that_weights_and_kv_equal_the_engine_to_one_mib(compared):
    for run, device, predicted, (weights, kv, _) in compared:
        assert 0 <= predicted.weights_bytes / MIB - weights < 1.01, (run, device)
        assert 0 <= predicted.kv_bytes / MIB - kv < 1.01, (run, device)


@pytest.mark.slow
def test_that_the_compute_buffer_equals_the_engine_to_one_mib(compared):
    for run, device, predicted, (_, _, compute) in compared:
        gap = predicted.compute_bytes / MIB - compute
        assert gap >= 0, (run, device)
        assert gap < 1.01 or run.model in ESTIMATED, (run, device)


@pytest.mark.slow
def test_that_the_recorded_runs_cover_every_model_placement_and_kind_of_setting():
    runs = dry_runs()
    assert len(runs) >= 500
    assert {run.model for run in runs} == set(MODEL_NAMES)
    assert {run.placement for run in runs} == set(PLACEMENTS)
    assert {run.flash_attn for run in runs} == {"on", "off", "auto"}
    assert {run.n_slots for run in runs} == {1, 2, 4}
    assert {run.is_unified for run in runs} == {True, False}
    assert {run.cache_type for run in runs} >= {"f16", "bf16", "q8_0", "q4_0"}


def test_that_the_four_settings_of_the_articles_plan_are_exact(real_headers):
    """KV of known models, as the engine prints it (MiB)."""
    expected = {
        ("qwen3-30b", 8192, "f16"): 768,
        ("qwen3-30b", 32768, "q8_0"): 1632,
        ("deepseek-v2-lite", 8192, "f16"): 243,
        ("gpt-oss-20b", 8192, "f16"): 210,
        ("qwen1.5-moe", 8192, "f16"): 1536,
    }
    for (name, n_ctx, kind), mib in expected.items():
        kv = kv_bytes_by_block(real_headers[name], KvSettings(n_ctx, 512, kind, kind))
        assert sum(kv.values()) // MIB == mib, name


def test_that_sliding_layers_hold_the_window_and_one_micro_batch():
    assert sliding_cells(128, KvSettings(8192, 512)) == 768
    assert sliding_cells(128, KvSettings(8192, 512, n_slots=4)) == 1024
    assert sliding_cells(128, KvSettings(256, 512)) == 256
    assert sliding_cells(128, KvSettings(8192, 512, swa_full=True)) == 8192


def test_that_a_quantised_row_counts_whole_blocks():
    assert row_bytes("q8_0", 512) == 512 // 32 * 34
    assert row_bytes("q4_0", 40) == 2 * 18
    assert row_bytes("f16", 40) == 80


_placements = st.sampled_from(("gpu", "ram", "experts"))


def _place(kind):
    if kind == "ram":
        return all_in_ram(QWEN3, ONE_GPU)
    full = all_on_gpu(QWEN3, ONE_GPU)
    return full if kind == "gpu" else with_experts_in_ram(QWEN3, full, ONE_GPU, frozenset(QWEN3.expert_blocks))


@pytest.mark.slow
@given(
    _placements,
    st.integers(1, 200_000),
    st.integers(1, 200_000),
    st.sampled_from((64, 512, 2048)),
    st.sampled_from(tuple(CACHE_TYPES)),
    st.sampled_from((1, 2, 4)),
)
def test_that_memory_never_falls_when_the_context_grows(kind, a, b, ubatch, cache_type, slots):
    small, large = sorted((a, b))
    placement = _place(kind)
    sizes = [
        estimate(
            QWEN3,
            placement,
            ONE_GPU,
            RunSettings(KvSettings(n, min(n, ubatch), cache_type, cache_type, slots, is_unified=True)),
        )
        for n in (small, large)
    ]
    for before, after in zip(sizes[0].devices, sizes[1].devices, strict=True):
        assert before.total_bytes <= after.total_bytes


@given(_placements)
def test_that_every_loaded_byte_is_counted_exactly_once(kind):
    sizes = estimate(QWEN3, _place(kind), ONE_GPU, RunSettings(KvSettings(4096)))
    assert sum(d.weights_bytes for d in sizes.devices) == QWEN3.tensor_bytes


def test_that_a_tied_output_counts_twice_once_the_output_is_on_the_gpu():
    model = moe(3, tied=True)
    embedding = sum(t.n_bytes for t in model.tensors if t.role is Role.EMBEDDING)
    settings = RunSettings(KvSettings(4096))
    on_gpu = estimate(model, all_on_gpu(model, ONE_GPU), ONE_GPU, settings)
    in_ram = estimate(model, all_in_ram(model, ONE_GPU), ONE_GPU, settings)
    assert sum(d.weights_bytes for d in on_gpu.devices) == model.tensor_bytes + embedding
    assert sum(d.weights_bytes for d in in_ram.devices) == model.tensor_bytes


def test_that_over_full_is_told_as_negative_bytes_left(real_headers):
    model = real_headers["qwen3-30b"]
    small = replace(WITH_RPC.gpus[0], free_bytes=8 << 30, reserve_bytes=512 * MIB)
    devices = replace(WITH_RPC, gpus=(small,))
    sizes = estimate(model, all_on_gpu(model, devices), devices, RunSettings(KvSettings(8192))).get("RPC0")
    assert sizes.fits is False
    assert sizes.left_bytes == (8 << 30) - sizes.total_bytes - 512 * MIB


def test_that_unknown_free_memory_stays_unknown():
    devices = replace(CPU_ONLY, ram=replace(CPU_ONLY.ram, free_bytes=None))
    sizes = estimate(QWEN3, all_in_ram(QWEN3, devices), devices, RunSettings(KvSettings(4096))).get(RAM)
    assert sizes.left_bytes is None
    assert sizes.fits is None


def test_that_the_prompt_cache_takes_a_quarter_of_what_is_left_and_no_more_than_two_gib():
    assert default_prompt_cache_mib(None) == 0
    assert default_prompt_cache_mib(-1) == 0
    assert default_prompt_cache_mib(3 << 30) == 768
    assert default_prompt_cache_mib(64 << 30) == 2048


@pytest.mark.parametrize("architecture", ["an-architecture-of-2028", "deepseek4", "rwkv7"])
def test_that_a_graph_nobody_knows_still_gets_a_careful_figure(real_headers, architecture):
    known = real_headers["deepseek-v2-lite"]
    model = replace(known, architecture=architecture)
    settings = RunSettings(KvSettings(8192))
    strange = estimate(model, all_on_gpu(model, WITH_RPC), WITH_RPC, settings).get("RPC0")
    usual = estimate(known, all_on_gpu(known, WITH_RPC), WITH_RPC, settings).get("RPC0")
    assert usual.compute_bytes * 0.8 < strange.compute_bytes < usual.compute_bytes * 4
