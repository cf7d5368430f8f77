"""Each sampler tells what its system tells, and None for the rest."""

import os
import subprocess
import sys
from collections import namedtuple

import psutil
import pytest

from app.common.problem import fail
from app.hardware.gpus_nvml import NvmlSession
from app.monitor import samplers
from app.monitor.loop import MonitorLoop
from app.monitor.nvml import METRICS, REOPEN_S, NvmlSampler
from app.monitor.samplers import CpuSampler, ProcessSampler, RamSampler
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml

Times = namedtuple("Times", "user nice system idle iowait guest")


def _cpu_times(monkeypatch, *rows):
    answers = iter(rows)
    monkeypatch.setattr(samplers.psutil, "cpu_times", lambda percpu: next(answers))


def test_that_cpu_load_is_the_busy_share_since_the_last_sample(monkeypatch):
    _cpu_times(
        monkeypatch,
        [Times(10, 0, 0, 90, 0, 5), Times(0, 0, 0, 100, 0, 0)],
        [Times(13, 0, 1, 94, 2, 8), Times(0, 0, 0, 110, 0, 0)],
        [Times(13, 0, 1, 94, 2, 8), Times(10, 0, 0, 110, 0, 0)],
    )
    cpu = CpuSampler()
    assert cpu.sample() == {"cpu.0": None, "cpu.1": None}
    assert cpu.sample() == {"cpu.0": 40.0, "cpu.1": 0.0}
    assert cpu.sample() == {"cpu.0": None, "cpu.1": 100.0}
    cpu.close()


def test_that_a_cpu_that_goes_offline_starts_anew_and_odd_counters_stay_in_range(monkeypatch):
    _cpu_times(
        monkeypatch,
        [Times(10, 0, 0, 90, 5, 0)] * 2,
        [Times(11, 0, 0, 91, 5, 0)],
        [Times(14, 0, 0, 91, 3, 0)],
    )
    cpu = CpuSampler()
    cpu.sample()
    assert cpu.sample() == {"cpu.0": None}
    assert cpu.sample() == {"cpu.0": 100.0}


def test_that_this_computers_cpus_are_all_there():
    cpu = CpuSampler()
    cpu.sample()
    values = cpu.sample()
    assert len(values) == psutil.cpu_count()
    assert all(value is None or 0 <= value <= 100 for value in values.values())


def test_that_ram_adds_up():
    ram = RamSampler()
    values = ram.sample()
    assert values["ram.used"] + values["ram.available"] == psutil.virtual_memory().total
    assert values["ram.used"] > 0
    ram.close()


def test_that_a_process_is_measured_and_its_end_is_unknown():
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; x = bytearray(b'x' * 40_000_000); print('up', flush=True); sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout.readline().strip() == b"up"
        clock = iter([10.0, 11.0, 11.0])
        sampler = ProcessSampler(child.pid, clock=lambda: next(clock))
        first, second, third = sampler.sample(), sampler.sample(), sampler.sample()
        assert first["server.rss"] > 40_000_000
        assert first["server.cpu"] is None
        assert second["server.cpu"] >= 0.0
        assert third["server.cpu"] is None  # no time has passed
        child.stdin.close()
    assert sampler.sample() == dict.fromkeys(ProcessSampler.KEYS)
    assert sampler.sample() == dict.fromkeys(ProcessSampler.KEYS)
    sampler.close()


@pytest.mark.skipif(sys.platform == "win32", reason="zombies")
def test_that_a_process_that_ended_unread_counts_as_ended():
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    sampler = ProcessSampler(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert sampler.sample() == dict.fromkeys(ProcessSampler.KEYS)
    child.wait()


def test_that_a_process_that_never_was_is_unknown():
    assert ProcessSampler(2**22 + 12345).sample() == dict.fromkeys(ProcessSampler.KEYS)


def test_that_one_refused_figure_of_a_process_costs_only_itself(monkeypatch):
    def refuse(_self):
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "io_counters", refuse, raising=False)
    values = ProcessSampler(os.getpid()).sample()
    assert values["server.read"] is None
    assert values["server.rss"] > 0


def _nvml_sampler(nvml, **labels):
    return NvmlSampler(("GPU-aaaa",), labels, open_session=lambda: NvmlSession(nvml))


def test_that_a_card_tells_its_live_figures_under_the_engines_name():
    nvml = FakeNvml(RTX_4080_LAPTOP)
    sampler = NvmlSampler(("GPU-aaaa",), {"GPU-aaaa": "CUDA0"}, open_session=lambda: NvmlSession(nvml))
    assert sampler.sample() == {
        "gpu.CUDA0.used": 900000000.0,
        "gpu.CUDA0.free": 11500000000.0,
        "gpu.CUDA0.util": 40.0,
        "gpu.CUDA0.mem_util": 12.0,
        "gpu.CUDA0.power_w": 61.5,
        "gpu.CUDA0.power_limit_w": 115.0,
        "gpu.CUDA0.temperature": 58.0,
        "gpu.CUDA0.clock": 2280.0,
        "gpu.CUDA0.pcie_width": 8.0,
        "gpu.CUDA0.pcie_gen": 1.0,
        "gpu.CUDA0.held_back": None,
    }
    sampler.close()
    assert nvml.opened == 0


