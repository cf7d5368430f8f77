"""Sparse models of the architectures whose blocks have the common form: attention, then experts; a table of sizes.

As in ``sparse_architectures``: names and shapes from src/models/*.cpp, sizes of the public models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.model.gguf_writer import GgufWriter
from tests.tools.sparse_parts import Setting, add_settings, dense, experts_of, matrix, norms, outer, qkv, vector


@dataclass(frozen=True)
class Common:
    """One model. ``ff``: width of dense blocks, ``expert_ff`` of one routed expert, ``shared_ff`` of all shared ones.

    ``lead``: dense blocks in front. ``qk_norms``: "" none, "head" over one head, "row" over all. ``router_bias``: its
    tensor's name after the block. ``slides``: block -> does it slide? ``also``: what else a block has.
    """

    architecture: str
    title: str
    blocks: int
    width: int
    heads: int
    heads_kv: int
    vocab: int
    ff: int
    experts: int = 0
    used: int = 0
    expert_ff: int = 0
    shared_ff: int = 0
    lead: int = 0
    head: int = 128
    value: int = 0
    qk_norms: str = ""
    router_bias: str = ""
    block_norms: tuple[str, ...] = ("attn_norm", "ffn_norm")
    joint_qkv: bool = False
    tied: bool = False
    also: Callable[[GgufWriter, str, Common, int], None] | None = None
    more: Mapping[str, Setting] = field(default_factory=dict)


def _settings(model: Common) -> dict[str, Setting]:
    settings: dict[str, Setting] = {
        "block_count": model.blocks,
        "context_length": 131072,
        "embedding_length": model.width,
        "feed_forward_length": model.ff,
        "attention.head_count": model.heads,
        "attention.head_count_kv": model.heads_kv,
        "attention.key_length": model.head,
        "attention.value_length": model.value or model.head,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1000000.0,
        "rope.dimension_count": model.head,
    }
    if model.experts:
        settings |= {"expert_count": model.experts, "expert_used_count": model.used}
    if model.expert_ff:
        settings["expert_feed_forward_length"] = model.expert_ff
    if model.lead:
        settings["leading_dense_block_count"] = model.lead
    if "attention.layer_norm_epsilon" in model.more:
        del settings["attention.layer_norm_rms_epsilon"]
    return settings | dict(model.more)


def _attention(writer: GgufWriter, blk: str, model: Common) -> None:
    q, k = model.heads * model.head, model.heads_kv * model.head
    v = model.heads_kv * (model.value or model.head)
    if model.joint_qkv:
        matrix(writer, f"{blk}attn_qkv.weight", model.width, q + k + v)
    else:
        qkv(writer, blk, model.width, q, k, v)
    matrix(writer, f"{blk}attn_output.weight", model.heads * (model.value or model.head), model.width)
    if model.qk_norms == "head":
        norms(writer, blk, model.head, "attn_q_norm", "attn_k_norm")
    elif model.qk_norms == "row":
        norms(writer, blk, q, "attn_q_norm")
        norms(writer, blk, k, "attn_k_norm")


def write_common(writer: GgufWriter, model: Common) -> None:
    """All tensors and settings of the model."""
    add_settings(writer, model.architecture, f"{model.title} (sparse header)", _settings(model))
    outer(writer, model.width, model.vocab, tied=model.tied)
    for i in range(model.blocks):
        blk = f"blk.{i}."
        norms(writer, blk, model.width, *model.block_norms)
        _attention(writer, blk, model)
        if i < model.lead or not model.experts:
            dense(writer, blk, model.width, model.ff)
        else:
            experts_of(writer, blk, model.width, model.expert_ff or model.ff, model.experts)
            if model.router_bias:
                vector(writer, blk + model.router_bias, model.experts)
            if model.shared_ff:
                dense(writer, blk, model.width, model.shared_ff, "_shexp")
        if model.also is not None:
            model.also(writer, blk, model, i)


def _biases(writer: GgufWriter, blk: str, model: Common, block: int) -> None:
    """Phi-3.5-MoE: layer norms with biases."""
    for name in ("attn_norm", "ffn_norm", "attn_output"):
        vector(writer, f"{blk}{name}.bias", model.width)
    if block == 0:
        vector(writer, "output_norm.bias", model.width)
        vector(writer, "output.bias", model.vocab)


def _chunked(writer: GgufWriter, blk: str, model: Common, block: int) -> None:
    """GroveMoE: one adjugate expert for each group of experts."""
    for part, shape in (("gate", (model.width, 128)), ("up", (model.width, 128)), ("down", (128, model.width))):
        matrix(writer, f"{blk}ffn_{part}_chexps.weight", *shape, model.experts // 2)


def _residual_ffn(writer: GgufWriter, blk: str, model: Common, block: int) -> None:
    """Arctic: a dense FFN as wide as the model beside the experts."""
    dense(writer, blk, model.width, model.width)


def _sinks(writer: GgufWriter, blk: str, model: Common, block: int) -> None:
    vector(writer, f"{blk}attn_sinks.weight", model.heads)


def _head_gate(writer: GgufWriter, blk: str, model: Common, block: int) -> None:
    matrix(writer, f"{blk}attn_gate.weight", model.width, model.heads)


def _every(n: int, period: int) -> list[bool]:
    """Which of n blocks slide: all but every ``period``th."""
    return [(i + 1) % period != 0 for i in range(n)]


_SIGMOID: dict[str, Setting] = {"expert_gating_func": 2, "expert_weights_norm": True}
_BIAS = "exp_probs_b.bias"

NEEDS_PLAIN_CACHE = frozenset({"grok-1"})
"""Without flash attention the engine takes no quantised V cache."""

COMMON: dict[str, Common] = {
    "qwen3-8b": Common("qwen3", "Qwen3-8B", 36, 4096, 32, 8, 151936, 12288, qk_norms="head"),
    "llama3-8b": Common("llama", "Llama-3.1-8B", 32, 4096, 32, 8, 128256, 14336),
    "dots1": Common(
        "dots1", "dots.llm1", 62, 4096, 32, 32, 152064, 10944, 128, 6, 1408, 2816, 1, qk_norms="head",
        router_bias=_BIAS, more=_SIGMOID | {"expert_shared_count": 2, "expert_weights_scale": 2.5},
    ),
    "ernie45-21b": Common(
        "ernie4_5-moe", "ERNIE-4.5-21B-A3B", 28, 2560, 20, 4, 103424, 12288, 64, 6, 1536, 3072, 1, router_bias=_BIAS,
        tied=True, more={"expert_shared_feed_forward_length": 3072, "interleave_moe_layer_step": 1},
    ),
    "hunyuan-a13b": Common(
        "hunyuan-moe", "Hunyuan-A13B", 32, 4096, 32, 8, 128167, 3072, 64, 8, 3072, 3072, qk_norms="head", tied=True,
        more={"expert_shared_feed_forward_length": 3072},
    ),
    "olmoe-7b": Common("olmoe", "OLMoE-1B-7B", 16, 2048, 16, 16, 50304, 1024, 64, 8, qk_norms="row"),
    "phi35-moe": Common("phimoe", "a Phi with experts", 32, 4096, 32, 8, 32064, 6400, 16, 2, also=_biases),
    "ling-lite": Common(
        "bailingmoe", "Ling-lite", 28, 2048, 16, 4, 126464, 5632, 64, 6, 1408, 2816, more={"expert_shared_count": 2}
    ),
    "deepseek-moe": Common(
        "deepseek", "DeepSeek-MoE-16B", 28, 2048, 16, 16, 102400, 10944, 64, 6, 1408, 2816, 1,
        more={"expert_shared_count": 2, "expert_weights_scale": 1.0},
    ),
    "arctic": Common(
        "arctic", "Snowflake Arctic", 35, 7168, 56, 8, 32000, 4864, 128, 2, also=_residual_ffn,
        block_norms=("attn_norm", "ffn_norm", "ffn_norm_exps"),
    ),
    "dbrx": Common(
        "dbrx", "DBRX", 40, 6144, 48, 8, 100352, 10752, 16, 4, joint_qkv=True,
        block_norms=("attn_norm", "attn_output_norm"),
        more={"attention.layer_norm_epsilon": 1e-5, "attention.clamp_kqv": 8.0},
    ),
    "granite3-moe": Common(
        "granitemoe", "Granite-3.1-3B-A800M", 32, 1536, 24, 8, 49155, 512, 40, 8, head=64, tied=True,
        more={"logit_scale": 6.0, "residual_scale": 0.22, "embedding_scale": 12.0, "attention.scale": 0.015625},
    ),
    "grok-1": Common(
        "grok", "two blocks of Grok-1", 2, 6144, 48, 8, 131072, 32768, 8, 2, tied=True,
        block_norms=("attn_norm", "attn_output_norm", "ffn_norm", "layer_output_norm"),
    ),
    "grove": Common(
        "grovemoe", "GroveMoE", 48, 2048, 32, 4, 151936, 6144, 128, 8, 768, qk_norms="head", also=_chunked,
        more={"expert_group_scale": 0.05, "experts_per_group": 2, "expert_chunk_feed_forward_length": 128},
    ),
    "k-exaone": Common(
        "exaone-moe", "K-EXAONE-236B", 48, 6144, 64, 8, 153600, 18432, 128, 8, 2048, 2048, 1, qk_norms="head",
        router_bias=_BIAS,
        more=_SIGMOID | {
            "attention.sliding_window": 128, "attention.sliding_window_pattern": _every(48, 4),
            "expert_shared_count": 1, "expert_weights_scale": 2.5,
        },
    ),
    "hy3": Common(
        "hy_v3", "Hy3", 80, 4096, 64, 8, 120832, 13312, 192, 8, 1536, 1536, 1, qk_norms="head",
        router_bias="exp_probs_b", more=_SIGMOID | {"expert_shared_feed_forward_length": 1536},
    ),
    "laguna-m1": Common(
        "laguna", "Laguna", 40, 2048, 48, 8, 100352, 8192, 256, 8, 512, 512, 1, qk_norms="head", router_bias=_BIAS,
        also=_head_gate, more=_SIGMOID | {"expert_shared_feed_forward_length": 512},
    ),
    "mellum2": Common(
        "mellum", "Mellum 2", 28, 2304, 32, 4, 98304, 7168, 64, 8, 896, qk_norms="head",
        more={"attention.sliding_window": 1024, "attention.sliding_window_pattern": _every(28, 4)},
    ),
    "maple": Common(
        "maple", "Maple", 32, 2048, 32, 4, 131072, 6144, 128, 8, 768, qk_norms="head",
        more={
            "attention.sliding_window": 1024, "attention.sliding_window_pattern": _every(32, 4), "swiglu_clamp_exp": 7.0
        },
    ),
    "mimo-v2-flash": Common(
        "mimo2", "MiMo-V2-Flash", 48, 4096, 64, 8, 152576, 16384, 256, 8, 2048, lead=1, head=192, value=128,
        router_bias=_BIAS, also=_sinks,
        more={"attention.sliding_window": 128, "attention.sliding_window_pattern": _every(48, 6)},
    ),
    "qwen3vl-30b": Common(
        "qwen3vlmoe", "Qwen3-VL-30B-A3B", 48, 2048, 32, 4, 151936, 6144, 128, 8, 768, qk_norms="head",
        more={"rope.dimension_sections": [24, 20, 20, 0], "n_deepstack_layers": 3},
    ),
    "smallthinker-21b": Common(
        "smallthinker", "SmallThinker-21B-A3B", 52, 2560, 28, 4, 151936, 768, 64, 6, 768,
        more={"attention.sliding_window": 4096, "expert_gating_func": 2},
    ),
    "mistral-moe": Common("mistral3", "a Mistral 3 with experts", 32, 4096, 32, 8, 131072, 14336, 8, 2, tied=True),
    "command-moe": Common(
        "cohere2moe", "a Cohere 2 with experts", 32, 4096, 32, 8, 255000, 12288, 64, 8, 1536, 1536, 1, tied=True,
        block_norms=("attn_norm",),
        more=_SIGMOID | {
            "attention.sliding_window": 4096, "logit_scale": 0.25, "attention.layer_norm_epsilon": 1e-5,
            "expert_shared_count": 1,
        },
    ),
    "deepseek-ocr": Common(
        "deepseek2-ocr", "DeepSeek-OCR", 12, 1280, 10, 10, 129280, 6848, 64, 6, 896, 1792, 1,
        more={"expert_shared_count": 2, "expert_weights_scale": 1.0, "rope.freq_base": 10000.0},
    ),
    "minicpm-moe": Common("minicpm", "MiniCPM-MoE-8x2B", 40, 2304, 36, 36, 122753, 5760, 8, 2, head=64),
    "granite-dense": Common(
        "granite", "Granite-3.3-8B", 40, 4096, 32, 8, 49159, 12800, tied=True,
        more={"logit_scale": 16.0, "residual_scale": 0.22, "embedding_scale": 12.0, "attention.scale": 0.0078125},
    ),
    "granite-swa": Common(
        "granite_swa", "a Granite with a window and experts", 32, 1536, 24, 8, 49155, 512, 40, 8, head=64, tied=True,
        also=_sinks,
        more={
            "logit_scale": 6.0, "residual_scale": 0.22, "embedding_scale": 12.0, "attention.scale": 0.015625,
            "attention.sliding_window": 1024, "attention.sliding_window_pattern": _every(32, 4),
        },
    ),
}  # fmt: skip
"""Name of the sparse model -> its sizes."""
