"""A well-known MoE model as a value, without a file: what a machine is judged by while no model is open.

Qwen3-30B-A3B in Q4_K_M: 48 blocks of 128 experts, 8 used per token, 17.3 GiB. Shapes and types are those of the
published file's header (a test compares them with it); which layers get Q6_K is llama-quant.cpp's ``use_more_bits``.
"""

from __future__ import annotations

from functools import cache
from math import prod

from app.model.roles import classify
from app.model.types import LayerFacts, ModelInfo, TensorInfo

NAME = "Qwen3-30B-A3B Q4_K_M"
_BLOCKS, _EXPERTS, _USED = 48, 128, 8
_WIDTH, _FF, _VOCAB, _HEAD, _HEADS, _KV_HEADS = 2048, 768, 151936, 128, 32, 4
_TYPES = {"F32": (0, 1, 4), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210)}
"""Type name -> id, elements per block, bytes per block (ggml.h, ggml-common.h)."""


@cache
def reference_model() -> ModelInfo:
    """The model; its path names no file."""
    tensors: list[TensorInfo] = []
    offset = 0
    for name, shape, type_name in _tensors():
        type_id, per_block, block_bytes = _TYPES[type_name]
        n_bytes = prod(shape) // per_block * block_bytes
        role, block = classify(name, _BLOCKS, 0)
        tensors.append(TensorInfo(name, shape, type_id, type_name, n_bytes, offset, role, block))
        offset += n_bytes
    return ModelInfo(
        path=f"{NAME.replace(' ', '-')}.gguf",
        parts=(),
        version=3,
        architecture="qwen3moe",
        name=NAME,
        file_bytes=offset,
        block_count=_BLOCKS,
        context_length=40960,
        vocab_size=_VOCAB,
        embedding_length=_WIDTH,
        expert_count=_EXPERTS,
        expert_used_count=_USED,
        expert_shared_count=0,
        expert_ff_length=_FF,
        nextn_count=0,
        sliding_window=None,
        is_mla=False,
        layers=tuple(LayerFacts(_HEADS, _KV_HEADS, _HEAD, _HEAD) for _ in range(_BLOCKS)),
        tensors=tuple(tensors),
    )


def _tensors() -> list[tuple[str, tuple[int, ...], str]]:
    found: list[tuple[str, tuple[int, ...], str]] = [
        ("output.weight", (_WIDTH, _VOCAB), "Q6_K"),
        ("output_norm.weight", (_WIDTH,), "F32"),
        ("token_embd.weight", (_WIDTH, _VOCAB), "Q4_K"),
    ]
    for block in range(_BLOCKS):
        more = "Q6_K" if _uses_more_bits(block) else "Q4_K"
        kv_width, q_width = _KV_HEADS * _HEAD, _HEADS * _HEAD
        found += [
            (f"blk.{block}.{name}.weight", shape, type_name)
            for name, shape, type_name in (
                ("attn_k", (_WIDTH, kv_width), "Q4_K"),
                ("attn_k_norm", (_HEAD,), "F32"),
                ("attn_norm", (_WIDTH,), "F32"),
                ("attn_output", (q_width, _WIDTH), "Q4_K"),
                ("attn_q", (_WIDTH, q_width), "Q4_K"),
                ("attn_q_norm", (_HEAD,), "F32"),
                ("attn_v", (_WIDTH, kv_width), more),
                ("ffn_down_exps", (_FF, _WIDTH, _EXPERTS), more),
                ("ffn_gate_exps", (_WIDTH, _FF, _EXPERTS), "Q4_K"),
                ("ffn_gate_inp", (_WIDTH, _EXPERTS), "F32"),
                ("ffn_norm", (_WIDTH,), "F32"),
                ("ffn_up_exps", (_WIDTH, _FF, _EXPERTS), "Q4_K"),
            )
        ]
    return found


def _uses_more_bits(block: int) -> bool:
    """llama-quant.cpp ``use_more_bits``: the first and the last eighth, and every third layer between."""
    eighth = _BLOCKS // 8
    return block < eighth or block >= 7 * _BLOCKS // 8 or (block - eighth) % 3 == 2
