"""One test for each rule over measured figures, the plan and the machine."""

import dataclasses

import pytest

from app.common.problem import Severity
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.redact import redacted
from app.diagnose.doctor.types import Answer, Facts, MachineState
from app.hardware.types import GpuInfo, PowerInfo
from app.words import Language, set_language
from app.work.doctor_text import report_text, words_of
from tests.unit.doctor.doctor_cases import GIB, MIB, card, facts, hybrid_cpu, samples, snapshot


def codes(told):
    return [finding.code for finding in examine(told)]


def one(told, code):
    return next(finding for finding in examine(told) if finding.code == code)


SPILL = samples(
    {"gpu.CUDA0.shared": 120.0 * MIB, "gpu.CUDA0.used": 11800.0 * MIB, "tok.decode": 38.0, "gpu.CUDA0.mem_util": 60.0},
    {"gpu.CUDA0.shared": 1100.0 * MIB, "gpu.CUDA0.used": 12050.0 * MIB, "tok.decode": 9.0, "gpu.CUDA0.mem_util": 5.0},
    {"gpu.CUDA0.shared": 2100.0 * MIB, "gpu.CUDA0.used": 12050.0 * MIB, "tok.decode": 3.5, "gpu.CUDA0.mem_util": 2.0},
)


@pytest.mark.slow
def test_that_memory_moved_by_windows_is_told_with_what_to_move(q3_header):
    told = facts(q3_header, snapshot=snapshot(card()), samples=SPILL)
    finding = one(told, "spill_windows")
    assert finding.params["n_bytes"] == 1980 * MIB
    assert finding.params["used_share"] == 98
    assert finding.fix.params["layers"] >= 6
    saved = told.plan.estimate.get("CUDA0").total_bytes - finding.fix.plan.estimate.get("CUDA0").total_bytes
    assert saved >= (1980 + 512) * MIB
    assert any("Sysmem Fallback" in detail for detail in words_of(finding).details)


def test_that_flat_shared_memory_is_not_blamed(q3_header):
    flat = tuple(dataclasses.replace(s, values={**s.values, "gpu.CUDA0.shared": 120.0 * MIB}) for s in SPILL)
    assert "spill_windows" not in codes(facts(q3_header, snapshot=snapshot(card()), samples=flat))


def test_that_a_card_with_room_is_not_blamed(q3_header):
    roomy = tuple(dataclasses.replace(s, values={**s.values, "gpu.CUDA0.used": 6000.0 * MIB}) for s in SPILL)
    assert "spill_windows" not in codes(facts(q3_header, snapshot=snapshot(card()), samples=roomy))


def test_that_the_engines_own_pinned_buffers_are_no_spill(q3_header):
    lines = ("0.01.000.000 I load_tensors:    CUDA_Host model buffer size =  1990.00 MiB",)
    log = read_log(lines)
    assert sum(buffer.n_bytes for buffer in log.buffers) == 1990 * MIB
    assert "spill_windows" not in codes(facts(q3_header, snapshot=snapshot(card()), samples=SPILL, log=log))


def test_that_a_full_ram_is_told_and_swapping_is_told_as_such():
    full = samples(*[{"ram.available": 300.0 * MIB, "swap.used": 100.0 * MIB}] * 6)
    swapping = samples(*[{"ram.available": 300.0 * MIB, "swap.used": (100.0 + 200 * i) * MIB} for i in range(6)])
    assert "ram_full" in codes(Facts(snapshot=snapshot(), samples=full))
    found = codes(Facts(snapshot=snapshot(), samples=swapping))
    assert "ram_swapping" in found
    assert "ram_full" not in found


