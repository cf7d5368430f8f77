"""Attention over the blocks of cells that a pooled indexer chose: one key stands for ``kpool`` cells.

Mirrors qwen4exp.cpp:640-925 of b11434 (``build_inp_kpool``, ``build_qsa_sel``) and the sizes that
llama-memory-hybrid-idx.cpp:515 takes for a full context.
"""

from __future__ import annotations

from app.planner.graph.build import Build, cache_rows
from app.planner.graph.ggml import (
    F16,
    F32,
    I32,
    I64,
    Tensor,
    concat,
    cont,
    get_rows,
    leaf,
    like,
    new,
    reshape,
    scratch_leaf,
    shape,
    view,
    written,
)
from app.planner.kv import row_bytes


class Pools:
    """Inputs that the attending blocks share: which cells form a pool, which pools a token may see."""

    __slots__ = ("cells", "chosen", "k_idxs", "kpool", "mask", "members", "n_new", "new", "new_positions", "tails")

    def __init__(self, b: Build, kpool: int) -> None:
        s = b.s
        self.kpool = kpool
        self.n_new = s.n_kv // kpool * s.n_seqs
        n_pool = max(64, (self.n_new // 64 + 1) * 64)
        self.k_idxs = leaf(shape(s.n_tokens), I64)
        self.cells = leaf(shape(n_pool), I32)
        self.members = leaf(shape(kpool, n_pool), I32)
        self.mask = leaf(shape(n_pool, s.n_tokens), F16)
        self.tails = leaf(shape(kpool - 1, s.n_tokens), I32)
        for tensor in (self.cells, self.members, self.mask, self.tails):
            b.graph.expand(tensor)
        self.chosen = min(n_pool, b.required("attention.indexer.top_k") // kpool)
        self.new = (leaf(shape(kpool, self.n_new), I32), leaf(shape(self.n_new), I64))
        self.new_positions = leaf(shape(4 * self.n_new), I32)


def pooled_mask(b: Build, pools: Pools, x: Tensor, block: int) -> Tensor:
    """The mask with all but the chosen pools and the newest cells hidden."""
    scores = _scores(b, pools, x, block)
    best = new("top_k", (pools.chosen, *scores.ne[1:]), scores, element=I32)
    ids = _cells(b, pools, best)
    b.graph.expand(ids)
    return _opened(b, pools, ids, scores, best)


def _scores(b: Build, pools: Pools, x: Tensor, block: int) -> Tensor:
    """One score per pool and token."""
    blk, n, length = f"blk.{block}.indexer.", b.n_tokens, b.required("attention.indexer.key_length")
    heads = b.required("attention.indexer.head_count")
    raw = b.project(x, f"{blk}k_proj.weight")
    packed = reshape(concat(raw, like("fill", scratch_leaf(shape(length, n)))), 2 * length, n)
    cache = cache_rows(2 * length, b.s.n_kv, b.s.cache_type_k, b.s, b.homes.caches[block])
    b.graph.expand(written(cache, packed, pools.k_idxs, cache))
    pooled = _pooled(b, pools, cache, blk, length)
    q = reshape(b.project(x, f"{blk}q_proj.weight"), length, heads, n)
    q = like("rope", b.norm(q, b.weight(f"{blk}q_norm.weight")), b.positions)
    weights = like("fill", scratch_leaf(shape(heads, n)))
    n_pool = pools.cells.ne[0]
    return new("lightning_indexer", shape(n_pool, n), q, pooled, weights, pools.mask)


def _pooled(b: Build, pools: Pools, cache: Tensor, blk: str, length: int) -> Tensor:
    """New pools' keys are averaged, normed and stored; then those of all pools are read."""
    n_new = pools.n_new
    kind = b.s.cache_type_k
    unread = row_bytes(kind, 2 * length) - row_bytes(kind, length)
    ne = (length, cache.ne[1] * cache.ne[2], 1, 1)
    raw, stored_means = (view(cache, ne, is_plain=False, n_bytes=cache.n_bytes - unread) for _ in range(2))
    rows = get_rows(raw, reshape(pools.new[0], pools.kpool * n_new))
    rows = reshape(rows, length, pools.kpool, n_new)
    mean = cont(view(rows, shape(length, n_new), is_plain=False))
    for _ in range(pools.kpool - 1):
        mean = like("add", mean, view(rows, shape(length, n_new), is_plain=False))
    mean = b.norm(like("scale", mean), b.weight(f"{blk}k_norm.weight"))
    mean = like("rope", reshape(mean, length, 1, n_new), pools.new_positions)
    b.graph.expand(written(stored_means, reshape(mean, length, n_new), pools.new[1], stored_means))
    n_pool = pools.cells.ne[0]
    return reshape(get_rows(stored_means, pools.cells), length, 1, n_pool)


def _cells(b: Build, pools: Pools, best: Tensor) -> Tensor:
    """The cells of the best pools, then the newest ones that fill no pool yet."""
    n = b.n_tokens
    ids = get_rows(pools.members, reshape(best, pools.chosen * n))
    return concat(reshape(ids, pools.kpool * pools.chosen, n), pools.tails)


def _opened(b: Build, pools: Pools, ids: Tensor, scores: Tensor, best: Tensor) -> Tensor:
    """Zeros go to the chosen cells of a mask that hides everything, what is not alive to rows behind it."""
    n, n_chosen, mask = b.n_tokens, ids.ne[0], b.cache.mask
    n_rows = b.s.n_kv + n_chosen
    hidden = _filled(n_rows, n, mask.element)
    zeros = _filled(n_chosen, n, mask.element)
    live = concat(_live_pools(b, pools, scores, best), _clamped(_cast(pools.tails, F32)))
    dump = like("scale", like("cumsum", like("fill", live)))
    numbers = _cast(ids, F32)
    numbers = like("add", like("mul", like("sub", numbers, dump), live), dump)
    targets = reshape(_cast(numbers, I32), n_chosen, n)
    opened = written(hidden, zeros, targets, hidden)
    seen = view(opened, mask.ne, is_plain=False, n_bytes=opened.n_bytes - n_chosen * mask.element)
    return like("add", seen, mask)


def _live_pools(b: Build, pools: Pools, scores: Tensor, best: Tensor) -> Tensor:
    n, n_pool = b.n_tokens, pools.cells.ne[0]
    top = get_rows(reshape(scores, 1, n_pool, n), best)
    live = new("repeat", (pools.kpool, pools.chosen, n, 1), _clamped(top))
    return reshape(live, pools.kpool * pools.chosen, n)


def _filled(width: int, n: int, element: int) -> Tensor:
    row = like("fill", scratch_leaf(shape(width), element))
    return reshape(new("repeat", shape(width, n), row, element=element), 1, width, n)


def _clamped(x: Tensor) -> Tensor:
    return like("clamp", like("scale", x))


def _cast(x: Tensor, element: int) -> Tensor:
    return new("cast", x.ne, x, element=element)
