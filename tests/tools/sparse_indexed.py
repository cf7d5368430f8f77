"""Sparse models whose blocks choose which cells to attend to: a small indexer beside the attention.

As in ``sparse_architectures``: names and shapes from src/models/*.cpp, sizes of the public models.
"""

from __future__ import annotations

from app.model.gguf_writer import GgufWriter, ValueType
from tests.tools.sparse_architectures import delta_net_block, delta_net_settings
from tests.tools.sparse_parts import Setting, add_settings, dense, experts_of, matrix, norms, outer, qkv, vector
from tests.tools.sparse_vocabulary import add_vocabulary


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


_STREAMS, _NARROW = 4, 64
_NGRAM_ROWS = 12_000_000


def _mixer(writer: GgufWriter, start: str, width: int, *, injects: bool = True) -> None:
    """Hyper-connections: four residual rows become one, and the result goes back into all four."""
    vector(writer, f"{start}_norm.weight", width, _STREAMS)
    matrix(writer, f"{start}_down.weight", _STREAMS * width, _NARROW)
    matrix(writer, f"{start}_up.weight", _NARROW, _STREAMS * width)
    if injects:
        vector(writer, f"{start}_inject.weight", _STREAMS * width, _STREAMS)


def _ngram_table(writer: GgufWriter, architecture: str, width: int) -> None:
    """A table of n-gram rows, read by hash for one block (ple_*)."""
    heads = 8
    for key, values in (
        ("layer_multipliers", [1, 3, 5]),
        ("head_offsets", [i * _NGRAM_ROWS for i in range(heads)]),
        ("head_vocab_sizes", [_NGRAM_ROWS] * heads),
    ):
        writer.add_array(f"{architecture}.ple.{key}", ValueType.U64, values)
    matrix(writer, "per_layer_token_embd.weight", width // heads, heads * _NGRAM_ROWS)


def _ngram_block(writer: GgufWriter, blk: str, width: int) -> None:
    matrix(writer, f"{blk}ple_key.weight", width, _STREAMS * width)
    matrix(writer, f"{blk}ple_value.weight", width, width)
    for part in ("key", "query", "conv"):
        vector(writer, f"{blk}ple_norm_{part}.weight", width, _STREAMS)
    vector(writer, f"{blk}ple_conv1d.weight", 4, _STREAMS * width)


def qwen38_flash_next(writer: GgufWriter) -> None:
    """Qwen3.8-Flash-Next (qwen4exp) with its MTP block: four residual rows, pooled indexers, one block of n-grams.

    Its experts' sizes are those of the public file, the hyper-connections' a guess: the engine checks how they agree.
    """
    blocks, width, experts, ff = 49, 2048, 512, 768
    attends = [i == 48 or (i + 1) % 4 == 0 for i in range(blocks)]
    settings = delta_net_settings(blocks, width, experts, 10) | {
        "expert_feed_forward_length": ff,
        "expert_shared_feed_forward_length": ff,
        "nextn_predict_layers": 1,
        "rope.dimension_sections": [11, 11, 10, 0],
        "hyper_connection.count": _STREAMS,
        "hyper_connection.low_rank": _NARROW,
        "attention.indexer.head_count": 4,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 2048,
        "attention.compress_ratios": [16 if attend else 0 for attend in attends],
        "ple.layers": [1],
        "ple.ngram_size": 3,
        "ple.heads_per_ngram": 4,
        "ple.conv_kernel": 4,
        "ple.eos_token_id": 0,
        "embedding_length_per_layer_input": width // 8,
    }
    add_settings(writer, "qwen4exp", "Qwen3.8-Flash-Next (sparse header)", settings)
    add_vocabulary(writer, "qwen2", 248320, 247720, 248280, 248281, add_bos=False)
    matrix(writer, "token_embd.weight", width, 248320)
    matrix(writer, "output.weight", width, 248320)
    _mixer(writer, "output_hc", width, injects=False)
    _ngram_table(writer, "qwen4exp", width)
    for i, attend in enumerate(attends):
        blk = f"blk.{i}."
        _mixer(writer, f"{blk}hc_attn", width)
        _mixer(writer, f"{blk}hc_ffn", width)
        if attend:
            qkv(writer, blk, width, 2 * 16 * 256, 512, 512)
            matrix(writer, f"{blk}attn_output.weight", 16 * 256, width)
            norms(writer, blk, 256, "attn_q_norm", "attn_k_norm")
            matrix(writer, f"{blk}indexer.q_proj.weight", width, 4 * 128)
            matrix(writer, f"{blk}indexer.k_proj.weight", width, 128)
            norms(writer, f"{blk}indexer.", 128, "q_norm", "k_norm")
        else:
            delta_net_block(writer, blk, width, 2048, 4096, 32)
            matrix(writer, f"{blk}ssm_beta.weight", width, 32)
            matrix(writer, f"{blk}ssm_alpha.weight", width, 32)
        if i == 1:
            _ngram_block(writer, blk, width)
        experts_of(writer, blk, width, ff, experts, fused=True)
        vector(writer, f"{blk}ffn_gate_inp_shexp.weight", width)
        dense(writer, blk, width, ff, "_shexp")
    _mtp(writer, "blk.48.nextn.", width)


def _mtp(writer: GgufWriter, start: str, width: int) -> None:
    matrix(writer, f"{start}eh_proj.weight", 2 * width, width)
    vector(writer, f"{start}enorm.weight", width)
    vector(writer, f"{start}hnorm.weight", width, _STREAMS)
    _mixer(writer, f"{start}hc_head", width, injects=False)
