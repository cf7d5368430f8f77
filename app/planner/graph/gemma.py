"""Gemma 4: a dense FFN beside the experts, each with norms of its own, and a router that reads the raw row.

Mirrors gemma4.cpp of b11434, per-layer embeddings included.
"""

from __future__ import annotations

from app.planner.graph.attention import attend
from app.planner.graph.build import Build
from app.planner.graph.ffn import Routing, dense, routed
from app.planner.graph.ggml import Tensor, cont, get_rows, leaf, like, mul_mat, permute, reshape, shape, view


def gemma4_block(b: Build, x: Tensor, number: int, per_layer: Tensor | None) -> Tensor:
    """One block; ``per_layer``: this model's per-layer input rows, None where it has none."""
    blk = f"blk.{number}."
    cur = _attention(b, b.norm(x, b.weight(f"{blk}attn_norm.weight")), number)
    residual = like("add", b.norm(cur, b.weight(f"{blk}post_attention_norm.weight")), x)
    cur = _feed_forward(b, residual, number)
    cur = like("add", b.norm(cur, b.weight(f"{blk}post_ffw_norm.weight")), residual)
    if per_layer is not None and b.weight(f"{blk}inp_gate.weight") is not None:
        gate = like("unary", b.project(cur, f"{blk}inp_gate.weight"))
        mine = like("mul", gate, view(per_layer, gate.ne))
        mine = b.norm(b.project(mine, f"{blk}proj.weight"), b.weight(f"{blk}post_norm.weight"))
        cur = like("add", cur, mine)
    scale = b.weight(f"{blk}layer_output_scale.weight")
    return cur if scale is None else like("mul", cur, scale)


def _attention(b: Build, x: Tensor, number: int) -> Tensor:
    """V is the raw K where the file has no attn_v; blocks without a cache of their own read an earlier one."""
    blk, n, layer = f"blk.{number}.", b.n_tokens, b.model.layers[number]
    length = b.need(f"{blk}attn_q_norm.weight").ne[0]
    q = reshape(b.project(x, f"{blk}attn_q.weight"), length, layer.head_count, n)
    q = like("rope", b.norm(q, b.weight(f"{blk}attn_q_norm.weight")), b.positions)
    if not layer.head_count_kv:
        return attend(b, number, q, None, None, f"{blk}attn_output.weight", v_first=False)
    raw_k = b.project(x, f"{blk}attn_k.weight")
    raw_v = raw_k if b.weight(f"{blk}attn_v.weight") is None else b.project(x, f"{blk}attn_v.weight")
    k = b.norm(reshape(raw_k, length, layer.head_count_kv, n), b.weight(f"{blk}attn_k_norm.weight"))
    v = like("rms_norm", reshape(raw_v, length, layer.head_count_kv, n))
    k = like("rope", k, b.positions)
    return attend(b, number, q, k, v, f"{blk}attn_output.weight", v_first=False)


def _feed_forward(b: Build, x: Tensor, number: int) -> Tensor:
    blk = f"blk.{number}."
    plain = dense(b, b.norm(x, b.weight(f"{blk}ffn_norm.weight")), blk)
    if b.weight(f"{blk}ffn_gate_inp.weight") is None:
        return plain
    plain = b.norm(plain, b.weight(f"{blk}post_ffw_norm_1.weight"))
    rows = b.norm(x, b.weight(f"{blk}pre_ffw_norm_2.weight"))
    seen = like("mul", like("scale", like("rms_norm", x)), b.need(f"{blk}ffn_gate_inp.scale"))
    logits = mul_mat(b.need(f"{blk}ffn_gate_inp.weight"), seen)
    chosen = b.norm(routed(b, rows, number, Routing(), logits), b.weight(f"{blk}post_ffw_norm_2.weight"))
    return like("add", plain, chosen)


def per_layer_inputs(b: Build, x: Tensor) -> Tensor | None:
    """One narrow row per token and block, looked up and projected before the first block."""
    table = b.weight("per_layer_token_embd.weight")
    if table is None:
        return None
    n, blocks = b.n_tokens, b.model.block_count
    width = table.ne[0] // blocks
    looked_up = like("scale", reshape(get_rows(table, leaf(shape(n), 4)), width, blocks, n))
    b.graph.expand(looked_up)
    projected = reshape(like("scale", mul_mat(b.need("per_layer_model_proj.weight"), x)), width, blocks, n)
    projected = b.norm(projected, b.weight("per_layer_proj_norm.weight"))
    both = like("scale", like("add", projected, looked_up))
    return cont(permute(both, (width, n, blocks, 1)))
