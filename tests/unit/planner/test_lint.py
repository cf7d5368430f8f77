"""Somebody's command against a file: every mistake of the field reports is named, and the conversion repairs it."""

import pytest

from app.common.capabilities import Capabilities
from app.common.problem import Severity
from app.diagnose.lint import lint
from app.engine.capabilities import FALLBACK
from app.planner.command_import import read_command
from app.planner.flag_table import from_ini, from_variables
from app.planner.plan import PlanInputs
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from tests.tools.effective_options import effective_options
from tests.unit.planner.synthetic_boards import FUSED_EXPERTS, SHARED_EXPERTS, SPLIT_EXPERTS, model_of, moe_names

GIB = 1 << 30
RAM_DEVICE = Device(RAM, DeviceKind.RAM, 64 * GIB, 50 * GIB, buffer_name="CPU")
ONE = DeviceSet((Device("CUDA0", DeviceKind.GPU, 24 * GIB, 24 * GIB, buffer_name="CUDA0"),), RAM_DEVICE)
TWO = DeviceSet(ONE.gpus, RAM_DEVICE, off=(Device("CUDA1", DeviceKind.GPU, 24 * GIB, 24 * GIB, buffer_name="CUDA1"),))
OLD_FLAGS = "-m -ngl -ot -c -np -ctk -ctv -fa -b -ub -t --mlock --no-mmap --host --port --metrics -cmoe"
OLD = Capabilities(frozenset(OLD_FLAGS.split(" ")))
IK = Capabilities(OLD.flags | {"-fmoe", "-mla", "-rtr", "-amb", "-ser", "-ncmoe", "-ts", "-sm"})
ARTICLE = [
    "llama-server", "-m", "m.gguf", "-ngl", "99", "--override-tensor", r".*mlp\.experts.*=CPU", "--mlock",
    "--cache-type-k", "q8_0", "--cache-type-v", "q8_0", "--ctx-size", "16384", "-t", "12",
]  # fmt: skip


@pytest.fixture(scope="module")
def qwen3(real_headers):
    return real_headers["qwen3-30b"]


def check(model, argv, devices=ONE, capabilities=FALLBACK, around=()):
    words = argv.split() if isinstance(argv, str) else argv
    command = read_command(words[1:] if words[0] == "llama-server" else words, capabilities)
    return lint(command, PlanInputs(model, devices, Wishes(), capabilities, n_threads=8), around)


def codes(report, *severities):
    return [p.code for p in report.problems if not severities or p.severity in severities]


def errors(report):
    return codes(report, Severity.ERROR)


def test_that_the_articles_command_is_explained_and_converted(qwen3):
    report = check(qwen3, ARTICLE)
    assert errors(report) == ["lint_no_match_meant", "lint_flag_replaced"]
    (rule,) = report.rules
    assert (rule.hits, rule.moved, rule.device) == (0, 0, RAM)
    replaced = next(p for p in report.problems if p.code == "lint_flag_replaced")
    assert replaced.params["new"] == "-lm mmap+mlock"
    meant = ["-ngl", "99", "-ot", r"\.ffn_(up|down|gate)_exps=CPU", "-lm", "mmap+mlock", "-t", "12"]
    meant += ["-ctk", "q8_0", "-ctv", "q8_0", "-c", "16384"]
    wanted = effective_options(meant, qwen3, ONE, FALLBACK)
    assert {k: v for k, v in effective_options(report.converted, qwen3, ONE, FALLBACK).items() if k in wanted} == wanted
    assert errors(check(qwen3, list(report.converted))) == []


def test_that_the_articles_gpu_rule_is_explained(qwen3):
    report = check(qwen3, r"-ngl 99 -c 8192 -np 1 -ot blk\.[0-3]\.ffn_.*_exps\.=gpu,exps=CPU")
    assert errors(report) == ["lint_buffer_gpu"]
    assert report.problems[0].params["right"] == "CUDA0"
    assert [r.hits for r in report.rules] == [12, 144]
    assert [r.moved for r in report.rules] == [12, 132]
    assert sum(o.n_tensors for o in report.plan.overrides) == 132
    assert errors(check(qwen3, list(report.converted))) == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (r"blk\.[0-9]{1,2}\.ffn_.*_exps=CPU", "lint_regex_comma"),
        (r"blk(?=\.1).*exps=CPU", "lint_regex_equals"),
        ("exps", "lint_no_device"),
        ("'exps=CPU'", "lint_stray_quotes"),
        ("blk.(1|2.ffn_up_exps=CPU", "lint_regex_bad"),
        ("(?i)EXPS=CPU", "lint_regex_not_ecmascript"),
        ("(e+)+xps=CPU", "lint_regex_too_complex"),
        ("exps=cpu", "lint_buffer_case"),
        ("exps=cuda0", "lint_buffer_case"),
        ("exps=GPU0", "lint_buffer_gpu"),
        ("exps=RAM", "lint_buffer_host"),
        ("exps=CUDA_Host", "lint_buffer_host"),
        ("exps=CUDA3", "lint_buffer_unknown"),
        ("nothing_like_it=CPU", "lint_no_match"),
        (r"mlp\.experts\.(0|1|2)=CUDA0", "lint_single_experts"),
        ("hot_experts=CUDA0", "lint_single_experts"),
    ],
)
def test_that_a_rule_with_a_mistake_is_an_error(qwen3, rule, code):
    report = check(qwen3, ["-ngl", "99", "-c", "8192", "-np", "1", "-ot", rule])
    assert code in errors(report)
    assert code in [p.code for r in report.rules for p in r.problems]
    assert errors(check(qwen3, list(report.converted))) == []