def test_that_busy_slow_cores_beside_idle_fast_ones_are_told():
    row = {f"cpu.{i}": 8.0 for i in range(12)} | {f"cpu.{12 + i}": 97.0 for i in range(8)} | {"tok.decode": 4.0}
    told = Facts(snapshot=snapshot(cpu=hybrid_cpu()), samples=samples(*[row] * 4))
    assert one(told, "ecores_busy").params == {"p_load": 8, "e_load": 97}
    fast = {**row, **{f"cpu.{2 * i}": 95.0 for i in range(6)}}
    assert "ecores_busy" not in codes(dataclasses.replace(told, samples=samples(*[fast] * 4)))
    idle = tuple(dataclasses.replace(s, values={**s.values, "tok.decode": 0.0}) for s in told.samples)
    assert "ecores_busy" not in codes(dataclasses.replace(told, samples=idle))


def test_that_a_hot_card_that_slows_down_is_told():
    rows = [
        {"gpu.CUDA0.clock": 2400.0 - 250 * i, "gpu.CUDA0.temperature": 87.0, "gpu.CUDA0.util": 99.0} for i in range(6)
    ]
    told = Facts(snapshot=snapshot(card()), samples=samples(*rows))
    assert one(told, "throttled").params["clock"] == 1150
    cool = tuple(dataclasses.replace(s, values={**s.values, "gpu.CUDA0.temperature": 60.0}) for s in told.samples)
    assert "throttled" not in codes(dataclasses.replace(told, samples=cool))


def test_that_the_width_of_the_link_counts_under_load_only():
    narrow = card(pcie_width_max=8, pcie_gen_max=4)
    working = Facts(snapshot=snapshot(narrow), samples=samples({"gpu.CUDA0.pcie_width": 4.0, "gpu.CUDA0.util": 99.0}))
    assert one(working, "narrow_pcie").params == {"gpu": "RTX 4080 Laptop", "width": 4, "max_width": 8}
    resting = dataclasses.replace(working, samples=samples({"gpu.CUDA0.pcie_width": 1.0, "gpu.CUDA0.util": 0.0}))
    assert "narrow_pcie" not in codes(resting)
    full = dataclasses.replace(working, samples=samples({"gpu.CUDA0.pcie_width": 8.0, "gpu.CUDA0.util": 99.0}))
    assert "narrow_pcie" not in codes(full)


def test_that_battery_is_told_once_whether_something_runs_or_not():
    on_battery = snapshot(card(), power=PowerInfo(on_battery=True))
    assert codes(Facts(snapshot=on_battery)) == ["machine_on_battery"]
    running = Facts(snapshot=on_battery, samples=samples({"tok.decode": 20.0}))
    assert codes(running) == ["on_battery"]
    assert one(running, "on_battery").severity is Severity.WARNING
    saving = Facts(snapshot=snapshot(card(), power=PowerInfo(is_saving=True)), samples=samples({"tok.decode": 20.0}))
    assert codes(saving) == ["power_saver"]


def test_that_slow_decode_names_what_limits_it(q3_header):
    told = facts(q3_header, snapshot=snapshot(card()), samples=samples(*[{"tok.decode": 3.1}] * 6))
    finding = one(told, "slow_decode")
    assert finding.params["tps"] == pytest.approx(3.1)
    assert finding.params["ram_gbs"] == pytest.approx(89.6)
    assert finding.params["ram_read"] == told.plan.speed.ram_read_bytes_per_token
    assert "slow_decode" not in codes(dataclasses.replace(told, samples=samples(*[{"tok.decode": 8.0}] * 6)))


def test_that_a_slow_run_is_seen_in_its_log_too():
    line = "eval time =   12000.00 ms /    32 tokens (  375.00 ms per token,     2.67 tokens per second)"
    assert one(Facts(log=read_log([line])), "slow_decode").params["tps"] == pytest.approx(2.67)
    prompt = "prompt eval time =   12000.00 ms /    32 tokens (  375.00 ms per token,     2.67 tokens per second)"
    assert codes(Facts(log=read_log([prompt]))) == []


