"""Speed: what a token reads, how measurements become rates, and the public tables of measured placements."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from app.planner.calibration import HAND_OVER_SECONDS, Calibration, Measurement, Rates, calibrate, token_seconds
from app.planner.kv import KvSettings
from app.planner.placement import all_on_gpu, locations, with_experts_in_ram
from app.planner.speed import estimate_speed
from app.planner.token_work import kv_read_bytes, prompt_work, token_work
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome
from app.words import ENTRIES
from benchmarks.speed_model import judge_all, summary, tables_of

MIB = 1 << 20
TABLES = Path(__file__).parents[2] / "data" / "cases" / "speed_tables.json"
GPU = Device("CUDA0", DeviceKind.GPU, 24 << 30, 23 << 30, bandwidth_gbs=400.0)
DEVICES = DeviceSet((GPU,), Device(RAM, DeviceKind.RAM, 64 << 30, 60 << 30, bandwidth_gbs=60.0))
KV = KvSettings(8192)


def _experts_in_ram(model, devices=DEVICES):
    return with_experts_in_ram(model, all_on_gpu(model, devices), devices, frozenset(model.expert_blocks))


@pytest.mark.parametrize(
    ("name", "ram_mib", "gpu_mib"),
    [
        ("qwen3-30b", 1046, 784),
        ("qwen1.5-moe", 528, 964),
        ("deepseek-v2-lite", 852, 685),
        ("gpt-oss-20b", 1213, 1242),
    ],
)
def test_that_a_token_reads_the_active_bytes_that_the_engine_was_seen_to_read(real_headers, name, ram_mib, gpu_mib):
    model = real_headers[name]
    work = token_work(model, _experts_in_ram(model), DEVICES, KV, depth=0)
    assert work.read_bytes[RAM] / MIB == pytest.approx(ram_mib, abs=2)
    assert work.read_bytes["CUDA0"] / MIB == pytest.approx(gpu_mib, abs=2)


def test_that_the_cache_is_read_more_as_the_chat_grows_and_a_window_only_until_it_is_full(real_headers):
    model = real_headers["qwen3-30b"]
    assert sum(kv_read_bytes(model, KV, 0).values()) == 0
    assert sum(kv_read_bytes(model, KV, 8192).values()) == 768 * MIB
    assert sum(kv_read_bytes(model, KV, 4096).values()) == 384 * MIB
    sliding = real_headers["gpt-oss-20b"]
    block = next(i for i, layer in enumerate(sliding.layers) if layer.sliding)
    assert kv_read_bytes(sliding, KV, 128)[block] == kv_read_bytes(sliding, KV, 8000)[block]


def test_that_each_layer_with_experts_in_ram_costs_two_hand_overs(real_headers):
    model = real_headers["qwen3-30b"]
    base = all_on_gpu(model, DEVICES)
    some = with_experts_in_ram(model, base, DEVICES, frozenset(range(10)))
    assert token_work(model, some, DEVICES, KV).hand_overs == 22
    assert token_work(model, base, DEVICES, KV).hand_overs == 2
    assert token_work(model, replace(base, kv_home=KvHome.RAM), DEVICES, KV).hand_overs == 98


def test_that_the_limiting_resource_is_named(real_headers):
    model = real_headers["qwen3-30b"]
    assert estimate_speed(model, _experts_in_ram(model), DEVICES, KV).limited_by == "ram"
    slow_card = DeviceSet((replace(GPU, bandwidth_gbs=50.0),), DEVICES.ram)
    assert estimate_speed(model, all_on_gpu(model, slow_card), slow_card, KV).limited_by == "vram"


def test_that_one_measurement_makes_the_model_agree_with_it_and_moves_what_is_least_sure(real_headers):
    model = real_headers["qwen3-30b"]
    work = token_work(model, _experts_in_ram(model), DEVICES, KV)
    found = calibrate(DEVICES, [Measurement(work, 20.0)])
    again = estimate_speed(model, _experts_in_ram(model), DEVICES, KV, calibration=found)
    assert again.decode_tps == pytest.approx(20.0, rel=0.02)
    assert again.kind == "calibrated"
    assert found.ram_gbs < 60.0
    assert found.hand_over_seconds > HAND_OVER_SECONDS


def test_that_two_measurements_tell_ram_from_the_rest(real_headers):
    model = real_headers["qwen3-30b"]
    truth = Rates(25.0, {"CUDA0": 400.0}, hand_over_seconds=10e-6, block_seconds=40e-6)
    base = all_on_gpu(model, DEVICES)
    placements = [with_experts_in_ram(model, base, DEVICES, frozenset(range(n))) for n in (8, 28, 48)]
    works = [token_work(model, p, DEVICES, KV) for p in placements]
    seen = [Measurement(w, 1 / sum(token_seconds(w, truth).values())) for w in works]
    found = calibrate(DEVICES, seen)
    assert found.ram_gbs == pytest.approx(25.0, rel=0.1)
    assert found.n_measurements == 3


def test_that_without_a_measurement_there_is_no_calibration():
    assert calibrate(DEVICES, []) is None


def test_that_a_calibration_stands_in_for_an_unknown_bandwidth(real_headers):
    model = real_headers["qwen3-30b"]
    unknown = DeviceSet((replace(GPU, bandwidth_gbs=None),), replace(DEVICES.ram, bandwidth_gbs=None))
    placement = _experts_in_ram(model, unknown)
    assert estimate_speed(model, placement, unknown, KV).decode_tps is None
    found = calibrate(unknown, [Measurement(token_work(model, placement, unknown, KV), 25.0)])
    assert estimate_speed(model, placement, unknown, KV, calibration=found).decode_tps == pytest.approx(25.0, rel=0.02)


def test_that_prompt_speed_waits_for_copies_or_compute_whichever_is_slower(real_headers):
    model = real_headers["qwen3-30b"]
    placement = _experts_in_ram(model)
    assert estimate_speed(model, placement, DEVICES, KV).prompt_tps is None
    card = DeviceSet((replace(GPU, pcie_gbs=12.0, compute_tflops=40.0),), DEVICES.ram)
    copied = prompt_work(model, locations(model, placement), 512).copy_bytes
    assert estimate_speed(model, placement, card, KV).prompt_tps == pytest.approx(512 / (copied / 12e9))
    on_gpu = estimate_speed(model, all_on_gpu(model, card), card, KV).prompt_tps
    assert on_gpu > 5 * estimate_speed(model, placement, card, KV).prompt_tps
    wide = estimate_speed(model, placement, card, replace(KV, n_ubatch=2048)).prompt_tps
    assert wide == pytest.approx(4 * 512 / (copied / 12e9), rel=0.05)
    assert estimate_speed(model, placement, card, KV, op_offload=False).prompt_tps is None


def test_that_a_measured_prompt_tells_the_speed_of_the_copies(real_headers):
    model = real_headers["qwen3-30b"]
    placement = _experts_in_ram(model)
    prompt = prompt_work(model, locations(model, placement), 512)
    found = calibrate(DEVICES, [Measurement(token_work(model, placement, DEVICES, KV), 25.0, prompt, 300.0)])
    assert isinstance(found, Calibration)
    assert found.compute_tflops is None
    assert estimate_speed(model, placement, DEVICES, KV, calibration=found).prompt_tps == pytest.approx(300.0)


@pytest.fixture(scope="module")
def public_tables():
    return json.loads(TABLES.read_text("utf-8"))


@pytest.mark.slow
def test_that_the_public_tables_meet_their_targets(public_tables):
    told = summary(judge_all([table for table in public_tables if table["kind"] == "placement"]))
    assert told["judged"] >= 15
    assert told["median_error"] <= 0.05
    assert told["mean_regret"] <= 0.03
    assert told["mean_regret"] < told["trivial_mean_regret"]
    assert told["spilled_picks"] == 0


@pytest.mark.slow
def test_that_a_table_which_lacks_something_is_listed_and_ends_nothing(public_tables):
    whole = next(t for t in public_tables if t["id"] == "3090-qwen38fn")
    broken = []
    for key in whole:
        broken.append({k: v for k, v in whole.items() if k != key} | {"id": f"without {key}"})
        broken.append({**whole, key: None, "id": f"unknown {key}"})
    outcome = judge_all([*broken, {}, None, "text", [1]])
    assert len(outcome.judged) + len(outcome.skipped) == len(broken) + 4
    assert all(why for _, why in outcome.skipped)


@pytest.mark.slow
def test_that_mutated_tables_end_nothing(public_tables):
    draw = random.Random(20261129)
    odd = (None, "", 0, -1, 1e308, float("nan"), [], {}, "12 GB", True, [None], 10**30)
    mutated = []
    for _ in range(25):
        table = json.loads(json.dumps(draw.choice(public_tables)))
        for _ in range(draw.randint(1, 3)):
            *way, last = draw.choice([path for path in _paths(table) if path])
            parent = table
            for key in way:
                parent = parent[key]
            if draw.random() < 0.4:
                del parent[last]
            else:
                parent[last] = draw.choice(odd)
        mutated.append(table)
    outcome = judge_all(mutated)
    assert outcome.n_tables == 25
    assert json.dumps(summary(outcome))
    assert tables_of({"tables": None}) == tables_of("x") == tables_of({}) == []


def _paths(value, way=()):
    yield way
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _paths(child, (*way, key))


def test_that_a_small_model_on_a_fast_card_is_limited_by_kernel_starts(real_headers):
    fast = DeviceSet((replace(GPU, bandwidth_gbs=4000.0),), DEVICES.ram)
    model = real_headers["qwen3-30b"]
    speed = estimate_speed(model, all_on_gpu(model, fast), fast, KV, depth=0)
    assert speed.limited_by == "starts"
    assert f"cli.limit.{speed.limited_by}" in ENTRIES
