"""Which CPUs the engine gets under limits."""

from hypothesis import given
from hypothesis import strategies as st

from app.hardware.cpu_choice import CpuLimits, choose_cpus, cpus_for_threads, describe_cpu, is_hybrid, plain_cores
from app.hardware.types import CoreKind, CpuCore

HYBRID = (
    *(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(6)),
    *(CpuCore((n,), CoreKind.E) for n in range(12, 20)),
)


def test_that_an_affinity_mask_narrows_the_p_cores():
    choice = choose_cpus(HYBRID, CpuLimits(frozenset({0, 1, 2, 12, 13})))
    assert choice.cpus == (0, 1, 2)
    assert choice.threads == 2
    assert choice.reason == "limited"


def test_that_a_mask_of_e_cores_only_leaves_the_e_cores():
    choice = choose_cpus(HYBRID, CpuLimits(frozenset(range(12, 20))))
    assert choice.cpus == tuple(range(12, 20))
    assert (choice.threads, choice.reason) == (8, "limited")


def test_that_a_mask_that_keeps_the_chosen_cores_is_no_limit():
    choice = choose_cpus(HYBRID, CpuLimits(frozenset(range(16))))
    assert (choice.threads, choice.reason) == (6, "p_cores")


def test_that_a_container_quota_bounds_the_threads_rounded_down():
    eight = plain_cores(8)  # field report CPU-12
    assert choose_cpus(eight, CpuLimits(quota_cpus=4.0)).threads == 4
    assert choose_cpus(eight, CpuLimits(quota_cpus=7.65)).threads == 7
    assert choose_cpus(eight, CpuLimits(quota_cpus=0.5)).threads == 1
    assert choose_cpus(eight, CpuLimits(quota_cpus=4.0)).reason == "limited"
    assert choose_cpus(eight, CpuLimits(quota_cpus=16.0)).reason == "all_cpus"


def test_that_siblings_in_a_cpuset_count_once():
    smt = tuple(CpuCore((i, i + 4), CoreKind.UNKNOWN) for i in range(4))
    choice = choose_cpus(smt, CpuLimits(frozenset({0, 4, 1, 5})))
    assert (choice.cpus, choice.threads) == ((0, 1, 4, 5), 2)


def test_that_a_mask_outside_the_known_cpus_is_ignored():
    assert choose_cpus(plain_cores(2), CpuLimits(frozenset({40}))).cpus == (0, 1)


def test_that_more_threads_than_fast_cpus_get_more_cpus_instead_of_sharing_them():
    cpu = describe_cpu("i7-13700H", HYBRID, CpuLimits(), False)
    fast, everything = tuple(range(12)), tuple(range(20))
    for threads in (None, 1, 6, 12):
        assert cpus_for_threads(cpu, threads) == fast
    for threads in (13, 14, 20, 64):
        assert cpus_for_threads(cpu, threads) == everything
    limited = describe_cpu("i7-13700H", HYBRID, CpuLimits(frozenset(range(14))), False)
    assert cpus_for_threads(limited, 20) == tuple(range(14))
    u_series = (
        CpuCore((0, 1), CoreKind.P),
        CpuCore((2, 3), CoreKind.P),
        *(CpuCore((n,), CoreKind.E) for n in range(4, 12)),
    )
    small = describe_cpu("U", (*u_series, CpuCore((12,), CoreKind.LP_E)), CpuLimits(), False)  # field report CPU-06
    assert [len(cpus_for_threads(small, threads)) for threads in (2, 4, 10, 13)] == [4, 4, 12, 13]


def test_that_one_cpu_is_enough():
    info = describe_cpu(None, plain_cores(1), CpuLimits(frozenset({0}), 0.2), None)
    assert (info.recommended_cpus, info.recommended_threads, info.reason) == ((0,), 1, "all_cpus")
    assert info.logical_count == 1


def test_that_only_e_cores_are_not_hybrid():
    assert not is_hybrid(tuple(CpuCore((n,), CoreKind.E) for n in range(4)))
    assert is_hybrid(HYBRID)


@given(
    kinds=st.lists(st.sampled_from(list(CoreKind)), min_size=1, max_size=12),
    allowed=st.none() | st.frozensets(st.integers(0, 30), min_size=1),
    quota=st.none() | st.floats(0.1, 40),
)
def test_that_the_choice_is_never_empty_and_stays_within_the_machine(kinds, allowed, quota):
    cores = tuple(CpuCore((2 * i, 2 * i + 1), kind) for i, kind in enumerate(kinds))
    choice = choose_cpus(cores, CpuLimits(allowed, quota))
    everything = {n for core in cores for n in core.logical}
    assert set(choice.cpus) <= everything
    assert 1 <= choice.threads <= len(choice.cpus)
    assert list(choice.cpus) == sorted(choice.cpus)
