"""Graphics cards from NVML, Linux's sysfs and Windows' DXGI, and how the lists are joined."""

import sys

import pytest

from app.common.problem import ProblemError
from app.hardware import gpus_linux, gpus_nvml, gpus_windows, gpus_windows_calls
from app.hardware.gpus_windows import Adapter, PcieLink
from app.hardware.join import join_gpus
from app.hardware.types import GpuInfo
from tests.tools.hardware_data import DATA, LIBRARY_NOT_FOUND, RTX_4080_LAPTOP, FakeNvml, write_files

GIB = 1 << 30
MIB = 1 << 20


def _read(nvml):
    return gpus_nvml.read_gpus(gpus_nvml.NvmlSession(nvml))


@pytest.mark.parametrize("as_bytes", [False, True])
def test_that_nvml_tells_everything_about_a_laptop_card(as_bytes):
    (gpu,) = _read(FakeNvml(RTX_4080_LAPTOP, as_bytes=as_bytes))  # field report GPU-05: bytes or text
    assert gpu.name == "NVIDIA GeForce RTX 4080 Laptop GPU"
    assert (gpu.total_bytes, gpu.free_bytes) == (12878610432, 11500000000)
    assert (gpu.uuid, gpu.pci_id, gpu.driver) == ("GPU-aaaa", "0000:01:00.0", "555.42")
    assert gpu.compute_capability == "8.9"
    assert (gpu.pcie_gen_max, gpu.pcie_width_max) == (4, 8)  # field report GPU-08: idle says gen 1
    assert (gpu.pcie_gen_now, gpu.pcie_width_now) == (1, 8)
    assert gpu.drives_display is False
    assert gpu.memory_gbs == 432.0


def test_that_one_unsupported_metric_costs_only_itself():
    for function, field in (
        ("nvmlDeviceGetMaxPcieLinkWidth", "pcie_width_max"),
        ("nvmlDeviceGetMemoryBusWidth", "memory_gbs"),
        ("nvmlDeviceGetUUID", "uuid"),
        ("nvmlSystemGetDriverVersion", "driver"),
        ("nvmlDeviceGetCudaComputeCapability", "compute_capability"),
    ):
        nvml = FakeNvml(RTX_4080_LAPTOP)
        nvml.refused.add(function)
        (gpu,) = _read(nvml)
        assert getattr(gpu, field) is None
        assert gpu.free_bytes == 11500000000


def test_that_a_card_whose_memory_is_not_told_has_unknown_memory():
    nvml = FakeNvml(RTX_4080_LAPTOP)
    nvml.refused.add("nvmlDeviceGetMemoryInfo")
    (gpu,) = _read(nvml)
    assert (gpu.total_bytes, gpu.free_bytes) == (None, None)


def test_that_a_display_is_unknown_only_when_both_questions_fail():
    nvml = FakeNvml({**RTX_4080_LAPTOP, "DisplayMode": 1})
    nvml.refused.add("nvmlDeviceGetDisplayActive")
    assert _read(nvml)[0].drives_display is True
    nvml.refused.add("nvmlDeviceGetDisplayMode")
    assert _read(nvml)[0].drives_display is None


def test_that_a_lost_driver_gives_no_cards_and_no_exception():
    nvml = FakeNvml(RTX_4080_LAPTOP)
    session = gpus_nvml.NvmlSession(nvml)
    nvml.lost = True
    assert gpus_nvml.read_gpus(session) == ()


def test_that_a_session_is_closed_once_and_then_answers_nothing():
    nvml = FakeNvml(RTX_4080_LAPTOP)
    session = gpus_nvml.NvmlSession(nvml)
    session.close()
    session.close()
    assert nvml.opened == 0
    assert session.ask("nvmlDeviceGetCount") is None


@pytest.mark.parametrize(("error", "code"), [(LIBRARY_NOT_FOUND, "nvml_missing"), (9, "nvml_failed")])
def test_that_a_missing_library_and_a_sick_driver_are_told_apart(monkeypatch, error, code):
    monkeypatch.delenv("WINDIR", raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(init_error=error))
    with pytest.raises(ProblemError) as caught:
        gpus_nvml.open_nvml()
    assert caught.value.problem.code == code


def test_that_another_package_called_pynvml_is_noticed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", object())
    with pytest.raises(ProblemError) as caught:
        gpus_nvml.open_nvml()
    assert caught.value.problem.code == "nvml_conflict"


def test_that_the_newest_driver_folder_is_searched(tmp_path):
    import os

    names = {f"DriverStore/FileRepository/nv_dispi.inf_amd64_{n}/nvml.dll": "x" for n in ("aa", "bb")}
    write_files(tmp_path, names)
    for i, name in enumerate(names):
        os.utime(tmp_path / name, (1000 - i, 1000 - i))
    found = gpus_nvml.newest_driver_store_library(tmp_path)  # field report GPU-04
    assert found.parent.name.endswith("aa")
    assert gpus_nvml.newest_driver_store_library(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:01:00.0", "0000:01:00.0"),
        (b"0000:0A:00.0", "0000:0a:00.0"),
        ("", None),
        (None, None),
        ("x:1:2", None),
    ],
)
def test_that_pci_addresses_are_written_one_way(text, expected):
    assert gpus_nvml.pci_id(text) == expected


