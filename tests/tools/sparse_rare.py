"""Sparse models with blocks of rare make: residual rows that are mixed, block-wise sparse attention.

As in ``sparse_architectures``: names and shapes from src/models/*.cpp. Sizes are those of the public models where they
are known to this project, else plausible ones: what is checked is that the engine and the mirror agree on them.
"""

from __future__ import annotations

from app.model.gguf_writer import GgufWriter
from tests.tools.sparse_parts import Setting, add_settings, dense, experts_of, matrix, norms, outer, qkv, vector


def _settings(blocks: int, width: int, ff: int, heads: int, heads_kv: int, **more: Setting) -> dict[str, Setting]:
    common: dict[str, Setting] = {
        "block_count": blocks,
        "context_length": 262144,
        "embedding_length": width,
        "feed_forward_length": ff,
        "attention.head_count": heads,
        "attention.head_count_kv": heads_kv,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 10000.0,
        "leading_dense_block_count": 1,
        "expert_gating_func": 2,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "expert_shared_count": 1,
    }
    return common | {key.replace("__", "."): value for key, value in more.items()}


def _mla(writer: GgufWriter, blk: str, width: int, heads: int, q_rank: int, *, gate: int = 0) -> None:
    """MLA of rank 512, 128 + 64 per head, values of 128; ``gate``: columns of the output's gate."""
    matrix(writer, f"{blk}attn_q_a.weight", width, q_rank)
    vector(writer, f"{blk}attn_q_a_norm.weight", q_rank)
    matrix(writer, f"{blk}attn_q_b.weight", q_rank, heads * 192)
    matrix(writer, f"{blk}attn_kv_a_mqa.weight", width, 576)
    vector(writer, f"{blk}attn_kv_a_norm.weight", 512)
    matrix(writer, f"{blk}attn_k_b.weight", 128, 512, heads)
    matrix(writer, f"{blk}attn_v_b.weight", 512, 128, heads)
    matrix(writer, f"{blk}attn_output.weight", heads * 128, width)
    if gate:
        matrix(writer, f"{blk}attn_gate.weight", width, gate)


_MLA_SETTINGS: dict[str, Setting] = {
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "attention.kv_lora_rank": 512,
    "rope.dimension_count": 64,
}
_INDEXER_SETTINGS: dict[str, Setting] = {
    "attention.indexer.head_count": 32,
    "attention.indexer.key_length": 128,
    "attention.indexer.top_k": 2048,
}


def _indexer(writer: GgufWriter, blk: str, width: int, q_rank: int, heads: int = 32) -> None:
    vector(writer, f"{blk}indexer.k_norm.weight", 128)
    vector(writer, f"{blk}indexer.k_norm.bias", 128)
    vector(writer, f"{blk}indexer.proj.weight", width, heads)
    matrix(writer, f"{blk}indexer.attn_k.weight", width, 128)
    matrix(writer, f"{blk}indexer.attn_q_b.weight", q_rank, heads * 128)


def _experts(writer: GgufWriter, blk: str, width: int, ff: int, experts: int) -> None:
    experts_of(writer, blk, width, ff, experts)
    vector(writer, f"{blk}exp_probs_b.bias", experts)
    dense(writer, blk, width, ff, "_shexp")


def minimax_m3(writer: GgufWriter) -> None:
    """MiniMax-M3 428B-A23B: grouped-query attention over blocks of cells that an indexer chooses."""
    blocks, width, experts, ff = 60, 6144, 128, 3072
    settings = _settings(
        blocks, width, 12288, 64, 4, attention__key_length=128, attention__value_length=128, rope__dimension_count=64,
        leading_dense_block_count=3, expert_count=experts, expert_used_count=4, expert_feed_forward_length=ff,
        attention__indexer__head_count=4, attention__indexer__key_length=128, attention__indexer__top_k=16,
        attention__indexer__block_size=128, attention__indexer__local_blocks=1,
    )  # fmt: skip
    add_settings(writer, "minimax-m3", "MiniMax-M3 (sparse header)", settings)
    outer(writer, width, 200064)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        qkv(writer, blk, width, 64 * 128, 512, 512)
        matrix(writer, f"{blk}attn_output.weight", 64 * 128, width)
        norms(writer, blk, 128, "attn_q_norm", "attn_k_norm")
        if i < 3:
            dense(writer, blk, width, 12288)
            continue
        _experts(writer, blk, width, ff, experts)
        matrix(writer, f"{blk}indexer.q_proj.weight", width, 4 * 128)
        matrix(writer, f"{blk}indexer.k_proj.weight", width, 128)
        norms(writer, f"{blk}indexer.", 128, "q_norm", "k_norm")


