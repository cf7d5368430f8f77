"""Header-faithful sparse models: every real tensor name and shape of fifty models, the data as holes.

The engine loads them like the real ones (holes read as zeros). Names, shapes and configuration are those of the public
models; of the first four also the types: the Q4_K_M ones are what ``llama-quantize --dry-run`` chose. Merges and token
ids are synthetic.

    python -m tests.tools.sparse_models qwen3-30b OUT.gguf
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from app.model.gguf_writer import GgufWriter, ValueType
from tests.tools import sparse_architectures, sparse_indexed, sparse_more
from tests.tools.sparse_common import COMMON, write_common
from tests.tools.sparse_rare import RARE
from tests.tools.sparse_vocabulary import BareWriter, add_vocabulary

_DATA = Path(__file__).parent.parent / "data" / "model"
_FILE_TYPE_Q4_K_M = 15
_FILE_TYPE_MXFP4 = 38

Settings = Mapping[str, int | float | str]
TypeOf = Callable[[str], str]


class _Tensors:
    """Adds tensors with the type that the table names; norms, routers and biases are F32."""

    def __init__(self, writer: GgufWriter, type_of: TypeOf) -> None:
        self._writer = writer
        self._type_of = type_of

    def add(self, name: str, *shape: int) -> None:
        self._writer.add_tensor(name, shape, self._type_of(name))

    def add_f32(self, name: str, *shape: int) -> None:
        self._writer.add_tensor(name, shape, "F32")


def _add_settings(writer: GgufWriter, architecture: str, name: str, settings: Settings) -> None:
    writer.add("general.architecture", ValueType.STRING, architecture)
    writer.add("general.name", ValueType.STRING, name)
    for key, value in settings.items():
        kind = {int: ValueType.U32, float: ValueType.F32, str: ValueType.STRING}[type(value)]
        writer.add(f"{architecture}.{key}", kind, value)


def _qwen3_30b(writer: GgufWriter, type_of: TypeOf) -> None:
    blocks, width, vocab, heads, heads_kv, head, experts, ff = 48, 2048, 151936, 32, 4, 128, 128, 768
    settings: Settings = {
        "block_count": blocks,
        "context_length": 40960,
        "embedding_length": width,
        "feed_forward_length": 6144,
        "attention.head_count": heads,
        "attention.head_count_kv": heads_kv,
        "attention.key_length": head,
        "attention.value_length": head,
        "rope.freq_base": 1000000.0,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "expert_used_count": 8,
        "expert_count": experts,
        "expert_feed_forward_length": ff,
    }
    _add_settings(writer, "qwen3moe", "Qwen3-30B-A3B (sparse header)", settings)
    add_vocabulary(writer, "qwen2", vocab, 151387, 151643, 151645, add_bos=False)
    t = _Tensors(writer, type_of)
    t.add("output.weight", width, vocab)
    t.add_f32("output_norm.weight", width)
    t.add("token_embd.weight", width, vocab)
    for block in (f"blk.{i}." for i in range(blocks)):
        t.add(block + "attn_k.weight", width, heads_kv * head)
        t.add_f32(block + "attn_k_norm.weight", head)
        t.add_f32(block + "attn_norm.weight", width)
        t.add(block + "attn_output.weight", heads * head, width)
        t.add(block + "attn_q.weight", width, heads * head)
        t.add_f32(block + "attn_q_norm.weight", head)
        t.add(block + "attn_v.weight", width, heads_kv * head)
        t.add(block + "ffn_down_exps.weight", ff, width, experts)
        t.add(block + "ffn_gate_exps.weight", width, ff, experts)
        t.add_f32(block + "ffn_gate_inp.weight", width, experts)
        t.add_f32(block + "ffn_norm.weight", width)
        t.add(block + "ffn_up_exps.weight", width, ff, experts)


def _qwen15_moe(writer: GgufWriter, type_of: TypeOf) -> None:
    blocks, width, vocab, heads, head, experts, ff, shared_ff = 24, 2048, 151936, 16, 128, 60, 1408, 5632
    settings: Settings = {
        "block_count": blocks,
        "context_length": 8192,
        "embedding_length": width,
        "feed_forward_length": 5632,
        "attention.head_count": heads,
        "attention.head_count_kv": heads,
        "rope.freq_base": 1000000.0,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "expert_used_count": 4,
        "expert_count": experts,
        "expert_feed_forward_length": ff,
        "expert_shared_feed_forward_length": shared_ff,
    }
    _add_settings(writer, "qwen2moe", "Qwen1.5-MoE-A2.7B-Chat (sparse header)", settings)
    add_vocabulary(writer, "qwen2", vocab, 151387, 151643, 151645, add_bos=False)
    t = _Tensors(writer, type_of)
    t.add("output.weight", width, vocab)
    t.add_f32("output_norm.weight", width)
    t.add("token_embd.weight", width, vocab)
    for block in (f"blk.{i}." for i in range(blocks)):
        t.add_f32(block + "attn_norm.weight", width)
        for which in "qkv":
            t.add(block + f"attn_{which}.weight", width, heads * head)
            t.add_f32(block + f"attn_{which}.bias", heads * head)
        t.add(block + "attn_output.weight", width, width)
        t.add_f32(block + "ffn_norm.weight", width)
        t.add_f32(block + "ffn_gate_inp.weight", width, experts)
        t.add(block + "ffn_gate_exps.weight", width, ff, experts)
        t.add(block + "ffn_down_exps.weight", ff, width, experts)
        t.add(block + "ffn_up_exps.weight", width, ff, experts)
        t.add_f32(block + "ffn_gate_inp_shexp.weight", width)
        t.add(block + "ffn_gate_shexp.weight", width, shared_ff)
        t.add(block + "ffn_down_shexp.weight", shared_ff, width)
        t.add(block + "ffn_up_shexp.weight", width, shared_ff)


def _deepseek_v2_lite(writer: GgufWriter, type_of: TypeOf) -> None:
    blocks, width, vocab, heads, experts, ff = 27, 2048, 102400, 16, 64, 1408
    rank, nope, rope, value, shared, dense_ff = 512, 128, 64, 128, 2, 10944
    settings: Settings = {
        "block_count": blocks,
        "context_length": 163840,
        "embedding_length": width,
        "feed_forward_length": dense_ff,
        "attention.head_count": heads,
        "attention.head_count_kv": 1,
        "rope.freq_base": 10000.0,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "expert_used_count": 6,
        "leading_dense_block_count": 1,
        "vocab_size": vocab,
        "attention.kv_lora_rank": rank,
        "attention.key_length": rank + rope,
        "attention.value_length": rank,
        "expert_feed_forward_length": ff,
        "expert_count": experts,
        "expert_shared_count": shared,
        "expert_weights_scale": 1.0,
        "rope.dimension_count": rope,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 40.0,
        "rope.scaling.original_context_length": 4096,
        "rope.scaling.yarn_log_multiplier": 0.0707,
        "attention.key_length_mla": nope + rope,
        "attention.value_length_mla": value,
    }
    _add_settings(writer, "deepseek2", "DeepSeek-V2-Lite-Chat (sparse header)", settings)
    add_vocabulary(writer, "deepseek-llm", vocab, 99757, 100000, 100001, add_bos=True)
    t = _Tensors(writer, type_of)
    t.add("token_embd.weight", width, vocab)
    t.add_f32("output_norm.weight", width)
    t.add("output.weight", width, vocab)
    for i, block in enumerate(f"blk.{i}." for i in range(blocks)):
        t.add_f32(block + "attn_norm.weight", width)
        t.add(block + "attn_q.weight", width, heads * (nope + rope))
        t.add(block + "attn_kv_a_mqa.weight", width, rank + rope)
        t.add_f32(block + "attn_kv_a_norm.weight", rank)
        t.add(block + "attn_k_b.weight", nope, rank, heads)
        t.add(block + "attn_v_b.weight", rank, value, heads)
        t.add(block + "attn_output.weight", heads * value, width)
        t.add_f32(block + "ffn_norm.weight", width)
        if i == 0:
            t.add(block + "ffn_gate.weight", width, dense_ff)
            t.add(block + "ffn_down.weight", dense_ff, width)
            t.add(block + "ffn_up.weight", width, dense_ff)
            continue
        t.add_f32(block + "ffn_gate_inp.weight", width, experts)
        t.add(block + "ffn_gate_exps.weight", width, ff, experts)
        t.add(block + "ffn_down_exps.weight", ff, width, experts)
        t.add(block + "ffn_up_exps.weight", width, ff, experts)
        t.add(block + "ffn_gate_shexp.weight", width, ff * shared)
        t.add(block + "ffn_down_shexp.weight", ff * shared, width)
        t.add(block + "ffn_up_shexp.weight", width, ff * shared)


def _gpt_oss_20b(writer: GgufWriter, type_of: TypeOf) -> None:
    blocks, width, vocab, heads, heads_kv, head, experts, ff = 24, 2880, 201088, 64, 8, 64, 32, 2880
    settings: Settings = {
        "block_count": blocks,
        "context_length": 131072,
        "embedding_length": width,
        "feed_forward_length": ff,
        "attention.head_count": heads,
        "attention.head_count_kv": heads_kv,
        "attention.key_length": head,
        "attention.value_length": head,
        "rope.freq_base": 150000.0,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "expert_count": experts,
        "expert_used_count": 4,
        "attention.sliding_window": 128,
        "expert_feed_forward_length": ff,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 32.0,
        "rope.scaling.original_context_length": 4096,
    }
    _add_settings(writer, "gpt-oss", "gpt-oss-20b (sparse header)", settings)
    add_vocabulary(writer, "gpt-4o", vocab, 199742, 199998, 200002, add_bos=False)
    t = _Tensors(writer, type_of)
    t.add("output.weight", width, vocab)
    t.add_f32("output_norm.weight", width)
    t.add("token_embd.weight", width, vocab)
    for block in (f"blk.{i}." for i in range(blocks)):
        t.add_f32(block + "attn_norm.weight", width)
        t.add_f32(block + "post_attention_norm.weight", width)
        t.add_f32(block + "attn_sinks.weight", heads)
        for which, n_heads in (("q", heads), ("k", heads_kv), ("v", heads_kv)):
            t.add(block + f"attn_{which}.weight", width, n_heads * head)
            t.add_f32(block + f"attn_{which}.bias", n_heads * head)
        t.add(block + "attn_output.weight", heads * head, width)
        t.add_f32(block + "attn_output.bias", width)
        t.add_f32(block + "ffn_gate_inp.weight", width, experts)
        t.add_f32(block + "ffn_gate_inp.bias", experts)
        for which, rows, columns in (("gate", width, ff), ("up", width, ff), ("down", ff, width)):
            t.add(block + f"ffn_{which}_exps.weight", rows, columns, experts)
            t.add_f32(block + f"ffn_{which}_exps.bias", columns, experts)


_MODELS: dict[str, tuple[Callable[[GgufWriter, TypeOf], None], str | None]] = {
    "qwen3-30b": (_qwen3_30b, "qwen3-30b-a3b-q4km.types.json"),
    "qwen1.5-moe": (_qwen15_moe, "qwen1.5-moe-a2.7b-q4km.types.json"),
    "deepseek-v2-lite": (_deepseek_v2_lite, "deepseek-v2-lite-q4km.types.json"),
    "gpt-oss-20b": (_gpt_oss_20b, None),
}
_ARCHITECTURES: dict[str, Callable[[GgufWriter], None]] = {
    "qwen3next-80b": sparse_architectures.qwen3next_80b,
    "qwen35moe-35b": sparse_architectures.qwen35moe_35b,
    "granite-h-small": sparse_architectures.granite_h_small,
    "gemma3-27b": sparse_architectures.gemma3_27b,
    "gemma4-26b": sparse_architectures.gemma4_26b,
    "deepseek-v3": sparse_architectures.deepseek_v3,
    "glm45-air": sparse_architectures.glm45_air,
    "lfm2-8b": sparse_architectures.lfm2_8b,
    "mixtral-8x7b": sparse_more.mixtral_8x7b,
    "minimax-m2": sparse_more.minimax_m2,
    "llama4-scout": sparse_more.llama4_scout,
    "ling-flash": sparse_more.ling_flash,
    "nemotron3-nano": sparse_more.nemotron3_nano,
    "kimi-linear-48b": sparse_more.kimi_linear_48b,
    "trinity-mini": sparse_more.trinity_mini,
    "step35-flash": sparse_more.step35_flash,
    "deepseek-v3.2": sparse_indexed.deepseek_v32,
    "glm-5.2": sparse_indexed.glm_52,
    "qwen3.8-flash-next": sparse_indexed.qwen38_flash_next,
    **RARE,
}
NAMES = (*_MODELS, *(name for name in _ARCHITECTURES if name not in RARE), *COMMON, *RARE)


def make_sparse(name: str, path: str | os.PathLike[str], *, has_vocabulary: bool = True) -> None:
    """Write one of ``NAMES``: a header of some MB, a file of its real size that takes the header's place on disk.

    The engine wants the vocabulary; without it the header is made in a few milliseconds.
    """
    writer = GgufWriter() if has_vocabulary else BareWriter()
    file_type = _FILE_TYPE_Q4_K_M
    if name in _ARCHITECTURES:
        _ARCHITECTURES[name](writer)
    elif name in COMMON:
        write_common(writer, COMMON[name])
    else:
        build, types_file = _MODELS[name]
        if types_file is None:
            type_of: TypeOf = lambda tensor: "MXFP4" if "_exps" in tensor else "Q8_0"  # noqa: E731
            file_type = _FILE_TYPE_MXFP4
        else:
            type_of = json.loads((_DATA / types_file).read_text("utf-8")).__getitem__
        build(writer, type_of)
    writer.add("general.quantization_version", ValueType.U32, 2)
    writer.add("general.file_type", ValueType.U32, file_type)
    writer.write(path)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write a header-faithful sparse model.")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("path")
    arguments = parser.parse_args()
    make_sparse(arguments.name, arguments.path)


if __name__ == "__main__":
    main()
