"""Attention over the cells that a small indexer chose: scores of all cells, the best of them, a mask without the rest.

Mirrors deepseek32.cpp:214-316 and glm-dsa.cpp of b11434, and ``build_attn`` for both (llama-graph.cpp:3114). The
indexer's scores are one fused step; CUDA, Vulkan, Metal and the CPU have it for heads of 128.
"""

from __future__ import annotations

from app.planner.graph.build import Build, cache_rows, cache_view
from app.planner.graph.ggml import (
    F16,
    I32,
    I64,
    Tensor,
    cont,
    leaf,
    like,
    mul_mat,
    new,
    reshape,
    scratch_leaf,
    shape,
    view,
    written,
)


class Indexer:
    """Inputs of the indexer's own cache, and the choice that later blocks may share."""

    __slots__ = ("chosen", "k_idxs", "mask", "rotation", "top_k")

    def __init__(self, b: Build) -> None:
        s, length = b.s, b.required("attention.indexer.key_length")
        n_rot = 64
        while length % (2 * n_rot) == 0:
            n_rot *= 2
        self.k_idxs = leaf(shape(s.n_tokens), I64)
        self.mask = leaf((s.n_kv, s.n_tokens // s.n_streams, 1, s.n_streams), F16)
        self.rotation = leaf(shape(n_rot, n_rot))
        self.top_k = min(s.n_kv, b.required("attention.indexer.top_k"))
        self.chosen: Tensor | None = None


def choose(b: Build, x: Tensor, narrow: Tensor, block: int) -> Tensor:
    """The cells that each token attends to; a block without an indexer takes those of the one before (glm-dsa.cpp)."""
    if b.indexer is None:
        b.indexer = Indexer(b)
    if b.weight(f"blk.{block}.indexer.attn_k.weight") is not None or b.indexer.chosen is None:
        scores = _scores(b, b.indexer, x, narrow, block)
        best = new("top_k", (b.indexer.top_k, *scores.ne[1:]), scores, element=I32)
        b.indexer.chosen = cont(best)
    return b.indexer.chosen


def _scores(b: Build, indexer: Indexer, x: Tensor, narrow: Tensor, block: int) -> Tensor:
    blk, s, n = f"blk.{block}.indexer.", b.s, b.n_tokens
    heads, length = b.required("attention.indexer.head_count"), b.required("attention.indexer.key_length")
    q = like("rope", reshape(b.project(narrow, f"{blk}attn_q_b.weight"), length, heads, n), b.positions)
    k = b.project(x, f"{blk}attn_k.weight")
    k = b.norm(k, b.weight(f"{blk}k_norm.weight"), b.weight(f"{blk}k_norm.bias"))
    k = like("rope", reshape(k, length, 1, n), b.positions)
    if b.model.architecture != "hy_v4":  # it leaves out the rotation, which changes no score
        q, k = mul_mat(indexer.rotation, q), mul_mat(indexer.rotation, k)
    cache = cache_rows(length, s.n_kv, s.cache_type_k, s, b.homes.caches[block])
    b.graph.expand(written(cache, reshape(k, length, n), indexer.k_idxs, cache))
    per_stream = n // s.n_streams
    weights = b.project(x, f"{blk}proj.weight")
    seen = cache_view(cache, (length, 1, s.n_kv, s.n_streams))
    q = view(q, (length, heads, per_stream, s.n_streams))
    weights = like("scale", view(weights, (heads, per_stream, 1, s.n_streams)))
    return new("lightning_indexer", (s.n_kv, per_stream, 1, s.n_streams), q, seen, weights, indexer.mask)


def chosen_mask(mask: Tensor, chosen: Tensor) -> Tensor:
    """The mask with all but the chosen cells hidden.

    The zeros of all blocks exist from the graph's start: ggml first allocates what no step produces.
    """
    hidden = like("fill", mask)
    rows = view(hidden, (1, mask.ne[0], mask.ne[1], mask.ne[3]))
    ids = view(chosen, (chosen.ne[0], chosen.ne[1], chosen.ne[3], 1))
    zeros = scratch_leaf((1, *ids.ne[:3]))
    opened = written(rows, like("fill", zeros), ids, rows)
    return like("add", view(opened, mask.ne), mask)