@pytest.mark.slow
def test_that_out_of_memory_in_an_answer_tells_how_deep_it_was(q3_header):
    lines = ["I srv  llama_server: listening on http://127.0.0.1:1", "E CUDA error: out of memory"]
    rows = samples(
        {"ctx.used": 5000.0, "tok.decode": 30.0, "gpu.CUDA0.used": 11900.0 * MIB},
        {"ctx.used": 5120.0, "tok.decode": 31.0, "gpu.CUDA0.used": 12100.0 * MIB},
    )
    finding = examine(facts(q3_header, log=read_log(lines), samples=rows, exit_code=-6))[0]
    assert finding.code == "vram_oom_cuda"
    assert (finding.params["depth"], finding.params["phase"]) == (5120, "decode")
    assert finding.params["peak_bytes"] == 12100 * MIB
    assert "ctx.used = 5120" in finding.evidence
    assert finding.fix.plan.estimate.fits
    prompt = tuple(dataclasses.replace(s, values={**s.values, "tok.decode": 0.0}) for s in rows)
    again = examine(facts(q3_header, log=read_log(lines), samples=prompt, exit_code=-6))[0]
    assert again.params["phase"] == "prompt"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer("length", 0, 9000, 100, 2048, 16384), "reasoning_ate_answer"),
        (Answer("length", 800, 0, 16000, 384, 16384), "answer_cut_by_context"),
        (Answer("length", 800, 0, 100, 256, 16384, is_limited=True), "answer_cut_by_limit"),
        (Answer("stop", 800, 0, 100, 256, 16384), None),
    ],
)
def test_that_answers_that_end_early_say_why(q3_header, answer, code):
    found = codes(facts(q3_header, answer=answer))
    assert (code in found) if code else not found


def test_that_longer_reasoning_gets_a_longer_context(q3_header):
    told = facts(q3_header, answer=Answer("length", 0, 9000, 100, 16284, 16384))
    assert one(told, "reasoning_ate_answer").fix.plan.n_ctx == 32768


def test_that_more_threads_than_cores_are_told_with_the_right_number(q3_header):
    told = facts(q3_header, snapshot=snapshot(card()), wishes={"n_threads": 20})
    finding = one(told, "too_many_threads")
    assert finding.params["cores"] == 8
    assert finding.fix.wishes.n_threads == finding.params["recommended"]


def test_that_a_lock_beyond_the_systems_limit_is_told_before_the_launch(q3_header):
    told = facts(q3_header, state=MachineState(memlock_limit_bytes=8 * MIB), wishes={"load_mode": "mlock"})
    finding = one(told, "mlock_limit_low")
    assert finding.params["limit"] == 8 * MIB
    assert finding.fix.wishes.load_mode == "none"
    assert "mlock_limit_low" not in codes(facts(q3_header, state=MachineState(memlock_limit_bytes=8 * MIB)))


def test_that_weights_that_exist_twice_in_short_ram_are_told(q3_header):
    lines = [
        "I load_tensors:   CPU_Mapped model buffer size = 13200.00 MiB",
        "I load_tensors:   CPU_REPACK model buffer size = 12800.00 MiB",
    ]
    told = facts(q3_header, log=read_log(lines), state=MachineState(ram_available_bytes=20000 * MIB))
    finding = one(told, "repacked_twice")
    assert finding.params["total"] == 26000 * MIB
    assert "--no-repack" in finding.fix.wishes.extra or finding.fix.wishes.load_mode == "none"
    roomy = dataclasses.replace(told, state=MachineState(ram_available_bytes=40000 * MIB))
    assert "repacked_twice" not in codes(roomy)


def test_that_a_prompt_cache_that_eats_short_ram_is_told_and_switched_off(q3_header):
    line = "I srv  update:  - cache state: 9 prompts, 5000.000 MiB (limits: 8192.000 MiB, 0 tokens, 90000 est)"
    told = facts(q3_header, log=read_log([line]), state=MachineState(ram_available_bytes=1000 * MIB))
    finding = one(told, "prompt_cache_ram")
    assert (finding.params["used"], finding.params["limit"]) == (5000 * MIB, 8192 * MIB)
    assert finding.fix.wishes.prompt_cache_mib == 0
    roomy = dataclasses.replace(told, state=MachineState(ram_available_bytes=12 * GIB))
    assert "prompt_cache_ram" not in codes(roomy)


