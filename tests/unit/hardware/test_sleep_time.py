"""The time a computer slept is the difference of two clocks."""

import sys
import time

import pytest

from app.hardware.sleep_time import slept_s


@pytest.mark.skipif(sys.platform != "linux", reason="the clocks of Linux")
def test_that_sleep_is_what_only_one_of_the_two_clocks_counts(monkeypatch):
    clocks = {time.CLOCK_BOOTTIME: 5000.0, time.CLOCK_MONOTONIC: 1400.0}
    monkeypatch.setattr(time, "clock_gettime", clocks.__getitem__)
    assert slept_s() == 3600.0
    clocks[time.CLOCK_BOOTTIME] = 1399.9
    assert slept_s() == 0.0


def test_that_this_machines_clocks_can_be_read():
    assert (slept_s() is None) is (sys.platform not in ("linux", "win32"))
