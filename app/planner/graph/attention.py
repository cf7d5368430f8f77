"""Attention blocks: grouped-query attention in its variants, and MLA.

Mirrors ``build_qkv`` (llama-graph.cpp:1684), ``build_attn`` (:2943, :3056, :3190) and ``build_attn_mha`` (:2691).
"""

from __future__ import annotations

from app.planner.graph.build import Build, Caches, cache_rows, cache_view
from app.planner.graph.ggml import F16, Tensor, cont, like, mul_mat, new, permute, reshape, view, window, written


def rotated(x: Tensor, rot: Tensor | None) -> Tensor:
    """llama_mul_mat_hadamard (llama-impl.h:57)."""
    if rot is None:
        return x
    n = rot.ne[0]
    rows = x.ne[0] * x.ne[1] * x.ne[2] * x.ne[3] // n
    flat = reshape(x, n, rows) if x.is_plain else cont(x, n, rows)
    return reshape(mul_mat(rot, flat), *x.ne)


def attend(
    b: Build, block: int, q: Tensor, k: Tensor | None, v: Tensor | None, output: str, sinks: Tensor | None = None,
    v_first: bool = True, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Rows into the cache, attention over it, and the output projection unless ``output`` is empty."""
    layer = b.model.layers[block]
    caches = b.sliding_cache if layer.sliding else b.cache
    q = rotated(q, caches.k_rot)
    k = rotated(k, caches.k_rot) if k is not None else None
    v = rotated(v, caches.v_rot) if v is not None else None
    for tensor in (q, v, k) if v_first else (q, k, v):
        if tensor is not None:
            b.graph.expand(tensor)
    cached_k, cached_v = store(b, block, caches, k, v)
    cur = attention(b, q, cached_k, cached_v, mask or caches.mask, sinks)
    cur = rotated(cur, caches.v_rot)
    return b.project(cur, output, output.replace(".weight", ".bias")) if output else cur


def store(b: Build, block: int, caches: Caches, k: Tensor | None, v: Tensor | None) -> tuple[Tensor, Tensor]:
    """cpy_k, cpy_v, get_k, get_v (llama-kv-cache.cpp:1299-1424): without flash attention V is kept transposed."""
    layer, s, n_kv = b.model.layers[block], b.s, caches.n_kv
    home = b.homes.caches[block]
    heads = layer.head_count_kv or 1
    k_width, v_width = layer.key_length * heads, layer.value_length * heads
    cache_k = cache_rows(k_width, n_kv, s.cache_type_k, s, home)
    cache_v = cache_rows(v_width if s.flash_attention else b.v_width, n_kv, s.cache_type_v, s, home)
    if k is not None:
        b.graph.expand(written(cache_k, reshape(k, k_width, s.n_tokens), caches.k_idxs, cache_k))
    if v is not None:
        if s.flash_attention:
            rows = reshape(v, v_width, s.n_tokens)
        else:
            rows = v if v.is_plain else cont(v)
            if v_width < b.v_width:  # every row of a transposed cache is as long as the longest
                rows = new("pad", (b.v_width, s.n_tokens, 1, 1), rows)
            rows = reshape(rows, 1, b.v_width * s.n_tokens)
        b.graph.expand(written(cache_v, rows, caches.v_idxs, cache_v))
    seen_k = cache_view(cache_k, (layer.key_length, heads, n_kv, s.n_streams))
    seen_v = cache_view(cache_v, (layer.value_length, heads, n_kv, s.n_streams))
    return seen_k, seen_v


def attention(
    b: Build, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, sinks: Tensor | None,
    v_mla: Tensor | None = None, v_is_k: bool = False,
) -> Tensor:  # fmt: skip
    """build_attn_mha: ``q`` [head, heads, tokens]; ``k``, ``v`` [head, kv heads, cells, streams]."""
    s = b.s
    streams, heads = s.n_streams, q.ne[1]
    per_stream = q.ne[2] // streams
    q = view(q, (q.ne[0], heads, per_stream, streams), is_plain=q.is_plain and streams == 1)
    q = permute(q, (q.ne[0], per_stream, heads, streams))
    k = permute(k, (k.ne[0], k.ne[2], k.ne[1], streams))
    extra = () if sinks is None else (sinks,)
    v_length = v.ne[0]
    if s.flash_attention:
        v = permute(v, (v.ne[0], v.ne[2], v.ne[1], streams))
        cur = new("flash_attn", (v_length, heads, per_stream, streams), q, k, v, mask, *extra)
        cur.scratch = converted_bytes(b, k, None if v_is_k else v)
        if v_mla is not None:
            cur = permute(cur, (v_length, per_stream, heads, streams))
            cur = mul_mat(v_mla, cur)
            cur = cont(permute(cur, (cur.ne[0], heads, per_stream, streams)))
        cur = reshape(cur, cur.ne[0] * heads, per_stream * streams)
    else:
        kq = mul_mat(k, q)
        kq = like("soft_max", kq, mask, *extra)
        if v_is_k:
            v = permute(v, (v.ne[0], v.ne[2], v.ne[1], streams))
            v = cont(permute(v, (v.ne[1], v.ne[0], v.ne[2], streams)))
        else:
            v = permute(v, (v.ne[2], v.ne[0], v.ne[1], streams))
        kqv = mul_mat(v, kq)
        if v_mla is not None:
            kqv = mul_mat(v_mla, kqv)
        cur = cont(permute(kqv, (kqv.ne[0], heads, per_stream, streams)), kqv.ne[0] * heads, per_stream * streams)
    b.graph.expand(cur)
    return cur


def converted_bytes(b: Build, k: Tensor, v: Tensor | None) -> int:
    """CUDA's F16 copies of a cache of another type, behind the result (fattn-common.cuh:53, since #23907)."""
    found = [(k, b.s.cache_type_k), (v, b.s.cache_type_v)]
    return sum(t.ne[0] * t.ne[1] * t.ne[2] * t.ne[3] * F16 for t, kind in found if t is not None and kind != "f16")


def grouped_query(b: Build, x: Tensor, block: int, *, rope: bool = True, v_first: bool = True) -> Tensor:
    """q, k and v of one block, normed and rotated as the file's tensors say, then attention."""
    blk, heads = f"blk.{block}.", b.model.layers[block].head_count
    q, k, v = grouped_projections(b, x, block, rope=rope)
    if b.model.architecture == "llama4":
        q, k = _llama4_scaled(b, q, k, rope)
    sinks = b.weight(f"{blk}attn_sinks.weight")
    if b.weight(f"{blk}attn_gate.weight") is None:
        return attend(b, block, q, k, v, f"{blk}attn_output.weight", sinks, v_first)
    cur = gated(b, attend(b, block, q, k, v, "", sinks, v_first), x, blk, heads)
    return b.project(cur, f"{blk}attn_output.weight")


def grouped_projections(b: Build, x: Tensor, block: int, *, rope: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v by heads, normed and rotated."""
    layer, blk = b.model.layers[block], f"blk.{block}."
    heads, heads_kv = layer.head_count, layer.head_count_kv
    q, k, v = _qkv(b, x, blk, layer.key_length, heads, heads_kv, layer.value_length)
    q = _normed(b, q, f"{blk}attn_q_norm.weight", layer.key_length, heads)
    k = _normed(b, k, f"{blk}attn_k_norm.weight", layer.key_length, heads_kv)
    if v.is_plain:
        v = reshape(v, layer.value_length, heads_kv, b.n_tokens)
    if rope:
        q, k = like("rope", q, b.positions), like("rope", k, b.positions)
    return q, k, v


def gated(b: Build, cur: Tensor, x: Tensor, blk: str, heads: int) -> Tensor:
    """The result times a squashed gate of its own matrix, one per element (afmoe.cpp) or per head (step35.cpp)."""
    weight = b.weight(f"{blk}attn_gate.weight")
    if weight is None:
        return cur
    gate = mul_mat(weight, x)
    if gate.ne[0] != heads:
        return like("mul", cur, like("unary", gate))
    cuts_first = b.model.architecture == "bailingmoe3"
    if cuts_first:  # it cuts the gate into heads before it squashes it
        gate = like("unary", reshape(gate, 1, heads, b.n_tokens))
    else:
        gate = reshape(like("unary", gate), 1, heads, b.n_tokens)
    rows = like("mul", reshape(cur, cur.ne[0] // heads, heads, b.n_tokens), gate)
    return cont(rows, cur.ne[0], b.n_tokens) if cuts_first else reshape(rows, cur.ne[0], b.n_tokens)


def _llama4_scaled(b: Build, q: Tensor, k: Tensor, rope: bool) -> tuple[Tensor, Tensor]:
    """Blocks with positions norm q and k afterwards, the others scale q by the token's distance (llama4.cpp)."""
    if rope:
        return like("rms_norm", q), like("rms_norm", k)
    return like("mul", q, b.temperature), k


def _normed(b: Build, x: Tensor, name: str, length: int, heads: int) -> Tensor:
    """Head norms come after the rows are cut into heads; a norm over the whole row comes before."""
    weight = b.weight(name)
    if weight is not None and weight.ne[0] != length and x.is_plain:
        return reshape(b.norm(x, weight), length, heads, b.n_tokens)
    x = reshape(x, length, heads, b.n_tokens) if x.is_plain else x
    return x if weight is None else b.norm(x, weight)


def _qkv(
    b: Build, x: Tensor, blk: str, length: int, heads: int, heads_kv: int, value: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Three matrices, or windows on the result of a fused one (llama-graph.cpp:1699)."""
    if b.weight(f"{blk}attn_qkv.weight") is None:
        q, k, v = (b.project(x, f"{blk}attn_{part}.weight", f"{blk}attn_{part}.bias") for part in "qkv")
        return q, k, v
    qkv = b.project(x, f"{blk}attn_qkv.weight", f"{blk}attn_qkv.bias")
    n, row = b.n_tokens, qkv.ne[0]
    return (
        window(qkv, (length, heads, n, 1), row),
        window(qkv, (length, heads_kv, n, 1), row),
        window(qkv, (value, heads_kv, n, 1), row),
    )
