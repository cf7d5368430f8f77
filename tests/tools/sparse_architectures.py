"""More sparse models, one for each kind of block the engine has: shapes of public models, every matrix a K-quant.

Names and shapes are those that ``load_arch_tensors`` of src/models/*.cpp asks for; sizes and settings those of the
public model in each function's docstring. Unlike the four of ``sparse_models`` the quant types are one simple rule.
"""

from __future__ import annotations

from app.model.gguf_writer import GgufWriter
from tests.tools.sparse_parts import (
    Setting,
    add_settings,
    dense,
    experts_of,
    mamba2,
    matrix,
    mtp_tensors,
    norms,
    outer,
    qkv,
    vector,
)


def delta_net_block(writer: GgufWriter, blk: str, width: int, keys: int, values: int, heads: int) -> None:
    matrix(writer, f"{blk}attn_qkv.weight", width, 2 * keys + values)
    matrix(writer, f"{blk}attn_gate.weight", width, values)
    vector(writer, f"{blk}ssm_conv1d.weight", 4, 2 * keys + values)
    vector(writer, f"{blk}ssm_dt.bias", heads)
    vector(writer, f"{blk}ssm_a", heads)
    vector(writer, f"{blk}ssm_norm.weight", values // heads)
    matrix(writer, f"{blk}ssm_out.weight", values, width)


def delta_net_settings(blocks: int, width: int, experts: int, used: int) -> dict[str, Setting]:
    return {
        "block_count": blocks,
        "context_length": 262144,
        "embedding_length": width,
        "feed_forward_length": 5120,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 10000000.0,
        "rope.dimension_count": 64,
        "expert_count": experts,
        "expert_used_count": used,
        "expert_feed_forward_length": 512,
        "expert_shared_feed_forward_length": 512,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 16,
        "full_attention_interval": 4,
    }


def _delta_net_model(writer: GgufWriter, blocks: int, width: int, experts: int, *, joint: bool, nextn: int) -> None:
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "post_attention_norm")
        if i >= blocks - nextn or (i + 1) % 4 == 0:
            qkv(writer, blk, width, 2 * 16 * 256, 512, 512)
            matrix(writer, f"{blk}attn_output.weight", 16 * 256, width)
            norms(writer, blk, 256, "attn_q_norm", "attn_k_norm")
        else:
            delta_net_block(writer, blk, width, 2048, 4096, 32)
            for part, columns in (("ba", 64),) if joint else (("beta", 32), ("alpha", 32)):
                matrix(writer, f"{blk}ssm_{part}.weight", width, columns)
        experts_of(writer, blk, width, 512, experts, fused=not joint)
        vector(writer, f"{blk}ffn_gate_inp_shexp.weight", width)
        dense(writer, blk, width, 512, "_shexp")
        if i >= blocks - nextn:
            mtp_tensors(writer, blk, width)


def qwen3next_80b(writer: GgufWriter) -> None:
    """Qwen3-Next-80B-A3B: three delta-net blocks, then one of attention with a gate."""
    add_settings(writer, "qwen3next", "Qwen3-Next-80B-A3B (sparse header)", delta_net_settings(48, 2048, 512, 10))
    outer(writer, 2048, 151936)
    _delta_net_model(writer, 48, 2048, 512, joint=True, nextn=0)


def qwen35moe_35b(writer: GgufWriter) -> None:
    """Qwen3.5-35B-A3B with its MTP block: fused gate_up experts, separate beta and alpha."""
    settings = delta_net_settings(41, 2048, 256, 8)
    settings |= {"nextn_predict_layers": 1, "rope.dimension_sections": [11, 11, 10, 0]}
    add_settings(writer, "qwen35moe", "Qwen3.5-35B-A3B (sparse header)", settings)
    outer(writer, 2048, 248320)
    _delta_net_model(writer, 41, 2048, 256, joint=False, nextn=1)


def granite_h_small(writer: GgufWriter) -> None:
    """Granite-4.0-H-Small: Mamba-2 blocks, attention without positions in 4 of 40, experts everywhere."""
    blocks, width, experts, ff, shared_ff, inner, state, heads = 40, 4096, 72, 768, 1536, 8192, 128, 128
    attention = {5, 15, 25, 35}
    settings: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 131072,
        "embedding_length": width,
        "feed_forward_length": ff,
        "attention.head_count": 32,
        "attention.head_count_kv": [8 if i in attention else 0 for i in range(blocks)],
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.scale": 0.0078125,
        "residual_scale": 0.22,
        "embedding_scale": 12.0,
        "logit_scale": 16.0,
        "rope.scaling.finetuned": False,
        "expert_count": experts,
        "expert_used_count": 10,
        "expert_shared_feed_forward_length": shared_ff,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": heads,
        "ssm.group_count": 1,
    }
    add_settings(writer, "granitehybrid", "Granite-4.0-H-Small (sparse header)", settings)
    outer(writer, width, 100352, tied=True)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        if i in attention:
            qkv(writer, blk, width, 4096, 1024, 1024)
            matrix(writer, f"{blk}attn_output.weight", 4096, width)
        else:
            mamba2(writer, blk, width, inner, state, heads)
        experts_of(writer, blk, width, ff, experts)
        dense(writer, blk, width, shared_ff, "_shexp")