def _card(number, pci_id, vendor, device, **files):
    folder = f"sys/class/drm/card{number}/device"
    return {
        f"{folder}/vendor": f"{vendor}\n",
        f"{folder}/device": f"{device}\n",
        f"{folder}/uevent": f"DRIVER=x\nPCI_SLOT_NAME={pci_id}\n",
        **{f"{folder}/{name}": f"{value}\n" for name, value in files.items()},
    }


def test_that_linux_lists_an_amd_card_with_its_memory_and_an_intel_processor_graphics(tmp_path):
    root = write_files(
        tmp_path,
        {
            "usr/share/misc/pci.ids": (DATA / "pci.ids.txt").read_bytes(),
            **_card(0, "0000:00:02.0", "0x8086", "0xa7a0"),
            **_card(
                1, "0000:03:00.0", "0x1002", "0x744c", mem_info_vram_total=20464 * MIB, mem_info_vram_used=464 * MIB
            ),
            "sys/class/drm/card1/card1-DP-1/status": "connected\n",
            "sys/class/drm/card1/card1-HDMI-A-1/status": "disconnected\n",
            "sys/class/drm/renderD128/device/vendor": "0x1002\n",
        },
    )
    intel, amd = gpus_linux.read_gpus(root)
    assert (intel.name, intel.kind, intel.total_bytes) == ("Intel Raptor Lake-P [Iris Xe Graphics]", "igpu", None)
    assert intel.drives_display is None
    assert amd.name == "AMD Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]"
    assert (amd.kind, amd.total_bytes, amd.free_bytes) == ("gpu", 20464 * MIB, 20000 * MIB)
    assert amd.drives_display is True


def test_that_an_amd_processors_graphics_may_use_the_shared_memory(tmp_path):
    files = _card(
        0,
        "0000:c4:00.0",
        "0x1002",
        "0x15bf",
        mem_info_vram_total=512 * MIB,
        mem_info_vram_used=100 * MIB,
        mem_info_gtt_total=15 * GIB,
        mem_info_gtt_used=GIB,
    )
    (gpu,) = gpus_linux.read_gpus(write_files(tmp_path, files))
    assert (gpu.kind, gpu.name) == ("igpu", "AMD 1002:15bf")
    assert gpu.total_bytes == 15 * GIB + 512 * MIB
    assert gpu.free_bytes == 15 * GIB + 512 * MIB - GIB - 100 * MIB


def test_that_a_virtual_machines_display_is_no_graphics_card(tmp_path):
    files = {**_card(0, "0000:00:01.0", "0x1af4", "0x1050"), **_card(1, "0000:00:02.0", "0x1234", "0x1111")}
    assert gpus_linux.read_gpus(write_files(tmp_path, files)) == ()
    assert gpus_linux.read_gpus(tmp_path / "none") == ()


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_that_the_narrowest_bridge_above_the_card_decides_the_link(tmp_path):
    slot = "sys/devices/pci0000:00/0000:00:01.0"
    card = f"{slot}/0000:01:00.0/0000:02:00.0/0000:03:00.0"
    root = write_files(
        tmp_path,
        {
            f"{slot}/max_link_width": "4\n",
            f"{slot}/max_link_speed": "16.0 GT/s PCIe\n",
            f"{slot}/current_link_width": "4\n",
            f"{slot}/current_link_speed": "2.5 GT/s PCIe\n",
            f"{card}/max_link_width": "16\n",
            f"{card}/max_link_speed": "32.0 GT/s PCIe\n",
            f"{card}/current_link_width": "16\n",
            f"{card}/current_link_speed": "Unknown\n",
            f"{card}/vendor": "0x1002\n",
            f"{card}/device": "0x744c\n",
            f"{card}/uevent": "PCI_SLOT_NAME=0000:03:00.0\n",
            f"{card}/mem_info_vram_total": f"{20 * GIB}\n",
        },
    )
    (root / "sys/class/drm/card0").mkdir(parents=True)
    (root / "sys/class/drm/card0/device").symlink_to(root / card)
    (gpu,) = gpus_linux.read_gpus(root)
    assert (gpu.pcie_width_max, gpu.pcie_gen_max) == (4, 4)
    assert (gpu.pcie_width_now, gpu.pcie_gen_now) == (4, 1)
    assert gpu.free_bytes is None


@pytest.mark.parametrize(
    ("text", "generation"),
    [("2.5 GT/s PCIe", 1), ("16.0 GT/s PCIe", 4), ("32 GT/s", 5), ("Unknown", None), (None, None), ("7 GT/s", None)],
)
def test_that_link_speeds_are_generations(text, generation):
    assert gpus_linux.parse_link_speed(text) == generation