def test_that_a_plan_whose_card_the_engine_did_not_use_is_told(q3_header):
    lines = ["I load_tensors:          CPU model buffer size = 18000.00 MiB"]
    told = facts(q3_header, log=read_log(lines), log_is_of_plan=True)
    finding = one(told, "device_unused")
    assert finding.severity is Severity.ERROR
    assert finding.params["used"] == "RAM"
    assert "device_unused" not in codes(facts(q3_header, log=read_log(lines)))


def test_that_an_integrated_card_beside_a_real_one_is_the_wrong_device(q3_header):
    shared = GpuInfo("Iris Xe", "igpu", "CUDA0", 16 * GIB, 15 * GIB)
    told = facts(q3_header, snapshot=snapshot(shared, card("CUDA1"), engine_asked=True))
    assert one(told, "wrong_device").params["better"] == "RTX 4080 Laptop"


def test_that_overrides_the_engine_did_not_confirm_are_an_error(q3_header):
    lines = ["D load_tensors: layer   0 assigned to device CUDA0, is_swa = 0"]
    told = facts(q3_header, log=read_log(lines), log_is_of_plan=True)
    finding = one(told, "override_unmatched")
    assert finding.params["n"] == len(told.plan.placement.overrides)


def test_that_tensors_the_card_refused_are_told_and_repacking_is_not():
    line = (
        "D done_getting_tensors: tensor 'blk.0.ffn_up_exps.weight' (q4_K) (and 5 others) cannot be used with preferred"
    )
    refused = read_log([f"{line} buffer type CUDA0, using CPU instead"])
    assert one(Facts(log=refused), "tensors_moved").params["others"] == 5
    assert codes(Facts(log=read_log([f"{line} buffer type CPU_REPACK, using CPU instead"]))) == []


def test_that_a_shorter_context_than_planned_is_told(q3_header):
    lines = ["I llama_context: n_ctx         = 4096", "I srv  llama_server: listening on http://127.0.0.1:1"]
    told = facts(q3_header, log=read_log(lines), log_is_of_plan=True)
    assert one(told, "context_reduced").params == {"before": 16384, "after": 4096}


@pytest.mark.slow
def test_that_every_finding_has_words_in_both_languages(q3_header):
    told = facts(
        q3_header,
        snapshot=snapshot(card(), power=PowerInfo(on_battery=True)),
        samples=SPILL,
        answer=Answer("length", 0, 9000, 100, 2048, 16384),
        wishes={"n_threads": 20, "extra": ("-ot", "nothing=CPU", "--no-mmap")},
    )
    for language in Language:
        set_language(language)
        for finding in examine(told):
            told_words = words_of(finding)
            assert told_words.sentence
            assert "{" not in told_words.sentence + " ".join(told_words.details) + (told_words.fix or "")
    set_language(Language.EN)


def test_that_a_report_holds_neither_keys_nor_the_users_name(q3_header):
    line = "error: invalid argument: --nope (started by /home/jane/llama --api-key sk-abcdefghijklm)"
    told = facts(q3_header, log=read_log([line]), snapshot=snapshot(card()))
    report = report_text(examine(told), told, ("jane",))
    assert "unknown_argument" in report
    assert "jane" not in report
    assert "sk-abc" not in report


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("--api-key abc123def", "abc123def"),
        ("LLAMA_API_KEY=abc123def", "abc123def"),
        ("Authorization: Bearer abc123def", "abc123def"),
        ("C:\\Users\\Jane\\m.gguf", "Jane"),
        ("/Users/jane/m.gguf", "jane"),
        ("hf_abcdefghijkl", "hf_abcdefghijkl"),
    ],
)
def test_that_secrets_are_hidden(text, secret):
    assert secret not in redacted(text)
