"""What users reported about model files elsewhere, each with the answer we give (ids of the collected reports)."""

import struct
import tracemalloc

import pytest

from app.common.capabilities import Capabilities
from app.common.problem import ProblemError
from app.model.reader import read_model
from app.words import Language, say_in
from app.work.file_places import filesystem_type, is_remote, place_problems
from tests.tools import gguf_bytes as raw


def refused(path):
    with pytest.raises(ProblemError) as caught:
        read_model(path)
    problem = caught.value.problem
    return problem, say_in(Language.EN, f"problem.{problem.code}", **problem.params)


def test_gguf_01_that_unknown_tensor_types_are_sized_by_the_gap_and_flagged(tmp_path):
    ids = (0, 156, 40, 41, 250)
    sizes = (128, 96, 36, 18, 64)
    offsets = [0, 128, 224, 288, 320]
    shapes = ((32,), (32,), (64,), (128,), (32,))
    tensors = [
        raw.tensor(f"blk.0.ffn_up_{i}.weight", shape, type_id, offset)
        for i, (type_id, shape, offset) in enumerate(zip(ids, shapes, offsets, strict=True))
    ]
    path = tmp_path / "fork.gguf"
    path.write_bytes(raw.gguf(raw.model_pairs(), tensors, data=bytes(320 + 64)))
    model = read_model(path)
    assert [t.type_name for t in model.tensors] == ["F32", "IQ3_KS", "NVFP4", "Q1_0", "type 250"]
    assert tuple(t.n_bytes for t in model.tensors) == sizes
    assert [t.size_is_gap for t in model.tensors] == [False, True, False, False, True]


@pytest.mark.slow
def test_gguf_02_that_huge_vocabularies_are_not_materialised(tmp_path):
    one = raw.text("abcdef")
    pairs = [
        *raw.model_pairs(),
        raw.array_pair("tokenizer.ggml.tokens", raw.STRING, 262144, one * 262144),
        raw.array_pair("tokenizer.ggml.scores", raw.F32_VALUE, 262144, bytes(4 * 262144)),
        raw.array_pair("tokenizer.ggml.merges", raw.STRING, 500000, one * 500000),
    ]
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(raw.gguf(pairs, [raw.tensor("output_norm.weight", (8,), 0, 0)], data=bytes(32)))
    tracemalloc.start()
    model = read_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.vocab_size == 262144
    assert peak < 8 << 20


def test_gguf_03_that_a_dimension_of_zero_is_told_with_its_tensor(tmp_path):
    path = tmp_path / "zero.gguf"
    path.write_bytes(raw.gguf(raw.model_pairs(), [raw.tensor("blk.0.attn_q.weight", (4, 0), raw.F32, 0)]))
    problem, sentence = refused(path)
    assert problem.code == "gguf_zero_dimension"
    assert (problem.params["tensor"], problem.params["dimension"]) == ("blk.0.attn_q.weight", 1)
    assert "crash" in sentence


def test_gguf_05a_that_a_saved_web_page_is_told(tmp_path):
    path = tmp_path / "page.gguf"
    path.write_bytes(b"<!DOCTYPE html>" + b" " * 48000)
    problem, sentence = refused(path)
    assert problem.code == "not_gguf_web_page"
    assert "direct download link" in sentence


def test_gguf_05b_that_a_download_that_stopped_early_is_told_with_what_is_missing(tmp_path):
    path = tmp_path / "early.gguf"
    n_rows = 9_500_000_000 // 4096
    tensors = [raw.tensor("blk.0.ffn_up.weight", (1024, n_rows), raw.F32, 0)]
    path.write_bytes(raw.gguf(raw.model_pairs(), tensors))
    header_bytes = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(50_000_000)
    problem, sentence = refused(path)
    assert problem.code == "gguf_truncated"
    assert problem.params["missing_bytes"] == header_bytes + n_rows * 4096 - 50_000_000
    assert "9 449 996 416 of its 9 499 996 416 bytes are missing" in sentence


def test_gguf_05c_that_a_zero_filled_file_is_no_gguf(tmp_path):
    path = tmp_path / "zeros.gguf"
    path.write_bytes(bytes(4096))
    assert refused(path)[0].code == "not_gguf"