def gemma3_27b(writer: GgufWriter) -> None:
    """Gemma 3 27B: dense, five sliding blocks to one full, norms after attention and FFN, tied head."""
    blocks, width, ff = 62, 5376, 21504
    settings: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 131072,
        "embedding_length": width,
        "feed_forward_length": ff,
        "attention.head_count": 32,
        "attention.head_count_kv": 16,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": 1024,
        "rope.freq_base": 1000000.0,
    }
    add_settings(writer, "gemma3", "Gemma 3 27B (sparse header)", settings)
    outer(writer, width, 262208, tied=True)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        qkv(writer, blk, width, 4096, 2048, 2048)
        matrix(writer, f"{blk}attn_output.weight", 4096, width)
        norms(writer, blk, 128, "attn_q_norm", "attn_k_norm")
        dense(writer, blk, width, ff)


def gemma4_26b(writer: GgufWriter) -> None:
    """Gemma 4 26B-A4B: sliding blocks with other head sizes, a dense FFN beside the experts, its own router input."""
    blocks, width, ff, expert_ff, experts = 30, 2816, 2112, 704, 128
    slides = [(i + 1) % 6 != 0 for i in range(blocks)]
    settings: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 262144,
        "embedding_length": width,
        "embedding_length_per_layer_input": 0,
        "feed_forward_length": ff,
        "attention.head_count": 16,
        "attention.head_count_kv": [8 if slide else 2 for slide in slides],
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": slides,
        "attention.shared_kv_layers": 0,
        "final_logit_softcapping": 30.0,
        "rope.dimension_count": 512,
        "rope.dimension_count_swa": 256,
        "rope.freq_base": 1000000.0,
        "rope.freq_base_swa": 10000.0,
        "expert_count": experts,
        "expert_used_count": 8,
        "expert_feed_forward_length": expert_ff,
    }
    add_settings(writer, "gemma4", "Gemma 4 26B-A4B (sparse header)", settings)
    outer(writer, width, 262144, tied=True)
    vector(writer, "rope_freqs.weight", 256)
    for i, slide in enumerate(slides):
        blk, length, heads_kv = f"blk.{i}.", 256 if slide else 512, 8 if slide else 2
        norms(writer, blk, width, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        norms(writer, blk, width, "post_ffw_norm_1", "post_ffw_norm_2", "pre_ffw_norm_2")
        matrix(writer, f"{blk}attn_q.weight", width, 16 * length)
        matrix(writer, f"{blk}attn_k.weight", width, heads_kv * length)
        if slide:
            matrix(writer, f"{blk}attn_v.weight", width, heads_kv * length)
        matrix(writer, f"{blk}attn_output.weight", 16 * length, width)
        norms(writer, blk, length, "attn_q_norm", "attn_k_norm")
        dense(writer, blk, width, ff)
        vector(writer, f"{blk}ffn_gate_inp.scale", width)
        experts_of(writer, blk, width, expert_ff, experts, fused=True)
        vector(writer, f"{blk}ffn_down_exps.scale", experts)
        vector(writer, f"{blk}layer_output_scale.weight", 1)


def deepseek_v3(writer: GgufWriter) -> None:
    """DeepSeek-V3: MLA with a narrow query, grouped routing with a bias, three dense blocks first."""
    blocks, width, heads, experts, ff, dense_ff = 61, 7168, 128, 256, 2048, 18432
    q_rank, rank, nope, rope, value = 1536, 512, 128, 64, 128
    settings: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 163840,
        "embedding_length": width,
        "feed_forward_length": dense_ff,
        "attention.head_count": heads,
        "attention.head_count_kv": 1,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.q_lora_rank": q_rank,
        "attention.kv_lora_rank": rank,
        "attention.key_length": rank + rope,
        "attention.value_length": rank,
        "attention.key_length_mla": nope + rope,
        "attention.value_length_mla": value,
        "rope.dimension_count": rope,
        "rope.freq_base": 10000.0,
        "leading_dense_block_count": 3,
        "vocab_size": 129280,
        "expert_count": experts,
        "expert_used_count": 8,
        "expert_shared_count": 1,
        "expert_feed_forward_length": ff,
        "expert_weights_scale": 2.5,
        "expert_weights_norm": True,
        "expert_gating_func": 2,
        "expert_group_count": 8,
        "expert_group_used_count": 4,
    }
    add_settings(writer, "deepseek2", "DeepSeek-V3 (sparse header)", settings)
    outer(writer, width, 129280)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        matrix(writer, f"{blk}attn_q_a.weight", width, q_rank)
        vector(writer, f"{blk}attn_q_a_norm.weight", q_rank)
        matrix(writer, f"{blk}attn_q_b.weight", q_rank, heads * (nope + rope))
        matrix(writer, f"{blk}attn_kv_a_mqa.weight", width, rank + rope)
        vector(writer, f"{blk}attn_kv_a_norm.weight", rank)
        matrix(writer, f"{blk}attn_k_b.weight", nope, rank, heads)
        matrix(writer, f"{blk}attn_v_b.weight", rank, value, heads)
        matrix(writer, f"{blk}attn_output.weight", heads * value, width)
        if i < 3:
            dense(writer, blk, width, dense_ff)
            continue
        experts_of(writer, blk, width, ff, experts)
        vector(writer, f"{blk}exp_probs_b.bias", experts)
        dense(writer, blk, width, ff, "_shexp")


