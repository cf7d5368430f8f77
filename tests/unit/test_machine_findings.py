"""What the machine page says about a machine, and what it does not claim."""

import dataclasses

import pytest

from app.common.problem import Problem, Severity
from app.diagnose.machine import machine_findings, machine_verdict, plan_findings, usable_gpus
from app.hardware.cpu_choice import CpuLimits, describe_cpu, plain_cores
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import CoreKind, CpuCore, GpuInfo, HardwareSnapshot, MemoryInfo, PowerInfo
from app.model.types import Role
from app.planner.types import DeviceEstimate, DeviceKind, MemoryEstimate
from app.words import ENTRIES, Language, say_in, say_problem
from tests.tools.hardware_data import DATA

GIB = 1 << 30
MACHINES = sorted(DATA.glob("*.json"))


def _load(name):
    return load_snapshot(DATA / f"{name}.json")


def _codes(snapshot):
    return {p.code: p for p in machine_findings(snapshot)}


def _plain(*gpus, memory=None, cpu=None, asked=False):
    cpu = cpu or describe_cpu("CPU", plain_cores(8), CpuLimits(), False)
    memory = memory or MemoryInfo(64 * GIB, 50 * GIB, "DDR5", 2, 2, 5600, 89.6)
    return HardwareSnapshot("2026-09-10T12:00:00+08:00", "Linux", cpu, memory, gpus, engine_asked=asked)


def _gpu(name="Card", kind="gpu", total=12 * GIB, free=11 * GIB, engine=None, **facts):
    return GpuInfo(name, kind, engine, total, free, **facts)


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: p.stem)
@pytest.mark.parametrize("language", list(Language))
def test_that_every_example_machine_has_words_for_all_it_is_told(path, language):
    snapshot = load_snapshot(path)
    for problem in (*machine_findings(snapshot), *snapshot.problems):
        text = say_in(language, f"problem.{problem.code}", **problem.params)
        assert "{" not in text
        assert "—" not in text, "an unknown figure in a finding that claims one"
    for sentence in machine_verdict(snapshot):
        assert "—" not in say_in(language, sentence.code, **sentence.params)


def test_that_the_articles_laptop_is_fine():
    assert _codes(_load("laptop-rtx4080-i7-13700h")) == {}


def test_that_one_module_is_one_channel_and_a_half_connected_card_is_narrow():
    found = _codes(_load("desktop-single-channel"))
    assert found["single_channel"].params["gbs"] == 21.3
    assert (found["narrow_pcie"].params["width"], found["narrow_pcie"].params["max_width"]) == (8, 16)
    assert all(p.severity is Severity.WARNING for p in found.values())


def test_that_an_x4_slot_is_narrow_even_at_its_own_best():
    found = _codes(_load("desktop-two-unequal-gpus"))
    assert found["narrow_pcie_slot"].params == {"gpu": "NVIDIA GeForce RTX 3050", "width": 4}
    assert list(found) == ["narrow_pcie_slot"]


def test_that_an_idle_links_low_generation_and_a_laptops_x8_are_no_warning():
    card = _gpu(pcie_gen_max=4, pcie_gen_now=1, pcie_width_max=8, pcie_width_now=8)  # field report GPU-08
    assert machine_findings(_plain(card)) == ()


def test_that_integrated_graphics_alone_and_few_p_cores_are_only_explained():
    found = _codes(_load("laptop-igpu-only-ultra5"))
    assert found["only_integrated_gpu"].severity is Severity.INFO
    assert found["ram_small"].severity is Severity.WARNING
    assert "few_p_cores" not in found
    two = (
        *(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(2)),
        *(CpuCore((n,), CoreKind.E) for n in range(4, 12)),
    )
    u_series = describe_cpu("U", two, CpuLimits(), False)  # field report CPU-06
    few = _codes(_plain(_gpu(), cpu=u_series))["few_p_cores"]
    assert few.params == {"p": 2, "e": 8, "p_threads": 4, "cores": 10}
    assert "-t 2, -t 4 and -t 10" in say_in(Language.EN, "problem.few_p_cores", **few.params)


