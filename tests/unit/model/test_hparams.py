"""Facts per block for each way of attention that the engine knows (sources named in app/model/hparams.py)."""

import json
from pathlib import Path

import pytest

from app.model._meta import Meta
from app.model.hparams import compute_hparams

ARCHITECTURES = json.loads((Path(__file__).parents[2] / "data" / "model" / "architectures.json").read_text("utf-8"))[
    "architectures"
]


def facts(architecture, n_blocks, *, names=frozenset(), **settings):
    base = {"attention.head_count": 16, "attention.head_count_kv": 4}
    values = {key.replace("__", "."): value for key, value in settings.items()}
    metadata = {f"{architecture}.{key}": value for key, value in (base | values).items()}
    return compute_hparams(Meta(metadata, architecture), architecture, n_blocks, 2048, frozenset(names))


def sliding(hparams):
    return "".join("s" if layer.sliding else "." for layer in hparams.layers)


def recurrent(hparams):
    return "".join("r" if layer.recurrent else "." for layer in hparams.layers)


def kv_heads(hparams):
    return [layer.head_count_kv for layer in hparams.layers]


def test_that_head_sizes_default_to_the_width_over_the_heads():
    layer = facts("llama", 2).layers[0]
    assert (layer.head_count, layer.head_count_kv, layer.key_length, layer.value_length) == (16, 4, 128, 128)


def test_that_head_count_kv_defaults_to_head_count():
    hparams = compute_hparams(Meta({"llama.attention.head_count": 8}, "llama"), "llama", 1, 64, frozenset())
    assert hparams.layers[0].head_count_kv == 8


def test_that_head_counts_may_differ_per_block():
    hparams = facts("openelm", 3, attention__head_count=(4, 8, 16), attention__head_count_kv=(1, 2, 4))
    assert [layer.head_count for layer in hparams.layers] == [4, 8, 16]
    assert kv_heads(hparams) == [1, 2, 4]
    assert hparams.layers[2].key_length == 512  # the engine divides by block 0's heads


def test_that_explicit_head_sizes_win():
    layer = facts("qwen3moe", 1, attention__key_length=192, attention__value_length=96).layers[0]
    assert (layer.key_length, layer.value_length) == (192, 96)


@pytest.mark.parametrize("settings", [{"attention__head_count": 0}, {"attention__key_length": 0}])
def test_that_kv_heads_without_a_length_keep_no_kv(settings):
    layer = facts("qwen3moe", 1, **settings).layers[0]
    assert (layer.head_count_kv, layer.key_length) == (0, 0)


def test_that_mla_caches_one_row_of_k_and_no_v():
    hparams = facts(
        "deepseek2",
        2,
        attention__head_count_kv=1,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
    )
    assert hparams.is_mla
    layer = hparams.layers[0]
    assert (layer.head_count_kv, layer.key_length, layer.value_length) == (1, 576, 0)


def test_that_an_old_deepseek_file_without_mla_keys_caches_full_k_and_v():
    hparams = facts("deepseek2", 1, attention__head_count_kv=16, attention__key_length=192, attention__value_length=128)
    assert not hparams.is_mla
    layer = hparams.layers[0]
    assert (layer.head_count_kv, layer.key_length, layer.value_length) == (16, 192, 128)


@pytest.mark.parametrize(
    ("architecture", "pattern"),
    [
        ("gpt-oss", "s.s.s.s.s.s."),
        ("gemma2", "s.s.s.s.s.s."),
        ("gemma3", "sssss.sssss."),
        ("gemma3n", "ssss.ssss.ss"),
        ("cohere2", "sss.sss.sss."),
        ("cohere2moe", ".sss.sss.sss"),
        ("llama4", "sss.sss.sss."),
        ("afmoe", "sss.sss.sss."),
        ("exaone-moe", "sss.sss.sss."),
        ("laguna", ".sss.sss.sss"),
        ("smallthinker", ".sss.sss.sss"),
        ("mellum", "sss.sss.sss."),
        ("olmo2", "sss.sss.sss."),
        ("plamo3", "sssssss.ssss"),
        ("muse-glimmer", "sss.sss.sss."),
        ("lfm2", "ssssssssssss"),
        ("deepseek4", "ssssssssssss"),
    ],
)
def test_that_each_architecture_slides_by_its_own_pattern(architecture, pattern):
    hparams = facts(architecture, 12, attention__sliding_window=512)
    assert sliding(hparams) == pattern
    assert hparams.sliding_window is not None


