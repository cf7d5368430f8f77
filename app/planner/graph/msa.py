"""MiniMax's sparse attention: an indexer scores cells, each group of heads attends to the blocks of cells it chose.

Mirrors minimax-m3.cpp:150-460 of b11434 for batches (more than one token per stream), which is what the engine
reserves for. It needs flash attention, and one cache per slot where there are several; else attention is the usual one.
"""

from __future__ import annotations

from app.planner.graph.attention import converted_bytes, grouped_projections, rotated, store
from app.planner.graph.build import Build, cache_rows
from app.planner.graph.ggml import (
    F16,
    F32,
    I32,
    I64,
    Tensor,
    cont,
    get_rows,
    leaf,
    like,
    mul_mat,
    new,
    permute,
    reshape,
    shape,
    view,
    written,
)

_RESERVED_POSITIONS = 256
"""Positions that an empty cache is taken to hold (llama-kv-cache-msa.cpp:262): the engine reserves for no more."""


class BlockChoice:
    """Inputs that all sparse blocks share: what forces the newest blocks, which position is in which cell."""

    __slots__ = ("bias", "cells", "k_idxs", "mask", "n_blocks", "n_positions", "per_stream", "positions", "slots")

    def __init__(self, b: Build) -> None:
        s, size = b.s, b.required("attention.indexer.block_size")
        self.n_blocks = -(-_RESERVED_POSITIONS // size)
        self.n_positions = self.n_blocks * size
        self.per_stream = s.n_tokens // s.n_streams
        self.bias = leaf(shape(self.n_blocks, s.n_tokens))
        self.positions = leaf(shape(self.n_positions, s.n_tokens))
        self.slots = leaf(shape(self.n_positions, s.n_streams), I32)
        self.cells = leaf(shape(s.n_kv, s.n_streams), I32)
        self.mask = new("cast", b.cache.mask.ne, b.cache.mask, element=F32)
        self.k_idxs = leaf(shape(s.n_tokens), I64)


def is_sparse(b: Build, block: int) -> bool:
    """Does this block choose blocks of cells in this run?"""
    parts = [b.weight(f"blk.{block}.indexer.{part}.weight") for part in ("q_proj", "k_proj", "q_norm", "k_norm")]
    return None not in parts and b.s.flash_attention and (b.s.n_seqs == 1 or b.s.n_streams == b.s.n_seqs)


def sparse_query(b: Build, x: Tensor, block: int) -> Tensor:
    """One sparse block."""
    choice = b.block_choice = b.block_choice or BlockChoice(b)
    blk, layer = f"blk.{block}.", b.model.layers[block]
    q, k, v = grouped_projections(b, x, block)
    index_q, index_k = _indexer(b, x, block, choice)
    caches = b.cache
    q, k, v = rotated(q, caches.k_rot), rotated(k, caches.k_rot), rotated(v, caches.v_rot)
    for tensor in (q, k, v):
        b.graph.expand(tensor)
    cached_k, cached_v = store(b, block, caches, k, v)
    whole: Tensor | None = None
    for _ in range(b.s.n_streams):
        mask = _mask(b, choice, index_q, index_k)
        part = _attended(b, choice, q, cached_k, cached_v, mask, layer.head_count_kv)
        if whole is None:
            whole = part
        else:
            whole = new("concat", shape(part.ne[0], whole.ne[1] + part.ne[1]), whole, part)
    assert whole is not None
    return mul_mat(b.need(f"{blk}attn_output.weight"), rotated(whole, caches.v_rot))


def _indexer(b: Build, x: Tensor, block: int, choice: BlockChoice) -> tuple[Tensor, Tensor]:
    """The indexer's query rows and its cached keys."""
    blk, n = f"blk.{block}.indexer.", b.n_tokens
    heads, length = b.required("attention.indexer.head_count"), b.required("attention.indexer.key_length")
    q = reshape(b.project(x, f"{blk}q_proj.weight"), length, heads, n)
    k = reshape(b.project(x, f"{blk}k_proj.weight"), length, 1, n)
    q = like("rope", b.norm(q, b.weight(f"{blk}q_norm.weight")), b.positions)
    k = like("rope", b.norm(k, b.weight(f"{blk}k_norm.weight")), b.positions)
    cache = cache_rows(length, b.s.n_kv, b.s.cache_type_k, b.s, b.homes.caches[block])
    b.graph.expand(written(cache, reshape(k, length, n), choice.k_idxs, cache))
    return q, cache


def _mask(b: Build, choice: BlockChoice, index_q: Tensor, index_k: Tensor) -> Tensor:
    """One stream's mask per group of heads: the causal one without the blocks of cells that were not chosen."""
    n, n_kv, blocks, heads, length = choice.per_stream, b.s.n_kv, choice.n_blocks, index_q.ne[1], index_q.ne[0]
    q = view(index_q, (length, heads, n, 1))
    keys = view(index_k, shape(length, n_kv), is_plain=False, n_bytes=index_k.n_bytes // index_k.ne[2])
    keys = get_rows(keys, view(choice.slots, shape(choice.n_positions)))
    scores = reshape(mul_mat(keys, reshape(q, length, heads * n)), choice.n_positions, heads, n)
    seen = view(choice.positions, (choice.n_positions, 1, n, 1))
    scores = written(scores, scores, seen, op="add_in_place")
    best = new("pool", (blocks, heads, n, 1), scores)
    bias = view(choice.bias, (blocks, 1, n, 1))
    top = min(b.required("attention.indexer.top_k"), blocks)
    ids = new("top_k", (top, heads, n, 1), like("add", best, bias), element=I32)
    hidden = new("cast", bias.ne, like("scale", bias), element=F16)
    hidden = new("repeat", (blocks, heads, n, 1), hidden, element=F16)
    zeros = like("scale", new("cast", ids.ne, ids))
    rows = reshape(hidden, 1, blocks, heads * n)
    opened = written(rows, reshape(zeros, 1, top, heads * n), reshape(ids, top, heads * n), rows)
    by_head = cont(permute(reshape(opened, blocks, heads, n), (blocks, n, heads, 1)))
    across = cont(permute(reshape(by_head, blocks, n * heads), (n * heads, blocks, 1, 1)))
    per_cell = get_rows(across, view(choice.cells, shape(n_kv)))
    whole = reshape(cont(permute(per_cell, (n_kv, n * heads, 1, 1))), n_kv, n, heads)
    causal = view(choice.mask, (n_kv, n, 1, 1))
    whole = written(whole, whole, causal, op="add_in_place")
    return new("cast", (n_kv, n, 1, heads), reshape(whole, n_kv, n, 1, heads), element=F16)


def _attended(
    b: Build, choice: BlockChoice, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, heads_kv: int
) -> Tensor:  # fmt: skip
    """build_attn_msa_fa: each group of heads is a sequence of its own."""
    n, length, group = choice.per_stream, q.ne[0], q.ne[1] // heads_kv
    q = reshape(view(q, (length, q.ne[1], n, 1)), length, group, heads_kv, n)
    q = permute(q, (length, n, group, heads_kv))
    streams = b.s.n_streams
    k = view(k, (k.ne[0], k.ne[2], 1, heads_kv), is_plain=False, n_bytes=k.n_bytes // streams)
    v = view(v, (v.ne[0], v.ne[2], 1, heads_kv), is_plain=False, n_bytes=v.n_bytes // streams)
    cur = new("flash_attn", (v.ne[0], group, n, heads_kv), q, k, v, mask)
    cur.scratch = converted_bytes(b, k, v)
    return reshape(cont(permute(cur, (v.ne[0], group, heads_kv, n))), v.ne[0] * group * heads_kv, n)
