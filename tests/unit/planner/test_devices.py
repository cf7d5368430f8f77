"""Which devices become columns, which one is active, and how much of it may be used."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import CpuInfo, GpuInfo, HardwareSnapshot, MemoryInfo
from app.planner.devices import DeviceWishes, device_set
from app.planner.types import DeviceKind

DATA = Path(__file__).parents[2] / "data" / "hardware"
MIB = 1 << 20


@pytest.fixture
def laptop():
    return load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")


@pytest.fixture
def two_gpus():
    return load_snapshot(DATA / "desktop-two-unequal-gpus.json")


def test_that_all_cards_are_on_in_the_engines_order(two_gpus):
    devices = device_set(two_gpus, DeviceWishes())
    assert [d.name for d in devices.gpus] == [g.engine_name for g in two_gpus.gpus if g.engine_name]
    assert len(devices.gpus) == 2
    assert devices.off == ()


def test_that_each_card_can_be_switched_off_and_none_can_be_chosen(two_gpus):
    one, other = device_set(two_gpus, DeviceWishes()).gpus
    assert device_set(two_gpus, DeviceWishes(gpus=(other.name,))).gpus == (other,)
    assert device_set(two_gpus, DeviceWishes(off=(other.name,))).gpus == (one,)
    assert device_set(two_gpus, DeviceWishes(off=(other.name,))).off == (other,)
    assert device_set(two_gpus, DeviceWishes(gpus=())).gpus == ()


def test_that_a_card_which_two_backends_list_is_on_once(laptop):
    again = replace(laptop.gpus[0], engine_name="Vulkan0")
    devices = device_set(replace(laptop, gpus=(*laptop.gpus, again)), DeviceWishes())
    assert [d.name for d in devices.gpus] == ["CUDA0"]
    assert "Vulkan0" in [d.name for d in devices.off]


def test_that_a_card_the_engine_does_not_list_is_no_column(laptop):
    unseen = replace(laptop, gpus=tuple(replace(g, engine_name=None) for g in laptop.gpus))
    assert device_set(unseen, DeviceWishes()).gpus == ()


def test_that_before_any_engine_was_asked_the_usual_names_are_assumed(two_gpus):
    nobody = replace(two_gpus, engine_asked=False, gpus=tuple(replace(g, engine_name=None) for g in two_gpus.gpus))
    radeon = GpuInfo("AMD Radeon RX 7900 XT", "gpu", None, 20 << 30, 19 << 30)
    devices = device_set(replace(nobody, gpus=(*nobody.gpus, radeon)), DeviceWishes())
    assert sorted(d.name for d in (*devices.gpus, *devices.off)) == ["CUDA0", "CUDA1", "Vulkan0"]


def test_that_graphics_inside_the_processor_never_beat_a_card(laptop):
    inside = GpuInfo("Iris Xe", "igpu", "Vulkan0", 32 << 30, 30 << 30)
    devices = device_set(replace(laptop, gpus=(inside, *laptop.gpus)), DeviceWishes())
    assert devices.gpus[0].name == "CUDA0"


def test_that_a_software_renderer_is_off_unless_it_is_asked_for(laptop):
    lavapipe = GpuInfo("llvmpipe", "igpu", "Vulkan0", 2 << 30, 2 << 30, is_software=True)
    alone = replace(laptop, gpus=(lavapipe,))
    assert device_set(alone, DeviceWishes()).gpus == ()
    assert device_set(alone, DeviceWishes(gpus=("Vulkan0",))).gpus[0].name == "Vulkan0"


def test_that_a_named_device_replaces_what_was_detected(laptop):
    devices = device_set(laptop, DeviceWishes(free_mib={"CUDA0": 6000, "CUDA1": 8000}))
    assert [d.name for d in devices.gpus] == ["CUDA0", "CUDA1"]
    assert devices.gpus[1].free_bytes == 8000 * MIB


def test_that_a_named_rpc_device_takes_its_servers_buffer_name(laptop):
    devices = device_set(laptop, DeviceWishes(free_mib={"RPC1": 4000}, rpc_servers=("10.0.0.1:1", "10.0.0.2:2")))
    assert devices.gpus[0].kind is DeviceKind.RPC
    assert devices.gpus[0].override_name == "RPC0[10.0.0.2:2]"
    assert devices.gpus[0].overhead_bytes == 0


@pytest.mark.parametrize(
    ("drives_display", "wished", "mib"), [(True, None, 512), (None, None, 512), (False, None, 256), (True, 0, 0)]
)
def test_that_a_card_that_drives_a_display_keeps_more_free(laptop, drives_display, wished, mib):
    gpus = tuple(replace(g, drives_display=drives_display) for g in laptop.gpus)
    devices = device_set(replace(laptop, gpus=gpus), DeviceWishes(reserve_mib=wished))
    assert devices.gpus[0].reserve_bytes == mib * MIB


def test_that_measured_ram_speed_counts_before_theory(laptop):
    theory = device_set(laptop, DeviceWishes()).ram.bandwidth_gbs
    measured = replace(laptop, memory=replace(laptop.memory, measured_gbs=61.5))
    assert theory == pytest.approx(laptop.memory.theoretical_gbs * 0.8)
    assert device_set(measured, DeviceWishes()).ram.bandwidth_gbs == 61.5


def test_that_graphics_inside_the_processor_read_ram_as_fast_as_the_processor_does():
    gpu = GpuInfo("Intel Arc Graphics", "igpu", "Vulkan0", 8 * 1024**3, 7 * 1024**3)
    memory = MemoryInfo(32 * 1024**3, 20 * 1024**3, theoretical_gbs=100.0)
    cpu = CpuInfo("CPU", (), (0,), 1, "all_cpus")
    machine = HardwareSnapshot("", "", cpu, memory, (gpu,), engine_asked=True)
    assert device_set(machine, DeviceWishes()).gpus[0].bandwidth_gbs == 80.0
    measured = replace(machine, memory=replace(memory, measured_gbs=71.0))
    assert device_set(measured, DeviceWishes()).gpus[0].bandwidth_gbs == 71.0
    unknown = replace(machine, memory=MemoryInfo(None, None))
    assert device_set(unknown, DeviceWishes()).gpus[0].bandwidth_gbs is None