def test_that_an_unsupported_metric_is_a_gap_and_is_not_asked_again():
    nvml = FakeNvml(RTX_4080_LAPTOP)  # field report GPU-06
    nvml.refused |= {"nvmlDeviceGetPowerUsage", "nvmlDeviceGetPowerManagementLimit"}
    sampler = _nvml_sampler(nvml)
    first, second = sampler.sample(), sampler.sample()
    assert first["gpu.GPU-aaaa.power_w"] is None
    assert first["gpu.GPU-aaaa.used"] == second["gpu.GPU-aaaa.used"] == 900000000.0
    assert nvml.calls.count("nvmlDeviceGetPowerUsage") == 1
    assert first["gpu.GPU-aaaa.power_limit_w"] == 115.0  # the one in force, although the set one is refused


def test_that_an_old_driver_without_the_second_memory_call_is_read_by_the_first():
    class Old(FakeNvml):
        nvmlMemory_v2 = None  # noqa: N815

    assert _nvml_sampler(Old(RTX_4080_LAPTOP)).sample()["gpu.GPU-aaaa.used"] == 1378610432.0


def test_that_a_driver_that_disappears_gives_gaps_and_comes_back():
    nvml = FakeNvml(RTX_4080_LAPTOP)
    sampler = _nvml_sampler(nvml)
    sampler.sample()
    nvml.lost = True
    assert set(sampler.sample().values()) == {None}
    nvml.lost = False
    assert sampler.sample()["gpu.GPU-aaaa.free"] == 11500000000.0
    assert nvml.calls.count("nvmlInit") == 1  # one session for its whole life


def test_that_a_driver_that_stays_away_is_opened_anew_after_a_while_and_told_once():
    nvml, now = FakeNvml(RTX_4080_LAPTOP), [0.0]
    sampler = NvmlSampler(("GPU-aaaa",), open_session=lambda: NvmlSession(nvml), clock=lambda: now[0])
    told = []
    loop = MonitorLoop((sampler,), 1.0, print, told.append)
    loop.sample_once()
    nvml.lost = True
    for _ in range(3):
        assert set(loop.sample_once().values.values()) == {None}
    assert [problem.code for problem in told] == ["nvml_lost"]
    assert told[0].evidence == ("NVML error 15",)
    now[0] = REOPEN_S
    nvml.lost = False
    assert loop.sample_once().values["gpu.GPU-aaaa.used"] == 900000000.0
    assert (nvml.opened, nvml.calls.count("nvmlInit")) == (1, 2)
    assert sampler.problem is None
    sampler.close()


def test_that_swap_is_told_where_the_system_tells_it(monkeypatch):
    assert RamSampler().sample()["swap.used"] is None or RamSampler().sample()["swap.used"] >= 0

    def refuse():
        raise RuntimeError("PDH")

    monkeypatch.setattr(psutil, "swap_memory", refuse)
    values = RamSampler().sample()
    assert values["swap.used"] is None
    assert values["ram.available"] > 0


def test_that_no_library_or_an_unknown_card_gives_gaps_and_the_reason():
    def nothing():
        raise fail("nvml_missing")

    sampler = NvmlSampler(("GPU-aaaa",), open_session=nothing)
    assert sampler.sample() == {f"gpu.GPU-aaaa.{metric}": None for metric in METRICS}
    assert sampler.problem.code == "nvml_missing"
    sampler.close()
    assert set(_nvml_sampler(FakeNvml()).sample().values()) == {None}


def test_that_the_real_binding_without_a_driver_is_survived():
    sampler = NvmlSampler(("GPU-none",))
    assert set(sampler.sample().values()) == {None}
    sampler.close()
    assert sampler.sample().keys() == {f"gpu.GPU-none.{metric}" for metric in METRICS}


def test_that_every_nvml_function_we_sample_exists_in_the_binding():
    import pynvml

    nvml = FakeNvml(RTX_4080_LAPTOP)
    _nvml_sampler(nvml).sample()
    assert [name for name in nvml.calls if not hasattr(pynvml, name)] == []


def test_that_the_commit_limit_is_sampled_only_where_there_is_one():
    assert "ram.commit_free" not in RamSampler(lambda: None).sample()
    assert RamSampler(lambda: 5).sample()["ram.commit_free"] == 5.0
    answers = iter([1, OSError])

    def once():
        told = next(answers)
        if told is OSError:
            raise OSError
        return told

    assert RamSampler(once).sample()["ram.commit_free"] is None
