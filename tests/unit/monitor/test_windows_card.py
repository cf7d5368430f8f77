"""Cards that NVML does not know, on Windows: what becomes of the counters and of the drivers' figures."""

import sys

import pytest

from app.hardware.gpu_load import CardLoad, CardSensors
from app.hardware.types import GpuInfo
from app.monitor.windows_card import METRICS, WindowsCardSampler, windows_card_sampler

GIB = 1 << 30


def sampler_of(loads, asked, now, **more):
    def sensors(luid):
        asked.append(luid)
        return CardSensors(61.0, 80.5, 2400.0)

    cards = {"a": "Vulkan0", "b": "Vulkan1", "c": "Vulkan2"}
    return WindowsCardSampler(7, cards, lambda pid: {} if pid != 7 else loads, sensors, clock=lambda: now[0], **more)


def test_that_the_card_of_the_server_tells_everything_and_no_other_card_is_woken():
    asked, loads = [], {"a": CardLoad(97.0, 91.0, 11 * GIB, GIB), "b": CardLoad(3.0, None, 2 * GIB, None)}
    told = sampler_of(loads, asked, [0.0]).sample()
    assert [told[f"gpu.Vulkan0.{m}"] for m in METRICS] == [11.0 * GIB, 97.0, 91.0, 61.0, 80.5, 2400.0]
    assert [told[f"gpu.Vulkan1.{m}"] for m in METRICS] == [2.0 * GIB, 3.0, None, None, None, None]
    assert [told[f"gpu.Vulkan2.{m}"] for m in METRICS] == [None] * 6
    assert asked == ["a"]


def test_that_the_counters_are_asked_once_a_second_at_most():
    asked, now, loads = [], [0.0], {"a": CardLoad(50.0, 50.0, None, None)}
    sampler = sampler_of(loads, asked, now)
    first = sampler.sample()
    loads["a"] = CardLoad(60.0, 60.0, None, None)
    now[0] = 0.9
    assert sampler.sample() == first
    now[0] = 1.0
    assert sampler.sample()["gpu.Vulkan0.util"] == 60.0
    assert len(asked) == 2


def test_that_a_processors_own_card_is_lent_ram():
    loads = {"a": CardLoad(1.0, None, GIB, 4 * GIB), "b": CardLoad(1.0, None, GIB, 4 * GIB)}
    told = sampler_of(loads, [], [0.0], integrated=frozenset({"a"})).sample()
    assert (told["gpu.Vulkan0.used"], told["gpu.Vulkan1.used"]) == (5.0 * GIB, 1.0 * GIB)


def test_that_the_counters_are_given_back():
    closed = []
    sampler_of({}, [], [0.0], on_close=lambda: closed.append(True)).close()
    assert closed == [True]


@pytest.mark.skipif(sys.platform == "win32", reason="there may be such counters")
def test_that_there_is_no_such_sampler_elsewhere():
    assert windows_card_sampler(7, (GpuInfo("RX", "gpu", "Vulkan0", None, None, luid="0x00000000_0x1"),)) is None
