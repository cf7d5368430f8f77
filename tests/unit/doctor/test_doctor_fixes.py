"""A fix is a changed plan that fits by the memory model, and never the one that has failed."""

import dataclasses

import pytest

from app.diagnose.doctor.budgets import budget_after_failure
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts
from app.planner.placement import expert_layers_in_ram
from app.planner.types import RAM, KvHome
from app.work.doctor_text import device_changes, fix_sentence
from app.work.planning import parse_place, place_all
from tests.unit.doctor.doctor_cases import MIB, facts

START = "0.00.001.094 I srv  llama_server: initializing ..."


def oom(stage, device="CUDA0", asked=1500, before=()):
    ends = {
        "weights": f"E llama_model_load: error loading model: unable to allocate {device} buffer",
        "kv": "E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
        "compute": "E llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers",
    }
    line = f"E ggml_backend_buft_alloc_buffer_n_default: failed to allocate {device} buffer of size {asked * MIB}"
    return read_log([START, *before, line, ends[stage]])


def fix_of(told):
    found = examine(told)
    return found[0], found[0].fix


@pytest.mark.share(1)
@pytest.mark.parametrize("stage", ["weights", "kv", "compute"])
def test_that_a_card_that_ran_out_gets_fewer_expert_layers_by_what_was_missing(q3_header, stage):
    before = ["0.1 I load_tensors:        CUDA0 model buffer size =  8000.00 MiB"] if stage != "weights" else []
    told = facts(q3_header, log=oom(stage, asked=1500 if before else 9000, before=before))
    finding, fix = fix_of(told)
    assert fix is not None
    assert fix.params["layers"] > 0
    budget = budget_after_failure(told.plan, "CUDA0", finding.problem, told.log)
    assert fix.plan.estimate.get("CUDA0").total_bytes <= budget
    assert fix.plan.estimate.fits
    assert fix.plan.argv != told.plan.argv
    assert fix_sentence(fix).startswith("Keep ")
    moved = set(expert_layers_in_ram(q3_header, fix.plan.placement)) - set(
        expert_layers_in_ram(q3_header, told.plan.placement)
    )
    assert fix.params["blocks"] == f"{min(moved)}-{max(moved)}"
    assert str(fix.params["blocks"]) in fix_sentence(fix)
    moves = tuple(parse_place(text) for text in fix.place)
    assert moves
    assert place_all(told.plan, q3_header, moves)[0] == fix.plan.placement
    assert {change.device for change in device_changes(fix)} == {"CUDA0", RAM}


def test_that_free_memory_in_the_log_bounds_the_fix(q3_header):
    used = "0.1 I llama_prepare_model_devices: using device CUDA0 (RTX) (0000:01:00.0) - 6000 MiB free"
    _, fix = fix_of(facts(q3_header, log=oom("weights", asked=9000, before=[used])))
    assert fix.plan.estimate.get("CUDA0").total_bytes <= 6000 * MIB - 256 * MIB


@pytest.mark.slow
def test_that_a_command_that_has_failed_is_not_offered_again(q3_header):
    told = facts(q3_header, log=oom("kv", before=["I load_tensors: CUDA0 model buffer size =  8000.00 MiB"]))
    _, first = fix_of(told)
    _, second = fix_of(dataclasses.replace(told, tried=frozenset({first.plan.argv})))
    assert second is None or second.plan.argv not in {told.plan.argv, first.plan.argv}


def test_that_ram_that_ran_out_is_relieved_without_filling_the_card_over(q3_header):
    told = facts(q3_header, log=oom("kv", device="CPU", asked=3000), wishes={"kv_home": KvHome.RAM})
    _, fix = fix_of(told)
    assert fix is not None
    assert fix.plan.estimate.get(RAM).total_bytes < told.plan.estimate.get(RAM).total_bytes
    assert fix.plan.estimate.fits


def test_that_an_over_full_plan_is_made_to_fit(q3_header):
    told = facts(q3_header, wishes={"preset": "all-gpu"})
    finding = next(f for f in examine(told) if f.code == "over_full_gpu")
    assert finding.fix.plan.estimate.fits
    assert finding.fix.params["layers"] > 0


@pytest.mark.slow
def test_that_no_plan_is_offered_where_nothing_fits(q3_header):
    told = facts(q3_header, given={"gpu_mib": 500, "ram_mib": 4000}, wishes={"preset": "all-gpu"})
    assert all(f.fix is None for f in examine(told) if f.code.startswith("over_full"))


@pytest.mark.parametrize(
    ("extra", "line", "left"),
    [
        (("--no-mmap",), "error: invalid argument: --no-mmap", ("-lm", "none")),
        (("--frobnicate", "--metrics"), "error: invalid argument: --frobnicate", ("--metrics",)),
        (("-ot", "a(=CPU"), "E error loading model: Mismatched '(' and ')' in regular expression", ()),
        (("-ot", "exps=CPUX"), 'error while handling argument "-ot": unknown buffer type', ()),
    ],
)
def test_that_a_bad_option_of_the_user_is_dropped_or_written_anew(q3_header, extra, line, left):
    told = facts(q3_header, log=read_log([line]), wishes={"extra": extra})
    _, fix = fix_of(told)
    assert fix.wishes.extra == left


