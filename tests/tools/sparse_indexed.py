"""Sparse models whose blocks choose which cells to attend to: a small indexer beside the attention.

As in ``sparse_architectures``: names and shapes from src/models/*.cpp, sizes of the public models.
"""

from __future__ import annotations

from app.model.gguf_writer import GgufWriter
from tests.tools.sparse_parts import Setting, add_settings, dense, experts_of, matrix, norms, outer, vector


def _indexer(writer: GgufWriter, blk: str, width: int, q_rank: int, heads: int) -> None:
    vector(writer, f"{blk}indexer.k_norm.weight", 128)
    vector(writer, f"{blk}indexer.k_norm.bias", 128)
    vector(writer, f"{blk}indexer.proj.weight", width, heads)
    matrix(writer, f"{blk}indexer.attn_k.weight", width, 128)
    matrix(writer, f"{blk}indexer.attn_q_b.weight", q_rank, heads * 128)


def _latent(writer: GgufWriter, blk: str, width: int, heads: int, q_rank: int, nope: int, value: int) -> None:
    """MLA with a narrow query and rank 512."""
    matrix(writer, f"{blk}attn_q_a.weight", width, q_rank)
    vector(writer, f"{blk}attn_q_a_norm.weight", q_rank)
    matrix(writer, f"{blk}attn_q_b.weight", q_rank, heads * (nope + 64))
    matrix(writer, f"{blk}attn_kv_a_mqa.weight", width, 576)
    vector(writer, f"{blk}attn_kv_a_norm.weight", 512)
    matrix(writer, f"{blk}attn_k_b.weight", nope, 512, heads)
    matrix(writer, f"{blk}attn_v_b.weight", 512, value, heads)
    matrix(writer, f"{blk}attn_output.weight", heads * value, width)


def _settings(blocks: int, context: int, width: int, ff: int, heads: int, index_heads: int) -> dict[str, Setting]:
    return {
        "block_count": blocks,
        "context_length": context,
        "embedding_length": width,
        "feed_forward_length": ff,
        "attention.head_count": heads,
        "attention.head_count_kv": 1,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.kv_lora_rank": 512,
        "attention.indexer.head_count": index_heads,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 2048,
        "rope.dimension_count": 64,
        "rope.freq_base": 10000.0,
        "leading_dense_block_count": 3,
        "expert_count": 256,
        "expert_used_count": 8,
        "expert_shared_count": 1,
        "expert_feed_forward_length": 2048,
        "expert_weights_scale": 2.5,
        "expert_weights_norm": True,
        "expert_gating_func": 2,
    }


def _feed_forward(writer: GgufWriter, blk: str, width: int, ff: int, block: int) -> None:
    if block < 3:
        dense(writer, blk, width, ff)
        return
    experts_of(writer, blk, width, 2048, 256)
    vector(writer, f"{blk}exp_probs_b.bias", 256)
    dense(writer, blk, width, 2048, "_shexp")


def deepseek_v32(writer: GgufWriter) -> None:
    """DeepSeek-V3.2: MLA and an indexer in every block."""
    blocks, width = 61, 7168
    settings = _settings(blocks, 163840, width, 18432, 128, 64) | {
        "attention.q_lora_rank": 1536,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "expert_group_count": 8,
        "expert_group_used_count": 4,
    }
    add_settings(writer, "deepseek32", "DeepSeek-V3.2 (sparse header)", settings)
    outer(writer, width, 129280)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        _latent(writer, blk, width, 128, 1536, 128, 128)
        _indexer(writer, blk, width, 1536, 64)
        _feed_forward(writer, blk, width, 18432, i)


def glm_52(writer: GgufWriter) -> None:
    """GLM-5.2: one block in four has an indexer, the next three use its choice."""
    blocks, width = 78, 6144
    settings = _settings(blocks, 1048576, width, 12288, 64, 32) | {
        "attention.q_lora_rank": 2048,
        "attention.key_length_mla": 256,
        "attention.value_length_mla": 256,
    }
    add_settings(writer, "glm-dsa", "GLM-5.2 (sparse header)", settings)
    outer(writer, width, 154880)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        _latent(writer, blk, width, 64, 2048, 192, 256)
        if i < 3 or (i - 2) % 4 == 0:
            _indexer(writer, blk, width, 2048, 32)
        _feed_forward(writer, blk, width, 12288, i)
