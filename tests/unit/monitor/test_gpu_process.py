"""The server's own share of a card, and how memory that left the card is noticed."""

import sys

import pytest

from app.hardware.gpu_use import GpuUse
from app.hardware.types import GpuInfo
from app.monitor.gpu_process import GpuProcessSampler, gpu_process_sampler
from app.monitor.spill import spilled_bytes

MIB = 1 << 20


def test_that_only_our_process_on_known_cards_is_told():
    closed = []
    uses = [GpuUse(7, "a", 100, None), GpuUse(8, "a", 999, 999), GpuUse(7, "b", 5, 6)]
    sampler = GpuProcessSampler(7, {"a": "CUDA0", "c": "Vulkan1"}, lambda _: uses, lambda: closed.append(True))
    assert sampler.sample() == {
        "gpu.CUDA0.dedicated": 100.0, "gpu.CUDA0.shared": None,
        "gpu.Vulkan1.dedicated": None, "gpu.Vulkan1.shared": None,
    }  # fmt: skip
    sampler.close()
    assert closed == [True]


@pytest.mark.skipif(sys.platform == "win32", reason="Linux' cards have addresses and no LUIDs")
def test_that_cards_without_such_figures_get_no_sampler():
    nvidia = GpuInfo("RTX", "gpu", "CUDA0", None, None, uuid="GPU-1", pci_id="0000:01:00.0")
    amd = GpuInfo("RX", "gpu", "Vulkan0", None, None, pci_id="0000:03:00.0")
    assert gpu_process_sampler(1, (nvidia,)) is None
    sampler = gpu_process_sampler(2**22 + 5, (nvidia, amd))  # no such process
    assert sampler.sample() == {"gpu.Vulkan0.dedicated": None, "gpu.Vulkan0.shared": None}


def test_that_memory_that_left_a_full_card_is_noticed():
    total, used = 12282 * MIB, 12050 * MIB  # field report GPU-13
    assert spilled_bytes(2100 * MIB, used, total, resting_bytes=120 * MIB) == 1980 * MIB


@pytest.mark.parametrize(
    ("shared", "used", "total", "host", "expected"),
    [
        (2100, 6000, 12282, 0, 0),  # the card has room: something else
        (130, 12050, 12282, 0, 0),  # flat shared memory
        (2100, 12050, 12282, 2000, 0),  # the engine's own pinned buffers
        (None, 12050, 12282, 0, None),
        (2100, None, 12282, 0, None),
        (2100, 12050, None, 0, None),
    ],
)
def test_that_nothing_else_is_called_a_spill(shared, used, total, host, expected):
    figures = [None if value is None else value * MIB for value in (shared, used, total)]
    assert spilled_bytes(*figures, resting_bytes=100 * MIB, host_buffer_bytes=host * MIB) == expected
