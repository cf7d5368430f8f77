"""Sparse models of further architectures: common blocks in other companies, and the rarer kinds.

As in ``sparse_architectures``: names and shapes from src/models/*.cpp, sizes of the public models.
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
    norms,
    outer,
    qkv,
    vector,
)


def _settings(blocks: int, width: int, ff: int, heads: int, heads_kv: int, **more: Setting) -> dict[str, Setting]:
    common: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 131072,
        "embedding_length": width,
        "feed_forward_length": ff,
        "attention.head_count": heads,
        "attention.head_count_kv": heads_kv,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1000000.0,
    }
    return common | {key.replace("__", "."): value for key, value in more.items()}


def mixtral_8x7b(writer: GgufWriter) -> None:
    """Mixtral 8x7B: the plain Llama block with two of eight large experts."""
    settings = _settings(32, 4096, 14336, 32, 8, expert_count=8, expert_used_count=2, rope__dimension_count=128)
    add_settings(writer, "llama", "Mixtral 8x7B (sparse header)", settings)
    outer(writer, 4096, 32000)
    for i in range(32):
        blk = f"blk.{i}."
        norms(writer, blk, 4096, "attn_norm", "ffn_norm")
        qkv(writer, blk, 4096, 4096, 1024, 1024)
        matrix(writer, f"{blk}attn_output.weight", 4096, 4096)
        experts_of(writer, blk, 4096, 14336, 8)


def minimax_m2(writer: GgufWriter) -> None:
    """MiniMax-M2: norms over whole q and k rows, sigmoid routing with a bias."""
    settings = _settings(
        62, 3072, 1536, 48, 8, attention__key_length=128, attention__value_length=128, rope__dimension_count=64,
        expert_count=256, expert_used_count=8, expert_feed_forward_length=1536, expert_gating_func=2,
    )  # fmt: skip
    add_settings(writer, "minimax-m2", "MiniMax-M2 (sparse header)", settings)
    outer(writer, 3072, 200064)
    for i in range(62):
        blk = f"blk.{i}."
        norms(writer, blk, 3072, "attn_norm", "ffn_norm")
        qkv(writer, blk, 3072, 6144, 1024, 1024)
        matrix(writer, f"{blk}attn_output.weight", 6144, 3072)
        norms(writer, blk, 6144, "attn_q_norm")
        norms(writer, blk, 1024, "attn_k_norm")
        experts_of(writer, blk, 3072, 1536, 256)
        vector(writer, f"{blk}exp_probs_b.bias", 256)


def llama4_scout(writer: GgufWriter) -> None:
    """Llama 4 Scout: chunked attention, every fourth block full and without positions, one expert and a shared one."""
    settings = _settings(
        48, 5120, 16384, 40, 8, rope__dimension_count=128, expert_count=16, expert_used_count=1,
        expert_feed_forward_length=8192, interleave_moe_layer_step=1,
    )  # fmt: skip
    add_settings(writer, "llama4", "Llama 4 Scout (sparse header)", settings)
    outer(writer, 5120, 202048)
    for i in range(48):
        blk = f"blk.{i}."
        norms(writer, blk, 5120, "attn_norm", "ffn_norm")
        qkv(writer, blk, 5120, 5120, 1024, 1024)
        matrix(writer, f"{blk}attn_output.weight", 5120, 5120)
        experts_of(writer, blk, 5120, 8192, 16)
        dense(writer, blk, 5120, 8192, "_shexp")


def ling_flash(writer: GgufWriter) -> None:
    """Ling-flash-2.0: one matrix for q, k and v, grouped routing."""
    settings = _settings(
        32, 4096, 9216, 32, 4, attention__key_length=128, attention__value_length=128, rope__dimension_count=64,
        leading_dense_block_count=1, expert_count=256, expert_used_count=8, expert_shared_count=1,
        expert_feed_forward_length=1024, expert_weights_scale=2.5, expert_weights_norm=True, expert_gating_func=2,
        expert_group_count=8, expert_group_used_count=4,
    )  # fmt: skip
    add_settings(writer, "bailingmoe2", "Ling-flash-2.0 (sparse header)", settings)
    outer(writer, 4096, 157184)
    for i in range(32):
        blk = f"blk.{i}."
        norms(writer, blk, 4096, "attn_norm", "ffn_norm")
        matrix(writer, f"{blk}attn_qkv.weight", 4096, 4096 + 2 * 512)
        matrix(writer, f"{blk}attn_output.weight", 4096, 4096)
        norms(writer, blk, 128, "attn_q_norm", "attn_k_norm")
        if i == 0:
            dense(writer, blk, 4096, 9216)
        else:
            experts_of(writer, blk, 4096, 1024, 256)
            vector(writer, f"{blk}exp_probs_b.bias", 256)
            dense(writer, blk, 4096, 1024, "_shexp")


def nemotron3_nano(writer: GgufWriter) -> None:
    """Nemotron 3 Nano 30B-A3B: each block is Mamba-2, attention or experts; ungated squared-ReLU experts."""
    pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
    blocks, width = len(pattern), 2688
    settings = _settings(
        blocks, width, 0, 32, 2, attention__key_length=128, attention__value_length=128, rope__dimension_count=84,
        expert_count=128, expert_used_count=6, expert_shared_count=1, expert_feed_forward_length=1856,
        expert_shared_feed_forward_length=3712, expert_weights_norm=True, expert_weights_scale=2.5,
        ssm__conv_kernel=4, ssm__inner_size=4096, ssm__state_size=128, ssm__time_step_rank=64, ssm__group_count=8,
    )  # fmt: skip
    settings["attention.head_count_kv"] = [2 if kind == "*" else 0 for kind in pattern]
    settings["feed_forward_length"] = [1856 if kind == "E" else 0 for kind in pattern]
    settings["attention.layer_norm_epsilon"] = 1e-5
    add_settings(writer, "nemotron_h_moe", "Nemotron 3 Nano (sparse header)", settings)
    outer(writer, width, 131072)
    for i, kind in enumerate(pattern):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm")
        if kind == "M":
            mamba2(writer, blk, width, 4096, 128, 64, groups=8)
        elif kind == "*":
            qkv(writer, blk, width, 4096, 256, 256)
            matrix(writer, f"{blk}attn_output.weight", 4096, width)
        else:
            vector(writer, f"{blk}ffn_gate_inp.weight", width, 128)
            vector(writer, f"{blk}exp_probs_b.bias", 128)
            matrix(writer, f"{blk}ffn_up_exps.weight", width, 1856, 128)
            matrix(writer, f"{blk}ffn_down_exps.weight", 1856, width, 128)
            matrix(writer, f"{blk}ffn_up_shexp.weight", width, 3712)
            matrix(writer, f"{blk}ffn_down_shexp.weight", 3712, width)


def _kda(writer: GgufWriter, blk: str, width: int, head: int, heads: int, *, pairs: bool) -> None:
    inner = head * heads
    for part in "qkv":
        vector(writer, f"{blk}ssm_conv1d_{part}.weight", 4, 1, inner)
    qkv(writer, blk, width, inner, inner, inner)
    matrix(writer, f"{blk}ssm_f_a.weight", width, head if pairs else inner)
    matrix(writer, f"{blk}ssm_g_a.weight", width, head if pairs else inner)
    if pairs:
        matrix(writer, f"{blk}ssm_f_b.weight", head, inner)
        matrix(writer, f"{blk}ssm_g_b.weight", head, inner)
    matrix(writer, f"{blk}ssm_beta.weight", width, heads)
    vector(writer, f"{blk}ssm_a", 1, heads)
    vector(writer, f"{blk}ssm_dt.bias", inner)
    vector(writer, f"{blk}ssm_norm.weight", head)
    matrix(writer, f"{blk}attn_output.weight", inner, width)


def _latent(writer: GgufWriter, blk: str, width: int, heads: int, q_rank: int = 0) -> None:
    """MLA with the sizes that nearly every model has: rank 512, 128 + 64 per head, values of 128."""
    if q_rank:
        matrix(writer, f"{blk}attn_q_a.weight", width, q_rank)
        vector(writer, f"{blk}attn_q_a_norm.weight", q_rank)
        matrix(writer, f"{blk}attn_q_b.weight", q_rank, heads * 192)
    else:
        matrix(writer, f"{blk}attn_q.weight", width, heads * 192)
    matrix(writer, f"{blk}attn_kv_a_mqa.weight", width, 576)
    vector(writer, f"{blk}attn_kv_a_norm.weight", 512)
    matrix(writer, f"{blk}attn_k_b.weight", 128, 512, heads)
    matrix(writer, f"{blk}attn_v_b.weight", 512, 128, heads)
    matrix(writer, f"{blk}attn_output.weight", heads * 128, width)


def kimi_linear_48b(writer: GgufWriter) -> None:
    """Kimi-Linear-48B-A3B: three blocks of delta attention, then one of MLA without positions."""
    blocks, width = 27, 2304
    latent = {3, 7, 11, 15, 19, 23, 26}
    settings = _settings(
        blocks, width, 9216, 32, 1, attention__key_length=576, attention__value_length=512,
        attention__key_length_mla=192, attention__value_length_mla=128, attention__kv_lora_rank=512,
        rope__dimension_count=64, ssm__conv_kernel=4, kda__head_dim=128, leading_dense_block_count=1,
        expert_count=256, expert_used_count=8, expert_shared_count=1, expert_feed_forward_length=1024,
        expert_weights_scale=2.446, expert_gating_func=2,
    )  # fmt: skip
    settings["attention.head_count_kv"] = [1 if i in latent else 0 for i in range(blocks)]
    add_settings(writer, "kimi-linear", "Kimi-Linear-48B-A3B (sparse header)", settings)
    outer(writer, width, 163840)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        if i in latent:
            _latent(writer, blk, width, 32)
        else:
            _kda(writer, blk, width, 128, 32, pairs=True)
        if i == 0:
            dense(writer, blk, width, 9216)
        else:
            experts_of(writer, blk, width, 1024, 256)
            vector(writer, f"{blk}exp_probs_b.bias", 256)
            dense(writer, blk, width, 1024, "_shexp")


def trinity_mini(writer: GgufWriter) -> None:
    """Trinity Mini (afmoe): a gate on the attention's result, sliding blocks, norms before and after."""
    blocks, width = 32, 2048
    slides = [(i + 1) % 4 != 0 for i in range(blocks)]
    settings = _settings(
        blocks, width, 6144, 32, 4, attention__key_length=128, attention__value_length=128, rope__dimension_count=128,
        attention__sliding_window=2048, leading_dense_block_count=2, expert_count=128, expert_used_count=8,
        expert_shared_count=1, expert_feed_forward_length=1024, expert_weights_scale=2.826, expert_weights_norm=True,
        expert_gating_func=2, attention__sliding_window_pattern=slides,
    )  # fmt: skip
    add_settings(writer, "afmoe", "Trinity Mini (sparse header)", settings)
    outer(writer, width, 200192)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        qkv(writer, blk, width, 4096, 512, 512)
        matrix(writer, f"{blk}attn_gate.weight", width, 4096)
        matrix(writer, f"{blk}attn_output.weight", 4096, width)
        norms(writer, blk, 128, "attn_q_norm", "attn_k_norm")
        if i < 2:
            dense(writer, blk, width, 6144)
        else:
            experts_of(writer, blk, width, 1024, 128)
            vector(writer, f"{blk}exp_probs_b.bias", 128)
            dense(writer, blk, width, 1024, "_shexp")


