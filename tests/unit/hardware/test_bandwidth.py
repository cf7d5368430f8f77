"""The RAM measurement really reads, on small buffers here, and can be stopped."""

import dataclasses
import itertools
import os
import sys
import threading
from types import SimpleNamespace

import numpy
import pytest

from app.common.problem import ProblemError
from app.hardware import bandwidth
from app.hardware.cpu_choice import CpuLimits, describe_cpu
from app.hardware.ps import RamNow, own_affinity
from app.hardware.types import CacheDomain, CoreKind, CpuCore

MIB = 1 << 20


@pytest.fixture
def small_buffers(monkeypatch):
    monkeypatch.setattr(bandwidth, "_WANTED_BYTES", 8 * MIB)
    monkeypatch.setattr(bandwidth, "_LEAST_BYTES", 1 * MIB)


def _threads():
    return {t for t in threading.enumerate() if t.name != "MainThread"}


def test_that_a_figure_comes_out_and_no_thread_stays(small_buffers):
    before, affinity = _threads(), own_affinity()
    cpus = tuple(sorted(affinity or {0}))[:2]
    gbs = bandwidth.measure_ram_read_gbs(cpus, seconds=0.0)
    assert 0.05 < gbs < 100_000
    assert _threads() <= before
    assert own_affinity() == affinity


def test_that_a_cpu_that_does_not_exist_is_no_obstacle(small_buffers):
    assert bandwidth.measure_ram_read_gbs((0, 4000), seconds=0.0) > 0
    assert bandwidth.measure_ram_read_gbs((), seconds=0.0) > 0


@pytest.mark.parametrize("asked_before", [0, 1, 5, 40])
def test_that_it_stops_when_cancelled_while_it_fills_or_reads(small_buffers, monkeypatch, asked_before):
    monkeypatch.setattr(bandwidth, "_CHUNK_BYTES", 1 * MIB)
    asked = itertools.count()
    before = _threads()
    with pytest.raises(ProblemError) as caught:
        bandwidth.measure_ram_read_gbs((0,), seconds=60, cancelled=lambda: next(asked) >= asked_before)
    assert caught.value.problem.code == "bandwidth_cancelled"
    assert next(asked) == asked_before + 1, "nothing was read after the answer"
    assert _threads() <= before


def test_that_a_numpy_that_does_not_run_here_is_told_with_its_own_words(small_buffers, monkeypatch):
    def no_numpy(name):
        raise RuntimeError("NumPy was built with baseline optimizations: (X86_V2)")

    monkeypatch.setattr(bandwidth.importlib, "import_module", no_numpy)
    with pytest.raises(ProblemError) as caught:
        bandwidth.measure_ram_read_gbs((0,), seconds=0.0)
    assert caught.value.problem.code == "bandwidth_no_numpy"
    assert "X86_V2" in caught.value.problem.evidence[0]


def test_that_a_reading_that_fails_ends_the_measurement_with_its_reason(small_buffers, monkeypatch):
    broken = SimpleNamespace(empty=numpy.empty, uint64=numpy.uint64, bitwise_or=SimpleNamespace())
    monkeypatch.setattr(bandwidth, "_numpy", lambda: broken)
    before = _threads()
    with pytest.raises(ProblemError) as caught:
        bandwidth.measure_ram_read_gbs((0, 0), seconds=0.0)
    assert caught.value.problem.code == "bandwidth_failed"
    assert "AttributeError" in caught.value.problem.evidence[0]
    assert _threads() <= before


@pytest.mark.skipif(sys.platform == "win32", reason="containers' limits are a matter of Linux")
def test_that_a_containers_limit_counts_as_the_memory_there_is(monkeypatch):
    monkeypatch.setattr(bandwidth, "ram_now", lambda: RamNow(64 << 30, 50 << 30))
    monkeypatch.setattr(bandwidth.memory_linux, "within_container", lambda now: (RamNow(1 << 30, 512 * MIB), True))
    with pytest.raises(ProblemError) as caught:
        bandwidth.measure_ram_read_gbs((0,))
    assert caught.value.problem.code == "bandwidth_no_memory"


def test_that_too_little_free_memory_is_said(monkeypatch):
    monkeypatch.setattr(bandwidth, "ram_now", lambda: RamNow(1 << 30, 256 * MIB))
    with pytest.raises(ProblemError) as caught:
        bandwidth.measure_ram_read_gbs((0,))
    assert caught.value.problem.code == "bandwidth_no_memory"
    assert caught.value.problem.params["needed_bytes"] == 1 << 30


def test_that_a_buffer_that_cannot_be_had_is_said(small_buffers, monkeypatch):
    monkeypatch.setattr(bandwidth, "_WANTED_BYTES", 1 << 62)
    monkeypatch.setattr(bandwidth, "ram_now", lambda: RamNow(1 << 62, 1 << 62))
    before = _threads()
    with pytest.raises(ProblemError) as caught:
        bandwidth.measure_ram_read_gbs((0,), seconds=0.0)
    assert caught.value.problem.code == "bandwidth_no_memory"
    assert _threads() <= before


@pytest.mark.skipif(sys.platform != "linux", reason="reads the thread's mask back")
def test_that_a_reader_stays_on_its_cpu():
    masks = []

    def work():
        bandwidth.pin_this_thread(min(own_affinity()))
        masks.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert masks == [{min(own_affinity())}]


@pytest.mark.parametrize(
    ("caches", "expected"), [(None, 512), (24 * MIB, 256), (64 * MIB, 512), (128 * MIB, 1024), (1024 * MIB, 1024)]
)
def test_that_the_buffer_is_as_large_as_the_caches_ask_for(monkeypatch, caches, expected):
    asked = []

    class Recording:
        def __init__(self, module, cpus, part_bytes, cancelled):
            asked.append(part_bytes * len(cpus) // MIB)

        def best_gbs(self, seconds):
            return 1.0

        def stop(self):
            pass

    monkeypatch.setattr(bandwidth, "_Readers", Recording)
    monkeypatch.setattr(bandwidth, "_free_bytes", lambda: 64 << 30)
    bandwidth.measure_ram_read_gbs((0, 1), caches=caches)
    assert asked == [expected]


def test_that_a_virtual_machines_cache_is_not_believed():
    cpu = describe_cpu(None, (CpuCore((0,), CoreKind.UNKNOWN),), CpuLimits(), False)
    cpu = dataclasses.replace(cpu, l3=(CacheDomain((0,), 32 * MIB),) * 2)
    assert bandwidth.cache_bytes(cpu) == 64 * MIB
    assert bandwidth.cache_bytes(dataclasses.replace(cpu, is_virtual_machine=True)) is None
    assert bandwidth.cache_bytes(dataclasses.replace(cpu, l3=())) is None


def test_that_each_recommended_core_reads_once():
    cores = (
        *(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(6)),
        *(CpuCore((n,), CoreKind.E) for n in range(12, 20)),
    )
    hybrid = describe_cpu(None, cores, CpuLimits(), False)
    assert bandwidth.reading_cpus(hybrid) == (0, 2, 4, 6, 8, 10)
    limited = describe_cpu(None, cores, CpuLimits(frozenset({1, 2, 3})), False)
    assert bandwidth.reading_cpus(limited) == (1, 2)