def kimi_k3(writer: GgufWriter) -> None:
    """Kimi-K3: delta attention and gated MLA, experts in a narrower row, earlier residual rows mixed in."""
    blocks, width, heads, experts, ff, narrow = 93, 7168, 96, 896, 3072, 3584
    latent = {i for i in range(blocks) if (i + 1) % 4 == 0} | {blocks - 1}
    settings = _settings(
        blocks, width, 33792, heads, 1, attention__q_lora_rank=1536, ssm__conv_kernel=4, kda__head_dim=128,
        kda__gate_lower_bound=-5.0, expert_count=experts, expert_used_count=16, expert_feed_forward_length=ff,
        expert_latent_length=narrow, expert_shared_count=2, attn_res__block_size=12, activation__situ_beta=4.0,
        activation__situ_linear_beta=25.0,
    ) | _MLA_SETTINGS  # fmt: skip
    settings["attention.head_count_kv"] = [1 if i in latent else 0 for i in range(blocks)]
    add_settings(writer, "kimi-k3", "Kimi-K3 (sparse header)", settings)
    outer(writer, width, 163840)
    vector(writer, "output_res_score.weight", width)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        vector(writer, f"{blk}attn_res_score.weight", width)
        vector(writer, f"{blk}ffn_res_score.weight", width)
        if i in latent:
            _mla(writer, blk, width, heads, 1536, gate=heads * 128)
        else:
            _kda(writer, blk, width, 128, heads)
        if i == 0:
            dense(writer, blk, width, 33792)
            continue
        vector(writer, f"{blk}ffn_gate_inp.weight", width, experts)
        vector(writer, f"{blk}exp_probs_b.bias", experts)
        matrix(writer, f"{blk}ffn_gate_exps.weight", narrow, ff, experts)
        matrix(writer, f"{blk}ffn_up_exps.weight", narrow, ff, experts)
        matrix(writer, f"{blk}ffn_down_exps.weight", ff, narrow, experts)
        matrix(writer, f"{blk}ffn_routed_down.weight", width, narrow)
        matrix(writer, f"{blk}ffn_routed_up.weight", narrow, width)
        vector(writer, f"{blk}ffn_routed_norm.weight", narrow)
        dense(writer, blk, width, 2 * ff, "_shexp")


