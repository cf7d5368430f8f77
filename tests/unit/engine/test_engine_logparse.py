"""Facts of real start-up logs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.common.units import MIB
from app.engine.log_reader import LogReader
from app.engine.logparse import (
    BufferKind,
    ErrorLine,
    OverrideConfirmed,
    device_of_buffer,
    parse_log_line,
    split_level,
)
from tests.tools.engine_data import log_lines, log_names


def read(name):
    reader = LogReader()
    for line in log_lines(name):
        reader.feed(line)
    return reader


def sizes(reader, kind):
    return {b.buffer_name: round(b.n_bytes / MIB, 2) for b in reader.buffers if b.kind is kind}


def test_that_a_log_with_experts_in_ram_gives_the_buffers_of_both_devices():
    reader = read("gen-rpc-exps-cpu-nommap.log")
    assert sizes(reader, BufferKind.WEIGHTS) == {"CPU": 12.14, "RPC0[127.0.0.1:50099]": 1.68}
    assert sizes(reader, BufferKind.KV) == {"RPC0[127.0.0.1:50099]": 1.0}
    assert sizes(reader, BufferKind.COMPUTE) == {"CPU": 4.52, "RPC0[127.0.0.1:50099]": 3.51}
    assert {b.device for b in reader.buffers} == {"RAM", "RPC0"}
    assert reader.layer_homes == dict.fromkeys(range(5), "RPC0")
    assert len(reader.overrides) == 12
    assert reader.overrides["blk.3.ffn_down_exps.weight"] == "CPU"
    assert (reader.splits.prompt, reader.splits.decode) == (10, 10)
    assert reader.n_ctx == 512
    assert reader.url == "http://127.0.0.1:18080"
    assert reader.is_loaded
    assert reader.flash_attention is True
    assert reader.load_mode == "none"


def test_that_a_trial_pass_of_fit_is_forgotten_when_the_real_one_begins():
    reader = read("good-rpc-ngl99-exps-cpu-lv5.log")
    assert sizes(reader, BufferKind.WEIGHTS) == {"CPU_Mapped": 7.36, "RPC0[127.0.0.1:50099]": 0.91}
    assert sizes(reader, BufferKind.KV) == {"RPC0[127.0.0.1:50099]": 2.0}
    assert len(reader.overrides) == 12


def test_that_a_dry_run_has_buffers_without_weights():
    reader = read("env-config-order.log")
    assert not reader.has_weights
    assert read("gen-cpu.log").has_weights


def test_that_prompt_and_decode_splits_differ_with_op_offload():
    splits = read("vk-exps-cpu.log").splits
    assert (splits.prompt, splits.decode) == (13, 10)


def test_that_kv_in_ram_and_pinned_compute_buffers_are_both_ram():
    reader = read("vk-trynkvo.log")
    by_name = {(b.kind, b.buffer_name): b.device for b in reader.buffers}
    assert by_name[BufferKind.KV, "CPU"] == "RAM"
    assert by_name[BufferKind.COMPUTE, "Vulkan_Host"] == "RAM"
    assert by_name[BufferKind.COMPUTE, "Vulkan0"] == "Vulkan0"


def test_that_refused_buffer_types_are_kept_with_their_count():
    moved = read("gen-rpc-exps-cpu-nommap.log").moved
    assert [(m.n_others, m.wanted, m.got) for m in moved] == [(12, "CPU_REPACK", "CPU")]


def test_that_two_kv_caches_of_a_sliding_model_both_count():
    reader = LogReader()
    for size in ("192.00", "18.00"):
        reader.feed(f"0.00.1 I llama_kv_cache:      CUDA0 KV buffer size =   {size} MiB")
    assert sum(b.n_bytes for b in reader.buffers) == pytest.approx(210 * MIB)


def test_that_a_compute_buffer_reserved_again_replaces_the_first():
    reader = LogReader()
    for size in ("300.00", "320.50"):
        reader.feed(f"sched_reserve:      CUDA0 compute buffer size =   {size} MiB")
    assert sizes(reader, BufferKind.COMPUTE) == {"CUDA0": 320.5}


def test_that_the_second_rpc_server_keeps_its_device_name():
    reader = LogReader()
    for index, port in enumerate((50051, 50052)):
        reader.feed(
            f"llama_prepare_model_devices: using device RPC{index} (127.0.0.1:{port}) (unknown id) - 24105 MiB free"
        )
    reader.feed("load_tensors: RPC0[127.0.0.1:50052] model buffer size =     7.29 MiB")
    assert [b.device for b in reader.buffers] == ["RPC1"]


@pytest.mark.parametrize(
    ("buffer_name", "device"),
    [
        ("CPU", "RAM"),
        ("CPU_Mapped", "RAM"),
        ("CPU_REPACK", "RAM"),
        ("CUDA_Host", "RAM"),
        ("Vulkan_Host", "RAM"),
        ("AMX", "RAM"),
        ("CUDA0", "CUDA0"),
        ("CUDA1", "CUDA1"),
        ("RPC0[127.0.0.1:50099]", "RPC0"),
        ("MTL0_Mapped", "MTL0"),
        ("MTL0_Private", "MTL0"),
    ],
)
def test_that_a_buffer_name_tells_its_device(buffer_name, device):
    assert device_of_buffer(buffer_name) == device


def test_that_prefixes_colours_and_json_lines_are_taken_off():
    assert split_level("[41163] 0.00.042.974 I sched_reserve: x") == ("I", "sched_reserve: x")
    assert split_level("\x1b[32m0.00.042.974 W \x1b[0mtext") == ("W", "text")
    assert split_level('{"type":"log","time":1,"level":"error","msg":"bad\\n"}') == ("E", "bad")
    assert split_level('{"type"') == (None, '{"type"')
    assert parse_log_line('{"type":"log","level":"error","msg":"bad\\n"}') == ErrorLine("bad")


def test_that_a_tensor_name_is_read_from_its_override_line():
    line = "0.00.034.702 D tensor blk.0.ffn_gate_exps.weight (1 MiB f16) buffer type overridden to CUDA_Host"
    assert parse_log_line(line) == OverrideConfirmed("blk.0.ffn_gate_exps.weight", "CUDA_Host")


@pytest.mark.share(8)
@pytest.mark.parametrize("name", log_names("good-") + log_names("gen-"))
def test_that_good_logs_have_no_error_lines(name):
    assert read(name).errors == []


@given(
    st.text(max_size=300), st.sampled_from(["", "load_tensors: ", " model buffer size =", '{"type"', "0.00.000.001 E "])
)
def test_that_any_text_can_be_read(text, start):
    parse_log_line(start + text)


def test_that_absurd_numbers_are_no_facts():
    assert parse_log_line(f"load_tensors: CPU model buffer size = {'9' * 400} MiB") is None
    assert parse_log_line(f"llama_context: n_ctx = {'9' * 5000}") is not None  # the first digits, a large number