def test_that_a_comma_is_repaired_as_it_was_meant(qwen3):
    report = check(qwen3, ["-ngl", "99", "-c", "8192", "-ot", r"blk\.[0-9]{1,2}\.ffn_.*_exps=CPU"])
    (rule,) = report.rules
    assert rule.hits == 144
    assert rule.problems[0].params["better"] == r"blk\.[0-9][0-9]?\.ffn_.*_exps"
    assert sum(o.n_tensors for o in report.plan.overrides) == 144


def test_that_a_rule_for_the_upper_layers_tells_what_it_hits(qwen3):
    report = check(qwen3, r"-ngl 99 -c 8192 -np 1 -ot [2-9][0-9]\.ffn_.*_exps\.=CPU")
    assert report.rules[0].hits == 28 * 3


def test_that_the_order_decides_and_a_shadowed_rule_is_told(qwen3):
    first = check(qwen3, r"-ngl 99 -c 8192 -np 1 -ot blk\.2\.ffn_up_exps=CUDA0 --n-cpu-moe 8")
    assert [r.moved for r in first.rules] == [1, 23]
    assert "lint_shadowed" not in codes(first)
    last = check(qwen3, r"-ngl 99 -c 8192 -np 1 --n-cpu-moe 8 -ot blk\.2\.ffn_up_exps=CUDA0")
    assert [(r.hits, r.moved) for r in last.rules] == [(24, 24), (1, 0)]
    assert last.rules[1].shadowed_by == last.rules[0].rule.pattern
    assert codes(last, Severity.WARNING) == ["lint_shadowed"]


def test_that_a_short_pattern_is_too_broad():
    model = model_of(moe_names(4, (*SPLIT_EXPERTS, *SHARED_EXPERTS)), 4)
    report = check(model, "-ngl 99 -c 512 -np 1 -ot exp=CPU")
    broad = next(p for p in report.problems if p.code == "lint_too_broad")
    assert broad.params["n"] == 16
    assert "lint_too_broad" not in codes(check(model, "-ngl 99 -c 512 -np 1 -ot _exps=CPU"))


def test_that_a_rule_that_leaves_merged_experts_behind_is_told():
    model = model_of(moe_names(4, FUSED_EXPERTS), 4)
    report = check(model, r"-ngl 99 -c 512 -np 1 -ot blk\.0\.ffn_(gate|up|down)_exps\.weight=CPU")
    missed = next(p for p in report.problems if p.code == "lint_misses_part")
    assert missed.params["example"] == "blk.0.ffn_gate_up_exps.weight"
    assert "lint_misses_part" not in codes(check(model, "-ngl 99 -c 512 -np 1 --cpu-moe"))


def test_that_layers_without_experts_count_for_n_cpu_moe(real_headers):
    deepseek = real_headers["deepseek-v2-lite"]
    assert "lint_no_experts" in codes(check(deepseek, "-ngl 99 -c 8192 -ncmoe 1"))
    counted = check(deepseek, "-ngl 99 -c 8192 -ncmoe 5")
    assert next(p for p in counted.problems if p.code == "lint_dense_counted").params["moved"] == 4


def test_that_fit_beside_a_placement_is_a_conflict(qwen3):
    assert "lint_fit_gives_up" in codes(check(qwen3, "--fit on --cpu-moe -c 65536"), Severity.WARNING)
    both = check(qwen3, "-ngl 99 --fit on", DeviceSet(
        (Device("CUDA0", DeviceKind.GPU, 8 * GIB, 8 * GIB, buffer_name="CUDA0"),), RAM_DEVICE))  # fmt: skip
    assert {"lint_fit_gives_up", "over_full_gpu", "lint_no_context_fit"} <= set(codes(both, Severity.WARNING))
    assert "lint_fit_left_on" in codes(check(qwen3, "-ngl 99 -c 8192"), Severity.INFO)
    for quiet in ("-ngl 99 -c 8192 --fit off", "--fit on -c 8192", "-c 8192"):
        assert not {"lint_fit_gives_up", "lint_fit_left_on"} & set(codes(check(qwen3, quiet)))


def test_that_context_side_effects_are_told(qwen3):
    assert "lint_no_context" in codes(check(qwen3, "-m x"))
    assert "lint_context_full" in codes(check(qwen3, "-c 0"))
    assert "lint_slots_auto" in codes(check(qwen3, "-c 8192"))
    divided = next(p for p in check(qwen3, "-c 8192 -np 4").problems if p.code == "lint_context_divided")
    assert divided.params["each"] == 2048
    assert "lint_context_divided" not in codes(check(qwen3, "-c 8192 -np 4 -kvu"))


