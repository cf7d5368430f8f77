"""The engine's device list joined with the computer's cards."""

import pytest

from app.hardware.cpu_choice import CpuLimits, describe_cpu, plain_cores
from app.hardware.devices import EngineDevice, looks_integrated, with_engine_devices
from app.hardware.types import GpuInfo, HardwareSnapshot, MemoryInfo

GIB = 1 << 30
MIB = 1 << 20


def _gpu(name, total=None, free=None, kind="gpu", **facts):
    return GpuInfo(name, kind, None, total, free, **facts)


def _snapshot(*gpus, source="nvml"):
    cpu = describe_cpu(None, plain_cores(2), CpuLimits(), None)
    sources = {f"gpus.{i}": source for i in range(len(gpus))}
    return HardwareSnapshot("2026-09-10T12:00:00+08:00", "Linux", cpu, MemoryInfo(None, None), gpus, sources)


def _device(name, description, total=None, free=None, buffer_name=None):
    return EngineDevice(name, description, total, free, buffer_name or name)


def test_that_cuda_devices_are_joined_by_name_although_the_order_differs():
    snapshot = _snapshot(  # field report GPU-09: NVML counts by bus, CUDA by speed
        _gpu("NVIDIA GeForce RTX 3050", 6 * GIB, 5 * GIB, uuid="GPU-aaaa"),
        _gpu("NVIDIA GeForce RTX 4070 Ti", 12 * GIB, 11 * GIB, uuid="GPU-bbbb"),
    )
    joined = with_engine_devices(
        snapshot,
        (
            _device("CUDA0", "NVIDIA GeForce RTX 4070 Ti", 12 * GIB, 11 * GIB),
            _device("CUDA1", "NVIDIA GeForce RTX 3050", 6 * GIB, 5 * GIB),
        ),
    )
    assert [(g.engine_name, g.uuid) for g in joined.gpus] == [("CUDA0", "GPU-bbbb"), ("CUDA1", "GPU-aaaa")]
    assert joined.sources["gpus.0"] == "nvml"
    assert joined.sources["gpus.0.engine_name"] == "engine"
    assert joined.engine_asked


def test_that_two_equal_cards_keep_their_order():
    card = "NVIDIA GeForce RTX 3090"
    snapshot = _snapshot(_gpu(card, 24 * GIB, uuid="GPU-1"), _gpu(card, 24 * GIB, uuid="GPU-2"))
    joined = with_engine_devices(snapshot, (_device("CUDA0", card, 24 * GIB), _device("CUDA1", card, 24 * GIB)))
    assert [(g.engine_name, g.uuid) for g in joined.gpus] == [("CUDA0", "GPU-1"), ("CUDA1", "GPU-2")]


def test_that_a_card_the_engine_does_not_list_keeps_no_engine_name_and_comes_last():
    snapshot = _snapshot(_gpu("AMD Radeon RX 6600", 8 * GIB), _gpu("NVIDIA GeForce RTX 3060", 12 * GIB, uuid="GPU-1"))
    joined = with_engine_devices(snapshot, (_device("CUDA0", "NVIDIA GeForce RTX 3060", 12 * GIB, 11 * GIB),))
    assert [(g.name, g.engine_name) for g in joined.gpus] == [
        ("NVIDIA GeForce RTX 3060", "CUDA0"),
        ("AMD Radeon RX 6600", None),
    ]


def test_that_memory_withheld_by_windows_is_not_planned_with():
    snapshot = _snapshot(_gpu("NVIDIA GeForce RTX 2080 Ti", 22528 * MIB, 21900 * MIB))  # field report GPU-15
    joined = with_engine_devices(
        snapshot, (_device("CUDA0", "NVIDIA GeForce RTX 2080 Ti", 22528 * MIB, 18739 * MIB),)
    ).gpus[0]
    assert joined.free_bytes == 18739 * MIB
    assert joined.engine_free_bytes == 18739 * MIB


def test_that_the_engines_own_context_is_not_counted_as_used_memory():
    snapshot = _snapshot(_gpu("NVIDIA GeForce RTX 4080 Laptop GPU", 12282 * MIB, 11900 * MIB))
    joined = with_engine_devices(
        snapshot, (_device("CUDA0", "NVIDIA GeForce RTX 4080 Laptop GPU", 12281 * MIB, 11500 * MIB),)
    )
    assert joined.gpus[0].free_bytes == 11900 * MIB
    assert joined.gpus[0].engine_free_bytes == 11500 * MIB
    assert joined.gpus[0].total_bytes == 12282 * MIB


def test_that_an_rpc_device_is_another_machine_and_never_a_card_here():
    snapshot = _snapshot(_gpu("NVIDIA GeForce RTX 3060", 12 * GIB))
    joined = with_engine_devices(
        snapshot, (_device("RPC0", "127.0.0.1:50099", 12 * GIB, 12 * GIB, "RPC0[127.0.0.1:50099]"),)
    )
    remote, local = joined.gpus
    assert (remote.kind, remote.engine_name, remote.buffer_name) == ("rpc", "RPC0", "RPC0[127.0.0.1:50099]")
    assert (remote.name, remote.free_bytes) == ("127.0.0.1:50099", 12 * GIB)
    assert local.engine_name is None
    assert joined.sources["gpus.0"] == "engine"


