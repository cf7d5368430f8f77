"""The header-faithful sparse files have the figures of the real models, and take no more disk than their headers."""

import sys

import pytest

from app.model.reader import read_model
from app.model.types import Role
from tests.tools.sparse_models import make_sparse

pytestmark = pytest.mark.slow

FIGURES = {
    "qwen3-30b": (579, 18_550_716_416, 18_554_864_448, {"Q4_K": 289, "F32": 241, "Q6_K": 49}),
    "qwen1.5-moe": (411, 9_490_282_496, 9_494_419_552, {"Q4_K": 193, "F32": 169, "Q6_K": 25, "Q5_0": 12, "Q8_0": 12}),
    "deepseek-v2-lite": (404, 10_363_959_296, 10_366_750_720, {"Q4_K": 229, "F32": 108, "Q5_0": 41, "Q6_K": 13,
                                                               "Q8_0": 13}),
    "gpt-oss-20b": (459, 12_096_558_336, 12_102_124_288, {"F32": 289, "Q8_0": 98, "MXFP4": 72}),
}  # fmt: skip
# What llama-server b11434 prints for them: n_head, n_head_kv, n_embd_head_k, n_embd_head_v (0: with MLA no V is
# cached), n_vocab, n_ctx_train, n_expert, n_expert_used, n_ff_exp, n_swa.
ENGINE = {
    "qwen3-30b": (32, 4, 128, 128, 151936, 40960, 128, 8, 768, None),
    "qwen1.5-moe": (16, 16, 128, 128, 151936, 8192, 60, 4, 1408, None),
    "deepseek-v2-lite": (16, 1, 576, 0, 102400, 163840, 64, 6, 1408, None),
    "gpt-oss-20b": (64, 8, 64, 64, 201088, 131072, 32, 4, 2880, 128),
}


@pytest.fixture(scope="module", params=("qwen3-30b", "qwen1.5-moe", "deepseek-v2-lite", "gpt-oss-20b"))
def sparse(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("sparse") / f"{request.param}.gguf"
    make_sparse(request.param, path)
    yield request.param, path, read_model(path)
    path.unlink()


def test_that_tensors_bytes_and_types_are_those_of_the_real_model(sparse):
    name, path, model = sparse
    count, tensor_bytes, file_bytes, types = FIGURES[name]
    assert len(model.tensors) == count
    assert model.tensor_bytes == tensor_bytes
    assert model.file_bytes == path.stat().st_size == file_bytes
    assert model.quant_counts() == types


def test_that_the_facts_equal_what_the_engine_prints(sparse):
    name, _, model = sparse
    layer = model.layers[0]
    assert (
        layer.head_count, layer.head_count_kv, layer.key_length, layer.value_length, model.vocab_size,
        model.context_length, model.expert_count, model.expert_used_count, model.expert_ff_length,
        model.sliding_window,
    ) == ENGINE[name]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="files are not sparse by themselves on Windows")
def test_that_the_file_takes_no_more_disk_than_its_header(sparse):
    _, path, model = sparse
    first = min(t.offset for t in model.tensors)
    assert path.stat().st_blocks * 512 < first + (1 << 20)


def test_that_only_deepseek_has_mla_and_a_dense_first_block(sparse):
    name, _, model = sparse
    assert model.is_mla == (name == "deepseek-v2-lite")
    dense = {t.block for t in model.tensors if t.role is Role.DENSE_FFN}
    assert dense == ({0} if name == "deepseek-v2-lite" else set())


def test_that_even_blocks_of_gpt_oss_slide(sparse):
    name, _, model = sparse
    expected = tuple(name == "gpt-oss-20b" and block % 2 == 0 for block in range(model.block_count))
    assert tuple(layer.sliding for layer in model.layers) == expected


def test_that_shared_experts_are_counted(sparse):
    name, _, model = sparse
    assert model.expert_shared_count == {"qwen1.5-moe": 1, "deepseek-v2-lite": 2}.get(name, 0)


def test_that_no_tensor_is_unknown(sparse):
    assert not [t.name for t in sparse[2].tensors if t.role is Role.OTHER]
