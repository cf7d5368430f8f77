"""Trades: offers that gain something, honest about what they cost, the best first."""

import random
from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.planner.plan import PlanInputs, make_plan
from app.planner.trades import Quality, trades
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Wishes

GIB = 1 << 30
MIB = 1 << 20


def _inputs(model, free_gib, *, kind=DeviceKind.GPU, known=True, others_gib=1, **wishes):
    gpu = Device(
        "RPC0" if kind is DeviceKind.RPC else "CUDA0",
        kind,
        (free_gib + others_gib) * GIB,
        free_gib * GIB,
        reserve_bytes=256 * MIB,
        bandwidth_gbs=400.0 if known else None,
    )
    ram = Device(RAM, DeviceKind.RAM, 96 * GIB, 80 * GIB, bandwidth_gbs=50.0 if known else None)
    return PlanInputs(model, DeviceSet((gpu,), ram), Wishes(**{"n_ctx": 16384, **wishes}), FALLBACK, 6)


def _offers(inputs, plan=None):
    return trades(inputs, plan or make_plan(inputs))


def _named(offers, code, value=None):
    return next((t for t in offers if t.code == code and value in (None, t.value)), None)


@pytest.mark.slow
def test_that_a_smaller_cache_type_is_offered_with_what_it_frees_gains_and_costs(real_headers):
    inputs = _inputs(real_headers["qwen3-30b"], 8)
    offer = _named(_offers(inputs), "kv_type", "q8_0")
    assert offer.freed_bytes / MIB == pytest.approx(1536 * 15 / 32, abs=4)
    assert offer.expert_layers == pytest.approx(2, abs=0.5)
    assert offer.quality is Quality.HARDLY
    applied = make_plan(replace(inputs, wishes=replace(inputs.wishes, **offer.changes)))
    gained = applied.speed.decode_tps - make_plan(inputs).speed.decode_tps
    assert offer.decode_gain_tps == pytest.approx(gained, rel=0.01)
    assert offer.decode_gain_tps > 1


