"""-ot rules: they reproduce the board exactly, hit nothing else, and read the same in C++ and in Python."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.common.capabilities import Capabilities
from app.planner.block_numbers import literal, numbers_pattern
from app.planner.overrides import (
    compile_overrides,
    moved_tensors,
    ot_argument,
    prove,
    short_form,
    simulate,
)
from app.planner.placement import home_of, homes
from app.planner.types import RAM, Override, Placement
from tests.unit.planner.synthetic_boards import (
    ARCH_TENSORS,
    CHUNKED_EXPERTS,
    EXPERT_BIASES,
    FUSED_EXPERTS,
    ONE_GPU,
    QWEN3,
    SHARED_EXPERTS,
    SPLIT_EXPERTS,
    TWO_GPUS,
    arch_model,
    boards,
    experts_to,
    model_of,
    moe,
    moe_names,
    synthetic_models,
)

NEW_BUILD = Capabilities(frozenset({"-ot", "--cpu-moe", "-cmoe", "--n-cpu-moe", "-ncmoe", "--n-cpu-ffn"}))
BEFORE_FUSED_FIX = Capabilities(frozenset({"-ot", "--cpu-moe", "--n-cpu-moe"}))


def compiled(model, placement, devices=ONE_GPU):
    """The rules, after checking that they are proven and in a form that -ot can carry."""
    rules = compile_overrides(model, placement, devices)
    assert prove(model, placement, devices, rules) is None
    assert simulate(rules, [t.name for t in model.tensors]) == moved_tensors(model, placement)
    for rule in rules:
        assert "," not in rule.pattern
        assert "=" not in rule.pattern
        assert rule.pattern.startswith("^")
        assert rule.n_tensors >= 1
    return rules


def patterns(model, placement, devices=ONE_GPU):
    return [rule.pattern for rule in compiled(model, placement, devices)]


# --- the exact texts a person reads ---


def test_that_a_run_of_layers_becomes_the_one_rule_of_the_sketch():
    rules = compiled(QWEN3, experts_to(QWEN3, RAM, range(26, 48)))
    assert [(r.pattern, r.device, r.buffer_name, r.n_tensors) for r in rules] == [
        (r"^blk\.(2[6-9]|3[0-9]|4[0-7])\.ffn_(gate|up|down)_exps\.", RAM, "CPU", 66)
    ]
    moved = [t.n_bytes for t in QWEN3.tensors if t.block is not None and t.block >= 26 and "_exps" in t.name]
    assert rules[0].n_bytes == sum(moved)
    assert ot_argument(rules) == r"^blk\.(2[6-9]|3[0-9]|4[0-7])\.ffn_(gate|up|down)_exps\.=CPU"


def test_that_a_placement_without_overrides_has_no_rules_and_no_argument():
    assert compiled(QWEN3, Placement(48, (("CUDA0", 49),))) == ()
    assert ot_argument(()) == ""


def test_that_scattered_layers_are_listed_one_by_one():
    assert patterns(QWEN3, experts_to(QWEN3, RAM, (0, 1, 2, 17))) == [r"^blk\.([0-2]|17)\.ffn_(gate|up|down)_exps\."]


def test_that_one_single_tensor_is_named_in_full():
    placement = Placement(48, (("CUDA0", 49),), {"blk.3.ffn_up_exps.weight": RAM})
    assert patterns(QWEN3, placement) == [r"^blk\.3\.ffn_up_exps\.weight$"]


def test_that_a_partial_layer_gets_its_own_narrow_rule_before_the_broad_one():
    placement = experts_to(QWEN3, RAM, range(26, 48))
    overrides = {**placement.overrides, "blk.25.ffn_down_exps.weight": RAM}
    assert patterns(QWEN3, Placement(48, placement.runs, overrides)) == [
        r"^blk\.25\.ffn_down_exps\.weight$",
        r"^blk\.(2[6-9]|3[0-9]|4[0-7])\.ffn_(gate|up|down)_exps\.",
    ]


def test_that_one_part_of_all_layers_and_whole_layers_share_rules_by_part():
    placement = experts_to(QWEN3, RAM, range(10))
    overrides = dict(placement.overrides)
    overrides.update({f"blk.{b}.ffn_down_exps.weight": RAM for b in range(48)})
    rules = patterns(QWEN3, Placement(48, placement.runs, overrides))
    assert len(rules) == 2
    assert r"^blk\.[0-9]\.ffn_(gate|up)_exps\." in rules or r"^blk\.[0-9]\.ffn_(gate|up|down)_exps\." in rules


def test_that_a_small_move_to_a_second_device_comes_first_and_the_broad_rule_runs_over_it():
    placement = experts_to(QWEN3, RAM, range(48))
    overrides = {**placement.overrides, "blk.12.ffn_up_exps.weight": "RPC0"}
    rules = compiled(QWEN3, Placement(48, placement.runs, overrides), TWO_GPUS)
    assert [(r.pattern, r.n_tensors) for r in rules] == [
        (r"^blk\.12\.ffn_up_exps\.weight$", 1),
        (r"^blk\.([0-9]|[1-3][0-9]|4[0-7])\.ffn_(gate|up|down)_exps\.", 143),
    ]
    assert ot_argument(rules).startswith(r"^blk\.12\.ffn_up_exps\.weight$=RPC0[127.0.0.1:50099],^blk")


def test_that_the_output_unit_moves_with_exact_names():
    placement = Placement(48, (("CUDA0", 49),), {"output.weight": RAM, "output_norm.weight": RAM})
    assert patterns(QWEN3, placement) == [r"^(output_norm|output)\.weight$"]


def test_that_a_block_that_moves_entirely_is_one_short_rule():
    overrides = {t.name: RAM for t in QWEN3.tensors if t.block in (4, 5)}
    assert patterns(QWEN3, Placement(48, (("CUDA0", 49),), overrides)) == [r"^blk\.[45]\."]


# --- traps ---


def test_that_an_override_to_the_tensors_own_home_makes_no_rule():
    placement = Placement(48, (("CUDA0", 20),), {"blk.0.ffn_up_exps.weight": RAM, "blk.40.ffn_up_exps.weight": "CUDA0"})
    assert compiled(QWEN3, placement) == ()


def test_that_experts_of_layers_in_ram_can_go_to_the_gpu():
    placement = experts_to(QWEN3, "CUDA0", range(48), runs=(("CUDA0", 10),))
    rules = compiled(QWEN3, placement)
    assert [r.buffer_name for r in rules] == ["CUDA0"]
    assert simulate(rules, ["blk.45.ffn_up_exps.weight"]) == {}  # already at home there
    assert simulate(rules, ["blk.2.ffn_up_exps.weight"]) == {"blk.2.ffn_up_exps.weight": "CUDA0"}


def test_that_shared_experts_and_the_router_stay_when_the_experts_move():
    model = moe(40, (*SPLIT_EXPERTS, *SHARED_EXPERTS, "ffn_gate_inp_shexp.weight"))
    hit = simulate(compiled(model, experts_to(model, RAM, range(40))), [t.name for t in model.tensors])
    assert not [name for name in hit if "shexp" in name or "gate_inp" in name or "exp_probs_b" in name]


def test_that_biases_move_along_in_the_same_rule_and_stay_when_they_are_not_moved():
    model = moe(24, (*SPLIT_EXPERTS, *EXPERT_BIASES))
    everything = experts_to(model, RAM, range(24))
    assert len(patterns(model, everything)) == 1
    weights_only = {name: device for name, device in everything.overrides.items() if name.endswith(".weight")}
    assert patterns(model, Placement(24, everything.runs, weights_only)) == [
        r"^blk\.([0-9]|1[0-9]|2[0-3])\.ffn_(gate|up|down)_exps\.weight$"
    ]


def test_that_chunked_experts_share_a_rule_with_the_others_when_they_move_together():
    model = moe(12, (*SPLIT_EXPERTS, *CHUNKED_EXPERTS))
    assert patterns(model, experts_to(model, RAM, range(12))) == [
        r"^blk\.([0-9]|1[01])\.ffn_(gate|up|down)_(exps|chexps)\."
    ]


def test_that_tensors_without_an_ending_are_hit_exactly():
    model = moe(12, (*SPLIT_EXPERTS, "ssm_a", "ssm_a_norm.weight"))
    placement = Placement(12, (("CUDA0", 13),), {f"blk.{b}.ssm_a": RAM for b in range(12)})
    assert patterns(model, placement) == [r"^blk\.([0-9]|1[01])\.ssm_a$"]


def test_that_block_1_is_not_block_11_and_names_outside_the_blocks_are_never_hit():
    names = [*moe_names(20), "v.blk.1.ffn_up_exps.weight", "enc.blk.1.ffn_up_exps.weight"]
    model = model_of(names, 20)
    placement = experts_to(model, RAM, (1,))
    assert patterns(model, placement) == [r"^blk\.1\.ffn_(gate|up|down)_exps\."]


def test_that_a_rule_for_the_tied_embedding_is_kept_because_the_output_copy_follows_it():
    model = moe(8, tied=True)
    placement = Placement(8, (("CUDA0", 9),), {"token_embd.weight": RAM})
    assert patterns(model, placement) == [r"^token_embd\.weight$"]
    untied = moe(8)
    assert patterns(untied, placement) == []


def test_that_the_proof_sees_the_output_copy_of_a_tied_embedding():
    model = moe(8, tied=True)
    placement = Placement(8, (("CUDA0", 9),))
    assert compiled(model, placement) == ()
    broad = Override("^token_embd", RAM, "CPU", 1, 1)
    problem = prove(model, placement, ONE_GPU, (broad,))
    assert problem is not None
    assert problem.code == "override_proof_failed"
    assert problem.params["tensor"] == "token_embd.weight (output copy)"


def test_that_names_with_a_comma_or_an_equals_sign_are_hit_without_writing_them():
    model = model_of([*moe_names(3), "blk.0.odd,name=x.weight"], 3)
    placement = Placement(3, (("CUDA0", 4),), {"blk.0.odd,name=x.weight": RAM})
    assert patterns(model, placement) == [r"^blk\.0\.odd.name.x\.weight$"]


# --- the proof refuses what is wrong ---


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (Override(r"ffn_.*_exps", RAM, "CPU", 1, 1), "override_proof_failed"),
        (Override(r"^blk\.[0-9]{1,2}\.", RAM, "CPU", 1, 1), "override_rule_invalid"),
        (Override(r"^blk\.1\.", RAM, "CUDA_Host", 1, 1), "override_rule_invalid"),
        (Override(r"^blk\.1\.", RAM, "CPU", 0, 0), "override_rule_invalid"),
    ],
)
def test_that_the_proof_refuses_wrong_rules(rule, code):
    problem = prove(QWEN3, experts_to(QWEN3, RAM, (1,)), ONE_GPU, (rule,))
    assert problem is not None
    assert problem.code == code


def test_that_the_proof_names_a_tensor_that_the_file_does_not_have():
    placement = Placement(48, (("CUDA0", 49),), {"blk.0.ffn_mega_exps.weight": RAM})
    problem = prove(QWEN3, placement, ONE_GPU, compile_overrides(QWEN3, placement, ONE_GPU))
    assert problem is not None
    assert (problem.code, problem.params["tensor"]) == ("override_unknown_tensor", "blk.0.ffn_mega_exps.weight")


@pytest.mark.parametrize(
    "placement",
    [
        Placement(48, (("CUDA0", 49),), {"blk.0.ffn_up_exps.weight": "CUDA7"}),
        Placement(48, (("CUDA0", 40), ("CUDA7", 9))),
    ],
)
def test_that_a_device_which_is_off_is_reported_and_gets_no_rule(placement):
    rules = compile_overrides(QWEN3, placement, ONE_GPU)
    assert rules == ()
    problem = prove(QWEN3, placement, ONE_GPU, rules)
    assert problem is not None
    assert (problem.code, problem.params["device"]) == ("placement_device_off", "CUDA7")


def test_that_the_proof_refuses_too_many_rules():
    rule = Override(r"^blk\.1\.", RAM, "CPU", 1, 1)
    problem = prove(QWEN3, experts_to(QWEN3, RAM, (1,)), ONE_GPU, (rule,) * 4096)
    assert problem is not None
    assert problem.code == "override_too_many"


def test_that_the_proof_includes_the_homes():
    placement = Placement(48, (("CUDA0", 20), ("RPC0", 29)))
    problem = prove(QWEN3, placement, TWO_GPUS, ())
    assert problem is not None
    assert problem.code == "homes_proof_failed"


# --- any board ---


@given(boards(synthetic_models(), TWO_GPUS))
def test_that_the_rules_of_any_board_reproduce_it_exactly(board):
    model, placement = board
    rules = compiled(model, placement, TWO_GPUS)
    unit_homes = homes(placement)
    hit = simulate(rules, [t.name for t in model.tensors])
    for t in model.tensors:
        home = home_of(t, unit_homes)
        assert hit.get(t.name, home) == placement.overrides.get(t.name, home)
    assert sum(r.n_tensors for r in rules) == len(hit)
    assert len(rules) <= max(1, len(hit))


@given(st.sampled_from(sorted(ARCH_TENSORS)), st.data())
def test_that_boards_of_every_architecture_are_reproduced(arch, data):
    model, placement = data.draw(boards(st.just(arch_model(arch, 12)), TWO_GPUS))
    compiled(model, placement, TWO_GPUS)


@pytest.mark.share(6)
@pytest.mark.parametrize("arch", sorted(a for a, names in ARCH_TENSORS.items() if any("exps" in n for n in names)))
def test_that_the_experts_of_every_moe_architecture_fit_into_one_short_rule(arch):
    model = arch_model(arch, 60)
    rules = compiled(model, experts_to(model, RAM, range(60)))
    assert len(rules) <= 2
    assert len(ot_argument(rules)) < 160


@given(boards(st.just(QWEN3), ONE_GPU))
def test_that_whole_expert_layers_always_take_one_rule_of_readable_length(board):
    _, placement = board
    blocks = {int(n.split(".")[1]) for n in placement.overrides if n.startswith("blk.")}
    rules = patterns(QWEN3, experts_to(QWEN3, RAM, blocks))
    assert len(rules) <= 1
    assert all(len(rule) <= 40 + 3 * len(blocks) and len(rule) < 130 for rule in rules)


@given(st.sets(st.integers(0, 400)))
def test_that_a_number_pattern_hits_exactly_its_numbers(numbers):
    if not numbers:
        return
    pattern = re.compile(f"^({numbers_pattern(numbers)})$")
    assert {n for n in range(420) if pattern.match(str(n))} == numbers
    assert re.fullmatch(r"[0-9|()\[\]-]+", numbers_pattern(numbers))


@given(st.text("abz09_-.$^*+?()[]{}|\\/ 专é", min_size=1, max_size=20))
def test_that_a_literal_matches_itself(text):
    assert re.fullmatch(literal(text), text)


# --- field reports about generated rules ---


def test_field_report_ot_01_the_fused_gate_up_experts_are_covered():
    model = moe(4, FUSED_EXPERTS)
    rules = compiled(model, experts_to(model, RAM, range(4)))
    assert [r.pattern for r in rules] == [r"^blk\.[0-3]\.ffn_(gate_up|down)_exps\."]
    handwritten = Override(r"blk\.0\.ffn_(gate|up|down)_exps\.weight", RAM, "CPU", 1, 1)
    names = ["blk.0.ffn_gate_up_exps.weight", "blk.0.ffn_down_exps.weight", "blk.0.attn_q.weight"]
    assert simulate([handwritten], names) == {"blk.0.ffn_down_exps.weight": RAM}


def test_field_report_ot_01_switches_are_not_trusted_with_fused_experts_on_old_builds():
    model = moe(4, FUSED_EXPERTS)
    placement = experts_to(model, RAM, range(4))
    assert short_form(model, placement, BEFORE_FUSED_FIX) is None
    assert short_form(model, placement, NEW_BUILD) == ("--cpu-moe",)


def test_field_report_ot_04_the_first_rule_that_hits_wins():
    narrow = Override(r"blk\.2\.ffn_up_exps", "CUDA0", "CUDA0", 1, 1)
    broad = [Override(rf"blk\.{i}\.ffn_(up|down|gate)_exps", RAM, "CPU", 1, 1) for i in range(8)]
    name = "blk.2.ffn_up_exps.weight"
    assert simulate([narrow, *broad], [name]) == {name: "CUDA0"}
    assert simulate([*broad, narrow], [name]) == {name: RAM}


@pytest.mark.parametrize("blocks", [range(9, 21), range(20, 61), range(61)])
def test_field_report_ot_08_numbers_are_anchored_on_both_sides(blocks):
    model = model_of([*moe_names(61), "blk.120.ffn_up_exps.weight"], 121)
    rules = compiled(model, experts_to(model, RAM, blocks))
    hit = simulate(rules, [t.name for t in model.tensors])
    assert {int(name.split(".")[1]) for name in hit} == set(blocks)


def test_field_report_ot_05_router_bias_and_shared_expert_are_not_moved_with_the_experts():
    names = [
        *("blk.5.ffn_up_exps.weight", "blk.5.ffn_up_shexp.weight", "blk.5.exp_probs_b.bias"),
        *("blk.5.ffn_gate_inp.weight", "blk.5.attn_k.weight", "output.weight"),
    ]
    model = model_of(names, 6)
    rules = compiled(model, experts_to(model, RAM, (5,)))
    assert simulate(rules, names) == {"blk.5.ffn_up_exps.weight": RAM}


# --- --cpu-moe and --n-cpu-moe ---


def test_that_all_experts_in_ram_are_cpu_moe():
    assert short_form(QWEN3, experts_to(QWEN3, RAM, range(48)), NEW_BUILD) == ("--cpu-moe",)


def test_that_the_first_layers_in_ram_are_n_cpu_moe_counted_by_layer_number():
    assert short_form(QWEN3, experts_to(QWEN3, RAM, range(10)), NEW_BUILD) == ("--n-cpu-moe", "10")
    dense_first = moe(27, dense_leading=1)
    assert short_form(dense_first, experts_to(dense_first, RAM, range(1, 5)), NEW_BUILD) == ("--n-cpu-moe", "5")


def test_that_other_placements_have_no_short_form():
    assert short_form(QWEN3, experts_to(QWEN3, RAM, range(26, 48)), NEW_BUILD) is None
    assert short_form(QWEN3, experts_to(QWEN3, "RPC0", range(48)), NEW_BUILD) is None
    assert short_form(QWEN3, Placement(48, (("CUDA0", 49),)), NEW_BUILD) is None
    assert short_form(QWEN3, experts_to(QWEN3, RAM, range(48)), Capabilities(frozenset({"-ot"}))) is None
    part = Placement(48, (("CUDA0", 49),), {f"blk.{b}.ffn_up_exps.weight": RAM for b in range(48)})
    assert short_form(QWEN3, part, NEW_BUILD) is None


def test_that_cpu_moe_is_right_too_when_some_experts_are_in_ram_by_their_home():
    placement = experts_to(QWEN3, RAM, range(8, 48), runs=(("CUDA0", 41),))
    assert short_form(QWEN3, placement, NEW_BUILD) == ("--cpu-moe",)


# --- the same patterns in C++ ---

_CPP = r"""
#include <cstdio>
#include <fstream>
#include <iostream>
#include <regex>
#include <string>
#include <vector>
int main(int, char ** argv) {
    std::ifstream in(argv[1]);
    std::string line;
    std::vector<std::string> names;
    while (std::getline(in, line) && line != "--") names.push_back(line);
    while (std::getline(in, line)) {
        std::regex pattern(line);
        for (const auto & name : names) putchar(std::regex_search(name, pattern) ? '1' : '0');
        putchar('\n');
    }
}
"""


@pytest.mark.slow
def test_that_std_regex_finds_the_same_tensors_as_python(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here to compile a std::regex program")
    names: list[str] = []
    lines: list[str] = []
    for arch in ("deepseek2", "grovemoe", "qwen3next"):
        model = arch_model(arch, 41)
        names += [t.name for t in model.tensors]
        half = {t.name: RAM for i, t in enumerate(model.tensors) if t.block is not None and i % 7 < 3}
        for placement in (experts_to(model, RAM, range(3, 41)), Placement(41, (("CUDA0", 42),), half)):
            lines += patterns(model, placement)
    lines += patterns(QWEN3, experts_to(QWEN3, RAM, range(26, 48)))
    names = list(dict.fromkeys(names))
    (tmp_path / "search.cpp").write_text(_CPP)
    (tmp_path / "in.txt").write_text("\n".join([*names, "--", *lines]) + "\n")
    program = str(tmp_path / "search")
    subprocess.run([compiler, "-O0", "-std=c++17", "-o", program, str(tmp_path / "search.cpp")], check=True, timeout=60)
    found = subprocess.run([program, str(tmp_path / "in.txt")], check=True, capture_output=True, text=True, timeout=60)
    expected = ["".join("1" if re.search(line, name) else "0" for name in names) for line in lines]
    assert found.stdout.split() == expected
    assert len(lines) > 20
