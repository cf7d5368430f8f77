"""Load, temperature, power and clock as Windows tells them of every maker's cards."""

import math
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.gpu_counters_windows import LoadCounters
from app.hardware.gpu_load import CardLoad, CardSensors, loads_of_counters, sensors_of
from app.hardware.gpu_sensors_windows import read_sensors

CARD, OTHER = "0x00000000_0x0000C1D2", "0x00000000_0x0000A001"
SERVER, BROWSER = 4242, 900


def engine(pid, number, kind, luid=CARD, part=0):
    return f"pid_{pid}_luid_{luid}_phys_{part}_eng_{number}_engtype_{kind}"


def test_that_a_card_is_as_busy_as_its_busiest_engine_over_all_processes():
    busy = {
        engine(SERVER, 0, "3D"): 10.0,
        engine(BROWSER, 0, "3D"): 15.5,
        engine(SERVER, 5, "Compute 0"): 70.0,
        engine(BROWSER, 5, "Compute 0"): 2.0,
        engine(SERVER, 1, "Copy"): 99.0,  # neither copying nor video is a model's work
        engine(BROWSER, 7, "VideoDecode"): 98.0,
        engine(BROWSER, 0, "3D", luid=OTHER): 4.0,
        "_Total": 100.0,
    }
    told = loads_of_counters(busy, {}, {}, SERVER)
    assert told == {CARD: CardLoad(72.0, 70.0, None, None), OTHER: CardLoad(4.0, None, None, None)}


def test_that_two_engines_are_not_added_up_and_rounding_gives_no_more_than_everything():
    busy = {engine(SERVER, 0, "3D"): 60.0, engine(SERVER, 4, "High Priority Compute"): 55.0}
    assert loads_of_counters(busy, {}, {}, SERVER)[CARD].percent == 60.0
    linked = {engine(SERVER, 0, "3D"): 60.0, engine(SERVER, 0, "3D", part=1): 55.0}
    assert loads_of_counters(linked, {}, {}, SERVER)[CARD].percent == 60.0
    assert loads_of_counters({engine(1, 0, "Cuda"): 99.9, engine(2, 0, "Cuda"): 0.4}, {}, {}, 1)[CARD].percent == 100.0


def test_that_memory_is_told_without_any_load_and_the_parts_of_linked_cards_are_added_up():
    used = {f"luid_{CARD}_phys_0": 5 << 30, f"luid_{CARD}_phys_1": 1 << 30, "_Total": 9}
    lent = {f"luid_{OTHER.lower()}_phys_0": 3 << 30}
    told = loads_of_counters({}, used, lent, SERVER)
    assert told == {CARD: CardLoad(None, None, 6 << 30, None), OTHER: CardLoad(None, None, None, 3 << 30)}


@pytest.mark.parametrize("percent", [math.nan, math.inf, -1.0])
def test_that_a_figure_that_is_none_is_left_out(percent):
    assert loads_of_counters({engine(SERVER, 0, "3D"): percent}, {}, {}, SERVER) == {}


@given(st.dictionaries(st.text(max_size=80), st.floats()), st.dictionaries(st.text(max_size=40), st.integers()))
def test_that_no_name_of_an_instance_is_too_strange(busy, used):
    assert all(load.percent is None for load in loads_of_counters(busy, used, used, 1).values())


def adapter_bytes(power=0, temperature=0, fan=1500):
    return struct.pack("<I4xQQQQQIIIB3x", 0, 1_250_000_000, 0, 0, 0, 0, fan, power, temperature, 1)


def node_bytes(hertz, reserved=True):
    return struct.pack("<IIQQQIII4xQ", 0, 0, hertz, hertz, hertz, 900, 1000, 1000, 0) + bytes(8 if reserved else 0)


@pytest.mark.parametrize("reserved", [True, False])
def test_that_a_drivers_figures_are_read_in_their_units(reserved):
    told = sensors_of(adapter_bytes(power=634, temperature=655), node_bytes(2_505_000_000, reserved))
    assert told == CardSensors(temperature=65.5, power_percent=63.4, clock=2505.0)


@pytest.mark.parametrize(
    ("adapter", "node"),
    [
        (b"", b""),  # Windows did not answer
        (adapter_bytes(), node_bytes(0)),  # the driver keeps quiet
        (adapter_bytes(power=1 << 31, temperature=1 << 31), node_bytes(1 << 60)),
        (adapter_bytes(634, 655)[:-1], node_bytes(2_505_000_000)[:-1]),
    ],
)
def test_that_what_is_not_told_is_unknown_and_never_zero(adapter, node):
    assert sensors_of(adapter, node) == CardSensors(None, None, None)


@pytest.mark.skipif(sys.platform == "win32", reason="about other systems")
def test_that_nothing_tells_on_another_system():
    with pytest.raises(OSError, match="not Windows"):
        LoadCounters()
    assert read_sensors(CARD) == CardSensors()
