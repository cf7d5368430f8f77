"""-ts shares: the engine's float32 arithmetic gives back exactly the runs of the placement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.planner.homes import engine_home_names, engine_homes, split_argument
from app.planner.placement import homes
from app.planner.types import RAM, Placement
from tests.unit.planner.synthetic_boards import CUDA0, CUDA1, ONE_GPU, RPC0, device_set, gpu

FOUR = device_set(RPC0, CUDA0, CUDA1, gpu("Vulkan0"))


@st.composite
def split_placements(draw):
    """2-4 devices, up to 128 blocks, runs of any length, zero included, anywhere."""
    devices = device_set(*FOUR.gpus[: draw(st.integers(2, 4))])
    block_count = draw(st.integers(1, 128))
    left = draw(st.integers(0, block_count + 1))
    lengths = []
    for _ in devices.gpus[:-1]:
        lengths.append(draw(st.one_of(st.just(0), st.integers(0, left))))
        left -= lengths[-1]
    runs = tuple((d.name, n) for d, n in zip(devices.gpus, [*lengths, left], strict=True))
    return devices, Placement(block_count, runs)


@given(split_placements())
def test_that_the_engine_puts_every_unit_into_the_run_of_the_placement(case):
    devices, placement = case
    assert engine_home_names(placement, devices) == homes(placement)


@pytest.mark.slow
def test_that_every_split_of_up_to_128_layers_over_two_devices_is_exact():
    devices = device_set(CUDA0, CUDA1)
    for n_units in range(1, 130):
        for first in range(0, n_units + 1, 7):
            placement = Placement(129, (("CUDA0", first), ("CUDA1", n_units - first)))
            assert engine_home_names(placement, devices) == homes(placement)


@pytest.mark.parametrize(
    ("lengths", "shares"),
    [((0, 9, 11), ("0", "9", "11")), ((9, 0, 11), ("9", "0", "11")), ((9, 11, 0), ("9", "11", "0"))],
)
def test_that_a_device_without_layers_gets_the_share_zero(lengths, shares):
    devices = device_set(CUDA0, CUDA1, RPC0)
    placement = Placement(30, tuple(zip(("CUDA0", "CUDA1", "RPC0"), lengths, strict=True)))
    assert split_argument(placement, devices) == shares
    assert engine_home_names(placement, devices) == homes(placement)


def test_that_a_device_missing_from_the_runs_gets_the_share_zero():
    placement = Placement(10, (("CUDA1", 11),))
    assert split_argument(placement, device_set(CUDA0, CUDA1)) == ("0", "11")


def test_that_one_gpu_or_no_layers_on_gpus_need_no_split():
    assert split_argument(Placement(10, (("CUDA0", 11),)), ONE_GPU) is None
    assert split_argument(Placement(10, (("CUDA0", 0), ("CUDA1", 0))), device_set(CUDA0, CUDA1)) is None
    assert split_argument(Placement(10), device_set()) is None


def test_that_runs_in_another_order_than_the_devices_are_refused():
    placement = Placement(10, (("CUDA1", 5), ("CUDA0", 6)))
    with pytest.raises(ValueError, match="order"):
        split_argument(placement, device_set(CUDA0, CUDA1))


def test_that_a_run_on_a_device_that_is_off_is_refused():
    with pytest.raises(ValueError, match="CUDA1"):
        split_argument(Placement(10, (("CUDA1", 5),)), ONE_GPU)


def test_that_negative_layer_counts_mean_all_and_too_many_mean_all():
    assert engine_homes(4, -1, (), 1) == (0,) * 5
    assert engine_homes(4, -2, (), 1) == (0,) * 5
    assert engine_homes(4, 99, (), 1) == (0,) * 5


def test_that_layers_are_counted_from_the_end_and_the_output_is_the_last_of_them():
    assert engine_homes(4, 1, (), 1) == (None, None, None, None, 0)
    assert engine_homes(4, 3, (), 1) == (None, None, 0, 0, 0)
    assert engine_homes(4, 0, (), 1) == (None,) * 5
    assert engine_homes(4, 99, (), 0) == (None,) * 5


def test_that_fractional_shares_follow_the_engines_upper_bound():
    # 49 units, -ts 3,1: the border is at 0.75 * 49 = 36.75, so unit 36 is the last of the first device
    found = engine_homes(48, 49, (3.0, 1.0), 2)
    assert found.count(0) == 37
    assert found.index(1) == 37
    # missing shares are zero (arg.cpp:2850)
    assert engine_homes(48, 49, (1.0,), 2) == (0,) * 49


def test_that_missing_shares_for_several_devices_are_an_error_and_not_a_guess():
    with pytest.raises(ValueError, match="free memory"):
        engine_homes(4, 5, (), 2)


def test_that_the_prefix_outside_all_runs_is_ram():
    placement = Placement(10, (("CUDA0", 3), ("CUDA1", 2)))
    assert engine_home_names(placement, device_set(CUDA0, CUDA1)) == (RAM,) * 6 + ("CUDA0",) * 3 + ("CUDA1",) * 2
