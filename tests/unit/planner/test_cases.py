"""The memory estimate beside public logs of other people's machines (benchmarks/memory_accuracy.py)."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from app.model.types import Role, TensorInfo
from app.planner.engine_traits import CURRENT_MAINLINE, EngineKind, EngineTraits, IkTraits, mainline_traits
from app.planner.ik import ik_compute_bytes, mla_prompt_bytes
from app.planner.kv import KvSettings, kv_bytes_by_block, row_bytes
from app.planner.placement import homes, locations
from app.planner.types import RAM
from benchmarks.case_mix import uses_more_bits
from benchmarks.case_model import layer_facts, model_of
from benchmarks.case_run import devices_of, engine_of, placement_of, settings_of
from benchmarks.cases import Case, load_cases
from benchmarks.memory_accuracy import judge_all, main, percentile, predict, summary_of
from benchmarks.memory_accuracy_rows import pool_mib

pytestmark = pytest.mark.slow

MIB = 1 << 20
FILE = Path(__file__).parents[2] / "data" / "cases" / "public_cases.json"


@pytest.fixture(scope="module")
def cases():
    return {case.id: case for case in load_cases(FILE)}


@pytest.fixture(scope="module")
def outcome(cases):
    return judge_all(list(cases.values()))


@pytest.fixture(scope="module")
def summary(outcome):
    return summary_of(outcome)


def changed(case: Case, **parts) -> Case:
    """The case with other keys in its sections, or with other top-level keys."""
    raw = json.loads(json.dumps(case.raw))
    for key, value in parts.items():
        if isinstance(value, dict) and isinstance(raw.get(key), dict):
            raw[key] |= value
        else:
            raw[key] = value
    return Case(raw)


def test_that_every_judged_kv_cache_is_exact(summary):
    assert summary["kv"]["n"] == 49
    assert summary["kv"]["within_1_mib_or_1_percent"] == 1.0


def test_that_mainline_totals_per_device_hold_their_targets(summary):
    total = summary["total"]
    assert total["n"] == 6
    assert total["median"] <= 0.01
    assert total["p95"] <= 0.04
    assert total["low_over_2_percent"] <= 0.05


def test_that_ik_llama_totals_are_close_where_its_graph_differs(summary):
    total = summary["total_ik"]
    assert total["n"] == 35
    assert total["median"] <= 0.01
    assert total["p95"] <= 0.04
    assert total["low_over_2_percent"] <= 0.05


def test_that_a_series_calibrated_on_its_first_rows_predicts_the_steps(summary):
    series = summary["series"]
    assert series["n"] == 36
    assert series["median"] <= 0.005
    assert series["low_over_2_percent"] <= 0.09  # three rows of one file whose layers differ: only a mean is told
    assert series["decided"]["n"] == 9
    assert series["decided"]["low_over_2_percent"] == 0.0


def test_that_weights_follow_the_placement(summary):
    assert summary["weights"]["n"] == 25
    assert summary["weights"]["median"] <= 0.001
    assert summary["weights"]["p95"] <= 0.02


def test_that_each_case_is_judged_or_left_out_with_a_reason(cases, summary):
    judged = {row["id"] for row in summary["rows"]}
    skipped = {entry["id"]: entry["reason"] for entry in summary["skipped"]}
    assert judged | skipped.keys() == cases.keys()
    assert summary["judged"] == len(judged) == 83
    assert all(reason and "cannot be read" not in reason for reason in skipped.values())


def test_that_the_json_has_the_promised_shape(outcome, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.memory_accuracy.judge_all", lambda _: outcome)
    monkeypatch.setattr("sys.argv", ["memory_accuracy", str(FILE), "--json"])
    assert main() == 0
    told = json.loads(capsys.readouterr().out)
    assert {"cases", "judged", "skipped", "kv", "total", "total_ik", "compute", "series", "rows"} <= told.keys()
    assert {"n", "median", "p95", "worst"} <= told["kv"].keys()
    assert {"n", "median", "p95", "worst", "low_p95"} <= told["total"].keys()
    assert {"n", "median_mib", "p95_mib"} <= told["compute"].keys()
    assert {"id", "device", "what", "predicted_mib", "actual_mib", "error"} == told["rows"][0].keys()


def test_that_the_table_names_what_it_leaves_out(outcome, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.memory_accuracy.judge_all", lambda _: outcome)
    monkeypatch.setattr("sys.argv", ["memory_accuracy", str(FILE), "--worst", "3"])
    assert main() == 0
    told = capsys.readouterr().out
    assert "ml-9070xt-qwen35-32k-f16-n8: card: spilled" in told
    worst = told[told.index("worst 3 totals") :].split("\n\n")[0].splitlines()[1:]
    assert "ik-596-28" in worst[0]
    assert worst[1].strip() == "compute -1050 MiB (-23.35 %); it holds copied experts, whose types are not told"
    assert len(worst) == 6


# --- whole cards in series --------------------------------------------------------------------------------------------


def _series(cases, **of_the_rest):
    """A calibrating row and one more of a made-up series: the file of ml-6g-qwen3coder with 48 and 40 expert layers."""
    told = {"card": "series", "series": "made up", "calibrate_rows": 1}
    first = changed(cases["ml-6g-qwen3coder-ncmoe48"], judge=told)
    return [first, changed(cases["ml-6g-qwen3coder-ncmoe40"], judge=told, **of_the_rest)]


def test_that_what_others_held_before_counts_except_under_windows(cases):
    first, other = _series(cases)
    held = [changed(first, measured={"baseline": 100}), changed(other, measured={"baseline": 400})]
    assert judge_all(held).rows[0].actual_mib == 4410 - 400
    windows = [changed(case, os="Windows 11") for case in held]
    assert judge_all(windows).rows[0].actual_mib == 4410


def test_that_a_full_card_is_not_taken_for_the_demand(cases):
    members = _series(cases, run={"n_cpu_moe": 30}, measured={"card_total": {"CUDA0": 5990}})
    outcome = judge_all(members)
    assert outcome.rows == []
    assert "the card is full (5990 of 6144 MiB)" in outcome.skipped[1][1]


def test_that_one_broken_row_of_a_series_does_not_cost_the_others(cases):
    first, other = _series(cases)
    broken = changed(other, id="broken", run={"n_ctx": [1]})
    outcome = judge_all([first, broken, other])
    assert [row.case.id for row in outcome.rows] == [other.id]
    assert dict(outcome.skipped)["broken"].startswith("series made up: the case cannot be read")


def test_that_older_cuda_engines_take_a_quantised_cache_from_their_pool_too(cases):
    case = cases["ml-9070xt-qwen35-128k-q8_0-n40"]
    assert pool_mib(case, "ROCm0") == 2 * 131072 * 512 * 2 / MIB
    assert pool_mib(cases["ml-9070xt-qwen35-128k-f16-n40"], "ROCm0") == 0
    assert pool_mib(changed(case, build="b9500"), "ROCm0") == 0
    assert pool_mib(case, "Vulkan0") == 0


def test_that_a_plain_mix_tells_which_layers_are_larger(cases):
    case = cases["ik-3060-qwen36-ctx8192"]
    sizes = [round(n / MIB) for n in case.routed_bytes]
    assert sizes[19:26] == [498, 432, 432, 498, 432, 432, 498]
    assert len(set(changed(case, quant="UD-Q4_K_M").routed_bytes)) == 1
    assert len(set(changed(case, routed_mib_per_layer=500.0).routed_bytes)) == 1
    assert [uses_more_bits(i, 16) for i in range(6)] == [True, True, False, False, True, False]


_ODD = (None, "x", [], {}, -1, 0, 10**9, 1e308, float("nan"), True, [None], {"CUDA0": "big"}, "q8_0")


def _places(value, at=()):
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*at, key)
        yield from _places(value[key], (*at, key))


def _mutated(raw, rng):
    """One of the keys that a program reads gone, or with a value that nobody would expect there."""
    raw = json.loads(json.dumps(raw))
    *way, last = rng.choice(list(_places(raw)))
    parent = raw
    for key in way:
        parent = parent[key]
    if isinstance(parent, dict) and rng.random() < 0.4:
        del parent[last]
    else:
        parent[last] = rng.choice(_ODD)
    return raw


def test_that_odd_rows_are_left_out_with_a_reason_and_end_nothing(cases, tmp_path, capsys, monkeypatch):
    rng = random.Random(3)
    entries = [_mutated(rng.choice(list(cases.values())).raw, rng) for _ in range(80)]
    file = tmp_path / "odd.json"
    file.write_text(json.dumps({"cases": [*entries, None, 7, "x", [], {}]}), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["memory_accuracy", str(file), "--json"])
    assert main() == 0
    told = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert told["cases"] == 85
    named = {row["id"] for row in told["rows"]} | {entry["id"] for entry in told["skipped"]}
    assert {case.id for case in load_cases(file)} <= named


def test_that_a_file_of_another_form_is_refused_in_a_sentence(tmp_path):
    file = tmp_path / "other.json"
    file.write_text('{"rows": 5}', encoding="utf-8")
    with pytest.raises(SystemExit, match="neither a list of cases"):
        load_cases(file)


# --- placement -------------------------------------------------------------------------------------------------------


def _homes(case: Case) -> tuple[str, ...]:
    model, devices = model_of(case), devices_of(case)
    return homes(placement_of(case, model, devices))


def test_that_older_builds_count_only_blocks_in_ngl(cases):
    case = cases["ml-6g-qwen3coder-ncmoe40"]
    current = _homes(changed(case, run={"ngl": 10, "ngl_counts_output": True}))
    older = _homes(changed(case, run={"ngl": 10, "ngl_counts_output": False}))
    assert [h != RAM for h in current].count(True) == 10
    assert [h != RAM for h in older[:-1]].count(True) == 10


def test_that_older_builds_leave_the_output_in_ram_until_ngl_exceeds_the_blocks(cases):
    case = cases["ml-6g-qwen3coder-ncmoe40"]
    where = {}
    for ngl in (48, 49):
        told = changed(case, run={"ngl": ngl, "ngl_counts_output": False})
        model, devices = model_of(told), devices_of(told)
        where[ngl] = locations(model, placement_of(told, model, devices))["output.weight"]
    assert where == {48: RAM, 49: "CUDA0"}


def test_that_the_first_override_that_hits_wins(cases):
    case = changed(
        cases["ml-6g-qwen3coder-ncmoe40"],
        run={"overrides": [[r"blk\.3\..*exps", "CUDA0"], ["exps", "CPU"]], "n_cpu_moe": None},
    )
    model, devices = model_of(case), devices_of(case)
    where = locations(model, placement_of(case, model, devices))
    assert where["blk.3.ffn_up_exps.weight"] == "CUDA0"
    assert where["blk.4.ffn_up_exps.weight"] == RAM


def test_that_ik_keeps_the_biases_of_experts_on_the_gpu(cases):
    case = cases["ik-gptoss120-f16-cpumoe-16k"]
    model, devices = model_of(case), devices_of(case)
    where = locations(model, placement_of(case, model, devices))
    assert where["blk.0.ffn_up_exps.weight"] == RAM
    assert where["blk.0.ffn_up_exps.bias"] == "CUDA0"


def test_that_stated_shares_split_the_layers(cases):
    case = changed(
        cases["ik-514-23"], run={"layers_per_device": None, "tensor_split": [1, 3], "ngl_counts_output": True}
    )
    unit_homes = _homes(case)
    assert unit_homes.count("CUDA0") == 13
    assert unit_homes.count("CUDA1") == 36


def test_that_mtp_blocks_are_loaded_only_for_speculation(cases):
    case = cases["ml-2060s-qwen36mtp-q8-38"]
    with_mtp = predict(case)[0].get("CUDA0").weights_bytes
    without = predict(changed(case, run={"mtp": False}))[0].get("CUDA0").weights_bytes
    assert with_mtp - without > 464 * MIB


# --- the model made of facts ---------------------------------------------------------------------------------------


def test_that_made_tensors_add_up_to_what_is_told(cases):
    model = model_of(cases["ml-6g-qwen3coder-ncmoe40"])
    routed = [t for t in model.tensors if t.role is Role.ROUTED_EXPERT]
    assert sum(t.n_bytes for t in routed if t.block == 0) == pytest.approx(373.5 * MIB, abs=3)
    assert sum(t.n_bytes for t in routed if t.block == 6) == pytest.approx(324.0 * MIB, abs=3)
    assert sum(t.n_bytes for t in model.tensors if t not in routed) == pytest.approx(956.8 * MIB, rel=1e-6)
    embedding = next(t for t in model.tensors if t.name == "token_embd.weight")
    assert embedding.n_bytes == round(166.92 * MIB)


def test_that_a_told_rest_larger_than_the_file_is_not_believed(cases):
    case = cases["ik-242-67"]
    assert case.rest_bytes < 35000 * MIB


def test_that_gpt_oss_slides_in_even_blocks_and_hybrids_recur_between_full_ones(cases):
    assert [x.sliding for x in layer_facts(cases["ml-gptoss20-metal-131k-ub512"])[:4]] == [True, False, True, False]
    hybrid = layer_facts(cases["ml-3080-qwen36-ncmoe29-24k"])
    assert [i for i, layer in enumerate(hybrid) if not layer.recurrent] == list(range(3, 40, 4))


def test_that_a_case_without_shapes_still_has_weights_but_no_compute(cases):
    estimate, has_compute = predict(cases["ml-3090-qwen38fn-ncmoe48"])
    assert not has_compute
    assert estimate.get(RAM).weights_bytes == pytest.approx(48 * 962.3 * MIB, rel=1e-6)


def test_that_a_whole_card_is_judged_with_the_assumed_overhead_of_its_backend(cases):
    case = cases["ml-6g-qwen3coder-ncmoe40"]
    alone = changed(case, judge={"card": "absolute"}, measured={"card_total": {"CUDA0": 4410}, "baseline": 10})
    assert case.card_mib("CUDA0") == 6144
    (row,) = judge_all([alone]).rows
    assert row.what == "card"
    assert row.actual_mib == 4400
    assert row.predicted_mib == pytest.approx(predict(case)[0].get("CUDA0").total_bytes / MIB + 64 + 16 * 6)


def test_that_one_broken_case_does_not_end_the_run(cases):
    broken = changed(cases["ml-3080-qwen36-ncmoe29-24k"], run={"ctk": "q99"}, judge={"kv": True})
    outcome = judge_all([broken, cases["ik-514-22"]])
    assert [case_id for case_id, reason in outcome.skipped if "cannot be read" in reason] == [broken.id]
    assert {row.case.id for row in outcome.rows} == {"ik-514-22"}


# --- engines ---------------------------------------------------------------------------------------------------------


def test_that_an_unknown_build_is_a_current_one_and_old_ones_have_their_traits():
    assert mainline_traits(None) == CURRENT_MAINLINE == mainline_traits(11434)
    old = mainline_traits(6000)
    assert old.mask_is_f32
    assert old.logits_for_every_token
    assert old.keeps_mla_values


def test_that_a_log_is_placed_by_its_build_or_its_day(cases):
    case = cases["ik-357-90"]
    assert case.build == 5010
    assert changed(case, build="b10011").build == 10011
    assert changed(case, date="2026-01").build == 7200
    assert changed(case, date=None).build is None
    assert engine_of(changed(case, date=None)).mask_is_f32


def test_that_mla_keeps_no_values_today_but_did_before(cases):
    case = cases["ik-394-62"]
    model = model_of(case)
    now = sum(kv_bytes_by_block(model, KvSettings(16384)).values())
    before = sum(kv_bytes_by_block(model, settings_of(case).kv).values())
    assert now == 1098 * MIB
    assert before == 2074 * MIB


def _with_indexer(model, architecture: str, key: str, indexed: tuple[int, ...], **more):
    """The model with sparse-attention indexers in some blocks."""
    made = tuple(TensorInfo(f"blk.{i}.{key}.weight", (1, 1), 0, "", 4, 0, Role.ATTENTION, i) for i in indexed)
    keys = {f"{architecture}.attention.indexer.{name}": value for name, value in {"key_length": 128, **more}.items()}
    return replace(model, architecture=architecture, tensors=model.tensors + made, metadata={**model.metadata, **keys})


def test_that_sparse_attention_keeps_its_indexers_keys_too(cases):
    """As the engine prints for a deepseek32 file: c8192 f16 2 MiB a block beside the latent rows, q8_0 c32768 4.25."""
    model = model_of(cases["ik-394-62"])
    sparse = _with_indexer(model, "deepseek32", "indexer.attn_k", (0, 1, 2))
    for kv, more in ((KvSettings(8192), 2.0), (KvSettings(32768, 512, "q8_0", "q8_0"), 4.25)):
        before, after = kv_bytes_by_block(model, kv), kv_bytes_by_block(sparse, kv)
        assert [(after[i] - before[i]) / MIB for i in range(4)] == [more, more, more, 0]


def test_that_pooled_indexers_keep_more_rows_and_minimax_values_too(cases):
    model = model_of(cases["ml-6g-qwen3coder-ncmoe40"])
    kv = KvSettings(8192)
    before = kv_bytes_by_block(model, kv)[0]
    pooled = _with_indexer(model, "glm5-next", "indexer.attn_k", (0,), kpool=4)
    assert kv_bytes_by_block(pooled, kv)[0] - before == 3 * 128 * 2 * 8192
    plain = _with_indexer(model, "qwen4exp", "indexer.k_proj", (0,))
    assert kv_bytes_by_block(plain, kv)[0] - before == 128 * 2 * 8192
    ratios = {"qwen4exp.attention.compress_ratios": (16, 0)}
    pooled = replace(plain, metadata={**plain.metadata, **ratios})
    assert kv_bytes_by_block(pooled, kv)[0] - before == 2 * 128 * 2 * 8192
    with_values = _with_indexer(model, "minimax-m3", "indexer.k_proj", (0,))
    assert kv_bytes_by_block(with_values, kv)[0] - before == (128 + 128) * 2 * 8192


def test_that_a_q8_kv_row_has_eight_bytes_more_per_head():
    assert row_bytes("q8_kv", 576) == 584
    assert row_bytes("q8_kv", 512, 4) == 544
    assert row_bytes("q6_0", 64) == 52
    with pytest.raises(KeyError):
        row_bytes("q99", 64)


def test_that_ik_reserves_logits_for_a_whole_micro_batch(cases):
    case = cases["ik-514-22"]
    model, devices, settings = model_of(case), devices_of(case), settings_of(case)
    placement = placement_of(case, model, devices)
    where = locations(model, placement)
    sizes = ik_compute_bytes(model, placement, devices, where, settings.kv, True, settings.engine)
    assert sizes["CUDA0"] == 4096 * (151936 + 2 * 4096) * 4


def test_that_amb_limits_the_product_but_not_the_keys_and_values(cases):
    model = model_of(cases["ik-258-77"])
    kv = KvSettings(32768, 512)
    limited = mla_prompt_bytes(model, kv, IkTraits(mla=3, attn_max_batch_mib=512))
    tighter = mla_prompt_bytes(model, kv, IkTraits(mla=3, attn_max_batch_mib=256))
    free = mla_prompt_bytes(model, kv, IkTraits(mla=3))
    keys_and_values = 128 * (192 + 128) * 32768 * 2
    assert keys_and_values < tighter < limited < free


def test_that_a_layers_size_tells_the_types_of_its_experts(cases):
    """Qwen3-30B Q4_K_M: 373.5 MiB are two Q4_K tensors of 108 and a Q6_K one of 157.5; 324 are three Q4_K ones."""
    sizes = {t.name: t.n_bytes / MIB for t in model_of(cases["ml-6g-qwen3coder-ncmoe40"]).tensors}
    assert sizes["blk.0.ffn_down_exps.weight"] == pytest.approx(157.5)
    assert sizes["blk.0.ffn_up_exps.weight"] == pytest.approx(108)
    assert sizes["blk.6.ffn_down_exps.weight"] == pytest.approx(108)


def test_that_repacked_experts_stay_on_the_cpu(cases):
    repacked = engine_of(cases["ik-258-77"])
    assert repacked.kind is EngineKind.IK
    assert repacked.ik.repacks
    assert not engine_of(cases["ik-258-78"]).ik.repacks
    assert engine_of(cases["ik-450-19"]).ik.repacks  # before ik's #461 nothing multiplied iq4_k_r4 on a GPU
    assert EngineTraits().ik.offloads_small_batches is False


def test_that_percentiles_lie_between_the_ranks():
    assert percentile([], 0.5) is None
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([0.0, 1.0, 2.0, 4.0], 0.5) == 1.5
