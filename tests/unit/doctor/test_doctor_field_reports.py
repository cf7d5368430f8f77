"""What people reported about running (tests name the report's id), with the answer that is right for it."""

import dataclasses

import pytest

from app.common.problem import Severity
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts, MachineState
from app.hardware.cpu_choice import CpuLimits, describe_cpu
from app.hardware.types import CoreKind, CpuCore, GpuInfo
from app.work.doctor_text import words_of
from tests.unit.doctor.doctor_cases import GIB, MIB, card, facts, samples, snapshot


def by_code(told):
    return {finding.code: finding for finding in examine(told)}


def said(finding):
    told = words_of(finding)
    return " ".join((told.sentence, *told.details, told.check or "", told.fix or ""))


@pytest.mark.slow
def test_that_gpu_13_a_card_that_overflows_into_shared_memory_is_told_with_what_to_free(q3_header):
    before = {"gpu.CUDA0.shared": 120.0 * MIB, "gpu.CUDA0.used": 11900.0 * MIB, "tok.decode": 38.0}
    now = {"gpu.CUDA0.shared": 2100.0 * MIB, "gpu.CUDA0.used": 12050.0 * MIB, "tok.decode": 3.5}
    more = {"gpu.CUDA0.util": 99.0, "gpu.CUDA0.mem_util": 2.0}
    told = facts(q3_header, snapshot=snapshot(card()), samples=samples(before | more, now | more))
    finding = by_code(told)["spill_windows"]
    assert finding.params["n_bytes"] == 1980 * MIB
    assert (finding.params["tps_before"], finding.params["tps_now"]) == (38.0, 3.5)
    assert "98 % full" in said(finding)
    assert "Prefer No Sysmem Fallback" in said(finding)
    assert "gpu.CUDA0.mem_util: 2 %" in finding.evidence
    freed = told.plan.estimate.get("CUDA0").total_bytes - finding.fix.plan.estimate.get("CUDA0").total_bytes
    assert freed >= 2.4 * GIB


def test_that_gpu_06_figures_that_a_laptop_card_refuses_are_unknown_and_no_finding():
    row = {
        "gpu.CUDA0.used": 6000.0 * MIB,
        "gpu.CUDA0.power_w": None,
        "gpu.CUDA0.clock": None,
        "gpu.CUDA0.temperature": None,
    }
    assert examine(Facts(snapshot=snapshot(card()), samples=samples(*[row] * 8))) == ()


def test_that_gpu_08_a_link_that_rests_is_not_called_narrow():
    laptop = card(pcie_gen_max=4, pcie_gen_now=1, pcie_width_max=8, pcie_width_now=8)
    resting = samples({"gpu.CUDA0.pcie_width": 8.0, "gpu.CUDA0.pcie_gen": 1.0, "gpu.CUDA0.util": 0.0})
    assert "narrow_pcie" not in by_code(Facts(snapshot=snapshot(laptop), samples=resting))


@pytest.mark.parametrize(
    ("old", "new"), [("--no-mmap", "-lm none"), ("--mlock", "-lm mmap+mlock"), ("-dio", "-lm dio")]
)
def test_that_mem_01_switches_that_went_away_are_named_with_what_took_their_place(q3_header, old, new):
    told = facts(q3_header, log=read_log([f"error: invalid argument: {old}"]), wishes={"extra": (old,)})
    finding = examine(told)[0]
    assert finding.params["new"] == new
    assert finding.fix.wishes.extra == tuple(new.split())


def test_that_mem_03_a_lock_that_failed_part_way_is_not_the_cause_of_the_end():
    lines = [
        "warning: VirtualLock of 96 MiB failed after 17152 MiB were locked: invalid access to memory location",
        "E llama_model_load: error loading model: tensor 'blk.2.attn_q.weight' data is not within the file bounds",
    ]
    findings = examine(Facts(log=read_log(lines), exit_code=1))
    assert [f.code for f in findings] == ["file_truncated", "mlock_failed"]
    lock = findings[1]
    assert lock.severity is Severity.WARNING
    assert lock.params["locked_bytes"] == 16.75 * GIB
    assert "administrator" not in said(lock)


def test_that_mem_04_a_small_lock_limit_is_told_before_the_launch_and_is_not_out_of_memory(q3_header):
    line = "failed to mlock 512000000-byte buffer (after previously locking 0 bytes): Cannot allocate memory"
    told = facts(
        q3_header, log=read_log([line]), state=MachineState(memlock_limit_bytes=8 * MIB), wishes={"load_mode": "mlock"}
    )
    found = by_code(told)
    assert found["mlock_limit_low"].params["limit"] == 8 * MIB
    assert "ulimit -l" in said(found["mlock_limit_low"])
    assert "mlock_failed" in found
    assert not any(code.endswith("_oom") for code in found)