def glm53_flash(writer: GgufWriter) -> None:
    """GLM-5.3-Flash 320B-A18B (glm5-next): four residual rows, delta attention, MLA over chosen pools of cells."""
    blocks, width, heads, experts, ff, q_rank = 45, 4096, 64, 256, 2048, 1536
    latent = {i for i in range(blocks) if (i + 1) % 4 == 0}
    settings = _settings(
        blocks, width, 12288, heads, 1, attention__q_lora_rank=q_rank, attention__kv_lora_rank=512,
        attention__key_length=512, attention__value_length=512, attention__key_length_mla=192,
        attention__value_length_mla=128, rope__dimension_count=0, ssm__conv_kernel=4, kda__head_dim=128,
        kda__gate_lower_bound=-5.0, expert_count=experts, expert_used_count=8, expert_feed_forward_length=ff,
        attention__indexer__kpool=4, attention__indexer__kpool_select_tail=True, hyper_connection__count=4,
        hyper_connection__sinkhorn_iterations=20, hyper_connection__epsilon=1e-6,
    ) | _INDEXER_SETTINGS  # fmt: skip
    settings["attention.head_count_kv"] = [1 if i in latent else 0 for i in range(blocks)]
    add_settings(writer, "glm5-next", "GLM-5.3-Flash (sparse header)", settings)
    outer(writer, width, 154880)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        for part in ("attn", "ffn"):
            vector(writer, f"{blk}hc_{part}_fn.weight", 4 * width, 24)
            vector(writer, f"{blk}hc_{part}_base.weight", 24)
            vector(writer, f"{blk}hc_{part}_scale.weight", 3)
        if i in latent:
            matrix(writer, f"{blk}attn_q_a.weight", width, q_rank)
            vector(writer, f"{blk}attn_q_a_norm.weight", q_rank)
            matrix(writer, f"{blk}attn_q_b.weight", q_rank, heads * 192)
            matrix(writer, f"{blk}attn_kv_a_mqa.weight", width, 512)
            vector(writer, f"{blk}attn_kv_a_norm.weight", 512)
            matrix(writer, f"{blk}attn_k_b.weight", 192, 512, heads)
            matrix(writer, f"{blk}attn_v_b.weight", 512, 128, heads)
            matrix(writer, f"{blk}attn_output.weight", heads * 128, width)
            _indexer(writer, blk, width, q_rank)
            matrix(writer, f"{blk}indexer_compressor_gate.weight", width, 128)
            vector(writer, f"{blk}indexer_compressor_ape.weight", 128, 4)
        else:
            _kda(writer, blk, width, 128, heads, gate_pair=True)
        if i == 0:
            dense(writer, blk, width, 12288)
        else:
            _experts(writer, blk, width, ff, experts)


def _kda(writer: GgufWriter, blk: str, width: int, head: int, heads: int, *, gate_pair: bool = False) -> None:
    inner = head * heads
    for part in "qkv":
        vector(writer, f"{blk}ssm_conv1d_{part}.weight", 4, 1, inner)
    qkv(writer, blk, width, inner, inner, inner)
    matrix(writer, f"{blk}ssm_f_a.weight", width, head)
    matrix(writer, f"{blk}ssm_f_b.weight", head, inner)
    matrix(writer, f"{blk}ssm_beta.weight", width, heads)
    vector(writer, f"{blk}ssm_a", heads)
    vector(writer, f"{blk}ssm_dt.bias", inner)
    if gate_pair:
        matrix(writer, f"{blk}ssm_g_a.weight", width, head)
        matrix(writer, f"{blk}ssm_g_b.weight", head, inner)
    else:
        matrix(writer, f"{blk}ssm_g.weight", width, inner)
    vector(writer, f"{blk}ssm_norm.weight", head)
    matrix(writer, f"{blk}attn_output.weight", inner, width)


def hy4(writer: GgufWriter) -> None:
    """Hy4 (hy_v4): four residual rows, gated MLA with sinks, an indexer in every block."""
    blocks, width, heads, experts, ff = 48, 5120, 64, 192, 1536
    settings = _settings(
        blocks, width, 12288, heads, 1, attention__q_lora_rank=1536, expert_count=experts, expert_used_count=8,
        expert_feed_forward_length=ff, hyper_connection__count=4, hyper_connection__epsilon=1e-6,
        hyper_connection__magnitude=1.0, attention__indexer__types=[True] * blocks,
    ) | _MLA_SETTINGS | _INDEXER_SETTINGS  # fmt: skip
    add_settings(writer, "hy_v4", "Hy4 (sparse header)", settings)
    outer(writer, width, 120832)
    vector(writer, "output_hc_fn.weight", 4 * width, 4)
    vector(writer, "output_hc_base.weight", 4)
    vector(writer, "output_hc_scale.weight", 1)
    for i in range(blocks):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        vector(writer, f"{blk}attn_sinks.weight", heads)
        _mla(writer, blk, width, heads, 1536, gate=heads * 128)
        _indexer(writer, blk, width, 1536)
        for part in ("attn", "ffn"):
            vector(writer, f"{blk}hc_{part}_fn.weight", 4 * width, 8)
            vector(writer, f"{blk}hc_{part}_base.weight", 8)
            vector(writer, f"{blk}hc_{part}_scale.weight", 2)
        if i == 0:
            dense(writer, blk, width, 12288)
        else:
            _experts(writer, blk, width, ff, experts)