def test_that_quantised_v_without_flash_attention_is_an_error(qwen3):
    assert errors(check(qwen3, "-c 8192 -np 1 -ctv q8_0 -fa off")) == ["v_type_needs_fa"]


def test_that_flags_are_judged_by_the_engine(qwen3):
    new = check(qwen3, "-c 8192 --no-mmap --temprature 1 -fmoe -gan 2 -fa --temp 1")
    told = {
        p.params["flag"]: (p.code, p.params.get("new") or p.params.get("near"))
        for p in new.problems
        if "flag" in p.params
    }
    assert told["--no-mmap"] == ("lint_flag_replaced", "-lm none")
    assert told["--temprature"] == ("lint_flag_near", "--temperature")
    assert told["-fmoe"][0] == "lint_flag_of_ik"
    assert told["-gan"][0] == "lint_flag_gone"
    assert told["-fa"][0] == "lint_fa_needs_value"
    assert not {"--no-mmap", "--temprature", "-fmoe", "-gan"} & set(new.converted)
    assert "--temp" in new.converted
    old = check(qwen3, "-c 8192 -ngl 9 -lm none -fa on --mlock", capabilities=OLD)
    told = {p.params["flag"]: p.params.get("new") for p in old.problems if "flag" in p.params and p.severity == "error"}
    assert told["-lm"] == "--no-mmap"
    assert "lint_fa_takes_no_value" in errors(old)
    assert "--mlock" not in told


def test_that_ik_llama_takes_the_layers_of_every_card(qwen3):
    argv = "-ngl 99 -ncmoe 24 -c 8192 -np 1 -ts 1,1"
    mainline = check(qwen3, argv, TWO)
    assert "lint_ncmoe_first_card" in codes(mainline)
    ik = check(qwen3, f"{argv} -fmoe", TWO, IK)
    assert "lint_ncmoe_spread" in codes(ik)
    assert "lint_flag_of_ik" not in codes(ik)
    in_ram = sorted({int(name.split(".")[1]) for name, device in ik.plan.placement.overrides.items() if device == RAM})
    first_card = [n for n in range(48) if ik.plan.placement.home_of_unit(n) == "CUDA0"]
    assert len(in_ram) == 24
    assert set(range(first_card[-1] - 11, first_card[-1] + 1)) <= set(in_ram)
    assert 47 in in_ram
    assert 0 not in in_ram


def test_that_rules_from_outside_come_first_and_are_told(qwen3):
    around = (
        *from_ini("; mine\n[*]\noverride-tensor = exps=CPU\nctx-size = 4096\n[other]\nngl = 3\n", "config.ini"),
        *from_variables({"LLAMA_ARG_N_GPU_LAYERS": "10", "LLAMA_ARG_UBATCH": "64", "HOME": "x"}),
    )
    report = check(qwen3, r"-ngl 99 -c 8192 -np 1 -ot blk\.3\.ffn_up_exps=CUDA0", around=around)
    assert [(r.rule.source, r.moved) for r in report.rules] == [("config.ini", 144), ("command", 0)]
    told = [(p.code, p.params["source"]) for p in report.problems if p.code.startswith("lint_outside")]
    assert told == [("lint_outside_rules", "config.ini"), ("lint_outside_setting", "LLAMA_ARG_UBATCH")]
    assert "exps=CPU" not in " ".join(report.converted)


def test_that_options_given_twice_and_rules_without_effect_are_told(qwen3):
    report = check(qwen3, r"-ngl 99 -c 4096 -c 8192 -np 1 -ot blk\.1\.ffn_up_exps=CUDA0 -ot blk\.[0-9]\.=CPU")
    assert {"lint_given_twice", "lint_no_effect", "lint_kv_stays"} <= set(codes(report))
    assert "-ot" not in [p.params["flag"] for p in report.problems if p.code == "lint_given_twice"]


def test_that_a_gpu_option_without_a_gpu_is_told(qwen3):
    report = check(qwen3, "-ngl 99 -c 8192", DeviceSet((), RAM_DEVICE))
    assert "lint_no_gpu" in codes(report)


def test_that_a_clean_command_is_clean(qwen3):
    report = check(qwen3, r"-m x -ngl 99 -fit off -c 8192 -np 1 -ot \.ffn_(up|down|gate)_exps=CPU -fa auto --jinja")
    assert codes(report) == []


def test_that_an_unlimited_prompt_cache_is_told_instead_of_full_memory(qwen3):
    small = DeviceSet(ONE.gpus, Device(RAM, DeviceKind.RAM, 32 * GIB, 24 * GIB, buffer_name="CPU"))
    argv = "-ngl 99 -fit off -c 8192 -np 1 -ot exps=CPU"
    assert codes(check(qwen3, argv, small)) == ["import_prompt_cache"]
    assert codes(check(qwen3, f"{argv} -cram 8192", small)) == ["over_full_ram"]
    assert codes(check(qwen3, f"{argv} -cram 1024", small)) == []