def test_that_mem_05_weights_that_are_mapped_and_repacked_count_twice(q3_header):
    lines = [
        "load_tensors:   CPU_Mapped model buffer size = 13200.00 MiB",
        "load_tensors:   CPU_REPACK model buffer size = 12800.00 MiB",
    ]
    mapped = facts(
        q3_header,
        log=read_log(lines),
        state=MachineState(ram_available_bytes=20000 * MIB),
        wishes={"load_mode": "mmap"},
    )
    finding = by_code(mapped)["repacked_twice"]
    assert finding.params["total"] == 26000 * MIB
    assert finding.fix.wishes.load_mode == "none", "first read it, then do without repacking"
    read = facts(
        q3_header,
        log=read_log(lines),
        state=MachineState(ram_available_bytes=20000 * MIB),
        wishes={"load_mode": "none"},
    )
    assert by_code(read)["repacked_twice"].fix.wishes.extra == ("--no-repack",)


def test_that_mem_08_a_default_prompt_cache_on_a_16_gb_laptop_is_told():
    line = "srv  update:  - cache state: 4 prompts, 3000.000 MiB (limits: 8192.000 MiB, 0 tokens, 60000 est)"
    small = snapshot(memory=dataclasses.replace(snapshot().memory, total_bytes=16 * GIB))
    finding = by_code(Facts(snapshot=small, log=read_log([line])))["prompt_cache_ram"]
    assert "8 192 MiB" in said(finding) or "8.0 GiB" in said(finding)


def test_that_cpu_01_the_engines_own_count_of_threads_is_told_where_it_is_far_too_small():
    cores = (*(CpuCore((i,), CoreKind.P) for i in range(8)), *(CpuCore((8 + i,), CoreKind.E) for i in range(12)))
    machine = snapshot(cpu=describe_cpu("20 cores", cores, CpuLimits(), False))
    line = "system_info: n_threads = 4 (n_threads_batch = 4) / 20 | CPU : AVX2 = 1"
    finding = by_code(Facts(snapshot=machine, log=read_log([line])))["too_few_threads"]
    assert (finding.params["threads"], finding.params["recommended"]) == (4, 8)


def test_that_run_04_a_cuda_build_without_its_runtime_is_told_and_the_driver_is_not_blamed(q3_header):
    lines = [
        "load_backend: failed to load D:/llama/ggml-cuda.dll: The specified module could not be found.",
        "load_tensors:          CPU model buffer size = 17000.00 MiB",
        "llama_server: listening on http://127.0.0.1:8080",
    ]
    told = facts(q3_header, log=read_log(lines), log_is_of_plan=True)
    finding = examine(told)[0]
    assert (finding.code, finding.severity) == ("gpu_backend_not_loaded", Severity.ERROR)
    assert str(told.plan.estimate.get("CUDA0").weights_bytes) in finding.evidence[-1]
    assert "runtime package" in said(finding)
    assert "device_unused" not in by_code(told), "that is what followed from it"


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [
        (3221225781, "engine_dll_missing", "Visual C++ runtime"),
        (-1073741515, "engine_dll_missing", "CUDA runtime package"),
        (3221225785, "engine_dll_wrong", "another version was found first"),
        (-1073741511, "engine_dll_wrong", "PATH"),
        (3221225501, "engine_cpu_unsupported", "instructions"),
        (3221225477, "engine_crashed", "MSVCP140.dll"),
        (53, "engine_dll_missing", "library is missing"),
    ],
)
def test_that_run_06_a_process_that_ends_before_main_is_explained_by_its_code(code, name, words):
    finding = examine(Facts(log=read_log([]), exit_code=code))[0]
    assert finding.code == name
    assert words in said(finding)


def test_that_run_13_a_card_that_the_engine_no_longer_lists_is_told():
    gone = GpuInfo("RTX 3060", "gpu", None, 12 * GIB, 11 * GIB)
    assert "engine_does_not_see_gpu" in by_code(Facts(snapshot=snapshot(gone, engine_asked=True)))


def test_that_ot_02_fitting_that_gave_up_is_told_as_the_warning_it_is():
    lines = [
        "W common_fit_params: failed to fit params to free device memory: overrides already set by user, abort",
        "I srv  llama_server: listening on http://127.0.0.1:8080",
        "E CUDA error: out of memory",
    ]
    findings = examine(Facts(log=read_log(lines)))
    assert [f.code for f in findings] == ["vram_oom_cuda", "fit_gave_up_context_reduced"]