def test_that_battery_and_power_saver_are_warned_of_and_unknown_power_is_not():
    tired = dataclasses.replace(_plain(_gpu()), power=PowerInfo(on_battery=True, is_saving=True))
    found = _codes(tired)
    assert set(found) == {"machine_on_battery", "machine_power_saving"}
    assert all(p.severity is Severity.WARNING for p in found.values())
    assert _codes(dataclasses.replace(tired, power=PowerInfo(False, False))) == {}


def test_that_a_card_switched_off_by_hybrid_graphics_is_explained():
    assert _codes(_plain(_gpu(is_asleep=True)))["gpu_asleep"].severity is Severity.INFO
    assert _codes(_plain(_gpu(is_asleep=False))) == {}


@pytest.mark.parametrize(
    ("driver", "capability", "code"),
    [
        ("572.16", "8.9", None),
        ("535.183.01", "6.1", None),
        ("470.256.02", "6.1", "driver_too_old"),
        ("470.256.02", "3.5", "gpu_too_old_for_cuda"),
        (None, None, None),
        ("unknown", "?", None),
    ],
)
def test_that_an_nvidia_driver_or_card_too_old_for_cuda_12_is_told(driver, capability, code):
    card = _gpu(uuid="GPU-1", driver=driver, compute_capability=capability)
    assert set(_codes(_plain(card))) == ({code} if code else set())


def test_that_another_makers_driver_version_is_not_taken_for_nvidias():
    assert _codes(_plain(_gpu("AMD Radeon", driver="31.0.15.5222"))) == {}


def test_that_soldered_memory_is_not_told_to_get_a_second_module():
    soldered = MemoryInfo(16 * GIB, 12 * GIB, "LPDDR4X", 4, 1, 4266, 34.1, is_soldered=True)
    assert not {"single_channel", "single_channel_slots"} & set(_codes(_plain(_gpu(), memory=soldered)))


def test_that_a_plan_too_large_for_ram_and_card_names_both_and_what_is_missing():
    ram = DeviceEstimate("RAM", DeviceKind.RAM, {Role.ROUTED_EXPERT: 20 * GIB}, 0, 0, 0, 0, 0, 32 * GIB, 18 * GIB)
    card = DeviceEstimate("CUDA0", DeviceKind.GPU, {Role.ATTENTION: 7 * GIB}, GIB, 0, 0, 0, 0, 8 * GIB, 7 * GIB)
    found = {p.code: p for p in plan_findings(MemoryEstimate((card, ram)))}
    assert found["ram_small_for_plan"].params["missing_bytes"] == 2 * GIB
    assert found["vram_small_for_plan"].params["device"] == "CUDA0"
    assert all("—" not in say_problem(p) for p in found.values())
    assert plan_findings(MemoryEstimate((dataclasses.replace(card, free_bytes=None),))) == ()


def test_that_a_virtual_machine_without_a_gpu_says_both():
    found = _codes(_load("vm-no-gpu"))
    assert set(found) == {"no_gpu", "virtual_machine"}


def test_that_a_card_the_engine_cannot_use_is_named_only_after_asking():
    card = _gpu("NVIDIA GeForce RTX 3060")
    assert machine_findings(_plain(card)) == ()
    found = _codes(_plain(card, asked=True))
    assert found["engine_does_not_see_gpu"].params == {"gpu": "NVIDIA GeForce RTX 3060"}
    assert machine_findings(_plain(_gpu(engine="CUDA0"), asked=True)) == ()
    assert machine_findings(_plain(_gpu(engine="CUDA0"), _gpu(kind="igpu"), asked=True)) == ()


def test_that_a_software_renderer_is_no_gpu():
    fake = _gpu("llvmpipe", kind="igpu", engine="Vulkan0", is_software=True)
    found = _codes(_plain(fake, asked=True))
    assert set(found) == {"software_gpu", "no_gpu"}
    assert usable_gpus(_plain(fake, asked=True)) == ()


def test_that_unknown_facts_give_no_findings():
    nothing = MemoryInfo(None, None)
    assert machine_findings(_plain(_gpu(total=None, free=None), memory=nothing)) == ()