def step35_flash(writer: GgufWriter) -> None:
    """Step-3.5-Flash: more heads and a window in three of four blocks, a gate per head."""
    blocks, width = 45, 4096
    slides = [i % 4 != 0 for i in range(blocks)]
    settings = _settings(
        blocks, width, 11264, 64, 8, attention__key_length=128, attention__value_length=128, rope__dimension_count=64,
        attention__sliding_window=512, attention__sliding_window_pattern=slides, rope__dimension_count_swa=128,
        expert_count=288, expert_used_count=8, expert_feed_forward_length=1280, expert_weights_scale=3.0,
        expert_shared_feed_forward_length=1280, expert_weights_norm=True, expert_gating_func=2,
    )  # fmt: skip
    settings["attention.head_count"] = [96 if slide else 64 for slide in slides]
    add_settings(writer, "step35", "Step-3.5-Flash (sparse header)", settings)
    outer(writer, width, 128896)
    for i, slide in enumerate(slides):
        blk, heads = f"blk.{i}.", 96 if slide else 64
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        qkv(writer, blk, width, heads * 128, 1024, 1024)
        matrix(writer, f"{blk}attn_gate.weight", width, heads)
        matrix(writer, f"{blk}attn_output.weight", heads * 128, width)
        norms(writer, blk, 128, "attn_q_norm", "attn_k_norm")
        if i < 3:
            dense(writer, blk, width, 11264)
        else:
            experts_of(writer, blk, width, 1280, 288)
            vector(writer, f"{blk}exp_probs_b.bias", 288)
            dense(writer, blk, width, 1280, "_shexp")