def test_that_a_software_renderer_is_kept_and_labelled():
    joined = with_engine_devices(
        _snapshot(), (_device("Vulkan0", "llvmpipe (LLVM 15.0.6, 256 bits)", 2048 * MIB, 2048 * MIB),)
    )
    (only,) = joined.gpus
    assert only.is_software
    assert (only.kind, only.engine_name) == ("igpu", "Vulkan0")


def test_that_a_card_listed_by_two_backends_is_one_card():
    snapshot = _snapshot(_gpu("NVIDIA GeForce RTX 4090", 24 * GIB, 23 * GIB, uuid="GPU-1"))
    joined = with_engine_devices(
        snapshot,
        (
            _device("CUDA0", "NVIDIA GeForce RTX 4090", 24 * GIB, 23 * GIB),
            _device("Vulkan0", "NVIDIA GeForce RTX 4090", 24 * GIB, 23 * GIB),
        ),
    )
    assert [g.engine_name for g in joined.gpus] == ["CUDA0"]


def test_that_vulkan_names_are_matched_within_the_pci_databases_names():
    snapshot = _snapshot(
        _gpu("Intel Raptor Lake-P [Iris Xe Graphics]", kind="igpu"),
        _gpu("AMD Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 20464 * MIB, 20000 * MIB),
        source="sysfs",
    )
    joined = with_engine_devices(
        snapshot,
        (
            _device("Vulkan0", "AMD Radeon RX 7900 XT (RADV NAVI31)", 20464 * MIB, 19000 * MIB),
            _device("Vulkan1", "Intel(R) Iris(R) Xe Graphics (RPL-P)", 15 * GIB, 14 * GIB),
        ),
    )
    assert [(g.engine_name, g.kind) for g in joined.gpus] == [("Vulkan0", "gpu"), ("Vulkan1", "igpu")]
    assert joined.gpus[1].total_bytes == 15 * GIB
    assert joined.sources["gpus.1.total_bytes"] == "engine"


def test_that_a_card_known_only_by_numbers_is_found_by_its_size_and_takes_the_engines_name():
    snapshot = _snapshot(_gpu("AMD 1002:7550", 16 * GIB, 15 * GIB), source="sysfs")
    joined = with_engine_devices(snapshot, (_device("ROCm0", "AMD Radeon RX 9070 XT", 16304 * MIB, 15 * GIB),))
    assert [(g.name, g.engine_name) for g in joined.gpus] == [("AMD Radeon RX 9070 XT", "ROCm0")]


def test_that_sizes_do_not_join_cards_of_different_vendors():
    snapshot = _snapshot(_gpu("Intel DG2 [Arc A770]", 16 * GIB), source="sysfs")
    joined = with_engine_devices(snapshot, (_device("CUDA0", "Quadro RTX 5000", 16 * GIB, 15 * GIB),))
    assert [(g.name, g.engine_name) for g in joined.gpus] == [
        ("Quadro RTX 5000", "CUDA0"),
        ("Intel DG2 [Arc A770]", None),
    ]


def test_that_asking_twice_gives_the_same_as_asking_once():
    snapshot = _snapshot(_gpu("Intel Raptor Lake-P [Iris Xe Graphics]", kind="igpu"), source="sysfs")
    first = (_device("RPC0", "10.0.0.2:50052", 8 * GIB, 8 * GIB, "RPC0[10.0.0.2:50052]"),)
    second = (_device("Vulkan0", "Intel(R) Iris(R) Xe Graphics (RPL-P)", 15 * GIB, 14 * GIB),)
    asked_again = with_engine_devices(with_engine_devices(snapshot, first), second)
    assert asked_again == with_engine_devices(snapshot, second)
    assert with_engine_devices(asked_again, ()).gpus == snapshot.gpus


def test_that_an_engine_without_devices_leaves_every_card_without_a_name():
    joined = with_engine_devices(_snapshot(_gpu("NVIDIA GeForce RTX 3060", 12 * GIB)), ())
    assert [g.engine_name for g in joined.gpus] == [None]
    assert joined.engine_asked


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Intel(R) UHD Graphics 630", True),
        ("Intel(R) Iris(R) Xe Graphics", True),
        ("Intel(R) Arc(TM) Graphics", True),
        ("Intel(R) Arc(TM) 140V GPU (16GB)", True),
        ("Intel(R) Arc(TM) A770 Graphics", False),
        ("Intel(R) Arc(TM) B580 Graphics", False),
        ("AMD Radeon(TM) Graphics", True),
        ("AMD Radeon 780M Graphics", True),
        ("AMD Radeon(TM) 8060S Graphics", True),
        ("AMD Radeon RX 6600M", False),
        ("AMD Radeon RX 7900 XTX", False),
        ("NVIDIA GeForce RTX 4080 Laptop GPU", False),
        ("Qualcomm(R) Adreno(TM) X1-85 GPU", True),
    ],
)
def test_that_integrated_graphics_are_known_by_name_not_by_vendor(name, expected):
    assert looks_integrated(name) is expected
