"""Who uses a card's memory: Windows' counters, Linux' fdinfo, the registry's figure, sleeping cards."""

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware import gpus_nvml, gpus_windows
from app.hardware.gpu_counters_windows import GpuCounters
from app.hardware.gpu_use import (
    DrmClient,
    GpuUse,
    luid_text,
    parse_fdinfo,
    parse_instance,
    read_process_use,
    uses_of_clients,
    uses_of_counters,
)  # fmt: skip
from app.hardware.gpu_users import gpu_users, read_gpu_users
from app.hardware.gpus_windows import Adapter
from app.hardware.join import join_gpus
from app.hardware.types import GpuInfo
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml, NvmlError, write_files

GIB, MIB = 1 << 30, 1 << 20

AMDGPU_OLD = """pos:\t0
flags:\t02100002
drm-driver:\tamdgpu
drm-client-id:\t{client}
drm-pdev:\t0000:03:00.0
drm-memory-vram:\t{vram} KiB
drm-memory-gtt: \t2048 KiB
drm-memory-cpu: \t16 KiB
drm-engine-gfx:\t1000 ns
"""
XE_NEW = """drm-driver:\txe
drm-client-id:\t7
drm-pdev:\t0000:00:02.0
drm-total-system:\t4 GiB
drm-resident-system:\t3 GiB
drm-total-vram0:\t8192 KiB
drm-resident-vram0:\t4096 KiB
drm-resident-vram1:\t4096 KiB
"""


def test_that_windows_counters_tell_each_process_by_adapter():
    name = "pid_4242_luid_0x00000000_0x0000C1D2_phys_0"  # field report GPU-10
    dedicated = {name: 6442450944, name.replace("4242", "7"): 1, "_Total": 99}
    (other, server) = uses_of_counters(dedicated, {name: 52428800})
    assert server == GpuUse(4242, "0x00000000_0x0000C1D2", 6 * GIB, 50 * MIB)
    assert (other.pid, other.shared_bytes) == (7, None)  # never 0 for what nobody told
    linked = {name: 1 * GIB, name.replace("phys_0", "phys_1"): 2 * GIB}
    assert uses_of_counters(linked, {})[0].dedicated_bytes == 3 * GIB


def test_that_a_luid_is_written_one_way_by_dxgi_and_by_the_counters():
    assert luid_text((0xC1D2, 0)) == luid_text("0x00000000_0x0000c1d2") == "0x00000000_0x0000C1D2"
    assert luid_text((1, -1)) == "0xFFFFFFFF_0x00000001"
    assert parse_instance("pid_1_luid_0x00000000_0x0000c1d2_phys_0") == (1, "0x00000000_0x0000C1D2")
    assert parse_instance("luid_0x00000000_0x0000C1D2_phys_0") is None


def test_that_the_same_card_gets_its_luid_from_dxgi_and_its_uuid_from_nvml():
    (nvml,) = gpus_nvml.read_gpus(gpus_nvml.NvmlSession(FakeNvml(RTX_4080_LAPTOP)))
    adapter = Adapter(
        "NVIDIA GeForce RTX 4080 Laptop GPU", 0x10DE, 12 * GIB, 16 * GIB, False, (0xC1D2, 0), pci_id="0000:01:00.0"
    )
    (gpu,), _ = join_gpus((("nvml", (nvml,)), ("dxgi", gpus_windows.gpus_of((adapter,), ()))))
    assert (gpu.uuid, gpu.luid) == ("GPU-aaaa", "0x00000000_0x0000C1D2")


def test_that_drm_clients_count_once_and_in_both_layouts():
    twice = [parse_fdinfo(AMDGPU_OLD.format(client=c, vram=v)) for c, v in ((1, 1024), (1, 1024), (2, 512))]
    assert uses_of_clients(9, twice) == (GpuUse(9, "0000:03:00.0", 1536 * 1024, 4 * MIB),)
    new = parse_fdinfo(XE_NEW)
    assert new == DrmClient("0000:00:02.0", "7", 8 * MIB, 3 * GIB)
    assert parse_fdinfo("pos:\t0\nflags:\t02\n") is None
    silent = parse_fdinfo("drm-client-id:\t1\ndrm-pdev:\t0000:01:00.0\ndrm-memory-vram:\tmuch\n")
    assert silent == DrmClient("0000:01:00.0", "1", None, None)


@given(st.text(max_size=200))
def test_that_any_text_is_an_fdinfo_and_an_instance_without_an_exception(text):
    parse_fdinfo(text)
    parse_fdinfo(f"drm-pdev:\t{text}\ndrm-client-id:\t1\ndrm-memory-vram:\t{text}\n")
    parse_instance(text)


def test_that_a_process_is_read_from_proc(tmp_path):
    folder = "proc/77/fdinfo"
    root = write_files(
        tmp_path,
        {f"{folder}/0": "pos:\t0\n", f"{folder}/5": AMDGPU_OLD.format(client=1, vram=100), f"{folder}/6": b"\xff\x00"},
    )
    assert read_process_use(77, root) == (GpuUse(77, "0000:03:00.0", 100 * 1024, 2 * MIB),)
    assert read_process_use(78, root) == ()


def test_that_nvml_tells_who_uses_a_card_and_what_it_cannot_tell_is_unknown():
    card = {
        **RTX_4080_LAPTOP,
        "ComputeRunningProcesses": [SimpleNamespace(pid=10, usedGpuMemory=6 * GIB)],
        "GraphicsRunningProcesses": [
            SimpleNamespace(pid=10, usedGpuMemory=7 * GIB),
            SimpleNamespace(pid=20, usedGpuMemory=None),  # WDDM: field report GPU-10
        ],
    }
    session = gpus_nvml.NvmlSession(FakeNvml(card))
    assert session.processes(card) == {10: 7 * GIB, 20: None}
    silent = gpus_nvml.NvmlSession(FakeNvml(RTX_4080_LAPTOP))
    assert silent.processes(RTX_4080_LAPTOP) == {}


