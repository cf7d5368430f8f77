"""What is read off a pasted answer, and what else a log tells of a good run: nothing that is not there."""

import json

import pytest

from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts
from tests.unit.doctor.doctor_cases import facts

READY = "llama_server: model loaded"


def codes(*lines):
    return [finding.code for finding in examine(Facts(log=read_log(lines)))]


def reply(content, finish="length", usage=None, **message):
    message = {"role": "assistant", "content": content, **message}
    return json.dumps({"choices": [{"finish_reason": finish, "message": message}], "usage": usage or {}})


def piece(finish=None, **delta):
    return f"data: {json.dumps({'choices': [{'finish_reason': finish, 'delta': delta}]})}"


@pytest.mark.parametrize("content", ["\n\nHello there", '"Hello" there', '{"a": 1}', "\\frac{1}{2}", "你好"])
def test_that_an_answer_that_begins_with_an_escape_is_an_answer(content):
    assert codes(reply(content, reasoning_content="Hmm")) == ["answer_cut_off"]


@pytest.mark.parametrize("content", ["", None, "\n\n", "  "])
def test_that_a_blank_answer_behind_reasoning_is_none(content):
    assert codes(reply(content, reasoning_content="\nHmm")) == ["reasoning_ate_answer"]


def test_that_the_pieces_of_a_stream_are_one_answer():
    thought = piece(role="assistant", content=None), piece(reasoning_content="Hmm")
    for last in ("\n", " ", "there"):
        said = (*thought, piece(content="Hi"), piece(content=last), piece("length"))
        assert codes(*said) == ["answer_cut_off"]
    assert codes(*thought, piece("length")) == ["reasoning_ate_answer"]
    assert codes(piece(role="assistant", content=""), piece(content="Hi"), *thought, piece("length")) == [
        "reasoning_ate_answer"
    ]


def test_that_which_limit_an_answer_met_is_said_only_where_the_context_is_known():
    context = "llama_context: n_ctx         = 4096"
    short, full = {"prompt_tokens": 31, "completion_tokens": 512}, {"prompt_tokens": 3000, "completion_tokens": 1096}
    assert codes(context, READY, reply("Hi", usage=short)) == ["answer_cut_by_limit"]
    assert codes(context, READY, reply("Hi", usage=full)) == ["answer_cut_by_context"]
    assert codes(reply("Hi", usage=short)) == ["answer_cut_off"]
    assert codes(reply("Hi", "stop", short)) == []


def test_that_a_draft_on_the_cpu_is_no_card_without_layers():
    found = "  Device 0: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes"
    main, draft = "load_tensors: offloaded {}/49 layers to GPU", "load_tensors: offloaded 0/25 layers to GPU"
    assert codes(found, main.format(49), draft, READY) == []
    assert codes(found, main.format(0), draft, READY) == ["nothing_on_gpu"]


def test_that_a_plan_that_keeps_all_in_ram_is_not_blamed_for_it(q3_header):
    lines = (
        "  Device 0: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes",
        "offloaded 0/49 layers to GPU",
        READY,
    )
    for wishes, told in (({"preset": "all-cpu"}, []), ({}, ["nothing_on_gpu"])):
        of_plan = facts(q3_header, log=read_log(lines), log_is_of_plan=True, wishes=wishes)
        assert [finding.code for finding in examine(of_plan)] == told


def test_that_an_adapter_beside_the_model_is_not_taken_for_the_model():
    dump = "- kv   1:      general.type str              = adapter"
    oom = "alloc_buffer: allocating 300.00 MiB on device 0: cudaMalloc failed: out of memory"
    assert codes(f"llama_adapter_lora_init_impl: {dump}", oom)[0] == "vram_oom_cuda"
    assert codes(f"llama_model_loader: {dump}", "error loading model: x")[0] == "adapter_as_model"