@pytest.mark.parametrize("architecture", ["gemma3", "afmoe", "laguna", "smallthinker", "mellum", "olmo2", "lfm2"])
def test_that_without_a_window_nothing_slides_where_it_is_optional(architecture):
    hparams = facts(architecture, 12)
    assert sliding(hparams) == "." * 12
    assert hparams.sliding_window is None


@pytest.mark.parametrize(
    ("architecture", "told", "window"),
    [("gemma2", None, 4096), ("exaone-moe", None, 128), ("llama4", None, 8192), ("llama4", 100, 8192),
     ("smallthinker", 2048, 4096), ("gpt-oss", 128, 128)],
)  # fmt: skip
def test_that_default_and_fixed_windows_are_the_engines(architecture, told, window):
    settings = {} if told is None else {"attention__sliding_window": told}
    assert facts(architecture, 8, **settings).sliding_window == window


def test_that_a_window_of_zero_switches_llama4s_chunks_off():
    assert facts("llama4", 8, attention__sliding_window=0).sliding_window is None


@pytest.mark.parametrize("architecture", ["phi3", "llama", "qwen2", "qwen3moe", "mistral3", "lfm2moe", "glm4moe"])
def test_that_a_window_is_ignored_where_the_engine_ignores_it(architecture):
    hparams = facts(architecture, 4, attention__sliding_window=4096)
    assert sliding(hparams) == "...."
    assert hparams.sliding_window is None


def test_that_exaone4_slides_only_with_64_blocks():
    assert facts("exaone4", 30, attention__sliding_window=4096).sliding_window is None
    assert facts("exaone4", 64).sliding_window == 4096


@pytest.mark.parametrize("architecture", ["gemma4", "mimo2", "step35", "granite_swa", "maple", "dots3note", "spark2_5"])
def test_that_a_pattern_in_the_file_is_followed(architecture):
    hparams = facts(
        architecture,
        4,
        attention__sliding_window=64,
        attention__sliding_window_pattern=(True, False, True, True),
        attention__key_length_swa=32,
        attention__value_length_swa=16,
    )
    assert sliding(hparams) == "s.ss"
    assert [layer.key_length for layer in hparams.layers] == [32, 128, 32, 32]
    assert [layer.value_length for layer in hparams.layers] == [16, 128, 16, 16]


def test_that_a_pattern_may_be_a_number():
    hparams = facts("cohere2", 6, attention__sliding_window=64, attention__sliding_window_pattern=3)
    assert sliding(hparams) == "ss.ss."


def test_that_a_pattern_may_be_numbers_for_flags():
    hparams = facts("gpt-oss", 3, attention__sliding_window=64, attention__sliding_window_pattern=(0, 1, 1))
    assert sliding(hparams) == ".ss"


@pytest.mark.parametrize("architecture", ["qwen3next", "qwen35", "qwen35moe", "qwen4exp"])
def test_that_every_fourth_block_of_a_qwen_hybrid_has_attention(architecture):
    hparams = facts(architecture, 8)
    assert recurrent(hparams) == "rrr.rrr."
    assert kv_heads(hparams) == [0, 0, 0, 4, 0, 0, 0, 4]


def test_that_the_attention_interval_can_be_told():
    assert recurrent(facts("qwen3next", 6, full_attention_interval=3)) == "rr.rr."
    assert recurrent(facts("minimax-01", 16)) == "rrrrrrr.rrrrrrr."
    told = (True, False, True)
    assert recurrent(facts("qwen35moe", 3, attention__recurrent_layers=told)) == "r.r"


