"""MLA: queries and keys through a narrow latent row, absorbed into the cache or unpacked.

Mirrors deepseek2.cpp (b11434), which deepseek2, mistral4, kimi-k2 and glm-4.7-flash files use, and the MLA blocks of
kimi-linear and bailingmoe3.
"""

from __future__ import annotations

from app.planner.graph.attention import attend, attention, gated, store
from app.planner.graph.build import Build
from app.planner.graph.ggml import Tensor, concat, cont, like, mul_mat, new, permute, reshape, view, window
from app.planner.graph.indexer import choose, chosen_mask
from app.planner.kv import row_bytes


def latent(b: Build, x: Tensor, block: int) -> Tensor:
    """One MLA block."""
    blk, n = f"blk.{block}.", b.n_tokens
    layer = b.model.layers[block]
    heads, end = layer.head_count, "_swa" if layer.sliding else ""
    narrow = _narrow_query(b, x, blk)
    is_sparse = b.number("attention.indexer.key_length") > 0 and not layer.sliding
    chosen = choose(b, x, narrow, block) if is_sparse else None
    q = mul_mat(b.need(f"{blk}attn_q_b.weight"), narrow) if narrow is not x else b.project(x, f"{blk}attn_q.weight")
    q = reshape(q, b.number(f"attention.key_length_mla{end}") or _full_key(b), heads, n)
    rope = b.number("rope.dimension_count")
    rank = b.number(f"attention.kv_lora_rank{end}")
    row = b.project(x, f"{blk}attn_kv_a_mqa.weight")
    squeezed = window(row, (rank, n, 1, 1), rank + rope)
    k_pe = window(row, (rope, 1, n, 1), rank + rope)
    if (own := b.weight(f"{blk}attn_k_norm.weight")) is not None:  # dots3note.cpp
        k_pe = b.norm(k_pe, own)
    k_pe = b.rotated(k_pe, block)
    squeezed = b.norm(squeezed, b.weight(f"{blk}attn_kv_a_norm.weight"))
    if b.weight(f"{blk}attn_k_b.weight") is not None and b.model.is_mla:
        return _absorbed(b, x, q, squeezed, k_pe, block, chosen)
    return _unpacked(b, q, squeezed, k_pe, block)


def _narrow_query(b: Build, x: Tensor, blk: str) -> Tensor:
    """The squeezed query row, or x where the model does without."""
    if b.weight(f"{blk}attn_q_a.weight") is None:
        return x
    return b.norm(b.project(x, f"{blk}attn_q_a.weight"), b.weight(f"{blk}attn_q_a_norm.weight"))


def _full_key(b: Build) -> int:
    return b.model.layers[0].key_length


def _absorbed(
    b: Build, x: Tensor, q: Tensor, squeezed: Tensor, k_pe: Tensor, block: int, chosen: Tensor | None
) -> Tensor:
    """The key matrix is applied to the query, so the cache holds one latent row per token (MQA)."""
    blk, n, s = f"blk.{block}.", b.n_tokens, b.s
    heads, rank, rope = q.ne[1], squeezed.ne[0], k_pe.ne[0]
    nope = q.ne[0] - rope
    plain = permute(window(q, (nope, heads, n, 1), q.ne[0] * heads), (nope, n, heads, 1))
    q_pe = b.rotated(window(q, (rope, heads, n, 1), q.ne[0] * heads), block)
    wide = permute(mul_mat(b.need(f"{blk}attn_k_b.weight"), plain), (rank, heads, n, 1))
    query = concat(wide, q_pe)
    rows = reshape(squeezed, rank, 1, n)
    key = concat(rows, k_pe)
    for tensor in (query, rows, key):
        b.graph.expand(tensor)
    caches = b.sliding_cache if b.model.layers[block].sliding else b.cache
    cached_k, _ = store(b, block, caches, key, None)
    unread = row_bytes(s.cache_type_k, rank + rope) - row_bytes(s.cache_type_k, rank)
    values = (rank, 1, caches.n_kv, s.n_streams)
    cached_v = view(cached_k, values, is_plain=False, n_bytes=cached_k.n_bytes - unread)
    v_b = b.need(f"{blk}attn_v_b.weight")
    mask = caches.mask if chosen is None else chosen_mask(caches.mask, chosen)
    cur = attention(b, query, cached_k, cached_v, mask, b.weight(f"{blk}attn_sinks.weight"), v_b, v_is_k=True)
    cur = gated(b, cur, x, blk, heads)
    return b.project(cur, f"{blk}attn_output.weight")


def _unpacked(b: Build, q: Tensor, squeezed: Tensor, k_pe: Tensor, block: int) -> Tensor:
    """Full keys and values per head, as files without ``attn_k_b`` need (deepseek2.cpp, not is_mla)."""
    blk, n = f"blk.{block}.", b.n_tokens
    heads, rope = q.ne[1], k_pe.ne[0]
    value = b.model.layers[block].value_length
    both = b.project(squeezed, f"{blk}attn_kv_b.weight")
    nope = q.ne[0] - rope
    k_nope = window(both, (nope, heads, n, 1), both.ne[0])
    v = cont(window(both, (value, heads, n, 1), both.ne[0]))
    query = like("rope", q, b.positions)
    repeated = new("repeat", (rope, heads, n, 1), k_pe)
    return attend(b, block, query, concat(k_nope, repeated), v, f"{blk}attn_output.weight")
