"""Published memory bandwidths for cards whose driver tells none: by name and memory, else unknown."""

import dataclasses
from pathlib import Path

import pytest

from app.common.units import GIB
from app.hardware.devices import EngineDevice, with_engine_devices
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.hardware.vram_speeds import CARDS, SPEC_SOURCE, spec_bandwidth_gbs, with_spec_bandwidths
from app.planner.devices import DeviceWishes, device_set
from app.work.machine_facts import machine_groups

LAPTOP = Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"


@pytest.mark.parametrize(
    ("name", "gib", "gbs"),
    [
        ("AMD Radeon RX 7900 XTX", 23.98, 960),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 24, 960),
        ("AMD Radeon(TM) RX 6700 XT", 11.98, 384),
        ("Radeon RX 9070 XT", 15.9, 640),
        ("Radeon RX Vega 64", 8, 484),
        ("AMD Radeon VII", 16, 1024),
        ("AMD Instinct MI50", 32, 1024),
        ("Intel(R) Arc(TM) A770 Graphics", 15.9, 560),
        ("Intel(R) Arc(TM) A770 Graphics", 8, 512),
        ("Intel(R) Arc(TM) B580 Graphics", 11.9, 456),
        ("NVIDIA GeForce RTX 3060", 12, 360),
        ("NVIDIA GeForce RTX 3060", 8, 240),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 15.99, 672),
        ("NVIDIA GeForce RTX 4070 Ti", 11.99, 504),
        ("NVIDIA GeForce RTX 4080 Laptop GPU", 11.7, 432),
        ("NVIDIA AD107M [GeForce RTX 4060 Max-Q / Mobile]", None, 256),
        ("NVIDIA GA106 [GeForce RTX 3060 Lite Hash Rate]", 12, 360),
        ("AMD Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 20, 800),
        ("AMD Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 24, 960),
        ("AMD Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 16, 576),
        ("Intel DG2 [Battlemage G21 Arc B580]", 12, 456),
    ],
)
def test_that_well_known_cards_have_their_published_bandwidth(name, gib, gbs):
    assert spec_bandwidth_gbs(name, None if gib is None else round(gib * GIB)) == gbs


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("NVIDIA GeForce RTX 3060", None),  # 8 and 12 GiB differ
        ("AMD Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", None),
        ("NVIDIA GeForce RTX 4090", 48),  # a rebuilt card
        ("NVIDIA GeForce RTX 4080 Laptop GPU", 16),
        ("NVIDIA GeForce RTX 3050 Laptop GPU", 4),
        ("Intel(R) Arc(TM) A770M Graphics", 16),
        ("AMD Radeon RX 7900", 24),
        ("AMD 1002:744c", 24),
        ("NVIDIA RTX 4000 Ada Generation", 20),
        ("Some card 3060", 12),
        ("", 8),
    ],
)
def test_that_what_is_not_just_one_known_card_stays_unknown(name, gib):
    assert spec_bandwidth_gbs(name, None if gib is None else gib * GIB) is None


def test_that_every_row_of_the_table_is_found_by_its_own_name():
    for model, memories in CARDS.items():
        for gib, gbs in memories.items():
            assert spec_bandwidth_gbs(f"Maker {model.title()} GPU", gib * GIB) == gbs, model
            assert 100 < gbs < 2000


def machine(*gpus) -> HardwareSnapshot:
    return dataclasses.replace(load_snapshot(LAPTOP), gpus=gpus, sources={})


def test_that_only_a_discrete_card_without_a_figure_gets_one_and_it_is_called_estimated():
    arc = GpuInfo("Intel Arc B580", "gpu", "Vulkan0", 12 * GIB, 11 * GIB)
    told = dataclasses.replace(arc, memory_gbs=400.0)
    shared = dataclasses.replace(arc, kind="igpu")
    snapshot = with_spec_bandwidths(machine(arc, told, shared))
    assert [gpu.memory_gbs for gpu in snapshot.gpus] == [456.0, 400.0, None]
    assert snapshot.sources == {"gpus.0.memory_gbs": SPEC_SOURCE}
    card = next(group for group in machine_groups(snapshot) if group.key == "gpus.0")
    fact = next(fact for fact in card.facts if fact.key == "gpus.0.memory_gbs")
    assert (fact.confidence, fact.source) == ("estimated", "maker's specification")
    assert device_set(snapshot, DeviceWishes()).gpus[0].bandwidth_gbs > 300


def test_that_a_card_which_only_the_engine_lists_gets_its_figure_too():
    device = EngineDevice("Vulkan0", "AMD Radeon RX 7800 XT (RADV NAVI32)", 16 * GIB, 15 * GIB, "Vulkan0")
    once = with_engine_devices(machine(), (device,))
    assert once.gpus[0].memory_gbs == 624.0
    assert with_engine_devices(once, (device,)) == once
