"""Cores and their kinds on Linux, from the files of real processors."""

import pytest

from app.hardware import cpu_linux
from app.hardware.cpu_choice import CpuLimits, choose_cpus
from app.hardware.sysfs import parse_cpu_list
from app.hardware.types import CoreKind
from tests.tools.hardware_data import machine_tree, write_files


def _cpus(facts, kind):
    return sorted(n for core in facts.cores if core.kind is kind for n in core.logical)


def _count(facts, kind):
    return sum(1 for core in facts.cores if core.kind is kind)


def test_that_a_hybrid_laptop_shows_its_p_and_e_cores(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "i7-13700h"))
    assert facts.name == "13th Gen Intel(R) Core(TM) i7-13700H"
    assert _cpus(facts, CoreKind.P) == list(range(12))
    assert _cpus(facts, CoreKind.E) == list(range(12, 20))
    assert (_count(facts, CoreKind.P), _count(facts, CoreKind.E)) == (6, 8)
    assert facts.kinds_from == "sysfs"
    assert facts.is_virtual_machine is False


def test_that_meteor_lake_p_cores_are_found_at_both_ends_and_lp_e_cores_by_their_missing_l3(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "ultra5-125h"))  # field report CPU-03
    assert _cpus(facts, CoreKind.P) == [0, 1, 10, 11, 12, 13, 14, 15]
    assert _cpus(facts, CoreKind.E) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert _cpus(facts, CoreKind.LP_E) == [16, 17]
    choice = choose_cpus(facts.cores, CpuLimits())
    assert choice.cpus == (0, 1, 10, 11, 12, 13, 14, 15)
    assert choice.threads == 4
    assert choice.reason == "p_cores"


def test_that_p_cores_without_hyper_threading_are_not_halved(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "ultra7-265k"))  # field report CPU-01
    choice = choose_cpus(facts.cores, CpuLimits())
    assert choice.threads == 8
    assert choice.cpus == (0, 1, 10, 11, 12, 13, 18, 19)


def test_that_smt_siblings_need_not_be_neighbours(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "ryzen-5800x"))
    assert facts.cores[0].logical == (0, 8)
    assert len(facts.cores) == 8
    choice = choose_cpus(facts.cores, CpuLimits())
    assert (choice.threads, choice.reason) == (8, "physical_cores")
    assert choice.cpus == tuple(range(16))


def test_that_equal_cores_without_smt_are_all_used_and_claim_no_kind(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "i5-9600k"))
    assert {core.kind for core in facts.cores} == {CoreKind.UNKNOWN}
    choice = choose_cpus(facts.cores, CpuLimits())
    assert (choice.cpus, choice.threads, choice.reason) == (tuple(range(6)), 6, "all_cpus")


def test_that_a_small_virtual_machine_uses_all_of_its_cpus(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "vm-2cpu"))
    assert facts.is_virtual_machine is True
    choice = choose_cpus(facts.cores, CpuLimits())
    assert (choice.cpus, choice.threads, choice.reason) == ((0, 1), 2, "all_cpus")


def test_that_no_p_and_e_cores_are_claimed_inside_wsl(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "wsl2-12cpu"))  # field report CPU-11
    assert facts.is_virtual_machine is True
    assert facts.kinds_from is None
    assert {core.kind for core in facts.cores} == {CoreKind.UNKNOWN}
    assert choose_cpus(facts.cores, CpuLimits()).threads == 6


def test_that_arm_cores_are_told_apart_by_their_capacity(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "arm-big-little"))
    assert _cpus(facts, CoreKind.P) == [4, 5, 6, 7]
    assert facts.kinds_from == "cpu_capacity"
    assert facts.is_virtual_machine is None
    assert facts.name is None


def test_that_compact_cores_are_told_apart_by_their_top_clock(tmp_path):
    facts = cpu_linux.read_cpu(machine_tree(tmp_path, "ryzen-8540u"))
    assert _cpus(facts, CoreKind.P) == [0, 1, 2, 3]
    assert facts.kinds_from == "cpufreq"


def test_that_turbo_bins_do_not_make_a_core_slow():
    assert cpu_linux.kinds_by_speed({0: 5_700_000, 1: 5_500_000, 2: 5_300_000}) == {}


def test_that_a_missing_figure_makes_no_kinds():
    assert cpu_linux.kinds_by_speed({0: 1024, 1: None}) == {}
    assert cpu_linux.kinds_by_speed({}) == {}


def test_that_offline_siblings_are_left_out(tmp_path):
    root = machine_tree(tmp_path, "ryzen-5800x")
    write_files(root, {"sys/devices/system/cpu/online": "0-7\n"})
    facts = cpu_linux.read_cpu(root)
    assert [core.logical for core in facts.cores] == [(n,) for n in range(8)]


def test_that_an_empty_system_still_gives_cores(tmp_path):
    facts = cpu_linux.read_cpu(tmp_path)
    assert len(facts.cores) >= 1
    assert facts.name is None
    assert facts.is_virtual_machine is None


def test_that_garbage_in_every_file_raises_nothing(tmp_path):
    root = machine_tree(tmp_path, "i7-13700h")
    for path in root.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff\x00garbage,-9-\n")
    assert len(cpu_linux.read_cpu(root).cores) >= 1


@pytest.mark.parametrize(
    ("text", "expected"), [("0-3,8", (0, 1, 2, 3, 8)), ("", ()), ("5", (5,)), ("2, 0", (0, 2)), ("3-1", ())]
)
def test_that_cpu_lists_are_read(text, expected):
    assert parse_cpu_list(text) == expected
