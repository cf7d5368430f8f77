"""What the reader says about good files."""

import os
import struct
import sys

import pytest

from app.common.problem import ProblemError
from app.model._files import extended_path, part_paths
from app.model.gguf_writer import GgufWriter, ValueType
from app.model.reader import FileRole, read_model
from app.model.types import Role
from tests.tools import gguf_bytes as raw


def _moe_writer(**options):
    writer = GgufWriter(**options)
    writer.add("general.architecture", ValueType.STRING, "qwen3moe")
    writer.add("general.name", ValueType.STRING, "Little")
    numbers = {
        "block_count": 2,
        "context_length": 512,
        "embedding_length": 32,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.key_length": 16,
        "attention.value_length": 8,
        "expert_count": 4,
        "expert_used_count": 2,
        "expert_feed_forward_length": 32,
    }
    for key, number in numbers.items():
        writer.add(f"qwen3moe.{key}", ValueType.U32, number)
    return writer


def _add_tensors(writer, blocks=(0, 1)):
    if 0 in blocks:
        writer.add_tensor("token_embd.weight", (32, 7), "Q8_0", bytes(7 * 34))
    for block in blocks:
        writer.add_tensor(f"blk.{block}.attn_q.weight", (32, 64), "F16", bytes(4096))
        writer.add_tensor(f"blk.{block}.ffn_gate_inp.weight", (32, 4), "F32", bytes(512))
        writer.add_tensor(f"blk.{block}.ffn_up_exps.weight", (32, 32, 4), "Q8_0", bytes(4 * 32 * 34))


def _write(writer, path):
    writer.write(path)
    return path


@pytest.fixture
def moe(tmp_path):
    writer = _moe_writer()
    _add_tensors(writer)
    return _write(writer, tmp_path / "little.gguf")


def _problem(path):
    with pytest.raises(ProblemError) as caught:
        read_model(path)
    return caught.value.problem


def test_that_a_header_gives_the_facts_of_the_model(moe):
    model = read_model(moe)
    assert (model.name, model.architecture, model.version) == ("Little", "qwen3moe", 3)
    assert (model.block_count, model.context_length, model.embedding_length) == (2, 512, 32)
    assert (model.expert_count, model.expert_used_count, model.expert_ff_length) == (4, 2, 32)
    assert model.file_bytes == moe.stat().st_size
    assert model.is_moe
    assert model.has_tied_output
    assert model.expert_blocks == (0, 1)


def test_that_each_tensor_has_its_size_place_role_and_block(moe):
    by_name = {t.name: t for t in read_model(moe).tensors}
    experts = by_name["blk.1.ffn_up_exps.weight"]
    assert (experts.shape, experts.type_name, experts.n_bytes) == ((32, 32, 4), "Q8_0", 4352)
    assert (experts.role, experts.block) == (Role.ROUTED_EXPERT, 1)
    assert experts.offset + experts.n_bytes == moe.stat().st_size
    assert not experts.size_is_gap
    first = by_name["token_embd.weight"]
    assert first.offset % 32 == 0
    assert by_name["blk.0.attn_q.weight"].offset == first.offset + 256  # 238 bytes, padded to 32


def test_that_facts_per_block_follow_the_metadata(moe):
    layer = read_model(moe).layers[1]
    assert (layer.head_count, layer.head_count_kv, layer.key_length, layer.value_length) == (4, 2, 16, 8)
    assert not layer.sliding
    assert not layer.recurrent


@pytest.mark.parametrize("version", [2, 3])
def test_that_versions_two_and_three_read_alike(tmp_path, version):
    writer = _moe_writer(version=version)
    _add_tensors(writer)
    model = read_model(_write(writer, tmp_path / "v.gguf"))
    assert model.version == version
    assert len(model.tensors) == 7


def test_that_a_larger_alignment_moves_the_data(tmp_path):
    writer = _moe_writer(alignment=256)
    _add_tensors(writer)
    model = read_model(_write(writer, tmp_path / "aligned.gguf"))
    assert all(t.offset % 256 == 0 for t in model.tensors)


def test_that_long_arrays_are_counted_and_short_ones_kept(tmp_path):
    writer = _moe_writer()
    writer.add_array("tokenizer.ggml.tokens", ValueType.STRING, [f"t{n}" * (1 + n % 40) for n in range(5000)])
    writer.add_array("tokenizer.ggml.scores", ValueType.F32, [0.25] * 5000)
    writer.add_array("general.languages", ValueType.STRING, ["en", "中文"])
    writer.add_array("general.sizes", ValueType.I64, [-1, 1 << 40])
    _add_tensors(writer)
    model = read_model(_write(writer, tmp_path / "vocabulary.gguf"))
    assert model.vocab_size == 5000
    assert "tokenizer.ggml.tokens" not in model.metadata
    assert "tokenizer.ggml.scores" not in model.metadata
    assert model.metadata["general.languages"] == ("en", "中文")
    assert model.metadata["general.sizes"] == (-1, 1 << 40)


