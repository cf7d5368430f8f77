"""Names and shapes (ggml order) of the tensors of a case's model, as its architecture has them in mainline files."""

import json
from pathlib import Path

from app.model.types import LayerFacts
from benchmarks.cases import Case

Shape = tuple[int, ...]
_NAMES: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[1] / "tests" / "data" / "planner" / "arch_tensor_names.json").read_text("utf-8")
)
_GATED_QUERY = frozenset({"qwen3next", "qwen35", "qwen35moe", "qwen4exp"})
"""attn_q holds the query and its gate (qwen3next.cpp)."""
_GATED_SHARED = frozenset({"qwen2moe", "qwen3next", "qwen35moe", "qwen4exp"})
"""The shared expert has a gate of its own (qwen2moe.cpp)."""
_SHORT_CONVOLUTION = frozenset({"lfm2", "lfm2moe"})
_MAMBA2 = frozenset({"granitehybrid", "nemotron_h", "nemotron_h_moe"})
_DELTA_NET = frozenset({"qwen3next", "qwen35", "qwen35moe", "qwen4exp"})
_KDA = frozenset({"kimi-linear", "bailingmoe3"})
_NO_HEAD_NORM_BELOW = {"glm4moe": 5120}
"""GLM-4.5-Air has no norms of q and k, its larger sisters do (attn_q_norm is optional in glm4-moe.cpp)."""
_UNGATED_EXPERTS = frozenset({"nemotron_h_moe"})
DEFAULT_L_CACHE = 3
"""Width of LFM2's short convolution."""
DEFAULT_KDA_HEAD = 128
"""Head size of Kimi Delta Attention in Kimi-Linear and Ling 3."""


def is_short_convolution(arch: str) -> bool:
    """LFM2 and its MoE sister."""
    return arch in _SHORT_CONVOLUTION


def is_kda(arch: str) -> bool:
    """Hybrids with Kimi Delta Attention."""
    return arch in _KDA


def is_recurrent_hybrid(case: Case) -> bool:
    """Do the blocks without a cache keep a recurrent state?"""
    known = _SHORT_CONVOLUTION | _MAMBA2 | _DELTA_NET | _KDA
    return case.arch in known or bool(case.facts.get("ssm"))


def mla_lengths(case: Case) -> tuple[int, int]:
    """Head lengths before the absorption; a header with absorbed lengths leaves them to DeepSeek's 192 and 128."""
    key, value = case.fact("head_k"), case.fact("head_v")
    is_absorbed = key == case.fact("kv_lora_rank") + case.fact("rope_dim", 64)
    return (192, 128) if is_absorbed or not key else (key, value)


def tensors_of(case: Case, layers: tuple[LayerFacts, ...], *, is_plain: bool) -> list[tuple[str, Shape]]:
    """All tensors. ``is_plain``: ordinary attention in every block, whatever the architecture."""
    embd, vocab = case.fact("n_embd"), case.fact("n_vocab")
    named: list[tuple[str, Shape]] = [("token_embd.weight", (embd, vocab)), ("output_norm.weight", (embd,))]
    if not case.facts.get("tied_output"):
        named.append(("output.weight", (embd, vocab)))
    has = frozenset() if is_plain else _block_names(case.arch)
    for i, layer in enumerate(layers):
        mixer = _grouped_query(case, layer, has) if is_plain else _mixer(case, layer, has)
        block = {"attn_norm.weight": (embd,), **mixer, **_feed_forward(case, i, has)}
        named += [(f"blk.{i}.{name}", shape) for name, shape in block.items()]
        if i >= case.n_layers - case.n_mtp:
            named.append((f"blk.{i}.nextn.eh_proj.weight", (2 * embd, embd)))
    return named


def _block_names(arch: str) -> frozenset[str]:
    """Tensors a block of the architecture may have."""
    return frozenset(_NAMES.get(arch, ()))


def _mixer(case: Case, layer: LayerFacts, has: frozenset[str]) -> dict[str, Shape]:
    """Attention of one block: MLA, grouped queries, or a recurrent mixer."""
    if layer.recurrent:
        return _recurrent(case, layer, has)
    if case.facts.get("kv_lora_rank"):
        return _mla(case, layer)
    return _grouped_query(case, layer, has)


def _grouped_query(case: Case, layer: LayerFacts, has: frozenset[str]) -> dict[str, Shape]:
    embd, heads = case.fact("n_embd"), layer.head_count
    is_gated = bool(has) and case.arch in _GATED_QUERY
    kv_heads = layer.head_count_kv or case.fact("n_head_kv", 1)
    found: dict[str, Shape] = {
        "attn_q.weight": (embd, heads * layer.key_length * (2 if is_gated else 1)),
        "attn_k.weight": (embd, kv_heads * layer.key_length),
        "attn_v.weight": (embd, kv_heads * layer.value_length),
        "attn_output.weight": (heads * layer.value_length, embd),
    }
    optional: dict[str, Shape] = {
        "attn_sinks.weight": (heads,),
        "post_attention_norm.weight": (embd,),
        "post_ffw_norm.weight": (embd,),
    }
    if embd >= _NO_HEAD_NORM_BELOW.get(case.arch, 0):
        optional |= {"attn_q_norm.weight": (layer.key_length,), "attn_k_norm.weight": (layer.key_length,)}
    return found | {name: shape for name, shape in optional.items() if name in has}


