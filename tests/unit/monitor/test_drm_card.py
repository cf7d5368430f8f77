"""AMD and Intel cards on Linux: what their drivers write into /sys, and None for what they do not."""

import sys

import pytest

from app.hardware.types import GpuInfo
from app.monitor.drm_card import METRICS, DrmCardSampler, drm_card_sampler

AMD, INTEL = "0000:03:00.0", "0000:00:02.0"
GIB = 1 << 30


def write(root, pci_id, files):
    for name, text in files.items():
        path = root / "sys/bus/pci/devices" / pci_id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")


AMDGPU = {
    "power/runtime_status": "active",
    "mem_info_vram_used": 11 * GIB,
    "mem_info_vram_total": 16 * GIB,
    "mem_info_gtt_used": 3 * GIB,
    "mem_info_gtt_total": 15 * GIB,
    "gpu_busy_percent": 97,
    "mem_busy_percent": 71,
    "hwmon/hwmon4/temp1_input": 64000,
    "hwmon/hwmon4/power1_average": 212_000_000,
    "hwmon/hwmon4/power1_cap": 263_000_000,
    "hwmon/hwmon4/freq1_input": 2_380_000_000,
    "drm/card1/dev": "226:1",
}


def test_that_amdgpu_tells_everything(tmp_path):
    write(tmp_path, AMD, AMDGPU)
    told = DrmCardSampler({AMD: "Vulkan0"}, tmp_path).sample()
    assert {key.rpartition(".")[2]: value for key, value in told.items()} == {
        "used": 11.0 * GIB, "free": 5.0 * GIB, "util": 97.0, "mem_util": 71.0, "temperature": 64.0, "power_w": 212.0,
        "power_limit_w": 263.0, "clock": 2380.0,
    }  # fmt: skip
    assert set(told) == {f"gpu.Vulkan0.{metric}" for metric in METRICS}


def test_that_a_processors_own_card_is_lent_ram(tmp_path):
    write(tmp_path, AMD, AMDGPU | {"mem_info_vram_used": GIB, "mem_info_vram_total": GIB})
    told = DrmCardSampler({AMD: "Vulkan0"}, tmp_path, frozenset({AMD})).sample()
    assert (told["gpu.Vulkan0.used"], told["gpu.Vulkan0.free"]) == (4.0 * GIB, 12.0 * GIB)


def test_that_an_average_power_that_is_not_told_is_the_energy_over_the_time(tmp_path):
    now = [10.0]
    write(tmp_path, INTEL, {"hwmon/hwmon2/energy1_input": 5_000_000, "drm/card0/gt_act_freq_mhz": 1950})
    sampler = DrmCardSampler({INTEL: "Vulkan1"}, tmp_path, clock=lambda: now[0])
    first = sampler.sample()
    assert (first["gpu.Vulkan1.power_w"], first["gpu.Vulkan1.clock"]) == (None, 1950.0)
    assert first["gpu.Vulkan1.used"] is None
    now[0] = 10.5
    write(tmp_path, INTEL, {"hwmon/hwmon2/energy1_input": 8_500_000})
    assert sampler.sample()["gpu.Vulkan1.power_w"] == pytest.approx(7.0)
    now[0] = 11.0
    write(tmp_path, INTEL, {"hwmon/hwmon2/energy1_input": 100})  # the counter began anew
    assert sampler.sample()["gpu.Vulkan1.power_w"] is None


def test_that_the_xe_driver_tells_its_clock_elsewhere(tmp_path):
    write(tmp_path, INTEL, {"tile0/gt0/freq0/act_freq": 2400})
    assert DrmCardSampler({INTEL: "SYCL0"}, tmp_path).sample()["gpu.SYCL0.clock"] == 2400.0


def test_that_a_card_that_sleeps_is_left_asleep(tmp_path):
    write(tmp_path, AMD, AMDGPU | {"power/runtime_status": "suspended"})
    assert set(DrmCardSampler({AMD: "Vulkan0"}, tmp_path).sample().values()) == {None}


def test_that_nothing_and_nonsense_are_unknown(tmp_path):
    write(tmp_path, AMD, {"gpu_busy_percent": "busy", "hwmon/hwmon0/temp1_input": "", "mem_info_vram_used": 5})
    told = DrmCardSampler({AMD: "a", "0000:99:00.0": "b"}, tmp_path).sample()
    assert {key for key, value in told.items() if value is not None} == {"gpu.a.used"}


@pytest.mark.skipif(sys.platform == "win32", reason="Linux' drivers")
def test_that_nvidia_is_left_to_its_own_library(tmp_path):
    nvidia = GpuInfo("RTX", "gpu", "CUDA0", None, None, uuid="GPU-1", pci_id="0000:01:00.0")
    amd = GpuInfo("RX", "gpu", None, None, None, pci_id=AMD)
    assert drm_card_sampler((nvidia,), tmp_path) is None
    assert set(drm_card_sampler((nvidia, amd), tmp_path).sample()) == {f"gpu.RX.{metric}" for metric in METRICS}