def test_that_scalars_keep_their_types(tmp_path):
    pairs = [
        *raw.model_pairs(),
        raw.pair("a.i8", 1, struct.pack("<b", -3)),
        raw.pair("a.bool", raw.BOOL, b"\2"),
        raw.pair("a.f64", 12, struct.pack("<d", 0.1)),
        raw.pair("a.i64", 11, struct.pack("<q", -(1 << 60))),
    ]
    path = tmp_path / "types.gguf"
    path.write_bytes(raw.gguf(pairs, [raw.tensor("output_norm.weight", (8,), raw.F32, 0)], data=bytes(32)))
    metadata = read_model(path).metadata
    assert metadata["a.i8"] == -3
    assert metadata["a.bool"] is True
    assert metadata["a.f64"] == 0.1
    assert metadata["a.i64"] == -(1 << 60)


def test_that_damaged_utf8_is_read_with_replacement_characters(tmp_path):
    pairs = [*raw.model_pairs(), raw.pair("general.name", raw.STRING, raw.text(b"Na\xffme")), raw.u32_pair("x", 1)]
    tensors = [raw.tensor(b"blk.0.\xc3\x28.weight", (8,), raw.F32, 0)]
    path = tmp_path / "utf8.gguf"
    path.write_bytes(raw.gguf(pairs, tensors, data=bytes(32)))
    model = read_model(path)
    assert model.name == "Na�me"
    assert model.tensors[0].block == 0
    assert model.tensors[0].role is Role.OTHER


def test_that_a_model_without_a_name_is_called_like_its_file(tmp_path):
    path = tmp_path / "my model.gguf"
    path.write_bytes(raw.gguf(raw.model_pairs(), [raw.tensor("output_norm.weight", (8,), 0, 0)], data=bytes(32)))
    assert read_model(path).name == "my model"


def test_that_a_missing_block_count_is_taken_from_the_tensors(tmp_path):
    pairs = [raw.string_pair("general.architecture", "mystery")]
    tensors = [raw.tensor("blk.0.attn_q.weight", (8,), 0, 0), raw.tensor("blk.4.attn_q.weight", (8,), 0, 32)]
    path = tmp_path / "m.gguf"
    path.write_bytes(raw.gguf(pairs, tensors, data=bytes(64)))
    model = read_model(path)
    assert model.block_count == 5
    assert len(model.layers) == 5


@pytest.mark.parametrize("name", ["模型 файл.gguf", "with space & (1) 100%.gguf", "a'b\"c;d$e.gguf"])
def test_that_any_file_name_can_be_read(tmp_path, moe, name):
    if sys.platform == "win32" and '"' in name:
        pytest.skip("not a file name on Windows")
    folder = tmp_path / "文件夹 ü"
    folder.mkdir()
    path = folder / name
    path.write_bytes(moe.read_bytes())
    assert read_model(str(path)).path == str(path)


def test_that_a_path_of_312_characters_is_read(tmp_path, moe):
    folder = tmp_path
    while len(str(folder)) < 300:
        folder = folder / "snapshot-0123456789"
    os.makedirs(extended_path(str(folder), sys.platform == "win32"))
    path = str(folder / "model.gguf")
    with open(extended_path(path, sys.platform == "win32"), "wb") as file:
        file.write(moe.read_bytes())
    assert len(path) > 300
    assert read_model(path).block_count == 2


def test_that_long_windows_paths_get_the_prefix_that_lifts_the_limit():
    long = "C:\\" + "\\".join(["folder"] * 50) + "\\m.gguf"
    assert extended_path(long, True) == "\\\\?\\" + long
    assert extended_path(long, False) == long
    assert extended_path("C:\\short\\m.gguf", True) == "C:\\short\\m.gguf"
    assert extended_path("\\\\nas\\" + long[3:], True) == "\\\\?\\UNC\\nas\\" + long[3:]
    assert extended_path("\\\\?\\" + long, True) == "\\\\?\\" + long