def test_gguf_05d_that_one_missing_byte_is_enough(tmp_path):
    path = tmp_path / "one.gguf"
    path.write_bytes(raw.gguf(raw.model_pairs(), [raw.tensor("output_norm.weight", (8,), 0, 0)], data=bytes(31)))
    problem, sentence = refused(path)
    assert problem.params["missing_bytes"] == 1
    assert f"1 of its {path.stat().st_size + 1} bytes" in sentence


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (b"GGUF" + struct.pack("<I", 1), "gguf_version"),
        (b"GGUF\0\0\0\3", "gguf_big_endian"),
        (b"ggjt", "not_gguf_old_ggml"),
        (b"tjgg", "not_gguf_old_ggml"),
    ],
)
def test_gguf_10_that_old_and_foreign_files_are_told(tmp_path, start, code):
    path = tmp_path / "old.gguf"
    path.write_bytes(start + bytes(64))
    assert refused(path)[0].code == code


def test_gguf_10b_that_version_2_is_fully_read(tmp_path):
    path = tmp_path / "v2.gguf"
    tensors = [raw.tensor("output_norm.weight", (8,), 0, 0)]
    path.write_bytes(raw.gguf(raw.model_pairs(), tensors, data=bytes(32), version=2))
    assert read_model(path).version == 2


def test_gguf_12_that_folders_in_any_script_are_read(tmp_path):
    folder = tmp_path / "Модели" / "模型" / "モデル"
    folder.mkdir(parents=True)
    path = folder / "q4.gguf"
    path.write_bytes(raw.gguf(raw.model_pairs(), [raw.tensor("output_norm.weight", (8,), 0, 0)], data=bytes(32)))
    assert read_model(path).path == str(path)


NEW = Capabilities(flags=frozenset({"-m", "-lm"}))
OLD = Capabilities(flags=frozenset({"-m", "--no-mmap"}))


def told(path, capabilities, *, is_windows=True):
    return {p.code: p.params for p in place_problems(path, capabilities, is_windows=is_windows)}


@pytest.mark.parametrize("path", ["D:\\Модели\\模型\\q4.gguf", "C:\\Users\\例　太郎\\m.gguf"])
def test_gguf_12_and_13_that_old_builds_are_warned_of_letters_outside_ascii(path):
    assert list(told(path, OLD)) == ["path_not_ascii"]
    assert told(path, NEW) == {}
    assert told(path, OLD, is_windows=False) == {}
    assert told("D:\\models\\q4.gguf", OLD) == {}
    sentence = say_in(Language.EN, "problem.path_not_ascii", path=path)
    assert path in sentence
    assert "mklink /J" in sentence


def test_gguf_14_that_a_path_beyond_260_characters_is_told_with_both_cures(tmp_path):
    path = "C:\\cache\\" + "hub\\" * 58 + "model-q4_k_m-long-name.gguf"
    assert len(path) > 259
    found = told(path, NEW)
    assert list(found) == ["path_too_long"]
    assert found["path_too_long"]["length"] == len(path)
    assert told(path, NEW, is_windows=False) == {}
    assert told("C:\\" + "a" * 200 + ".gguf", NEW) == {}
    sentence = say_in(Language.EN, "problem.path_too_long", **found["path_too_long"])
    assert "Move the file" in sentence
    assert "long paths in Windows" in sentence


MOUNTS = """22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:45 / /mnt/nas rw,relatime shared:2 - nfs4 nas:/models rw,vers=4.2
31 22 0:46 / /mnt/my\\040share rw - cifs //nas/models rw
32 30 0:47 / /mnt/nas/fast rw - xfs /dev/vdb rw
33 22 0:48 / /home/me/far rw - fuse.sshfs me@far: rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/m.gguf", "ext4"),
        ("/mnt/nas/big.gguf", "nfs4"),
        ("/mnt/nas", "nfs4"),
        ("/mnt/nasty/m.gguf", "ext4"),
        ("/mnt/my share/m.gguf", "cifs"),
        ("/mnt/nas/fast/m.gguf", "xfs"),
        ("/home/me/far/m.gguf", "fuse.sshfs"),
    ],
)
def test_gguf_15_that_the_file_system_of_a_path_is_found(path, kind):
    assert filesystem_type(path, MOUNTS) == kind


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("\\\\nas\\models\\big.gguf", True),
        ("//nas/models/big.gguf", True),
        ("\\\\?\\UNC\\nas\\models\\big.gguf", True),
        ("\\\\?\\C:\\models\\big.gguf", False),
        ("C:\\models\\big.gguf", False),
    ],
)
def test_gguf_15_that_a_share_is_told_with_what_helps(path, expected):
    assert is_remote(path, True) is expected
    if expected:
        assert list(told(path, NEW)) == ["file_on_network"]
        sentence = say_in(Language.EN, "problem.file_on_network", path=path)
        assert "local disk" in sentence
        assert "-lm none" in sentence


def test_gguf_15_that_this_disk_is_no_network(tmp_path):
    assert not is_remote(str(tmp_path), False)
