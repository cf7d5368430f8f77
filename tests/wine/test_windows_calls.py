"""The Windows calls of the hardware probes, made for real: signatures, structures and graceful answers."""

import ctypes
import os
import sys

import psutil
import pytest

from app.common.problem import ProblemError
from app.hardware import cpu_windows, gpus_nvml, gpus_windows, gpus_windows_calls, memory_windows, probe
from app.hardware.cpu_choice import choose_cpus
from app.hardware.free_now import read_free
from app.hardware.gpu_counters_windows import GpuCounters, LoadCounters
from app.hardware.gpu_load import CardSensors
from app.hardware.gpu_sensors_windows import read_sensors
from app.hardware.registry_windows import registry_text
from app.hardware.smbios import parse_smbios
from app.monitor.gpu_process import gpu_process_sampler
from app.monitor.samplers import CpuSampler, ProcessSampler, RamSampler
from app.monitor.windows_card import windows_card_sampler


def test_that_this_is_windows_10_or_newer_with_the_python_that_is_shipped():
    assert sys.platform == "win32"
    assert sys.getwindowsversion().major >= 10
    assert sys.version_info[:2] == (3, 13)


def test_that_every_logical_cpu_belongs_to_one_core_and_caches_are_shared():
    cores, caches = cpu_windows.parse_processor_information(cpu_windows.read_processor_information())
    numbers = sorted(n for core in cores for n in core.logical)
    assert numbers == list(range(os.cpu_count()))
    assert {1, 2} <= {cache.level for cache in caches}
    assert all(domain.size_bytes > 0 for domain in cpu_windows.l3_domains(caches))
    classified = cpu_windows.classify_cores(cores, caches)
    choice = choose_cpus(classified, cpu_windows.read_limits())
    assert 1 <= choice.threads <= len(choice.cpus)


def test_that_cpu_sets_describe_the_same_cpus():
    sets = cpu_windows.parse_cpu_sets(cpu_windows.read_cpu_sets())
    assert sorted(s.logical for s in sets) == list(range(os.cpu_count()))
    assert cpu_windows.cores_of_sets(sets)


def test_that_groups_name_emulation_and_firmware_are_told():
    assert cpu_windows.read_group_count() == 1
    assert cpu_windows.read_is_emulated() is False
    assert cpu_windows.read_name()
    assert cpu_windows.read_is_virtual_machine() in (True, False, None)
    assert cpu_windows.read_limits().allowed <= set(range(os.cpu_count()))


def test_that_the_firmware_table_is_read(under_wine):
    table = memory_windows.strip_header(memory_windows.read_firmware_table())
    assert len(table) > 100
    if under_wine:
        assert parse_smbios(table) == ()  # Wine writes types 0 to 3, 32 and 127 only
        assert memory_windows.read_modules().slots is None


def test_that_dxgi_lists_adapters_with_memory_budget_and_name():
    adapters = gpus_windows_calls.read_adapters()
    assert adapters
    for adapter in adapters:
        assert adapter.name
        assert adapter.device_id is not None
        assert adapter.budget_bytes is None or adapter.budget_bytes >= 0
    assert all(gpu.luid is not None for gpu in gpus_windows.gpus_of(adapters, ()))


def test_that_links_power_states_and_registry_notes_are_asked_without_an_exception():
    assert isinstance(gpus_windows_calls.read_links(), tuple)
    assert isinstance(gpus_windows_calls.read_sleeping(), dict)
    assert isinstance(gpus_windows_calls.read_registry_cards(), tuple)


def test_that_missing_counters_are_an_error_of_the_system_and_never_a_zero(under_wine):
    if not under_wine:
        counters = GpuCounters()
        assert all(use.dedicated_bytes is None or use.dedicated_bytes >= 0 for use in counters.read())
        counters.close()
        return
    with pytest.raises(OSError, match="0xc0000bb9"):
        GpuCounters()
    gpus = gpus_windows.gpus_of(gpus_windows_calls.read_adapters(), ())
    assert gpu_process_sampler(os.getpid(), gpus) is None
    with pytest.raises(OSError, match="0xc0000bb9"):
        LoadCounters()
    assert windows_card_sampler(os.getpid(), gpus) is None


def test_that_a_card_that_tells_nothing_of_its_sensors_is_no_error(under_wine):
    told = [read_sensors(gpu.luid) for gpu in gpus_windows.gpus_of(gpus_windows_calls.read_adapters(), ())]
    assert told
    assert all(t == CardSensors() for t in told) if under_wine else all(t.temperature != 0 for t in told)


def test_that_a_missing_nvidia_driver_is_named_as_such(under_wine):
    if not under_wine:
        pytest.skip("there may be an NVIDIA driver here")
    with pytest.raises(ProblemError) as caught:
        gpus_nvml.open_nvml()
    assert caught.value.problem.code == "nvml_missing"


def test_that_the_whole_probe_describes_this_computer():
    snapshot = probe.probe()
    assert snapshot.os.startswith("Windows 1")
    assert snapshot.cpu.logical_count == os.cpu_count()
    assert snapshot.memory.total_bytes == psutil.virtual_memory().total
    assert snapshot.cpu.processor_groups == 1
    assert snapshot.gpus
    assert [p for p in snapshot.problems if p.code not in ("nvml_missing", "memory_modules_failed")] == []


def test_that_free_memory_is_read_again_by_windows_own_budget():
    snapshot = probe.probe()
    now = read_free(snapshot)
    assert now.ram.available_bytes > 0
    assert list(now.gpus) == [
        i for i, gpu in enumerate(snapshot.gpus) if gpu.uuid is None and gpu.free_bytes is not None
    ]
    assert all(free >= 0 for free in now.gpus.values())


def test_that_the_registry_answers_and_a_missing_key_is_nothing():
    assert registry_text(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion", "CurrentBuild")
    assert registry_text(r"SOFTWARE\Lanewise\No such key", "x") is None


def test_that_the_samplers_tell_this_process():
    cpu, process = CpuSampler(), ProcessSampler(os.getpid())
    cpu.sample()
    assert len(cpu.sample()) == os.cpu_count()
    assert process.sample()["server.rss"] > 1 << 20
    assert RamSampler().sample()["ram.available"] > 0


def test_that_a_thread_mask_stays_within_the_process_mask():
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.GetCurrentThread.restype = ctypes.c_void_p
    kernel.SetThreadAffinityMask.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    kernel.SetThreadAffinityMask.restype = ctypes.c_size_t
    outside = 1 << (os.cpu_count() + 1)
    assert kernel.SetThreadAffinityMask(kernel.GetCurrentThread(), outside) == 0
    assert ctypes.get_last_error() == 87