def test_that_memory_is_small_only_when_ram_and_vram_together_are():
    small = MemoryInfo(16 * GIB, 12 * GIB)
    assert "ram_small" in _codes(_plain(_gpu(total=2 * GIB), memory=small))
    assert "ram_small" not in _codes(_plain(_gpu(total=12 * GIB), memory=small))
    assert "ram_small" not in _codes(_plain(_gpu(total=None), memory=small))


def test_that_several_modules_on_one_channel_get_their_own_advice():
    memory = MemoryInfo(32 * GIB, 30 * GIB, "DDR4", 2, 1, 3200, 25.6)
    assert "single_channel_slots" in _codes(_plain(_gpu(), memory=memory))


def test_that_a_container_limit_is_explained():
    cpu = describe_cpu("CPU", plain_cores(8), CpuLimits(quota_cpus=4.0), False)
    assert _codes(_plain(_gpu(), cpu=cpu))["cpu_limited"].params == {"threads": 4, "cpus": 8}


def test_that_warnings_come_first():
    severities = [p.severity for p in machine_findings(_load("laptop-igpu-only-ultra5"))]
    assert severities == sorted(severities, key=lambda s: s is not Severity.WARNING)


@pytest.mark.parametrize(
    ("name", "gpu", "ram"),
    [
        ("laptop-rtx4080-i7-13700h", "one_gpu", "ram_theory"),
        ("desktop-two-unequal-gpus", "gpus", "ram_measured"),
        ("laptop-igpu-only-ultra5", "igpu", "ram_theory"),
        ("vm-no-gpu", "no_gpu", "ram_measured"),
        ("desktop-single-channel", "one_gpu", "ram_one_channel_theory"),
        ("desktop-amd-rx7900xt", "one_gpu", "ram_theory"),
    ],
)
def test_that_the_verdict_names_what_limits(name, gpu, ram):
    first, second = machine_verdict(_load(name))
    assert (first.code, second.code) == (f"machine.verdict.{gpu}", f"machine.verdict.{ram}")


def test_that_another_machines_memory_is_not_called_a_gpu_of_this_one():
    remote = _gpu("10.0.0.2:50052", kind="rpc", engine="RPC0", buffer_name="RPC0[10.0.0.2:50052]")
    first = machine_verdict(_plain(remote, asked=True))[0]
    assert first.code == "machine.verdict.one_rpc"
    assert "10.0.0.2:50052" in say_in(Language.ZH_CN, first.code, **first.params)


def test_that_a_measured_single_channel_is_said_with_its_figure():
    snapshot = _load("desktop-single-channel")
    snapshot = dataclasses.replace(snapshot, memory=dataclasses.replace(snapshot.memory, measured_gbs=18.2))
    sentence = machine_verdict(snapshot)[1]
    assert say_in(Language.EN, sentence.code, **sentence.params) == (
        "Decode will be limited by RAM: one channel, 18.2 GB/s measured."
    )


def test_that_unknown_speeds_and_sizes_are_said_to_be_unknown():
    first, second = machine_verdict(_plain(_gpu(free=None), memory=MemoryInfo(None, None)))
    assert (first.code, second.code) == ("machine.verdict.one_gpu_unknown", "machine.verdict.ram_unknown")
    unseen = machine_verdict(_plain(_gpu("Card X"), asked=True))[0]
    assert (unseen.code, unseen.params) == ("machine.verdict.gpu_unusable", {"gpu": "Card X"})


@pytest.mark.parametrize(
    "code",
    [
        "cpu_probe_failed", "memory_probe_failed", "memory_modules_failed", "gpu_probe_failed", "os_probe_failed",
        "nvml_missing", "nvml_failed", "nvml_conflict", "bandwidth_cancelled",
    ],
)  # fmt: skip
def test_that_every_problem_of_the_probes_has_a_sentence(code):
    assert say_problem(Problem(code))


def test_that_every_reason_and_source_has_words():
    for reason in ("p_cores", "physical_cores", "all_cpus", "limited"):
        assert f"cpu.reason.{reason}" in ENTRIES
    for path in MACHINES:
        for source in load_snapshot(path).sources.values():
            assert f"source.{source}" in ENTRIES
