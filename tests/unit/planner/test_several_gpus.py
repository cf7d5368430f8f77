"""Several GPUs in one plan: contiguous homes that the engine reproduces, a budget each, moves between three devices."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.capabilities import FALLBACK
from app.planner.card_runs import moved_home, shared_runs
from app.planner.cards import cards_by_device, tensors_of
from app.planner.homes import engine_home_names, engine_homes
from app.planner.moves import move
from app.planner.overrides import compile_overrides, prove, simulate
from app.planner.placement import home_of, homes, in_use, locations
from app.planner.plan import PlanInputs, kv_settings, make_plan
from app.planner.token_work import kv_read_bytes, ram_bytes_per_token, token_work
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, MoveResult, Placement, Wishes
from tests.unit.planner.synthetic_boards import CUDA0, CUDA1, RPC0, device_set, moe

MIB = 1 << 20
THREE = device_set(RPC0, CUDA0, CUDA1, rpc_servers=("127.0.0.1:50099",))
NAMES = [d.name for d in THREE.gpus]
MODEL = moe(6)
ROOMY_RAM = Device(RAM, DeviceKind.RAM, 64 << 30, 60 << 30, bandwidth_gbs=50.0)


def _cards(*free_mib, **changes):
    gpus = tuple(Device(f"CUDA{i}", DeviceKind.GPU, mib * MIB, mib * MIB, **changes) for i, mib in enumerate(free_mib))
    return DeviceSet(gpus, ROOMY_RAM)


def _plan(model, devices, **wishes):
    return make_plan(PlanInputs(model, devices, Wishes(**{"n_ctx": 8192, **wishes}), FALLBACK, n_threads=6))


def _ram_read(model, plan):
    return ram_bytes_per_token(model, plan.placement, kv_read_bytes(model, kv_settings(model, plan.wishes)))


def _flat(cards):
    for card in cards:
        yield card
        yield from _flat(card.children)


@st.composite
def _runs(draw):
    cuts = sorted(draw(st.lists(st.integers(0, MODEL.block_count + 1), min_size=3, max_size=3)))
    first = [0, *cuts]
    return tuple(zip(NAMES, (b - a for a, b in itertools.pairwise(first)), strict=True))


@st.composite
def _walks(draw):
    placement = Placement(MODEL.block_count, draw(_runs()))
    for _ in range(draw(st.integers(0, 6))):
        shown = cards_by_device(MODEL, placement, [*NAMES, RAM], dict.fromkeys(range(MODEL.block_count), 100))
        ids = [c.id for column in shown.values() for c in _flat(column) if c.movable]
        wish = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=3))
        result = move(MODEL, THREE, placement, wish, draw(st.sampled_from((*NAMES, RAM))))
        placement = result.placement if isinstance(result, MoveResult) else placement
    return placement


@given(_walks())
def test_that_no_walk_over_three_gpus_loses_or_doubles_a_tensor(placement):
    columns = cards_by_device(MODEL, placement, [*NAMES, RAM], {})
    shown = [name for column in columns.values() for card in column for name in card.tensor_names]
    assert sorted(shown) == sorted(t.name for t in MODEL.tensors)


@given(_walks())
def test_that_every_board_over_three_gpus_can_be_told_to_the_engine(placement):
    named = in_use(THREE, placement)
    rules = compile_overrides(MODEL, placement, named)
    assert prove(MODEL, placement, named, rules) is None
    assert engine_home_names(placement, named) == homes(placement)
    hit = simulate(rules, [t.name for t in MODEL.tensors])
    told = {t.name: hit.get(t.name) or home_of(t, homes(placement)) for t in MODEL.tensors}
    assert told == locations(MODEL, placement)


@given(_walks(), st.data())
def test_that_attention_moves_to_any_gpu_and_takes_along_only_what_it_must(placement, data):
    first = data.draw(st.integers(0, MODEL.block_count - 1))
    device = data.draw(st.sampled_from((*NAMES, RAM)))
    result = move(MODEL, THREE, placement, (f"attention:{first}",), device)
    assert isinstance(result, MoveResult)
    assert result.placement.home_of_unit(first) == device
    order = [RAM, *NAMES]
    before, after = ([order.index(h) for h in homes(p)] for p in (placement, result.placement))
    assert after == sorted(after)
    for unit, (old, new) in enumerate(zip(before, after, strict=True)):
        assert new in (old, order.index(device)), "nothing goes to a third device"
        if (unit < first and old <= order.index(device)) or (unit > first and old >= order.index(device)):
            assert new == old


def test_that_layers_which_must_come_along_are_told():
    placement = Placement(6, (("RPC0", 2), ("CUDA0", 3), ("CUDA1", 2)))
    result = move(MODEL, THREE, placement, ("attention:3",), "RPC0")
    assert [result.placement.home_of_unit(u) for u in range(7)] == ["RPC0"] * 4 + ["CUDA0", "CUDA1", "CUDA1"]
    assert (result.note.code, result.note.params) == (
        "move_snapped_run", {"first": 2, "last": 2, "n": 1, "device": "RPC0"}
    )  # fmt: skip
    assert move(MODEL, THREE, placement, ("attention:2",), "RPC0").note is None


@given(
    st.lists(st.integers(0, 1 << 34), min_size=7, max_size=7), st.lists(st.integers(0, 1 << 35), min_size=3, max_size=3)
)
def test_that_shared_runs_cover_every_unit_once_whatever_the_sizes(sizes, room):
    runs = shared_runs(THREE, sizes, 7, room)
    assert [name for name, _ in runs] == NAMES
    assert sum(n for _, n in runs) == 7
    assert min(n for _, n in runs) >= 0
    placed = engine_homes(6, 7, [float(n) for _, n in runs], 3)
    assert [placed.count(i) for i in range(3)] == [n for _, n in runs]


def test_that_experts_may_live_on_a_gpu_that_is_not_their_home():
    placement = Placement(6, (("RPC0", 3), ("CUDA0", 4)))
    result = move(MODEL, THREE, placement, ("experts:0-1",), "CUDA1")
    assert [d.name for d in in_use(THREE, result.placement).gpus] == NAMES
    assert result.placement.runs == placement.runs
    moved = {name for name, device in result.placement.overrides.items() if device == "CUDA1"}
    assert moved == {t.name for t in tensors_of(MODEL, "experts:0-1")}
    work = token_work(MODEL, result.placement, THREE, kv_settings(MODEL, Wishes(n_ctx=512)))
    assert work.hand_overs == 2 * 2 + 2 + 1, "two blocks there and back, in and out, one border"
    assert work.read_bytes["CUDA1"] > 0


def test_that_a_home_can_be_given_to_a_gpu_that_had_none():
    runs = moved_home(Placement(6, (("RPC0", 7),)), NAMES, {4, 5}, "CUDA1")
    assert runs == (("RPC0", 4), ("CUDA1", 3))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(4096, 8192), (8192, 4096), (5000, 3000, 2000), (900, 8192)])
def test_that_two_gpus_read_less_from_ram_than_the_better_one_and_both_fit(real_headers, sizes):
    model = real_headers["qwen3-30b"]
    both = _plan(model, _cards(*sizes))
    assert all(d.fits for d in both.estimate.devices)
    assert both.problems == ()
    best = min(
        _ram_read(model, _plan(model, _cards(*((size if i == k else 0) for k, size in enumerate(sizes)))))
        for i in range(len(sizes))
    )
    assert _ram_read(model, both) <= best
    if min(sizes) > 1000:
        assert len(in_use(both.devices, both.placement).gpus) == len(sizes)
        assert _ram_read(model, both) < best * 0.9
        for device in both.estimate.devices[:-1]:
            assert device.left_bytes < 120 * MIB, "each card is used up"


def test_that_one_gpu_with_room_for_everything_is_left_alone_and_the_command_names_it_only(real_headers):
    model = real_headers["deepseek-v2-lite"]
    plan = _plan(model, _cards(8192, 16384))
    assert plan.placement.runs == (("CUDA1", 28),)
    assert plan.argv[plan.argv.index("-dev") + 1] == "CUDA1"
    assert plan.estimate.get("CUDA0").total_bytes == 0
    assert plan.argv == _plan(model, replace(_cards(8192, 16384), gpus=_cards(8192, 16384).gpus[1:])).argv


def test_that_the_faster_card_is_filled_first_where_speeds_are_known(real_headers):
    model = real_headers["deepseek-v2-lite"]
    slow, fast = _cards(9000, 9000).gpus
    devices = replace(_cards(), gpus=(replace(slow, bandwidth_gbs=200.0), replace(fast, bandwidth_gbs=800.0)))
    plan = _plan(model, devices)
    assert plan.estimate.fits
    assert not plan.overrides
    shared = plan.estimate
    assert shared.get("CUDA1").weights_bytes > 1.5 * shared.get("CUDA0").weights_bytes


@pytest.mark.slow
def test_that_the_fast_card_keeps_most_of_the_dense_parts_when_not_all_experts_fit(real_headers):
    fast, slow = _cards(10000, 5000).gpus
    devices = replace(_cards(), gpus=(replace(fast, bandwidth_gbs=400.0), replace(slow, bandwidth_gbs=140.0)))
    plan = _plan(real_headers["qwen3-30b"], devices)
    (_, front), (_, back) = plan.placement.runs
    assert front > 2.5 * back, "its share of the room would be half of that"
    on_slow = {name for name, device in plan.placement.overrides.items() if homes(plan.placement)[front] == device}
    assert not on_slow
    alone = _plan(real_headers["qwen3-30b"], replace(devices, gpus=devices.gpus[:1]))
    assert plan.speed.decode_tps > alone.speed.decode_tps


def test_that_a_slow_second_card_is_not_used_where_it_would_cost_speed(real_headers):
    model = real_headers["deepseek-v2-lite"]
    fast, slow = _cards(9500, 9500).gpus
    devices = replace(_cards(), gpus=(replace(fast, bandwidth_gbs=800.0), replace(slow, bandwidth_gbs=5.0)))
    plan = _plan(model, devices)
    assert plan.estimate.get("CUDA1").total_bytes == 0
    assert plan.speed.decode_tps is not None


@pytest.mark.slow
def test_that_a_long_context_is_shared_out_by_the_room_for_it(real_headers):
    plan = _plan(real_headers["qwen3-30b"], _cards(4096, 3072), n_ctx=65536)
    assert plan.estimate.fits
    (_, front), (_, back) = plan.placement.runs
    assert 0 < back < front


@pytest.mark.slow
def test_that_plans_over_two_gpus_are_the_same_every_time(real_headers):
    model = real_headers["gpt-oss-20b"]
    assert _plan(model, _cards(4096, 3072)) == _plan(replace(model), _cards(4096, 3072))