def dots3_note(writer: GgufWriter) -> None:
    """dots3-note 288B-A19B: MLA in two sizes, sliding blocks beside blocks with an indexer, a gate per head."""
    blocks, width, heads, experts, ff, q_rank = 46, 4096, 64, 256, 1536, 1536
    slides = [(i + 1) % 4 != 0 for i in range(blocks)]
    settings = _settings(
        blocks, width, 10240, heads, 1, attention__q_lora_rank=q_rank, attention__kv_lora_rank_swa=256,
        attention__key_length_mla_swa=128, attention__value_length_mla_swa=64, attention__key_length_swa=320,
        attention__value_length_swa=256, attention__sliding_window=512, attention__sliding_window_pattern=slides,
        attention__indexer__types=[not slide for slide in slides], rope__freq_base_swa=10000.0, expert_count=experts,
        expert_used_count=8, expert_feed_forward_length=ff,
    ) | _MLA_SETTINGS | _INDEXER_SETTINGS  # fmt: skip
    add_settings(writer, "dots3note", "dots3-note (sparse header)", settings)
    outer(writer, width, 152064)
    for i, slide in enumerate(slides):
        blk, rank, nope, value = f"blk.{i}.", 256 if slide else 512, 64 if slide else 128, 64 if slide else 128
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        matrix(writer, f"{blk}attn_q_a.weight", width, q_rank)
        vector(writer, f"{blk}attn_q_a_norm.weight", q_rank)
        matrix(writer, f"{blk}attn_q_b.weight", q_rank, heads * (nope + 64))
        matrix(writer, f"{blk}attn_kv_a_mqa.weight", width, rank + 64)
        vector(writer, f"{blk}attn_kv_a_norm.weight", rank)
        vector(writer, f"{blk}attn_k_norm.weight", 64)
        matrix(writer, f"{blk}attn_k_b.weight", nope, rank, heads)
        matrix(writer, f"{blk}attn_v_b.weight", rank, value, heads)
        matrix(writer, f"{blk}attn_output.weight", heads * value, width)
        matrix(writer, f"{blk}attn_gate.weight", width, heads)
        if not slide:
            _indexer(writer, blk, width, q_rank)
        if i == 0:
            dense(writer, blk, width, 10240)
        else:
            _experts(writer, blk, width, ff, experts)


def ling3_flash(writer: GgufWriter) -> None:
    """Ling-3.0-flash 124B-A5B (bailingmoe3): delta attention, every sixth block MLA with a gate per head."""
    blocks, width, heads, experts, ff = 42, 2560, 32, 512, 512
    latent = {i for i in range(blocks) if (i + 1) % 6 == 0}
    settings = _settings(
        blocks, width, 6144, heads, 1, attention__q_lora_rank=1536, ssm__conv_kernel=4, kda__head_dim=128,
        kda__gate_lower_bound=-5.0, expert_count=experts, expert_used_count=8, expert_feed_forward_length=ff,
    ) | _MLA_SETTINGS  # fmt: skip
    settings["attention.head_count_kv"] = [1 if i in latent else 0 for i in range(blocks)]
    add_settings(writer, "bailingmoe3", "Ling-3.0-flash (sparse header)", settings)
    outer(writer, width, 157184)
    for i in range(blocks):
        blk, inner = f"blk.{i}.", 128 * heads
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        if i in latent:
            _mla(writer, blk, width, heads, 1536, gate=heads)
        else:
            for part in "qkv":
                vector(writer, f"{blk}ssm_conv1d_{part}.weight", 4, 1, inner, 1)
            qkv(writer, blk, width, inner, inner, inner)
            matrix(writer, f"{blk}ssm_f_a.weight", width, inner)
            matrix(writer, f"{blk}ssm_beta.weight", width, heads)
            vector(writer, f"{blk}ssm_a", 1, heads)
            vector(writer, f"{blk}ssm_dt.bias", inner)
            matrix(writer, f"{blk}ssm_g_a.weight", width, inner)
            vector(writer, f"{blk}ssm_norm.weight", 128)
            matrix(writer, f"{blk}attn_output.weight", inner, width)
        if i == 0:
            dense(writer, blk, width, 6144)
        else:
            _experts(writer, blk, width, ff, experts)