@pytest.mark.slow
def test_that_offers_come_best_first(real_headers):
    shares = [t.decode_gain_share for t in _offers(_inputs(real_headers["qwen3-30b"], 8))]
    assert len(shares) > 3
    assert shares == sorted(shares, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qwen3-30b", "qwen1.5-moe", "deepseek-v2-lite", "gpt-oss-20b"])
@pytest.mark.parametrize(("free_gib", "n_ctx"), [(2, 65536), (4, 8192), (6, 65536), (10, 16384)])
def test_that_the_best_preset_leaves_no_free_gain(real_headers, name, free_gib, n_ctx):
    offers = _offers(_inputs(real_headers[name], free_gib, n_ctx=n_ctx))
    assert not [t for t in offers if t.is_free]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_that_the_best_plan_of_any_machine_leaves_no_free_gain(real_headers, seed):
    draw = random.Random(seed)
    model = real_headers[draw.choice(("qwen3-30b", "qwen1.5-moe", "deepseek-v2-lite", "gpt-oss-20b"))]
    gpus = tuple(
        Device(
            f"CUDA{i}",
            DeviceKind.GPU,
            24 * GIB,
            draw.randrange(1500, 14000) * MIB,
            reserve_bytes=256 * MIB,
            bandwidth_gbs=draw.choice((None, 200.0, 450.0, 900.0)),
        )
        for i in range(draw.choice((1, 1, 2)))
    )
    ram = Device(RAM, DeviceKind.RAM, 96 * GIB, 80 * GIB, bandwidth_gbs=draw.choice((None, 30.0, 70.0)))
    wishes = Wishes(n_ctx=draw.choice((4096, 16384, 65536)), cache_type_k=draw.choice(("f16", "q8_0")))
    inputs = PlanInputs(model, DeviceSet(gpus, ram), wishes, FALLBACK, 6)
    plan = make_plan(inputs)
    assert plan.estimate.fits
    assert not [trade for trade in trades(inputs, plan) if trade.is_free]


@pytest.mark.slow
def test_that_a_plan_which_leaves_vram_unused_is_offered_the_best_one(real_headers):
    offers = _offers(_inputs(real_headers["qwen3-30b"], 10, preset="experts-cpu"))
    assert offers[0].code == "preset"
    assert offers[0].is_free
    assert offers[0].expert_layers > 10


@pytest.mark.slow
def test_that_a_larger_micro_batch_is_offered_for_the_prompt_and_says_that_it_slows_decode(real_headers):
    model = real_headers["qwen3-30b"]
    offer = _named(_offers(_inputs(model, 8)), "ubatch")
    assert offer.value == 1024
    assert offer.freed_bytes < 0
    assert offer.prompt_factor == pytest.approx(2, abs=0.1)
    assert offer.decode_gain_share <= 0
    assert _named(_offers(_inputs(model, 8, kind=DeviceKind.RPC)), "ubatch") is None


@pytest.mark.slow
def test_that_what_other_programs_hold_is_an_offer_that_only_the_user_can_take(real_headers):
    offer = _named(_offers(_inputs(real_headers["qwen3-30b"], 8)), "close_programs")
    assert offer.freed_bytes == GIB
    assert not offer.changes
    assert _named(_offers(_inputs(real_headers["qwen3-30b"], 8, others_gib=0)), "close_programs") is None


@pytest.mark.slow
def test_that_bytes_from_ram_speak_where_no_bandwidth_is_known(real_headers):
    offer = _named(_offers(_inputs(real_headers["qwen3-30b"], 8, known=False)), "kv_type", "q8_0")
    assert offer.decode_gain_tps is None
    assert offer.ram_read_saved_bytes > 30 * MIB
    assert offer.decode_gain_share > 0.03


@pytest.mark.slow
def test_that_an_edited_plan_keeps_its_placement_in_every_offer_but_the_best_preset(real_headers):
    inputs = _inputs(real_headers["qwen3-30b"], 10)
    start = make_plan(replace(inputs, wishes=replace(inputs.wishes, preset="experts-cpu")))
    edited = make_plan(inputs, start.placement, is_edited=True)
    offers = _offers(inputs, edited)
    assert _named(offers, "preset").expert_layers > 10
    assert all(t.expert_layers == 0 for t in offers if t.code not in ("preset", "close_programs"))


@pytest.mark.slow
def test_that_a_plan_over_budget_is_offered_what_frees_memory_even_without_speed(real_headers):
    offers = _offers(_inputs(real_headers["qwen3-30b"], 4, n_ctx=65536, preset="experts-cpu", kv_home=KvHome.HOME))
    assert _named(offers, "context").freed_bytes > GIB


def test_that_the_engines_own_fit_and_a_machine_without_a_gpu_get_no_offers(real_headers):
    model = real_headers["gpt-oss-20b"]
    assert _offers(_inputs(model, 8, preset="fit")) == ()
    bare = replace(_inputs(model, 8), devices=DeviceSet((), Device(RAM, DeviceKind.RAM, 64 * GIB, 60 * GIB)))
    assert _offers(bare) == ()


@pytest.mark.slow
def test_that_nothing_is_moved_into_ram_that_is_over_full_already(real_headers):
    inputs = _inputs(real_headers["qwen3-30b"], 8)
    full = replace(inputs.devices, ram=replace(inputs.devices.ram, free_bytes=6 * GIB))
    offers = _offers(replace(inputs, devices=full))
    assert _named(offers, "kv_home") is None
    assert _named(offers, "kv_type", "q8_0").relieves


@pytest.mark.slow
def test_that_a_plan_short_of_ram_is_offered_what_frees_ram_and_nothing_that_frees_vram_only(real_headers):
    inputs = _inputs(real_headers["qwen3-30b"], 8, preset="experts-cpu", prompt_cache_mib=8192)
    short = replace(inputs, devices=replace(inputs.devices, ram=replace(inputs.devices.ram, free_bytes=22 * GIB)))
    plan = make_plan(short)
    lacking = -plan.estimate.get(RAM).left_bytes
    assert plan.estimate.get("CUDA0").fits
    assert lacking > GIB
    offers = _offers(short)
    assert [trade.code for trade in offers] == ["preset", "prompt_cache"]
    for offer in offers:
        assert offer.relieves
        assert offer.freed_bytes >= lacking
        assert make_plan(replace(short, wishes=replace(short.wishes, **offer.changes))).estimate.fits
    assert 0 < offers[1].value < 8192


def test_that_a_machine_without_a_gpu_is_told_too_what_makes_room(real_headers):
    inputs = _inputs(real_headers["qwen3-30b"], 8, prompt_cache_mib=8192)
    bare = replace(inputs, devices=DeviceSet((), Device(RAM, DeviceKind.RAM, 32 * GIB, 22 * GIB)))
    offer = _named(_offers(bare), "prompt_cache")
    assert make_plan(replace(bare, wishes=replace(bare.wishes, **offer.changes))).estimate.fits
