"""Cores on Windows, from the bytes of GetLogicalProcessorInformationEx."""

import random
import sys

import pytest

from app.hardware import cpu_windows
from app.hardware.cpu_choice import CpuLimits, choose_cpus
from app.hardware.types import CoreKind
from tests.tools.hardware_data import windows_cache, windows_core


def _cores(*records):
    return cpu_windows.classify_cores(*cpu_windows.parse_processor_information(b"".join(records)))


def test_that_the_higher_efficiency_class_is_the_p_core():
    cores = _cores(
        *(windows_core(1, True, 3 << (2 * i)) for i in range(6)),
        *(windows_core(0, False, 1 << (12 + i)) for i in range(8)),
        windows_cache(3, 24 << 20, (1 << 20) - 1),
    )
    assert [c.logical for c in cores if c.kind is CoreKind.P] == [(2 * i, 2 * i + 1) for i in range(6)]
    assert [c.logical for c in cores if c.kind is CoreKind.E] == [(n,) for n in range(12, 20)]
    assert choose_cpus(cores, CpuLimits()).threads == 6


def test_that_meteor_lake_numbers_and_its_lp_e_cores_of_the_same_class_are_told_apart():
    p = [0b11, 0b11 << 10, 0b11 << 12, 0b11 << 14]  # mask 0xFC03 of field report CPU-03
    cores = _cores(
        *(windows_core(1, True, mask) for mask in p),
        *(windows_core(0, False, 1 << n) for n in (*range(2, 10), 16, 17)),
        windows_cache(3, 18 << 20, (1 << 16) - 1),
        windows_cache(2, 2 << 20, 0b11 << 16),
    )
    choice = choose_cpus(cores, CpuLimits())
    assert sum(1 << n for n in choice.cpus) == 0xFC03
    assert choice.threads == 4
    assert [c.logical for c in cores if c.kind is CoreKind.LP_E] == [(16,), (17,)]


def test_that_the_lowest_of_three_classes_is_low_power():
    cores = _cores(windows_core(2, False, 1), windows_core(1, False, 2), windows_core(0, False, 4))
    assert [c.kind for c in cores] == [CoreKind.P, CoreKind.E, CoreKind.LP_E]


def test_that_a_two_tier_u_series_laptop_is_read():
    cores = _cores(  # field report CPU-06
        *(windows_core(1, True, 3 << (2 * i)) for i in range(2)),
        *(windows_core(0, False, 1 << n) for n in range(4, 12)),
    )
    assert sum(c.kind is CoreKind.P for c in cores) == 2
    assert sum(c.kind is CoreKind.E for c in cores) == 8
    assert sum(len(c.logical) for c in cores) == 12


def test_that_equal_classes_mean_a_uniform_processor():
    cores = _cores(*(windows_core(0, True, 3 << (2 * i)) for i in range(8)))
    assert {c.kind for c in cores} == {CoreKind.UNKNOWN}
    assert choose_cpus(cores, CpuLimits()).reason == "physical_cores"


def test_that_a_second_processor_group_is_numbered_from_64():
    cores = _cores(windows_core(0, False, 1 << 63, group=0), windows_core(0, False, 1, group=1))
    assert [c.logical for c in cores] == [(63,), (64,)]


def test_that_damaged_records_end_the_list_quietly():
    good = windows_core(0, False, 1)
    assert len(cpu_windows.parse_processor_information(good + good[:20])[0]) == 1
    assert cpu_windows.parse_processor_information(b"\0" * 64) == ((), ())
    rng = random.Random(7)
    for length in range(0, 400, 7):
        cpu_windows.parse_processor_information(rng.randbytes(length))


@pytest.mark.parametrize(
    ("maker", "product", "expected"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", True),
        ("Microsoft Corporation", "Virtual Machine", True),
        ("Microsoft Corporation", "Surface Laptop Studio", False),
        ("LENOVO", "82WK", False),
        ("", "", None),
    ],
)
def test_that_virtual_machines_are_known_by_their_firmware(maker, product, expected):
    assert cpu_windows.is_virtual_product(maker, product) is expected


@pytest.mark.skipif(sys.platform == "win32", reason="about other systems")
def test_that_the_calls_say_so_on_another_system():
    with pytest.raises(OSError, match="not Windows"):
        cpu_windows.read_processor_information()
    assert cpu_windows.read_name() is None
    assert cpu_windows.read_is_virtual_machine() is None
