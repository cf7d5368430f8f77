"""Every saved machine loads, has a core choice, a verdict, its facts in words and a plan, in both languages."""

import json

import pytest

from app.diagnose.machine import machine_findings, machine_verdict
from app.engine.capabilities import FALLBACK
from app.hardware.cpu_choice import CpuLimits, choose_cpus, stacked_cache
from app.hardware.memory_common import theoretical_gbs
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import CoreKind
from app.planner.devices import DeviceWishes, device_set
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import Wishes
from app.words import Language, say, say_problem, set_language
from app.work.machine_facts import machine_groups
from tests.tools.hardware_data import DATA

PATHS = {path.stem: path for path in sorted(DATA.glob("*.json"))}


@pytest.fixture(scope="module")
def model(real_headers):
    return real_headers["qwen3-30b"]


def test_that_there_are_many_kinds_of_machines():
    machines = [load_snapshot(path) for path in PATHS.values()]
    assert len(machines) >= 18
    cards = [gpu for machine in machines for gpu in machine.gpus]
    assert {gpu.kind for gpu in cards} == {"gpu", "igpu"}
    assert sum(m.cpu.is_hybrid for m in machines) >= 5
    assert any(stacked_cache(m.cpu) for m in machines)
    assert any(m.memory.is_soldered for m in machines)
    assert {m.memory.channels for m in machines} >= {None, 1, 2, 4, 8, 12}
    assert any(m.cpu.is_virtual_machine for m in machines)
    assert any(m.cpu.quota_cpus for m in machines)
    assert any(p.code == "nvml_missing" for m in machines for p in m.problems)
    assert any(gpu.is_asleep for gpu in cards)
    assert any(len({g.total_bytes for g in m.gpus if g.kind == "gpu"}) > 1 for m in machines)


@pytest.mark.parametrize("name", PATHS)
def test_that_the_core_choice_follows_from_the_cores(name):
    cpu = load_snapshot(PATHS[name]).cpu
    allowed = None if cpu.allowed_cpus is None else frozenset(cpu.allowed_cpus)
    choice = choose_cpus(cpu.cores, CpuLimits(allowed, cpu.quota_cpus))
    assert (choice.cpus, choice.threads, choice.reason) == (cpu.recommended_cpus, cpu.recommended_threads, cpu.reason)
    if cpu.is_hybrid:
        fast = {n for core in cpu.cores if core.kind is CoreKind.P for n in core.logical}
        assert set(cpu.recommended_cpus) == fast
    if cpu.l3:
        assert {n for domain in cpu.l3 for n in domain.logical} <= {n for core in cpu.cores for n in core.logical}


@pytest.mark.parametrize("name", PATHS)
def test_that_the_memory_figures_agree_with_each_other(name):
    memory = load_snapshot(PATHS[name]).memory
    assert memory.theoretical_gbs == theoretical_gbs(memory.channels, memory.speed_mts)
    assert memory.slots is None or memory.modules <= memory.slots
    assert 0 < memory.available_bytes <= memory.total_bytes


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("name", PATHS)
def test_that_verdict_findings_and_facts_are_sentences(name, language):
    set_language(language)
    snapshot = load_snapshot(PATHS[name])
    sentences = [say(s.code, **s.params) for s in machine_verdict(snapshot)]
    sentences += [say_problem(problem) for problem in (*machine_findings(snapshot), *snapshot.problems)]
    assert len(sentences) >= 2
    assert all(sentence and "{" not in sentence for sentence in sentences)
    groups = machine_groups(snapshot, is_here=False)
    assert [g.kind for g in groups].count("gpu") == len(snapshot.gpus)
    for fact in (fact for group in groups for fact in group.facts):
        assert (fact.value is None) == (fact.confidence == "unknown")
        assert fact.value is not None or fact.hint


@pytest.mark.share(4)
@pytest.mark.parametrize("name", PATHS)
def test_that_a_plan_can_be_made_for_it(name, model):
    snapshot = load_snapshot(PATHS[name])
    devices = device_set(snapshot, DeviceWishes())
    plan = make_plan(PlanInputs(model, devices, Wishes(), FALLBACK, n_threads=snapshot.cpu.recommended_threads))
    assert plan.argv[plan.argv.index("-t") + 1] == str(snapshot.cpu.recommended_threads)
    used = {device.device for device in plan.estimate.devices}
    known = {gpu.engine_name for gpu in snapshot.gpus if gpu.engine_name is not None}
    if snapshot.engine_asked:
        assert used <= {"RAM", *known}
    assert all(device.total_bytes >= 0 for device in plan.estimate.devices)


@pytest.mark.parametrize("name", PATHS)
def test_that_a_newer_version_of_it_loads_what_is_understood(name, tmp_path):
    data = json.loads(PATHS[name].read_text(encoding="utf-8"))
    newer = {**data, "version": 99, "disks": [], "cpu": {**data["cpu"], "npu": {"tops": 45}}}
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(newer), encoding="utf-8")
    assert load_snapshot(path) == load_snapshot(PATHS[name])


def test_that_the_odd_machines_say_what_is_odd():
    expected = {
        "desktop-7950x3d-rtx4090": "two_dies_vcache",
        "laptop-snapdragon-x-elite": "emulated_processor",
        "wsl2-rtx4070ti": "inside_wsl",
        "container-4-cpus-rtx3090": "cpu_limited",
        "laptop-i5-1235u-single-channel": "few_p_cores",
        "desktop-no-nvml": "engine_does_not_see_gpu",
        "server-epyc-9354-12-channels": "no_gpu",
    }
    for name, code in expected.items():
        assert code in [problem.code for problem in machine_findings(load_snapshot(PATHS[name]))], name
    assert "single_channel" in [
        p.code for p in machine_findings(load_snapshot(PATHS["laptop-i5-1235u-single-channel"]))
    ]
