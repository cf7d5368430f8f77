"""A model as large as people split: Qwen3-235B-A22B's 94 blocks of 128 experts over several files, the data as holes.

Names, shapes and configuration are those of the public model (94 layers, 4096 wide, 64 heads, 4 KV heads of 128, 128
experts of 1536, 8 used, 151 936 tokens). Types are mostly Q4_K, as in the Q4_K_M files.
"""

from __future__ import annotations

import os

from app.model.gguf_writer import GgufWriter, ValueType
from tests.tools.sparse_vocabulary import BareWriter, add_vocabulary

BLOCKS = 94
TENSORS = 3 + 12 * BLOCKS
_WIDTH, _VOCABULARY, _HEADS, _HEADS_KV, _HEAD, _EXPERTS, _EXPERT_FF = 4096, 151936, 64, 4, 128, 128, 1536


def qwen3_235b(*, has_vocabulary: bool = True) -> GgufWriter:
    """Everything of the model but its weights."""
    writer = GgufWriter() if has_vocabulary else BareWriter()
    writer.add("general.architecture", ValueType.STRING, "qwen3moe")
    writer.add("general.name", ValueType.STRING, "Qwen3-235B-A22B (sparse header)")
    settings = {
        "block_count": BLOCKS, "context_length": 40960, "embedding_length": _WIDTH, "feed_forward_length": 12288,
        "attention.head_count": _HEADS, "attention.head_count_kv": _HEADS_KV, "attention.key_length": _HEAD,
        "attention.value_length": _HEAD, "expert_count": _EXPERTS, "expert_used_count": 8,
        "expert_feed_forward_length": _EXPERT_FF,
    }  # fmt: skip
    for key, value in settings.items():
        writer.add(f"qwen3moe.{key}", ValueType.U32, value)
    writer.add("qwen3moe.rope.freq_base", ValueType.F32, 1e6)
    writer.add("qwen3moe.attention.layer_norm_rms_epsilon", ValueType.F32, 1e-6)
    add_vocabulary(writer, "qwen2", _VOCABULARY, 151387, 151643, 151645, add_bos=False)
    writer.add("general.quantization_version", ValueType.U32, 2)
    writer.add("general.file_type", ValueType.U32, 15)
    writer.add_tensor("output.weight", (_WIDTH, _VOCABULARY), "Q6_K")
    writer.add_tensor("output_norm.weight", (_WIDTH,), "F32")
    writer.add_tensor("token_embd.weight", (_WIDTH, _VOCABULARY), "Q4_K")
    for block in range(BLOCKS):
        _add_block(writer, f"blk.{block}.", "Q6_K" if block % 2 else "Q4_K")
    return writer


def _add_block(writer: GgufWriter, block: str, down_type: str) -> None:
    for name, length in (("attn_norm", _WIDTH), ("attn_q_norm", _HEAD), ("attn_k_norm", _HEAD), ("ffn_norm", _WIDTH)):
        writer.add_tensor(f"{block}{name}.weight", (length,), "F32")
    for name, rows, columns in (
        ("attn_q", _WIDTH, _HEADS * _HEAD),
        ("attn_k", _WIDTH, _HEADS_KV * _HEAD),
        ("attn_v", _WIDTH, _HEADS_KV * _HEAD),
        ("attn_output", _HEADS * _HEAD, _WIDTH),
    ):
        writer.add_tensor(f"{block}{name}.weight", (rows, columns), "Q4_K")
    writer.add_tensor(f"{block}ffn_gate_inp.weight", (_WIDTH, _EXPERTS), "F32")
    writer.add_tensor(f"{block}ffn_gate_exps.weight", (_WIDTH, _EXPERT_FF, _EXPERTS), "Q4_K")
    writer.add_tensor(f"{block}ffn_up_exps.weight", (_WIDTH, _EXPERT_FF, _EXPERTS), "Q4_K")
    writer.add_tensor(f"{block}ffn_down_exps.weight", (_EXPERT_FF, _WIDTH, _EXPERTS), down_type)


def make_split_235b(folder: str | os.PathLike[str], n_parts: int = 6, *, has_vocabulary: bool = True) -> str:
    """Write it in parts; gives the first part's path."""
    return qwen3_235b(has_vocabulary=has_vocabulary).write_parts(folder, "qwen3-235b-a22b-q4_k_m", n_parts)[0]