def test_that_a_rule_that_finds_nothing_is_told_and_dropped_alone(q3_header):
    told = facts(q3_header, wishes={"extra": ("-ot", r"mlp\.experts=CPU", "--metrics")})
    finding = next(f for f in examine(told) if f.code == "override_unmatched")
    assert finding.params["example"] == r"mlp\.experts=CPU"
    assert "_exps" in finding.params["names"]
    assert finding.fix.wishes.extra == ("--metrics",)


def test_that_a_quantised_v_cache_without_flash_attention_gets_it(q3_header):
    line = "E llama_init_from_model: quantized V cache requires flash_attn to be enabled"
    _, fix = fix_of(facts(q3_header, log=read_log([line]), wishes={"flash_attn": "off"}))
    assert fix.wishes.flash_attn == "on"


def test_that_a_request_beyond_the_context_gets_a_longer_one_only_where_it_fits(q3_header):
    line = "W request (20000 tokens) exceeds the available context size (16384 tokens), try increasing it"
    ready = "I srv  llama_server: listening on http://127.0.0.1:1"
    told = facts(q3_header, log=read_log([START, ready, line]))
    finding = next(f for f in examine(told) if f.code == "context_full")
    assert finding.fix.plan.n_ctx == 32768
    assert finding.fix.plan.estimate.fits
    assert finding.fix.changes == {"--ctx": "32768"}


def test_that_without_a_plan_there_is_no_fix():
    assert examine(Facts(log=oom("kv")))[0].fix is None


def ended_with(line):
    return read_log([START, f"E {line}", "E srv  llama_server: exiting due to model loading error"])


CURED_BY_DROPPING = {
    "llama_model_load: error loading model: device CUDA0 does not support split buffers": ("-sm", "row"),
    "srv          init: the server is built without SSL support": ("--ssl-key-file", "k.pem"),
    "the supplied chat template is not supported: nonsense": ("--chat-template", "nonsense"),
}


@pytest.mark.parametrize("line", CURED_BY_DROPPING)
def test_that_an_option_which_cannot_work_here_is_dropped(q3_header, line):
    told = facts(q3_header, wishes={"extra": (*CURED_BY_DROPPING[line], "--no-warmup")}, log=ended_with(line))
    _, fix = fix_of(told)
    assert fix.plan.wishes.extra == ("--no-warmup",)
    assert fix.changes == {"--extra": "--no-warmup"}


def test_that_what_a_template_is_told_outlasts_the_template_that_cannot_be_used(q3_header):
    line, told = (
        "the supplied chat template is not supported: nonsense",
        ("--chat-template-kwargs", '{"thinking":false}'),
    )
    extra = ("--chat-template", "nonsense", *told)
    _, fix = fix_of(facts(q3_header, wishes={"extra": extra}, log=ended_with(line)))
    assert fix.plan.wishes.extra == told


def test_that_a_file_system_which_cannot_map_gets_a_file_that_is_read(q3_header):
    log = ended_with("llama_model_load: error loading model: mmap failed: No such device")
    told = facts(q3_header, wishes={"load_mode": "mmap"}, log=log)
    _, fix = fix_of(told)
    assert (fix.code, fix.changes) == ("load_mode", {"--load-mode": "none"})
    assert "-lm" in fix.plan.argv


def test_that_cache_types_which_do_not_go_with_the_model_become_f16(q3_header):
    line = "llama_init_from_model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=80"
    _, fix = fix_of(facts(q3_header, wishes={"cache_type_k": "q8_0"}, given={"ram_mib": 60000}, log=ended_with(line)))
    assert (fix.plan.wishes.cache_type_k, fix.changes["--ctk"]) == ("f16", "f16")
    assert fix.plan.estimate.fits is True


def test_that_a_card_which_was_reset_gets_smaller_steps(q3_header):
    ready = "I srv  llama_server: listening on http://127.0.0.1:1"
    log = read_log([START, ready, "CUDA error: the launch timed out and was terminated"])
    finding, fix = fix_of(facts(q3_header, wishes={"n_ubatch": 1024}, log=log))
    assert (finding.code, fix.plan.wishes.n_ubatch) == ("gpu_lost", 512)
    _, again = fix_of(facts(q3_header, wishes={"n_ubatch": 64}, log=log))
    assert again is None


def test_that_tools_get_the_option_that_they_need(q3_header):
    ready = "I srv  llama_server: listening on http://127.0.0.1:1"
    log = read_log([START, ready, "W srv operator(): got exception: tools param requires --jinja flag"])
    finding, fix = fix_of(facts(q3_header, log=log))
    assert finding.code == "tools_need_jinja"
    assert fix.plan.wishes.extra == ("--jinja",)
    assert fix_sentence(fix) == "Add --jinja"


def test_that_an_adapter_of_another_model_is_left_out(q3_header):
    line = "llama_adapter_lora_init: failed to apply lora adapter: model arch and LoRA arch mismatch"
    told = facts(q3_header, log=ended_with(line))
    wishes = dataclasses.replace(told.plan.wishes, lora_paths=("/m/a.gguf",))
    plan = dataclasses.replace(told.plan, wishes=wishes, argv=(*told.plan.argv, "--lora", "/m/a.gguf"))
    _, fix = fix_of(dataclasses.replace(told, plan=plan))
    assert (fix.code, fix.changes, fix.plan.wishes.lora_paths) == ("no_lora", {"--lora": ""}, ())
    assert "--lora" not in fix.plan.argv