def test_that_the_drivers_reserve_is_no_used_memory():
    (gpu,) = gpus_nvml.read_gpus(gpus_nvml.NvmlSession(FakeNvml(RTX_4080_LAPTOP)))
    assert gpu.reserved_bytes == 12878610432 - 11500000000 - 900000000


def test_that_a_driver_that_goes_away_is_remembered_with_its_words():
    nvml = FakeNvml(RTX_4080_LAPTOP)
    session = gpus_nvml.NvmlSession(nvml)
    nvml.refused.add("nvmlDeviceGetPowerUsage")
    assert session.ask("nvmlDeviceGetPowerUsage", RTX_4080_LAPTOP) is None
    assert session.lost is None
    nvml.lost = True
    assert session.memory(RTX_4080_LAPTOP) == (None, None, None)
    assert session.lost == str(NvmlError(15))


def _adapter(name, dedicated, device_id=0x7550):
    return Adapter(name, 0x1002, dedicated, 16 * GIB, False, (1, 0), device_id=device_id)


NOTE = gpus_windows.registry_card("AMD Radeon RX 9070 XT", r"PCI\VEN_1002&DEV_7550&SUBSYS_1", 17095983104)


def test_that_the_registrys_64_bit_figure_fills_only_what_dxgi_leaves_open():
    assert NOTE.memory_bytes == 17095983104  # field report GPU-03
    full = (_adapter("AMD Radeon RX 9070 XT", 17095983104),)
    assert gpus_windows.with_registry(full, (NOTE,)) == full
    (filled,) = gpus_windows.with_registry((_adapter("AMD Radeon RX 9070 XT", 0),), (NOTE,))
    assert filled.dedicated_bytes == 17095983104
    integrated = (_adapter("AMD Radeon(TM) Graphics", 0),)
    assert gpus_windows.with_registry(integrated, (NOTE,)) == integrated  # a true 0
    (only,) = gpus_windows.gpus_of(gpus_windows.with_registry((), (NOTE,)), ())
    assert (only.name, only.total_bytes, only.free_bytes, only.luid) == (
        "AMD Radeon RX 9070 XT",
        17095983104,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("name", "matching", "memory"),
    [(None, r"pci\ven_1002&dev_7550", 1), ("x", "root\\basicdisplay", 1), ("x", r"pci\ven_1002&dev_7550", 0)],
)
def test_that_incomplete_registry_notes_are_left_out(name, matching, memory):
    assert gpus_windows.registry_card(name, matching, memory) is None


@pytest.mark.parametrize(("state", "asleep"), [(1, False), (2, True), (4, True), (0, None), (9, None)])
def test_that_windows_power_states_are_read(state, asleep):
    assert gpus_windows.is_sleeping((56).to_bytes(4, "little") + state.to_bytes(4, "little") + bytes(48)) is asleep
    assert gpus_windows.is_sleeping(b"") is None


@pytest.mark.skipif(sys.platform == "win32", reason="about other systems")
def test_that_there_are_no_windows_counters_elsewhere():
    with pytest.raises(OSError, match="not Windows"):
        GpuCounters()


def test_that_programs_on_a_card_are_listed_the_largest_first_and_only_once():
    gpus = (
        GpuInfo("RTX", "gpu", "CUDA0", 12 * GIB, 4 * GIB, uuid="GPU-1", luid="0x00000000_0x0000C1D2"),
        GpuInfo("RX", "gpu", "Vulkan1", 8 * GIB, 8 * GIB, pci_id="0000:03:00.0"),
    )
    uses = (
        GpuUse(10, "GPU-1", 200 * MIB, None),
        GpuUse(10, "0x00000000_0x0000C1D2", 300 * MIB, 5),  # the same program by another list
        GpuUse(11, "GPU-1", None, None),  # WDDM tells no size
        GpuUse(12, "GPU-1", 7 * GIB, None),
        GpuUse(13, "GPU-1", MIB, None),  # not worth closing
        GpuUse(14, "0000:03:00.0", 100 * MIB, None),
        GpuUse(15, "GPU-other", GIB, None),
    )
    users = gpu_users(gpus, uses, {10: "firefox", 12: "game", 14: "Xorg"}.get)
    assert [(u.gpu, u.name, u.dedicated_bytes) for u in users] == [
        (0, "game", 7 * GIB), (0, "firefox", 300 * MIB), (1, "Xorg", 100 * MIB),
    ]  # fmt: skip


def test_that_a_sleeping_nvidia_card_is_not_asked_who_uses_it():
    opened = []
    asleep = GpuInfo("RTX", "gpu", None, None, None, uuid="GPU-aaaa", is_asleep=True)
    assert read_gpu_users((asleep,), lambda: opened.append(1)) == ()
    assert opened == []
    card = {**RTX_4080_LAPTOP, "ComputeRunningProcesses": [SimpleNamespace(pid=2**22 + 9, usedGpuMemory=2 * GIB)]}
    nvml = FakeNvml(card)
    awake = GpuInfo("RTX", "gpu", None, None, None, uuid="GPU-aaaa", is_asleep=False)
    (user,) = read_gpu_users((awake,), lambda: gpus_nvml.NvmlSession(nvml))
    assert (user.gpu, user.name, user.dedicated_bytes) == (0, None, 2 * GIB)
    assert nvml.opened == 0
