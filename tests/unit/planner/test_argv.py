"""The command: everything said, in the build's own flags, the user's extras kept, secrets hidden."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.common.capabilities import Capabilities
from app.common.problem import Severity
from app.engine.capabilities import FALLBACK
from app.planner.argv import HIDDEN, ArgvRequest, redact, to_argv
from app.planner.flags import OPTIONS, takes_on_off
from app.planner.overrides import compile_overrides
from app.planner.types import RAM, KvHome, Placement, Wishes
from app.words import Language, say_in, say_problem
from tests.unit.planner.synthetic_boards import (
    CUDA0,
    CUDA1,
    ONE_GPU,
    QWEN3,
    TWO_GPUS,
    boards,
    device_set,
    experts_to,
)

NEW = FALLBACK
"""b11434, September 2026 and later: load mode, fit, prompt cache."""

WITHOUT_LOAD_MODE = Capabilities(
    NEW.flags - {"-lm", "--load-mode"} | {"--mmap", "--no-mmap", "--mlock", "-dio", "--direct-io"}
)
"""Builds before 10875 list the old switches."""

_SUMMER_2025 = """
-m --model -dev --device -ngl --gpu-layers --n-gpu-layers -sm --split-mode -ts --tensor-split -c --ctx-size -np
--parallel -ctk --cache-type-k -ctv --cache-type-v -fa --flash-attn -b --batch-size -ub --ubatch-size -t --threads -tb
--threads-batch --no-mmap --mlock -nkvo --no-kv-offload -ot --override-tensor --host --port --metrics --slots --no-slots
-a --alias --api-key -lv --verbosity --log-colors --rpc -kvu --kv-unified
"""
SUMMER_2025 = Capabilities(frozenset(_SUMMER_2025.split()))
"""Bare -fa, no prompt cache, no fit, no load mode."""


def request(model=QWEN3, placement=None, devices=ONE_GPU, wishes=None, **more):
    placement = placement or experts_to(model, RAM, range(26, 48))
    values = {
        "model_path": "/models/qwen3.gguf",
        "devices": devices,
        "wishes": wishes or Wishes(cache_type_k="q8_0", cache_type_v="q8_0", flash_attn="on"),
        "placement": placement,
        "overrides": compile_overrides(model, placement, devices),
        "n_ctx": 16384,
        "n_slots": 1,
        "prompt_cache_mib": 1024,
        "n_threads": 6,
        "load_mode": "none",
    }
    return ArgvRequest(**(values | more))


def values_of(argv, flag):
    return [argv[i + 1] for i, a in enumerate(argv[:-1]) if a == flag]


def value_of(argv, flag):
    (value,) = values_of(argv, flag)
    return value


def codes(result):
    return [(p.code, p.params["flag"]) for p in result.problems]


def flags_written(argv, bare=()):
    """Flags of an argv of ours, read with the number of values that each takes."""
    switches = {"--metrics", "--slots", "-nkvo", "-kvu", "-no-kvu", "--no-mmap", "--mmap", *bare}
    rest = list(argv)
    while rest:
        flag = rest.pop(0)
        yield flag
        if flag not in switches:
            rest.pop(0)


def test_that_the_whole_command_reads_in_the_order_of_the_sketch():
    result = to_argv(request(alias="qwen3", api_key="k"), NEW)
    assert result.problems == ()
    assert result.argv == (
        *("-m", "/models/qwen3.gguf", "-dev", "CUDA0", "-ngl", "49", "-fit", "off"),
        *("-c", "16384", "-np", "1", "-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on", "-b", "2048", "-ub", "512"),
        *("-cram", "1024", "-t", "6", "-lm", "none"),
        *("-ot", r"^blk\.(2[6-9]|3[0-9]|4[0-7])\.ffn_(gate|up|down)_exps\.=CPU"),
        *("--host", "127.0.0.1", "--port", "8080", "--metrics", "--slots", "-a", "qwen3", "--api-key", "k"),
        *("-lv", "4", "--log-colors", "off"),
    )


@pytest.mark.parametrize("flag", ["-c", "-np", "-ctk", "-ctv", "-fa", "-b", "-ub", "-cram", "-fit", "-ngl", "-dev"])
def test_that_nothing_that_eats_memory_is_left_to_a_default(flag):
    defaults = to_argv(request(wishes=Wishes(), n_threads=None, load_mode="auto"), NEW).argv
    assert len(values_of(defaults, flag)) == 1


def test_that_without_a_gpu_no_device_is_used_and_no_layer_offloaded():
    argv = to_argv(request(devices=device_set(), placement=Placement(48)), NEW).argv
    assert value_of(argv, "-dev") == "none"
    assert value_of(argv, "-ngl") == "0"
    assert "-ot" not in argv
    assert "-nkvo" not in argv


def test_that_rpc_servers_come_before_the_names_of_their_devices():
    placement = Placement(48, (("RPC0", 20), ("CUDA0", 29)), {"blk.40.ffn_up_exps.weight": "RPC0"})
    argv = to_argv(request(placement=placement, devices=TWO_GPUS), NEW).argv
    assert value_of(argv, "--rpc") == "127.0.0.1:50099"
    assert argv.index("--rpc") < argv.index("-dev") < argv.index("-ot")
    assert value_of(argv, "-dev") == "RPC0,CUDA0"
    assert value_of(argv, "-sm") == "layer"
    assert value_of(argv, "-ts") == "20,29"
    assert value_of(argv, "-ot") == r"^blk\.40\.ffn_up_exps\.weight$=RPC0[127.0.0.1:50099]"


def test_that_an_rpc_server_whose_device_is_off_is_not_contacted():
    devices = replace(ONE_GPU, rpc_servers=("127.0.0.1:50099",))
    assert "--rpc" not in to_argv(request(devices=devices), NEW).argv


def test_that_one_gpu_needs_no_split():
    argv = to_argv(request(), NEW).argv
    assert "-ts" not in argv
    assert "-sm" not in argv


def test_that_runs_on_a_device_that_is_off_leave_the_rest_of_the_command_shown():
    placement = Placement(48, (("CUDA7", 9),))
    argv = to_argv(request(placement=placement, devices=device_set(CUDA0, CUDA1)), NEW).argv
    assert "-ts" not in argv
    assert value_of(argv, "-dev") == "CUDA0,CUDA1"


def test_that_kv_in_ram_is_nkvo():
    placement = replace(experts_to(QWEN3, RAM, range(48)), kv_home=KvHome.RAM)
    assert "-nkvo" in to_argv(request(placement=placement), NEW).argv
    assert "-nkvo" not in to_argv(request(), NEW).argv


@pytest.mark.parametrize(("choice", "flag"), [(True, "-kvu"), (False, "-no-kvu"), (None, None)])
def test_that_the_shared_cache_is_as_chosen(choice, flag):
    argv = to_argv(request(n_slots=4, kv_unified=choice), NEW).argv
    assert {"-kvu", "-no-kvu"} & set(argv) == ({flag} if flag else set())
    assert value_of(argv, "-np") == "4"


def test_that_threads_are_left_out_when_unknown_and_the_batch_ones_when_equal():
    argv = to_argv(request(n_threads=None), NEW).argv
    assert "-t" not in argv
    argv = to_argv(request(n_threads=6, n_threads_batch=14), NEW).argv
    assert argv[argv.index("-t") : argv.index("-t") + 4] == ("-t", "6", "-tb", "14")


# --- what an older build lacks ---


@pytest.mark.parametrize(
    ("mode", "new", "old"),
    [
        ("none", ["-lm", "none"], ["--no-mmap"]),
        ("mmap", ["-lm", "mmap"], ["--mmap"]),
        ("auto", ["-lm", "auto"], ["--mmap"]),
    ],
)
def test_that_the_load_mode_is_spelt_as_the_build_knows_it(mode, new, old):
    def spelt(capabilities):
        result = to_argv(request(load_mode=mode), capabilities)
        assert result.problems == ()
        start = result.argv.index("6") + 1
        return list(result.argv[start : result.argv.index("-ot")])

    assert spelt(NEW) == new
    assert spelt(WITHOUT_LOAD_MODE) == old


def test_that_builds_which_list_both_old_and_new_get_exactly_one_load_mode():
    both = Capabilities(NEW.flags | {"--mmap", "--no-mmap", "--mlock"})
    argv = to_argv(request(), both).argv
    assert value_of(argv, "-lm") == "none"
    assert "--no-mmap" not in argv


def test_that_flash_attention_is_a_bare_switch_before_autumn_2025():
    assert not takes_on_off(SUMMER_2025)
    assert takes_on_off(NEW)
    assert takes_on_off(WITHOUT_LOAD_MODE)
    argv = to_argv(request(), SUMMER_2025).argv
    assert argv[argv.index("-fa") + 1] == "-b"
    off = to_argv(request(wishes=Wishes(flash_attn="off"), prompt_cache_mib=0), SUMMER_2025)
    assert "-fa" not in off.argv
    assert off.problems == ()
    auto = to_argv(request(wishes=Wishes(), prompt_cache_mib=0), SUMMER_2025)
    assert codes(auto) == [("engine_lacks_flag", "-fa")]


def test_that_a_build_without_a_prompt_cache_is_mentioned_only_when_one_was_wished_for():
    result = to_argv(request(), SUMMER_2025)
    assert codes(result) == [("engine_lacks_flag", "-cram")]
    assert result.problems[0].severity is Severity.INFO
    assert result.problems[0].params["setting"] == "-cram 1024"
    assert to_argv(request(prompt_cache_mib=0), SUMMER_2025).problems == ()


def test_that_a_missing_option_is_a_warning_that_names_the_setting():
    lacking = Capabilities(NEW.flags - {"-ctk", "--cache-type-k"})
    result = to_argv(request(), lacking)
    assert codes(result) == [("engine_lacks_flag", "-ctk")]
    assert result.problems[0].severity is Severity.WARNING
    assert "-ctk q8_0" in say_problem(result.problems[0])
    assert "-ctk" not in result.argv


@pytest.mark.parametrize("option", ["device", "n_gpu_layers", "override_tensor"])
def test_that_a_build_that_cannot_carry_out_the_placement_is_an_error(option):
    lacking = Capabilities(NEW.flags - set(OPTIONS[option].spellings))
    (problem,) = to_argv(request(), lacking).problems
    assert problem.code == "engine_lacks_placement"
    assert problem.severity is Severity.ERROR
    assert problem.params["flag"] in say_in(Language.ZH_CN, f"problem.{problem.code}", **problem.params)


def test_that_a_build_without_rpc_cannot_use_an_rpc_device():
    lacking = Capabilities(NEW.flags - {"--rpc"})
    placement = Placement(48, (("RPC0", 0), ("CUDA0", 49)))
    result = to_argv(request(placement=placement, devices=TWO_GPUS), lacking)
    assert codes(result) == [("engine_lacks_placement", "--rpc")]


def test_that_a_build_without_fit_needs_no_word_about_it():
    lacking = Capabilities(NEW.flags - {"-fit", "--fit"})
    result = to_argv(request(), lacking)
    assert result.problems == ()
    assert "-fit" not in result.argv


@given(
    boards(st.just(QWEN3), device_set(CUDA0, CUDA1)),
    st.sets(st.sampled_from(sorted(flag for option in OPTIONS.values() for flag in option.all))),
    st.sampled_from(["none", "mmap", "auto"]),
    st.sampled_from(["on", "off", "auto"]),
)
def test_that_only_listed_flags_are_written_and_every_gap_is_reported(board, removed, load_mode, flash_attn):
    _, placement = board
    capabilities = Capabilities(SUMMER_2025.flags - removed if len(removed) % 2 else NEW.flags - removed)
    wishes = Wishes(flash_attn=flash_attn)
    made = to_argv(
        request(placement=placement, devices=device_set(CUDA0, CUDA1), load_mode=load_mode, wishes=wishes), capabilities
    )
    complete = to_argv(
        request(placement=placement, devices=device_set(CUDA0, CUDA1), load_mode=load_mode, wishes=wishes), NEW
    )
    bare = () if takes_on_off(capabilities) else ("-fa", "--flash-attn")
    assert all(capabilities.has(flag) for flag in flags_written(made.argv, bare))
    reported = {p.params["flag"] for p in made.problems}
    no_loss = {"-sm", "-fit", "-lv", "--slots", "--log-colors", "-lm", "-fa"}
    for flag in set(flags_written(complete.argv)) - no_loss:
        option = next(o for o in OPTIONS.values() if flag in o.spellings)
        assert capabilities.first(*option.spellings) in made.argv or flag in reported


# --- the engine's own fit ---


def test_field_report_ot_03_a_layer_count_is_never_written_together_with_fit():
    argv = to_argv(request(let_engine_fit=True, fit_target_mib=(512,)), NEW).argv
    assert value_of(argv, "-fit") == "on"
    assert value_of(argv, "-fitt") == "512"
    assert not {"-ngl", "-ts", "-ot", "-sm"} & set(argv)
    assert value_of(argv, "-c") == "16384"
    assert value_of(argv, "-dev") == "CUDA0"


def test_that_a_build_that_cannot_fit_is_an_error_when_it_should():
    lacking = Capabilities(NEW.flags - {"-fit", "--fit"})
    (problem,) = to_argv(request(let_engine_fit=True), lacking).problems
    assert (problem.code, problem.severity) == ("engine_lacks_placement", Severity.ERROR)


def test_field_report_ot_02_expert_switches_among_the_extras_stop_the_fit():
    wishes = Wishes(extra=("--cpu-moe",))
    assert codes(to_argv(request(let_engine_fit=True, wishes=wishes), NEW)) == [("extra_stops_fit", "--cpu-moe")]
    wishes = Wishes(extra=("-ngl", "99"))
    assert codes(to_argv(request(let_engine_fit=True, wishes=wishes), NEW)) == [("extra_stops_fit", "-ngl")]


def test_that_without_a_gpu_there_is_nothing_to_fit():
    argv = to_argv(request(devices=device_set(), placement=Placement(48), let_engine_fit=True), NEW).argv
    assert value_of(argv, "-fit") == "off"
    assert value_of(argv, "-ngl") == "0"


# --- extra arguments ---


def test_that_extra_arguments_stand_at_the_end_word_for_word():
    extra = ("--temp", "0.7", "--chat-template-kwargs", '{"enable_thinking": false}', "--jinja")
    result = to_argv(request(wishes=Wishes(extra=extra)), NEW)
    assert result.argv[-5:] == extra
    assert result.problems == ()


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        (("--ctx-size", "4096"), ("extra_repeats_flag", "--ctx-size")),
        (("--ctx_size", "4096"), ("extra_repeats_flag", "--ctx-size")),
        (("-fit", "on"), ("extra_repeats_flag", "-fit")),
        (("-lm", "mlock"), ("extra_repeats_flag", "-lm")),
        (("--no-slots",), ("extra_repeats_flag", "--no-slots")),
        (("-v",), ("extra_repeats_flag", "-v")),
        (("--n-cpu-moe", "8"), ("extra_moves_tensors", "--n-cpu-moe")),
        (("-ot", "exps=CPU"), ("extra_moves_tensors", "-ot")),
        (("--mlock",), ("extra_unknown_flag", "--mlock")),
    ],
)
def test_that_extras_which_work_against_the_plan_are_reported(extra, problem):
    result = to_argv(request(wishes=Wishes(extra=extra)), NEW)
    assert codes(result) == [problem]
    assert result.problems[0].severity is Severity.WARNING
    assert result.argv[-len(extra) :] == extra
    assert problem[1] in say_problem(result.problems[0])


def test_that_old_load_switches_among_the_extras_repeat_ours_on_builds_that_know_them():
    result = to_argv(request(wishes=Wishes(extra=("--mlock",))), WITHOUT_LOAD_MODE)
    assert codes(result) == [("extra_repeats_flag", "--mlock")]


def test_that_numbers_and_values_among_the_extras_are_not_taken_for_flags():
    result = to_argv(request(wishes=Wishes(extra=("--seed", "-1", "--temp", "-0.5"))), NEW)
    assert result.problems == ()


# --- secrets ---


def test_that_secrets_are_hidden_and_everything_else_is_kept():
    argv = to_argv(
        request(api_key="s3cret", wishes=Wishes(extra=("--hf-token", "hf_abc", "--api_key", "k2"))), NEW
    ).argv
    shown = redact(argv)
    assert not {"s3cret", "hf_abc", "k2"} & set(shown)
    assert shown.count(HIDDEN) == 3
    assert [a for a, b in zip(argv, shown, strict=True) if a == b] == [a for a in shown if a != HIDDEN]


def test_that_a_command_without_a_key_has_no_key_option():
    assert "--api-key" not in to_argv(request(), NEW).argv