def _mla(case: Case, layer: LayerFacts) -> dict[str, Shape]:
    """Either the two halves of kv_b (cached as c^KV), or the whole matrix; files for ik keep all three."""
    embd, latent, rope = case.fact("n_embd"), case.fact("kv_lora_rank"), case.fact("rope_dim", 64)
    heads = layer.head_count
    key, value = mla_lengths(case)
    found: dict[str, Shape] = {
        "attn_kv_a_mqa.weight": (embd, latent + rope),
        "attn_kv_a_norm.weight": (latent,),
        "attn_output.weight": (heads * value, embd),
    }
    is_absorbed = layer.head_count_kv == 1 and layer.value_length == 0
    if is_absorbed or case.is_ik:
        found |= {"attn_k_b.weight": (key - rope, latent, heads), "attn_v_b.weight": (latent, value, heads)}
    if not is_absorbed or case.is_ik:
        found["attn_kv_b.weight"] = (latent, heads * (key - rope + value))
    if embd < 4096:  # the small DeepSeeks project the query at once (deepseek2.cpp, is_lite)
        return found | {"attn_q.weight": (embd, heads * key)}
    return found | {
        "attn_q_a.weight": (embd, 1536),
        "attn_q_a_norm.weight": (1536,),
        "attn_q_b.weight": (1536, heads * key),
    }


def _recurrent(case: Case, layer: LayerFacts, has: frozenset[str]) -> dict[str, Shape]:
    embd, ssm = case.fact("n_embd"), case.facts.get("ssm") or {}
    if case.arch in _SHORT_CONVOLUTION:
        return {
            "shortconv.conv.weight": (int(ssm.get("l_cache") or DEFAULT_L_CACHE), embd),
            "shortconv.in_proj.weight": (embd, 3 * embd),
            "shortconv.out_proj.weight": (embd, embd),
        }
    inner, state, groups = (int(ssm.get(k) or 0) for k in ("d_inner", "d_state", "n_group"))
    rank, conv = int(ssm.get("dt_rank") or 0), int(ssm.get("d_conv") or 0)
    if case.arch in _MAMBA2 and inner and rank:
        return _mamba2(embd, inner, state, groups, rank, conv)
    if inner and rank:
        return _delta_net(case, inner, state, groups, rank, conv)
    width = layer.head_count * layer.key_length or embd
    return {"attn_qkv.weight": (embd, 3 * width), "attn_output.weight": (width, embd)}


def _delta_net(case: Case, inner: int, state: int, groups: int, rank: int, conv: int) -> dict[str, Shape]:
    embd, channels = case.fact("n_embd"), inner + 2 * groups * state
    found: dict[str, Shape] = {
        "attn_qkv.weight": (embd, channels),
        "attn_gate.weight": (embd, inner),
        "ssm_conv1d.weight": (conv, channels),
        "ssm_a": (rank,),
        "ssm_dt.bias": (rank,),
        "ssm_norm.weight": (inner // rank,),
        "ssm_out.weight": (inner, embd),
        "post_attention_norm.weight": (embd,),
    }
    if case.arch == "qwen3next":
        return found | {"ssm_ba.weight": (embd, 2 * rank)}
    return found | {"ssm_alpha.weight": (embd, rank), "ssm_beta.weight": (embd, rank)}


def _mamba2(embd: int, inner: int, state: int, groups: int, rank: int, conv: int) -> dict[str, Shape]:
    channels = inner + 2 * groups * state
    return {
        "ssm_in.weight": (embd, inner + channels + rank),
        "ssm_conv1d.weight": (conv, channels),
        "ssm_conv1d.bias": (channels,),
        "ssm_dt.bias": (rank,),
        "ssm_a": (1, rank),
        "ssm_d": (1, rank),
        "ssm_norm.weight": (inner // max(1, groups), groups),
        "ssm_out.weight": (inner, embd),
    }


def _feed_forward(case: Case, block: int, has: frozenset[str]) -> dict[str, Shape]:
    embd, experts = case.fact("n_embd"), case.fact("n_expert")
    # a block whose norm before the FFN is called post_attention_norm has no ffn_norm (qwen3next, gpt-oss)
    found: dict[str, Shape] = {} if has and "ffn_norm.weight" not in has else {"ffn_norm.weight": (embd,)}
    if not experts or block < case.fact("n_dense_lead"):
        return found | _dense(embd, case.fact("n_ff"))
    width = case.fact("n_ff_exp")
    found |= {
        "ffn_gate_inp.weight": (embd, experts),
        "ffn_up_exps.weight": (embd, width, experts),
        "ffn_down_exps.weight": (width, embd, experts),
    }
    if case.arch not in _UNGATED_EXPERTS:
        found["ffn_gate_exps.weight"] = (embd, width, experts)
    if "ffn_down_exps.bias" in has:
        found |= {"ffn_gate_exps.bias": (width, experts), "ffn_up_exps.bias": (width, experts)}
        found |= {"ffn_down_exps.bias": (embd, experts)}
    if "exp_probs_b.bias" in has:
        found["exp_probs_b.bias"] = (experts,)
    if case.arch.startswith("gemma4"):  # a dense FFN beside the experts in every block
        found |= _dense(embd, case.fact("n_ff"))
    return found | _shared(case, embd, case.fact("n_expert_shared") * width)


def _shared(case: Case, embd: int, width: int) -> dict[str, Shape]:
    if not width:
        return {}
    found: dict[str, Shape] = {
        "ffn_gate_shexp.weight": (embd, width),
        "ffn_up_shexp.weight": (embd, width),
        "ffn_down_shexp.weight": (width, embd),
    }
    return found | ({"ffn_gate_inp_shexp.weight": (embd,)} if case.arch in _GATED_SHARED else {})


def _dense(embd: int, width: int) -> dict[str, Shape]:
    return {"ffn_gate.weight": (embd, width), "ffn_up.weight": (embd, width), "ffn_down.weight": (width, embd)}
