"""Settings of LM Studio, KoboldCpp and Ollama: what becomes an option, what is named, what hostile text does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.planner.foreign_settings import read_foreign

KOBOLD = {
    "model": None,
    "model_param": "D:\\模型\\Qwen3 30B.gguf",
    "port": 5001,
    "port_param": 5001,
    "host": "",
    "launch": True,
    "threads": 8,
    "blasthreads": None,
    "usecublas": ["normal", "0", "mmq"],
    "usevulkan": None,
    "contextsize": 16384,
    "gpulayers": 99,
    "tensor_split": None,
    "moecpu": 30,
    "overridetensors": r"blk\.(1|2)\.ffn_.*_exps\.=CPU",
    "blasbatchsize": 1024,
    "flashattention": True,
    "quantkv": 1,
    "usemlock": False,
    "usemmap": True,
    "ropeconfig": [0.0, 10000.0],
    "mmproj": "D:/模型/mmproj.gguf",
    "draftmodel": "D:/模型/draft.gguf",
    "draftamount": 8,
    "draftgpulayers": 999,
    "lora": None,
    "noavx2": False,
    "sdmodel": "pictures.safetensors",
    "hordekey": "",
    "multiuser": 1,
    "defaultgenamt": 640,
    "smartcontext": True,
    "moeexperts": -1,
}


def argv(settings, n_layers=None):
    found = read_foreign(settings if isinstance(settings, str) else json.dumps(settings), n_layers)
    return " ".join(found.argv), dict(found.left_out)


def test_that_a_koboldcpp_file_says_the_same_as_options():
    words, left = argv(KOBOLD)
    assert words == (
        "-m D:\\模型\\Qwen3 30B.gguf --port 5001 -t 8 -dev CUDA0 -c 16384 -ngl 99 --n-cpu-moe 30 "
        r"-ot blk\.(1|2)\.ffn_.*_exps\.=CPU -b 1024 -ub 1024 -fa on -ctk q8_0 -ctv q8_0 "
        "--mmproj D:/模型/mmproj.gguf -md D:/模型/draft.gguf --draft-max 8"
    )
    assert left == {"smartcontext": "true"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gpulayers": -1}, ""),
        ({"gpulayers": 0}, "-ngl 0"),
        ({"moecpu": 999}, "--cpu-moe"),
        ({"tensor_split": [3, 1.5]}, "-ts 3,1.5"),
        ({"usevulkan": [1]}, "-dev Vulkan1"),
        ({"usecublas": ["lowvram", "1", "rowsplit"]}, "-nkvo -dev CUDA1 -sm row"),
        ({"usecpu": True}, "-dev none"),
        ({"usemmap": False, "usemlock": True}, "--no-mmap --mlock"),
        ({"ropeconfig": [0.25, 500000]}, "--rope-freq-scale 0.25 --rope-freq-base 500000"),
        ({"lora": ["a.gguf", "b.gguf"]}, "--lora a.gguf --lora b.gguf"),
        ({"mmprojcpu": True, "jinja": True}, "--no-mmproj-offload --jinja"),
    ],
)
def test_that_single_koboldcpp_settings_are_read(change, words):
    assert argv({"contextsize": 0, **change}) == (words, {})


@pytest.mark.parametrize(
    "change",
    [
        {"gpulayers": "many"},
        {"tensor_split": ["a"]},
        {"tensor_split": [1] * 500},
        {"quantkv": 7},
        {"quantkv": True},
        {"mmproj": "a\nb"},
        {"mmproj": "--api-key"},
        {"draftamount": 1e400},
        {"threads": 10**30},
        {"port_param": 70000},
        {"moecpu": [1]},
        {"ropeconfig": [1, 2, 3]},
        {"lora": [{"path": "x"}]},
        {"usecublas": ["0; rm -rf /"]},
        {"something new": {"deep": True}},
    ],
)
def test_that_what_makes_no_sense_is_named_and_left_out(change):
    words, left = argv({"contextsize": 4096, **change})
    assert words == "-c 4096"
    assert list(left) == list(change)


def field(key, value):
    return {"key": key, "value": value}


LMSTUDIO = {
    "preset": "",
    "operation": {
        "fields": [
            field("llm.prediction.temperature", 0.7),
            field("llm.prediction.topKSampling", 40),
            field("llm.prediction.llama.repeatPenalty", {"checked": False, "value": 1.1}),
            field("llm.prediction.minPSampling", {"checked": True, "value": 0.05}),
            field("llm.prediction.systemPrompt", "Be brief."),
        ]
    },
    "load": {
        "fields": [
            field("llm.load.contextLength", 32768),
            field("llm.load.llama.acceleration.offloadRatio", 0.5),
            field("llm.load.numCpuExpertLayersRatio", 0.25),
            field("llm.load.llama.flashAttention", True),
            field("llm.load.llama.kCacheQuantizationType", {"checked": True, "value": "q8_0"}),
            field("llm.load.llama.cpuThreadPoolSize", 6),
            field("llm.load.offloadKVCacheToGpu", False),
            field("llm.load.llama.tryMmap", False),
            field("llm.load.seed", {"checked": True, "value": 7}),
        ]
    },
}


def test_that_a_file_of_lm_studio_says_the_same_as_options():
    words, left = argv(LMSTUDIO, 48)
    assert words == (
        "-c 32768 -ngl 24 --n-cpu-moe 12 -fa on -ctk q8_0 -t 6 -nkvo --no-mmap --temp 0.7 --top-k 40 --min-p 0.05"
    )
    assert left == {"llm.load.seed": "7", "llm.prediction.systemPrompt": "Be brief."}


def test_that_a_share_of_unknown_layers_is_named_and_the_ends_are_not():
    def load(value, key="llm.load.llama.acceleration.offloadRatio"):
        return argv({"load": {"fields": [field(key, value)]}})

    assert load(0.5) == ("", {"llm.load.llama.acceleration.offloadRatio": "0.5"})
    assert load("max") == ("-ngl all", {})
    assert load("off") == ("-ngl 0", {})
    assert load(1, "llm.load.numCpuExpertLayersRatio") == ("--cpu-moe", {})
    assert load(7)[0] == ""


MODELFILE = '''# mine
FROM ./models/Qwen3 30B.gguf
PARAMETER num_ctx 8192
PARAMETER num_gpu 20
parameter temperature 0.6
PARAMETER use_mmap false
PARAMETER stop "<|im_end|>"
SYSTEM """
FROM nowhere
PARAMETER num_ctx 1
"""
ADAPTER ./lora.gguf
LICENSE MIT
'''


def test_that_a_modelfile_is_read_and_texts_for_the_model_are_named():
    words, left = argv(MODELFILE)
    assert words == "-m ./models/Qwen3 30B.gguf -c 8192 -ngl 20 --temp 0.6 --no-mmap --lora ./lora.gguf"
    assert left == {"stop": "<|im_end|>", "SYSTEM": '"…"'}
    assert argv("FROM qwen3:30b\n") == ("", {"FROM": "qwen3:30b"})


def test_that_the_parameters_of_a_blob_are_read():
    assert argv({"num_ctx": 4096, "num_gpu": -1, "num_predict": -1, "top_k": 20, "stop": ["a"]}) == (
        "-c 4096 --top-k 20",
        {"stop": '["a"]'},
    )


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "7", "{", '{"a": 1}', "[" * 100_000, "hello", "{}" * 200_000])
def test_that_other_text_is_no_settings(text):
    assert read_foreign(text) is None


def test_that_many_unknown_settings_are_named_within_bounds():
    found = read_foreign(json.dumps({"contextsize": 1, **{f"new{i}": "x" * 5000 for i in range(40)}}))
    assert len(found.left_out) == 40
    assert max(len(value) for _, value in found.left_out) == 60


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
SAMPLE = {**KOBOLD, "maingpu": 0, "usehipblas": 1, "nommap": 1}


@given(st.dictionaries(st.sampled_from(list(SAMPLE)), anything, max_size=6))
def test_that_any_values_give_plain_words(values):
    found = read_foreign(json.dumps({"contextsize": 1, **values}))
    assert all(word.isprintable() and word for word in found.argv)


@given(st.lists(st.tuples(st.sampled_from([f["key"] for f in LMSTUDIO["load"]["fields"]]), anything), max_size=4))
def test_that_any_values_of_lm_studio_give_plain_words(pairs):
    found = read_foreign(json.dumps({"load": {"fields": [field(k, v) for k, v in pairs]}}), 48)
    assert all(word.isprintable() and word for word in found.argv)
