"""Damaged and hostile files: each gives one problem with the reason, nothing crashes, nothing grows."""

import os
import struct
import tracemalloc

import pytest

from app.common.problem import ProblemError
from app.model.reader import read_model
from tests.tools import gguf_bytes as raw

NORM = raw.tensor("output_norm.weight", (8,), raw.F32, 0)
HUGE = (1 << 64) - 1


def problem_of(tmp_path, content):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(ProblemError) as caught:
        read_model(path)
    assert caught.value.problem.params["path"] == str(path)
    return caught.value.problem


def test_that_a_missing_file_is_told(tmp_path):
    for path in (tmp_path / "none.gguf", str(tmp_path / "nul\0.gguf"), tmp_path / "none" / "x.gguf"):
        with pytest.raises(ProblemError) as caught:
            read_model(path)
        assert caught.value.problem.code == "file_missing"


def test_that_a_folder_is_told(tmp_path):
    with pytest.raises(ProblemError) as caught:
        read_model(tmp_path)
    assert caught.value.problem.code == "file_is_folder"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_that_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(ProblemError) as caught:
        read_model(tmp_path / "pipe.gguf")
    assert caught.value.problem.code == "file_unreadable"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not_gguf_empty"),
        (b"GG", "not_gguf"),
        (bytes(4096), "not_gguf"),
        (b"<!DOCTYPE html>\n<html>" + b"x" * 48000, "not_gguf_web_page"),
        (b"\n  <HTML><head>" + bytes(100), "not_gguf_web_page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "not_gguf_lfs_pointer"),
        (b"tjgg" + bytes(100), "not_gguf_old_ggml"),
        (b"ggjt" + bytes(100), "not_gguf_old_ggml"),
        (b"PK\x03\x04" + bytes(100), "not_gguf_other_weights"),
        (struct.pack("<Q", 90) + b'{"model.embed":' + bytes(100), "not_gguf_other_weights"),
        (b"FUGG" + bytes(100), "gguf_big_endian"),
        (b"GGUF\0\0\0\3" + bytes(100), "gguf_big_endian"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(100), "gguf_version"),
        (b"GGUF" + struct.pack("<I", 4) + bytes(100), "gguf_version"),
        (b"GGUF" + struct.pack("<I", 0) + bytes(100), "gguf_version"),
        (b"GGUF" + struct.pack("<I", 3), "gguf_truncated_header"),
    ],
)
def test_that_other_files_are_named_for_what_they_are(tmp_path, content, code):
    assert problem_of(tmp_path, content).code == code


@pytest.mark.parametrize(
    "content",
    [
        raw.gguf(n_tensors=HUGE),
        raw.gguf(n_pairs=HUGE),
        raw.gguf([raw.text("key") + struct.pack("<I", 99)]),
        raw.gguf([raw.text("") + struct.pack("<I", raw.U32) + bytes(4)]),
        raw.gguf([raw.u32_pair("same", 1), raw.u32_pair("same", 2)]),
        raw.gguf([struct.pack("<Q", HUGE) + b"key"]),
        raw.gguf([raw.pair("k", raw.STRING, struct.pack("<Q", HUGE))]),
        raw.gguf([raw.array_pair("k", raw.U32, HUGE, b"")]),
        raw.gguf([raw.array_pair("k", raw.ARRAY, 1, bytes(64))]),
        raw.gguf([raw.array_pair("k", 77, 1, bytes(64))]),
        raw.gguf([raw.u32_pair("general.alignment", 0)]),
        raw.gguf([raw.u32_pair("general.alignment", 48)]),
        raw.gguf([raw.string_pair("general.alignment", "32")]),
    ],
)
def test_that_a_header_that_contradicts_itself_is_damaged(tmp_path, content):
    assert problem_of(tmp_path, content + bytes(256)).code == "gguf_damaged"


@pytest.mark.parametrize("blocks", [513, 1 << 31])
def test_that_an_absurd_block_count_is_damaged(tmp_path, blocks):
    content = raw.gguf(raw.model_pairs(block_count=blocks), [NORM], data=bytes(32))
    assert problem_of(tmp_path, content).code == "gguf_damaged"


@pytest.mark.parametrize(("count", "used"), [(8, 9), (8, 0), (0, 2), (1025, 2), ((1 << 32) - 1, (1 << 32) - 1)])
def test_that_an_absurd_number_of_experts_is_damaged(tmp_path, count, used):
    pairs = [
        *raw.model_pairs(),
        raw.u32_pair("llama.expert_count", count),
        raw.u32_pair("llama.expert_used_count", used),
    ]
    problem = problem_of(tmp_path, raw.gguf(pairs, [NORM], data=bytes(32)))
    assert problem.code == "gguf_damaged"
    assert "expert" in problem.params["detail"]


@pytest.mark.parametrize("groups", [8, (1 << 32) - 1])
def test_that_as_many_groups_as_experts_are_damaged(tmp_path, groups):
    numbers = {"expert_count": 8, "expert_used_count": 2, "expert_group_count": groups}
    pairs = [*raw.model_pairs(), *(raw.u32_pair(f"llama.{key}", value) for key, value in numbers.items())]
    problem = problem_of(tmp_path, raw.gguf(pairs, [NORM], data=bytes(32)))
    assert problem.params["detail"].startswith("expert_group_count")