@pytest.mark.parametrize("architecture", ["jamba", "granitehybrid", "lfm2moe", "kimi-linear", "plamo2", "bailingmoe3"])
def test_that_blocks_without_kv_heads_are_recurrent(architecture):
    hparams = facts(architecture, 4, attention__head_count_kv=(0, 0, 8, 0))
    assert recurrent(hparams) == "rr.r"
    assert kv_heads(hparams) == [0, 0, 8, 0]


def test_that_nemotron_has_blocks_of_only_ffn():
    hparams = facts("nemotron_h_moe", 3, attention__head_count_kv=(0, 8, 0), feed_forward_length=(0, 0, 64))
    assert recurrent(hparams) == "r.."
    assert kv_heads(hparams) == [0, 8, 0]


def test_that_falcon_h1_has_both_in_every_block():
    hparams = facts("falcon-h1", 2)
    assert recurrent(hparams) == "rr"
    assert kv_heads(hparams) == [4, 4]


@pytest.mark.parametrize("architecture", ["mamba", "mamba2", "rwkv6", "rwkv7"])
def test_that_purely_recurrent_models_keep_no_kv(architecture):
    hparams = facts(architecture, 2)
    assert recurrent(hparams) == "rr"
    assert kv_heads(hparams) == [0, 0]


@pytest.mark.parametrize("architecture", ["bert", "nomic-bert-moe", "modern-bert", "llada-moe", "t5encoder"])
def test_that_encoders_and_diffusion_models_keep_no_kv(architecture):
    assert kv_heads(facts(architecture, 2, attention__sliding_window=64)) == [0, 0]


@pytest.mark.parametrize("architecture", ["glm4moe", "deepseek2", "qwen3next", "mimo2"])
def test_that_mtp_blocks_keep_no_kv(architecture):
    hparams = facts(architecture, 5, nextn_predict_layers=1)
    assert hparams.nextn_count == 1
    assert kv_heads(hparams)[4] == 0
    assert not hparams.layers[4].recurrent


def test_that_a_file_of_only_mtp_blocks_is_a_model_of_its_own():
    assert facts("glm4moe", 1, nextn_predict_layers=1).nextn_count == 0


def test_that_deepseek4_counts_mtp_blocks_only_when_their_tensors_are_there():
    assert facts("deepseek4", 4, nextn_predict_layers=1).nextn_count == 0
    names = {"blk.3.nextn.eh_proj.weight"}
    assert facts("deepseek4", 4, nextn_predict_layers=1, names=names).nextn_count == 1


def test_that_blocks_sharing_an_earlier_cache_keep_none():
    assert sum(1 for n in kv_heads(facts("gemma3n", 30, attention__sliding_window=512)) if n) == 20
    hparams = facts(
        "gemma4",
        6,
        attention__sliding_window=64,
        attention__sliding_window_pattern=(True,) * 6,
        attention__shared_kv_layers=2,
    )
    assert kv_heads(hparams) == [4, 4, 4, 4, 0, 0]


def test_that_no_architecture_needs_any_metadata():
    for architecture in [*sorted(ARCHITECTURES), "an architecture of next year"]:
        hparams = compute_hparams(Meta({}, architecture), architecture, 3, None, frozenset())
        assert len(hparams.layers) == 3, architecture
        assert not hparams.is_mla, architecture


@pytest.mark.parametrize(
    "key",
    [
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.sliding_window",
        "attention.sliding_window_pattern",
        "attention.recurrent_layers",
        "full_attention_interval",
        "nextn_predict_layers",
        "feed_forward_length",
        "attention.shared_kv_layers",
    ],
)
def test_that_a_value_of_the_wrong_type_is_no_error(key):
    for value in ("text", 1.5, -1, (), ("a",), (1.5,), (-3,), 1 << 63, True):
        for architecture in ("gpt-oss", "qwen3next", "gemma4", "nemotron_h"):
            meta = Meta({f"{architecture}.{key}": value}, architecture)
            assert len(compute_hparams(meta, architecture, 4, 64, frozenset()).layers) == 4