def test_that_names_are_found_in_the_pci_database():
    names = (DATA / "pci.ids.txt").read_text()
    assert gpus_linux.pci_name(names, 0x8086, 0x56A0) == "DG2 [Arc A770]"
    assert gpus_linux.pci_name(names, 0x1002, 0x56A0) is None
    assert gpus_linux.pci_name("", 0x1002, 0x744C) is None


def _adapter(name, vendor, dedicated, shared, **facts):
    return Adapter(name, vendor, dedicated, shared, facts.pop("software", False), facts.pop("luid", (1, 0)), **facts)


def test_that_windows_vram_comes_from_64_bit_figures():
    (gpu,) = gpus_windows.gpus_of(  # field report GPU-03
        (_adapter("AMD Radeon RX 9070 XT", 0x1002, 17095983104, 16 * GIB, budget_bytes=16500000000, usage_bytes=0),), ()
    )
    assert (gpu.kind, gpu.total_bytes, gpu.free_bytes) == ("gpu", 17095983104, 16500000000)


def test_that_integrated_graphics_on_windows_count_the_shared_memory_and_no_link():
    link = PcieLink("0000:00:02.0", 1, 1, 1, 1)
    adapter = _adapter("Intel(R) Iris(R) Xe Graphics", 0x8086, 0, 8 * GIB, pci_id="0000:00:02.0")
    (gpu,) = gpus_windows.gpus_of((adapter,), (link,))
    assert (gpu.kind, gpu.total_bytes, gpu.free_bytes, gpu.pcie_width_max) == ("igpu", 8 * GIB, None, None)


def test_that_software_virtual_and_repeated_adapters_are_left_out():
    card = _adapter("NVIDIA GeForce RTX 3060", 0x10DE, 12 * GIB, 16 * GIB, pci_id="0000:01:00.0", luid=(7, 0))
    adapters = (
        card,
        card,
        _adapter("Microsoft Basic Render Driver", 0x1414, 0, 16 * GIB, software=True, luid=(8, 0)),
        _adapter("Microsoft Remote Display Adapter", 0x1414, 0, 0, luid=(9, 0)),
        _adapter("Parsec Virtual Display Adapter", 0, 0, 0, luid=(10, 0)),
    )
    (gpu,) = gpus_windows.gpus_of(adapters, (PcieLink("0000:01:00.0", 1, 8, 4, 16),))
    assert (gpu.name, gpu.pcie_gen_max, gpu.pcie_width_max, gpu.pcie_width_now) == (card.name, 4, 16, 8)


def test_that_impossible_pci_addresses_are_unknown():
    assert gpus_windows.pci_id_of(1, 0, 0) == "0000:01:00.0"
    assert gpus_windows.pci_id_of(0xFFFFFFFF, 0, 0) is None


@pytest.mark.skipif(sys.platform == "win32", reason="about other systems")
def test_that_the_windows_calls_say_so_on_another_system():
    with pytest.raises(OSError, match="not Windows"):
        gpus_windows_calls.read_adapters()
    assert gpus_windows_calls.read_links() == ()


def _gpu(name, **facts):
    return GpuInfo(name, "gpu", None, facts.pop("total", None), facts.pop("free", None), **facts)


def test_that_one_card_in_two_lists_is_one_card_with_the_facts_of_both():
    nvml = _gpu("NVIDIA GeForce RTX 3060", total=12 * GIB, uuid="GPU-1", pci_id="0000:01:00.0")
    sysfs = _gpu("NVIDIA GA106", pci_id="0000:01:00.0", drives_display=True, total=1)
    other = _gpu("AMD Radeon RX 6600", pci_id="0000:05:00.0")
    gpus, sources = join_gpus((("nvml", (nvml,)), ("sysfs", (other, sysfs))))
    assert [g.name for g in gpus] == ["NVIDIA GeForce RTX 3060", "AMD Radeon RX 6600"]
    assert gpus[0].drives_display is True
    assert gpus[0].total_bytes == 12 * GIB
    assert sources == {"gpus.0": "nvml", "gpus.0.drives_display": "sysfs", "gpus.1": "sysfs"}


def test_that_two_equal_cards_without_addresses_are_joined_one_to_one():
    pair = (_gpu("NVIDIA GeForce RTX 3090", uuid="GPU-1"), _gpu("NVIDIA GeForce RTX 3090", uuid="GPU-2"))
    seen = (_gpu("NVIDIA GeForce RTX 3090"), _gpu("NVIDIA GeForce RTX 3090"))
    gpus, _ = join_gpus((("nvml", pair), ("dxgi", seen)))
    assert [g.uuid for g in gpus] == ["GPU-1", "GPU-2"]


def test_that_equal_names_at_different_addresses_are_different_cards():
    first, second = _gpu("Card", pci_id="0000:01:00.0"), _gpu("Card", pci_id="0000:02:00.0")
    assert len(join_gpus((("nvml", (first,)), ("sysfs", (second,))))[0]) == 2