@pytest.mark.parametrize(
    ("tensors", "detail"),
    [
        ([NORM, NORM], "duplicate"),
        ([raw.text("t") + struct.pack("<I5QIQ", 5, 1, 1, 1, 1, 1, 0, 0)], "dimensions"),
        ([raw.tensor("t", (1 << 62, 4), raw.F32, 0)], "too_large"),
        ([raw.tensor("t", (33, 2), raw.Q8_0, 0)], "row_length"),
        ([raw.tensor("t", (8,), raw.F32, 64)], "offset"),
        ([NORM, raw.tensor("t", (8,), raw.F32, 0)], "offset"),
        ([raw.tensor("t", (8,), 250, 0), raw.tensor("u", (8,), raw.F32, 0)], "offset"),
    ],
)
def test_that_a_damaged_tensor_is_named_with_the_reason(tmp_path, tensors, detail):
    problem = problem_of(tmp_path, raw.gguf(raw.model_pairs(), tensors, data=bytes(256)))
    assert (problem.code, problem.params["detail"]) == ("gguf_damaged_tensor", detail)
    assert problem.params["tensor"] in {"t", "output_norm.weight"}


def test_that_a_tensor_of_a_block_that_the_model_does_not_have_is_named(tmp_path):
    content = raw.gguf(raw.model_pairs(block_count=2), [raw.tensor("blk.2.attn_q.weight", (8,), 0, 0)], data=bytes(32))
    problem = problem_of(tmp_path, content)
    assert (problem.code, problem.params["tensor"]) == ("gguf_damaged_tensor", "blk.2.attn_q.weight")


def test_that_a_tensor_without_dimensions_is_one_element(tmp_path):
    path = tmp_path / "scalar.gguf"
    path.write_bytes(raw.gguf(raw.model_pairs(), [raw.tensor("token_embd.weight", (), raw.F32, 0)], data=bytes(32)))
    tensor = read_model(path).tensors[0]
    assert (tensor.shape, tensor.n_bytes) == ((1,), 4)


def test_that_an_overlong_tensor_name_is_damaged(tmp_path):
    content = raw.gguf(raw.model_pairs(), [raw.tensor("n" * 300, (8,), 0, 0)], data=bytes(32))
    assert problem_of(tmp_path, content).code == "gguf_damaged"


@pytest.mark.slow
def test_that_a_file_cut_in_its_header_is_told_at_every_length(tmp_path):
    whole = raw.gguf([*raw.model_pairs(), raw.array_pair("a", raw.STRING, 3, raw.text("x") * 3)], [NORM])
    path = tmp_path / "cut.gguf"
    for length in range(24, len(whole) - 32):
        path.write_bytes(whole[:length])
        with pytest.raises(ProblemError) as caught:
            read_model(path)
        assert caught.value.problem.code == "gguf_truncated_header", length


@pytest.mark.parametrize("missing", [1, 20, 31])
def test_that_missing_bytes_of_the_data_are_counted_exactly(tmp_path, missing):
    content = raw.gguf(raw.model_pairs(), [NORM], data=bytes(32 - missing))
    problem = problem_of(tmp_path, content)
    assert (problem.code, problem.params["missing_bytes"]) == ("gguf_truncated", missing)
    assert problem.params["expected_bytes"] == len(content) + missing


def test_that_padding_after_the_last_tensor_may_be_missing(tmp_path):
    path = tmp_path / "ok.gguf"
    path.write_bytes(raw.gguf(raw.model_pairs(), [raw.tensor("output_norm.weight", (3,), 0, 0)], data=bytes(12)))
    assert read_model(path).tensors[0].n_bytes == 12


@pytest.mark.slow
def test_that_hostile_counts_in_a_huge_sparse_file_use_no_memory(tmp_path):
    contents = [
        raw.gguf([raw.pair("k", raw.STRING, struct.pack("<Q", 1 << 29))] * 2, n_pairs=60000),
        raw.gguf([raw.array_pair("k", raw.STRING, 1000, struct.pack("<Q", 1 << 20))]),
        raw.gguf([raw.array_pair("k", raw.STRING, 1 << 29, b"")]),
        raw.gguf([raw.array_pair("k", 0, 1 << 30, b"")], n_pairs=60000),
        raw.gguf(n_tensors=100_000),
    ]
    for content in contents:
        path = tmp_path / "sparse.gguf"
        with path.open("wb") as file:
            file.write(content)
            file.truncate(8 << 30)
        tracemalloc.start()
        with pytest.raises(ProblemError):
            read_model(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 24 << 20


def test_that_a_long_value_is_skipped_and_the_rest_is_read(tmp_path):
    pairs = [*raw.model_pairs(), raw.string_pair("long", b"x" * (3 << 20)), raw.u32_pair("after", 5)]
    path = tmp_path / "long.gguf"
    path.write_bytes(raw.gguf(pairs, [NORM], data=bytes(32)))
    metadata = read_model(path).metadata
    assert "long" not in metadata
    assert metadata["after"] == 5


def test_that_strings_longer_than_the_window_are_walked_over(tmp_path):
    strings = [b"a" * length for length in (0, 5, 63, 64, 65, 300, 2_000_000, 7)] * 2 + [b"tok"] * 2000
    body = b"".join(raw.text(s) for s in strings)
    pairs = [*raw.model_pairs(), raw.array_pair("words", raw.STRING, len(strings), body), raw.u32_pair("after", 5)]
    path = tmp_path / "window.gguf"
    path.write_bytes(raw.gguf(pairs, [NORM], data=bytes(32)))
    assert read_model(path).metadata["after"] == 5