def _split(tmp_path, n_parts=3):
    blocks = ((0,), (1,), ())
    for number in range(n_parts):
        writer = _moe_writer() if number == 0 else GgufWriter()
        writer.add("split.no", ValueType.U16, number)
        writer.add("split.count", ValueType.U16, n_parts)
        writer.add("split.tensors.count", ValueType.I32, 7)
        if number < 2:
            _add_tensors(writer, blocks[number])
        writer.write(tmp_path / f"big-{number + 1:05d}-of-{n_parts:05d}.gguf")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_that_a_split_model_opens_from_any_part(tmp_path, number):
    _split(tmp_path)
    model = read_model(tmp_path / f"big-0000{number}-of-00003.gguf")
    assert model.path.endswith("big-00001-of-00003.gguf")
    assert [os.path.basename(part) for part in model.parts] == [f"big-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    assert model.file_bytes == sum(os.stat(part).st_size for part in model.parts)
    assert {t.part for t in model.tensors if t.block == 0} == {0}
    assert {t.part for t in model.tensors if t.block == 1} == {1}


def test_that_a_missing_part_is_named(tmp_path):
    _split(tmp_path)
    (tmp_path / "big-00002-of-00003.gguf").unlink()
    problem = _problem(tmp_path / "big-00003-of-00003.gguf")
    assert problem.code == "gguf_part_missing"
    assert problem.params["part"] == "big-00002-of-00003.gguf"
    assert (problem.params["number"], problem.params["parts"]) == (2, 3)


def test_that_a_renamed_part_is_told(tmp_path):
    _split(tmp_path)
    (tmp_path / "big-00001-of-00003.gguf").rename(tmp_path / "renamed.gguf")
    problem = _problem(tmp_path / "renamed.gguf")
    assert (problem.code, problem.params["parts"]) == ("gguf_part_name", 3)


def test_that_a_truncated_later_part_is_told_by_its_own_path(tmp_path):
    _split(tmp_path)
    second = tmp_path / "big-00002-of-00003.gguf"
    second.write_bytes(second.read_bytes()[:-100])
    problem = _problem(tmp_path / "big-00001-of-00003.gguf")
    assert (problem.code, problem.params["missing_bytes"]) == ("gguf_truncated", 100)
    assert problem.params["path"] == str(second)


def test_that_parts_in_the_wrong_order_are_refused(tmp_path):
    _split(tmp_path)
    second, third = tmp_path / "big-00002-of-00003.gguf", tmp_path / "big-00003-of-00003.gguf"
    swap = second.read_bytes()
    second.write_bytes(third.read_bytes())
    third.write_bytes(swap)
    assert _problem(tmp_path / "big-00001-of-00003.gguf").code == "gguf_damaged"


def test_that_a_tensor_in_two_parts_is_refused(tmp_path):
    _split(tmp_path, 2)
    writer = GgufWriter()
    writer.add("split.no", ValueType.U16, 1)
    writer.add("split.count", ValueType.U16, 2)
    _add_tensors(writer, (0,))
    writer.write(tmp_path / "big-00002-of-00002.gguf")
    problem = _problem(tmp_path / "big-00001-of-00002.gguf")
    assert (problem.code, problem.params["detail"]) == ("gguf_damaged_tensor", "duplicate")


def test_that_part_names_follow_the_engine():
    assert part_paths("x-00002-of-00002.gguf", 2) == ("x-00001-of-00002.gguf", "x-00002-of-00002.gguf")
    assert part_paths("x-00003-of-00002.gguf", 2) is None
    assert part_paths("x-00001-of-00003.gguf", 2) is None
    assert part_paths("x.gguf", 2) is None


@pytest.mark.parametrize(
    ("pairs", "role"),
    [
        ([raw.string_pair("general.architecture", "clip")], FileRole.PROJECTOR),
        ([raw.string_pair("general.architecture", "llama"), raw.string_pair("general.type", "mmproj")], "projector"),
        ([raw.string_pair("general.architecture", "llama"), raw.string_pair("general.type", "adapter")], "adapter"),
        ([raw.string_pair("general.type", "imatrix")], FileRole.IMATRIX),
        ([raw.string_pair("general.architecture", "controlvector")], FileRole.CONTROL_VECTOR),
    ],
)
def test_that_companion_files_are_told_from_models(tmp_path, pairs, role):
    path = tmp_path / "companion.gguf"
    path.write_bytes(raw.gguf(pairs, [raw.tensor("x", (8,), raw.F32, 0)], data=bytes(32)))
    problem = _problem(path)
    assert problem.code == f"gguf_not_a_model_{role}"
    assert problem.params["role"] == role


def test_that_a_vocabulary_without_weights_is_told(tmp_path):
    path = tmp_path / "vocab.gguf"
    path.write_bytes(raw.gguf([*raw.model_pairs(), raw.string_pair("tokenizer.ggml.model", "gpt2")]))
    assert _problem(path).code == "gguf_not_a_model_vocab"


def test_that_a_gguf_without_blocks_is_no_language_model(tmp_path):
    path = tmp_path / "image.gguf"
    pairs = [raw.string_pair("general.architecture", "flux")]
    path.write_bytes(raw.gguf(pairs, [raw.tensor("double_blocks.0.x", (8,), 0, 0)], data=bytes(32)))
    assert _problem(path).code == "gguf_not_a_model"


def test_that_experts_used_may_differ_per_block(tmp_path):
    pairs = [
        *raw.model_pairs(block_count=3),
        raw.u32_pair("llama.expert_count", 8),
        raw.array_pair("llama.expert_used_count", 4, 3, struct.pack("<3I", 2, 8, 4)),
    ]
    path = tmp_path / "used.gguf"
    path.write_bytes(raw.gguf(pairs, [raw.tensor("output_norm.weight", (8,), 0, 0)], data=bytes(32)))
    model = read_model(path)
    assert model.expert_used_count == 8
    assert [model.used_experts(block) for block in range(3)] == [2, 8, 4]
