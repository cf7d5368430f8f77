"""Who uses the VRAM, or why nobody can say; a card that sleeps is not woken by the question."""

import dataclasses
import sys
from pathlib import Path

import pytest

from app.hardware.gpu_users import GpuUser
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import GpuInfo
from app.work.vram_users import CardUsers, look_at_users, users_fact, users_text

MIB = 1024**2
NVIDIA = GpuInfo("RTX 4080", "gpu", "CUDA0", 12000 * MIB, 11000 * MIB, uuid="GPU-1", pci_id="0000:01:00.0")
RADEON = GpuInfo("Radeon", "gpu", "Vulkan0", 16000 * MIB, 15000 * MIB, pci_id="0000:03:00.0")
REMOTE = GpuInfo("10.0.0.7:50052", "rpc", "RPC0", 1, 1)
MACHINE = load_snapshot(Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json")

on_linux = pytest.mark.skipif(sys.platform == "win32", reason="the reasons of Linux")


def machine(*gpus):
    return dataclasses.replace(MACHINE, gpus=gpus)


def test_that_programs_are_named_by_card_the_largest_first():
    chrome, editor = GpuUser(0, 11, "chrome", 310 * MIB), GpuUser(0, 12, None, 96 * MIB)
    told = look_at_users(machine(NVIDIA, RADEON), lambda gpus: (chrome, editor), lambda gpu: False)
    assert told[0] == CardUsers((chrome, editor))
    assert users_text(told[0]) == "chrome 310 MiB, process 12 96 MiB"
    fact = users_fact(0, NVIDIA, told[0])
    assert (fact.key, fact.confidence) == ("gpus.0.users", "told")
    assert fact.source
    assert told[1].users == ()


def test_that_many_programs_are_counted_not_listed():
    users = tuple(GpuUser(0, n, f"p{n}", (100 - n) * MIB) for n in range(9))
    assert users_text(CardUsers(users)).endswith("p5 95 MiB and 3 more")


def test_that_whether_a_card_sleeps_is_looked_at_anew_and_handed_on():
    seen = []

    def read(gpus):
        seen.extend(gpus)
        return ()

    told = look_at_users(machine(NVIDIA), read, lambda gpu: True)
    assert [gpu.is_asleep for gpu in seen] == [True], "the snapshot said nothing of sleep"
    assert told == (CardUsers((), "asleep"),)
    fact = users_fact(0, NVIDIA, told[0])
    assert (fact.value, fact.confidence) == (None, "unknown")
    assert "not woken" in fact.hint


@on_linux
def test_that_silence_is_explained_by_what_can_be_known():
    second = dataclasses.replace(NVIDIA, uuid="GPU-2", pci_id="0000:02:00.0")
    told = look_at_users(machine(NVIDIA, second, RADEON, REMOTE), lambda gpus: (), lambda gpu: gpu.uuid == "GPU-2")
    assert [card.reason for card in told] == ["neighbour_asleep", "asleep", "only_own", "remote"]
    alone = look_at_users(machine(NVIDIA), lambda gpus: (), lambda gpu: None)
    assert alone == (CardUsers((), "none"),)
    assert users_fact(0, NVIDIA, alone[0]).value == "none"


def test_that_windows_tells_of_every_card_that_it_has_a_name_for(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    named = dataclasses.replace(RADEON, luid="0x00000000_0x0000C1D2")
    told = look_at_users(machine(named, RADEON), lambda gpus: (), lambda gpu: None)
    assert [card.reason for card in told] == ["none", "untold"]
