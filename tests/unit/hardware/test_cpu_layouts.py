"""Dies, clusters, caches and numberings: the parsers find them in any order, and never by the processor's name."""

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.diagnose.machine import machine_findings
from app.hardware import cpu_linux, cpu_windows
from app.hardware.cpu_choice import CpuLimits, CpuSystem, choose_cpus, describe_cpu, stacked_cache
from app.hardware.types import CoreKind, CpuCore, HardwareSnapshot, MemoryInfo
from app.words import say_problem
from tests.tools.hardware_data import cpu_set, cpu_tree, windows_cache, windows_core

MIB = 1 << 20


def _linux(tmp_path, *cores, **more):
    return cpu_linux.read_cpu(cpu_tree(tmp_path, cores, **more))


def _snapshot(cores, **system):
    cpu = describe_cpu("CPU", cores, CpuLimits(), False, CpuSystem(**system))
    return HardwareSnapshot("2026-01-01T00:00:00+00:00", "Linux 6.1", cpu, MemoryInfo(64 << 30, 60 << 30), ())


def _dies(*sizes_mib, cores_each=8):
    """(sibling CPUs, kind, l3 number, l3 MiB) of dies in AMD's numbering: all first threads, then all second ones."""
    total = cores_each * len(sizes_mib)
    return [((n, n + total), None, n // cores_each, sizes_mib[n // cores_each]) for n in range(total)]


def test_that_a_stacked_cache_on_one_of_two_dies_is_told_by_its_size(tmp_path):
    facts = _linux(tmp_path, *_dies(96, 32))  # field report CPU-10, A
    assert [d.size_bytes // MIB for d in facts.l3] == [96, 32]
    assert facts.l3[0].logical == (*range(8), *range(16, 24))
    assert {core.kind for core in facts.cores} == {CoreKind.UNKNOWN}
    cpu = describe_cpu("no name needed", facts.cores, CpuLimits(), False, CpuSystem(facts.l3))
    assert (cpu.recommended_threads, cpu.reason) == (16, "physical_cores")
    (finding,) = [p for p in machine_findings(_snapshot(facts.cores, l3=facts.l3)) if p.code == "two_dies_vcache"]
    assert dict(finding.params) == {"dies": 2, "cache_bytes": 96 * MIB, "first": 0, "cores": 8}
    assert "96 MiB" in say_problem(finding)


@pytest.mark.share(1)
@pytest.mark.parametrize("sizes", [(96,), (32, 32), (96, 96), (16, 16, 16, 16)])
def test_that_equal_dies_give_no_advice(tmp_path, sizes):  # field report CPU-10, B
    facts = _linux(tmp_path, *_dies(*sizes))
    assert stacked_cache(describe_cpu(None, facts.cores, CpuLimits(), False, CpuSystem(facts.l3))) == ()
    assert facts.kinds_from is None
    assert "two_dies_vcache" not in [p.code for p in machine_findings(_snapshot(facts.cores, l3=facts.l3))]


def test_that_unequal_small_caches_are_full_and_compact_cores(tmp_path):
    cores = [((n, n + 12), None, 0, 16) for n in range(4)] + [((n, n + 12), None, 1, 8) for n in range(4, 12)]
    facts = _linux(tmp_path, *cores)  # field report CPU-10, C
    assert facts.kinds_from == "caches"
    assert [core.logical[0] for core in facts.cores if core.kind is CoreKind.P] == [0, 1, 2, 3]
    assert choose_cpus(facts.cores, CpuLimits()).threads == 4
    assert stacked_cache(describe_cpu(None, facts.cores, CpuLimits(), False, CpuSystem(facts.l3))) == ()


def test_that_a_virtual_machines_caches_tell_no_kinds(tmp_path):
    facts = _linux(tmp_path, *_dies(16, 8, cores_each=2), is_vm=True)
    assert facts.kinds_from is None
    assert {core.kind for core in facts.cores} == {CoreKind.UNKNOWN}


def test_that_a_virtual_machine_that_shows_p_and_e_cores_is_not_believed(tmp_path):
    cores = [((0, 1), CoreKind.P, 0, 24), ((2,), CoreKind.E, 0, 24)]
    facts = _linux(tmp_path, *cores, is_vm=True)
    assert ({core.kind for core in facts.cores}, facts.kinds_from) == ({CoreKind.UNKNOWN}, None)


def test_that_windows_caches_say_the_same():
    low, high = 0xFF00FF, 0xFF00FF00
    records = [windows_core(0, True, 1 << n | 1 << (n + 16)) for n in range(16)]
    cores, caches = cpu_windows.parse_processor_information(
        b"".join((*records, windows_cache(3, 96 * MIB, low), windows_cache(3, 32 * MIB, high)))
    )
    l3 = cpu_windows.l3_domains(caches)
    assert [(d.size_bytes // MIB, d.logical[0], len(d.logical)) for d in l3] == [(96, 0, 16), (32, 8, 16)]
    assert {c.kind for c in cpu_windows.classify_cores(cores, caches)} == {CoreKind.UNKNOWN}
    compact = (cpu_windows.CacheRecord(3, 16 * MIB, (0, 1)), cpu_windows.CacheRecord(3, 8 * MIB, (2, 3)))
    plain = tuple(cpu_windows.CoreRecord((n,), 0, False) for n in range(4))
    assert [c.kind.value for c in cpu_windows.classify_cores(plain, compact)] == ["P", "P", "E", "E"]


@pytest.mark.parametrize(
    ("text", "expected"), [("98304K", 96 * MIB), ("32M", 32 * MIB), ("", None), (None, None), ("big", None)]
)
def test_that_cache_sizes_are_read(text, expected):
    assert cpu_linux.parse_cache_size(text) == expected


@st.composite
def machines(draw):
    """Physical cores of the three kinds, and a random numbering of their logical CPUs."""
    counts = [draw(st.integers(1, 8)), draw(st.integers(1, 12)), draw(st.integers(0, 4))]
    smt = draw(st.booleans())
    kinds = [k for k, n in zip((CoreKind.P, CoreKind.E, CoreKind.LP_E), counts, strict=True) for _ in range(n)]
    sizes = [2 if smt and kind is CoreKind.P else 1 for kind in kinds]
    numbers = list(range(sum(sizes)))
    random.Random(draw(st.integers(0, 999))).shuffle(numbers)
    taken = iter(numbers)
    return tuple(CpuCore(tuple(sorted(next(taken) for _ in range(n))), k) for k, n in zip(kinds, sizes, strict=True))


def _sorted(cores):
    return tuple(sorted(cores, key=lambda core: core.logical))


@given(machines())
def test_that_windows_cores_are_classified_in_any_numbering(cores):
    near = sum(1 << n for core in cores if core.kind is not CoreKind.LP_E for n in core.logical)
    records = [
        windows_core(int(c.kind is CoreKind.P), len(c.logical) > 1, sum(1 << n for n in c.logical)) for c in cores
    ]
    parsed = cpu_windows.parse_processor_information(b"".join((*records, windows_cache(3, 24 * MIB, near))))
    assert cpu_windows.classify_cores(*parsed) == _sorted(cores)


@pytest.mark.skipif(sys.platform == "win32", reason="the Linux probes: hundreds of small files")
@settings(max_examples=8)
@given(cores=machines())
def test_that_linux_cores_are_classified_in_any_numbering(tmp_path_factory, cores):
    described = [(c.logical, c.kind, None if c.kind is CoreKind.LP_E else 0, 24) for c in cores]
    facts = cpu_linux.read_cpu(cpu_tree(tmp_path_factory.mktemp("cpu"), described))
    assert facts.cores == _sorted(cores)
    chosen = choose_cpus(facts.cores, CpuLimits())
    assert chosen.cpus == tuple(sorted(n for c in cores if c.kind is CoreKind.P for n in c.logical))
    assert chosen.threads == sum(c.kind is CoreKind.P for c in cores)


def test_that_cpu_sets_tell_cores_classes_and_parking():
    data = b"".join(
        (
            cpu_set(0, core=0, cache=0, efficiency=1),
            cpu_set(1, core=0, cache=0, efficiency=1),
            cpu_set(2, core=2, cache=0, efficiency=0, parked=True),
            cpu_set(0, core=0, cache=1, efficiency=0, group=1),
        )
    )
    sets = cpu_windows.parse_cpu_sets(data)
    assert [s.logical for s in sets] == [0, 1, 2, 64]
    assert [s.is_parked for s in sets] == [False, False, True, False]
    assert cpu_windows.cores_of_sets(sets) == (
        cpu_windows.CoreRecord((0, 1), 1, True),
        cpu_windows.CoreRecord((2,), 0, False),
        cpu_windows.CoreRecord((64,), 0, False),
    )
    assert cpu_windows.parse_cpu_sets(data[:40]) == sets[:1]
    assert cpu_windows.parse_cpu_sets(b"\0" * 64) == ()


@given(st.binary(max_size=200))
def test_that_any_bytes_are_cpu_sets_and_records_without_an_exception(data):
    cpu_windows.parse_cpu_sets(data)
    cpu_windows.parse_processor_information(data)


def test_that_an_x64_program_on_an_arm_processor_is_noticed():
    assert cpu_windows.is_emulated(0xAA64, 0x8664) is True  # field report CPU-13
    assert cpu_windows.is_emulated(0x8664, 0x8664) is False
    assert cpu_windows.is_emulated(0xAA64, 0) is None
    one_class = tuple(CpuCore((n,), CoreKind.UNKNOWN) for n in range(12))
    snapshot = _snapshot(one_class, is_emulated=True)
    codes = [p.code for p in machine_findings(snapshot)]
    assert "emulated_processor" in codes
    assert "nvml_missing" not in codes
    assert not snapshot.cpu.is_hybrid


def test_that_limits_and_groups_are_part_of_what_is_known():
    cores = tuple(CpuCore((n,), CoreKind.UNKNOWN) for n in range(8))
    cpu = describe_cpu(None, cores, CpuLimits(frozenset({0, 1, 90}), 1.5), False, CpuSystem(processor_groups=2))
    assert (cpu.allowed_cpus, cpu.quota_cpus, cpu.processor_groups, cpu.reason) == ((0, 1), 1.5, 2, "limited")
    free = describe_cpu(None, cores, CpuLimits(frozenset(range(8))), False)
    assert (free.allowed_cpus, free.quota_cpus) == (None, None)
    assert "processor_groups" in [p.code for p in machine_findings(_snapshot(cores, processor_groups=2))]


def test_that_inside_wsl_the_ram_limit_is_explained():
    cores = tuple(CpuCore((n,), CoreKind.UNKNOWN) for n in range(12))
    cpu = describe_cpu("CPU", cores, CpuLimits(), True)
    memory = MemoryInfo(int(15.5 * (1 << 30)), 14 << 30)
    os_name = "Ubuntu 24.04, Linux 5.15.167.4-microsoft-standard-WSL2"
    found = machine_findings(HardwareSnapshot("2026-01-01T00:00:00+00:00", os_name, cpu, memory, ()))
    (wsl,) = [p for p in found if p.code == "inside_wsl"]  # field report CPU-11
    assert "15.5 GiB" in say_problem(wsl)
    assert "virtual_machine" not in [p.code for p in found]