def glm45_air(writer: GgufWriter) -> None:
    """GLM-4.5-Air with its MTP block: biased q, k and v, one dense block first."""
    blocks, width, heads, experts, ff, dense_ff = 47, 4096, 96, 128, 1408, 10944
    settings: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 131072,
        "embedding_length": width,
        "feed_forward_length": dense_ff,
        "attention.head_count": heads,
        "attention.head_count_kv": 8,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": 64,
        "rope.freq_base": 1000000.0,
        "leading_dense_block_count": 1,
        "nextn_predict_layers": 1,
        "expert_count": experts,
        "expert_used_count": 8,
        "expert_shared_count": 1,
        "expert_feed_forward_length": ff,
        "expert_weights_scale": 1.0,
        "expert_weights_norm": True,
        "expert_gating_func": 2,
    }
    add_settings(writer, "glm4moe", "GLM-4.5-Air (sparse header)", settings)
    outer(writer, width, 151552)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "post_attention_norm")
        qkv(writer, blk, width, heads * 128, 1024, 1024, bias=True)
        matrix(writer, f"{blk}attn_output.weight", heads * 128, width)
        if i == 0:
            dense(writer, blk, width, dense_ff)
        else:
            experts_of(writer, blk, width, ff, experts)
            vector(writer, f"{blk}exp_probs_b.bias", experts)
            dense(writer, blk, width, ff, "_shexp")
        if i == blocks - 1:
            mtp_tensors(writer, blk, width)


def lfm2_8b(writer: GgufWriter) -> None:
    """LFM2-8B-A1B: short convolutions, attention in 6 of 24 blocks, two dense blocks first, tied head."""
    blocks, width, experts, ff, dense_ff = 24, 2048, 32, 1792, 7168
    attention = {2, 6, 10, 14, 18, 21}
    settings: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 128000,
        "embedding_length": width,
        "feed_forward_length": dense_ff,
        "attention.head_count": 32,
        "attention.head_count_kv": [8 if i in attention else 0 for i in range(blocks)],
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 1000000.0,
        "vocab_size": 65536,
        "shortconv.l_cache": 3,
        "leading_dense_block_count": 2,
        "expert_count": experts,
        "expert_used_count": 4,
        "expert_feed_forward_length": ff,
        "expert_gating_func": 2,
    }
    add_settings(writer, "lfm2moe", "LFM2-8B-A1B (sparse header)", settings)
    outer(writer, width, 65536, tied=True, norm="token_embd_norm")
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        if i in attention:
            qkv(writer, blk, width, 2048, 512, 512)
            matrix(writer, f"{blk}attn_output.weight", 2048, width)
            norms(writer, blk, 64, "attn_q_norm", "attn_k_norm")
        else:
            vector(writer, f"{blk}shortconv.conv.weight", 3, width)
            matrix(writer, f"{blk}shortconv.in_proj.weight", width, 3 * width)
            matrix(writer, f"{blk}shortconv.out_proj.weight", width, width)
        if i < 2:
            dense(writer, blk, width, dense_ff)
        else:
            experts_of(writer, blk, width, ff, experts)
            vector(writer, f"{blk}exp_probs_b.bias", experts)