def deepseek_v4_flash(writer: GgufWriter) -> None:
    """DeepSeek-V4-Flash: four residual rows, a window and compressed rows in the cache, indexers.

    Its graph is not mirrored: it stands for what is only estimated.
    """
    blocks, width, heads, experts, ff, q_rank, length = 43, 4096, 64, 256, 2048, 1024, 512
    ratios = [0 if i < 2 else 4 if i % 2 == 0 else 128 for i in range(blocks)]
    settings = _settings(
        blocks, width, ff, heads, 1, attention__q_lora_rank=q_rank, attention__key_length=length,
        attention__value_length=length, rope__dimension_count=64, attention__sliding_window=128, expert_count=experts,
        expert_used_count=6, expert_feed_forward_length=ff, attention__indexer__head_count=64,
        attention__indexer__key_length=128, attention__indexer__top_k=512, attention__output_group_count=8,
        attention__output_lora_rank=1024, attention__compress_rope_freq_base=160000.0, hyper_connection__count=4,
        hyper_connection__sinkhorn_iterations=20, hyper_connection__epsilon=1e-6, hash_layer_count=3,
        swiglu_clamp_exp=10.0, attention__compress_ratios=ratios, expert_gating_func=4, leading_dense_block_count=0,
    )  # fmt: skip
    add_settings(writer, "deepseek4", "DeepSeek-V4-Flash (sparse header)", settings)
    outer(writer, width, 129280)
    vector(writer, "output_hc_fn.weight", 4 * width, 4)
    vector(writer, "output_hc_base.weight", 4)
    vector(writer, "output_hc_scale.weight", 1)
    for i, ratio in enumerate(ratios):
        blk = f"blk.{i}."
        norms(writer, blk, width, "attn_norm", "ffn_norm")
        vector(writer, f"{blk}attn_sinks.weight", heads)
        matrix(writer, f"{blk}attn_q_a.weight", width, q_rank)
        vector(writer, f"{blk}attn_q_a_norm.weight", q_rank)
        matrix(writer, f"{blk}attn_q_b.weight", q_rank, heads * length)
        matrix(writer, f"{blk}attn_kv.weight", width, length)
        vector(writer, f"{blk}attn_kv_a_norm.weight", length)
        matrix(writer, f"{blk}attn_output_a.weight", heads * length // 8, 1024 * 8)
        matrix(writer, f"{blk}attn_output_b.weight", 8 * 1024, width)
        for part in ("attn", "ffn"):
            vector(writer, f"{blk}hc_{part}_fn.weight", 4 * width, 24)
            vector(writer, f"{blk}hc_{part}_base.weight", 24)
            vector(writer, f"{blk}hc_{part}_scale.weight", 3)
        if ratio:
            _compressor(writer, f"{blk}attn_compressor", width, length, ratio)
        if ratio == 4:
            vector(writer, f"{blk}indexer.proj.weight", width, 64)
            matrix(writer, f"{blk}indexer.attn_q_b.weight", q_rank, 64 * 128)
            _compressor(writer, f"{blk}indexer_compressor", width, 128, ratio)
        experts_of(writer, blk, width, ff, experts)
        if i < 3:
            writer.add_tensor(f"{blk}ffn_gate_tid2eid.weight", (6, 129280), "I32")
        else:
            vector(writer, f"{blk}exp_probs_b.bias", experts)
        dense(writer, blk, width, ff, "_shexp")


def _compressor(writer: GgufWriter, start: str, width: int, length: int, ratio: int) -> None:
    rows = length * (2 if ratio == 4 else 1)
    matrix(writer, f"{start}_kv.weight", width, rows)
    matrix(writer, f"{start}_gate.weight", width, rows)
    vector(writer, f"{start}_ape.weight", rows, ratio)
    vector(writer, f"{start}_norm.weight", length)


RARE = {
    "minimax-m3": minimax_m3,
    "kimi-k3": kimi_k3,
    "hy4": hy4,
    "glm-5.3-flash": glm53_flash,
    "dots3-note": dots3_note,
    "ling-3.0-flash": ling3_flash,
    "deepseek-v4-flash": deepseek_v4_flash,
}
