"""glm5-next: four residual rows mixed by fused steps, delta attention, MLA over the pools of cells an indexer chose.

Mirrors glm5-next.cpp:200-900 of b11434. The pools' keys are weighted by a gate of their own; the inputs have the sizes
of those in ``pooled`` (llama-memory-hybrid-idx.cpp).
"""

from __future__ import annotations

from itertools import pairwise

from app.planner.graph.attention import attention, store
from app.planner.graph.blocks import feed_forward, mixer
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
    mul_mat,
    new,
    permute,
    reshape,
    scratch_leaf,
    shape,
    view,
    window,
    written,
)
from app.planner.graph.traits import Traits
from app.planner.kv import row_bytes


class _Pools:
    """Inputs that the attending blocks share."""

    def __init__(self, b: Build) -> None:
        s, self.kpool = b.s, b.required("attention.indexer.kpool")
        self.n_new = s.n_kv // self.kpool * s.n_seqs
        n_pool = max(64, (self.n_new // 64 + 1) * 64)
        self.k_idxs = leaf(shape(s.n_tokens), I64)
        self.cells = leaf(shape(n_pool), I32)
        self.members = leaf(shape(self.kpool, n_pool), I32)
        self.mask = leaf(shape(n_pool, s.n_tokens), F16)
        self.tails = leaf(shape(self.kpool - 1, s.n_tokens), I32)
        self.chosen = min(n_pool, b.required("attention.indexer.top_k") // self.kpool)
        has_tail = bool(b.model.metadata.get("glm5-next.attention.indexer.kpool_select_tail"))
        self.n_selected = self.kpool * self.chosen + (self.kpool - 1 if has_tail else 0)
        self.live = leaf((self.n_selected, 1, 1, s.n_tokens))
        for tensor in (self.cells, self.members, self.mask, self.tails, self.live):
            b.graph.expand(tensor)
        self.new_members = leaf(shape(self.kpool, self.n_new), I32)
        self.new_cells = leaf(shape(self.n_new), I64)


def _leaves_ram(b: Build) -> bool:
    """Does a block on a card follow one in RAM? The card then takes over the latter's last step, which the engine
    sees as a step that the block's own device lacks, so it does without it everywhere (llama-context.cpp:500)."""
    homes = b.homes.units[: b.model.block_count - b.model.nextn_count]
    return any(home == b.homes.cpu != after for home, after in pairwise(homes))


class Glm5:
    """The rows between two blocks, and the choice that blocks without an indexer take over."""

    def __init__(self, b: Build, x: Tensor) -> None:
        self._b = b
        self._pools = _Pools(b)
        self._streams = b.required("hyper_connection.count")
        self._rows = new("repeat", (b.n_embd, self._streams, b.n_tokens, 1), reshape(x, b.n_embd, 1, b.n_tokens))
        self._mask: Tensor | None = None
        self._updates_at_once = not _leaves_ram(b)

    def block(self, traits: Traits, number: int) -> None:
        """One block: mixer and experts, each between a mix of the rows and their update."""
        b, blk = self._b, f"blk.{number}."
        x, *weights = self._mixed(f"{blk}hc_attn")
        x = b.norm(x, b.need(f"{blk}attn_norm.weight"))
        b.graph.expand(x)
        cur = mixer(b, x, number) if b.model.layers[number].recurrent else self._attended(x, number)
        self._update(cur, *weights)
        x, *weights = self._mixed(f"{blk}hc_ffn")
        cur = feed_forward(b, traits, b.norm(x, b.need(f"{blk}ffn_norm.weight")), number)
        self._update(cur, *weights)

    def _update(self, x: Tensor, back: Tensor, across: Tensor) -> None:
        """build_hc_post, in one step or row by row."""
        b, n, streams = self._b, self._rows.ne[2], self._streams
        if self._updates_at_once:
            self._rows = new("hc_post", self._rows.ne, x, self._rows, back, across)
            return
        row, out = shape(b.n_embd, n), None
        for i in range(streams):
            cur = like("mul", x, window(back, shape(1, n), streams))
            for _ in range(streams):
                before = window(self._rows, row, b.n_embd * streams)
                cur = like("add", cur, like("mul", before, window(across, shape(1, n), streams * streams)))
            cur = reshape(cur, b.n_embd, 1, n)
            out = cur if out is None else new("concat", (b.n_embd, i + 1, n, 1), out, cur)
        assert out is not None
        self._rows = out

    def head(self) -> Tensor:
        """The mean of the rows with logits, normed."""
        b, row = self._b, self._b.n_embd * self._streams
        flat = b.last_rows(reshape(self._rows, row, b.n_tokens))
        n = flat.ne[1]
        total = window(flat, shape(b.n_embd, n), row)
        for _ in range(self._streams - 1):
            total = like("add", total, window(flat, shape(b.n_embd, n), row))
        return b.norm(like("scale", total), b.need("output_norm.weight"))

    def _mixed(self, start: str) -> tuple[Tensor, Tensor, Tensor]:
        """build_hc_pre: one row per token, and the two weights with which the result comes back."""
        b, n, streams = self._b, self._rows.ne[2], self._streams
        mixes = mul_mat(b.need(f"{start}_fn.weight"), like("rms_norm", reshape(self._rows, b.n_embd * streams, n)))
        scale, base = b.need(f"{start}_scale.weight"), b.need(f"{start}_base.weight")

        def squashed() -> Tensor:
            part = like("mul", window(mixes, shape(streams, n), mixes.ne[0]), view(scale, shape(1)))
            return like("scale", like("unary", like("add", part, view(base, shape(streams)))))

        pre, post = squashed(), squashed()
        comb = new("hc_comb", (streams, streams, n, 1), mixes, scale, base)
        return new("hc_pre", shape(b.n_embd, n), self._rows, pre), post, comb

    def _attended(self, x: Tensor, block: int) -> Tensor:
        """build_dsa_layer."""
        b, blk, n = self._b, f"blk.{block}.", self._b.n_tokens
        heads, rank = b.model.layers[block].head_count, b.required("attention.kv_lora_rank")
        narrow = b.norm(b.project(x, f"{blk}attn_q_a.weight"), b.weight(f"{blk}attn_q_a_norm.weight"))
        q = mul_mat(b.need(f"{blk}attn_q_b.weight"), narrow)
        q = reshape(q, q.ne[0] // heads, heads, n)
        rows = b.norm(b.project(x, f"{blk}attn_kv_a_mqa.weight"), b.weight(f"{blk}attn_kv_a_norm.weight"))
        rows = reshape(rows, rank, 1, n)
        q = mul_mat(b.need(f"{blk}attn_k_b.weight"), permute(q, (q.ne[0], n, heads, 1)))
        q = permute(q, (rank, heads, n, 1))
        if b.weight(f"{blk}indexer.attn_k.weight") is not None or self._mask is None:
            self._mask = self._chosen(x, narrow, block)
        b.graph.expand(q)
        b.graph.expand(rows)
        cached_k, _ = store(b, block, b.cache, rows, None)
        values = view(cached_k, (rank, 1, b.s.n_kv, b.s.n_streams), is_plain=False, n_bytes=cached_k.n_bytes)
        mask = view(self._mask, b.cache.mask.ne)
        cur = attention(b, q, cached_k, values, mask, None, b.need(f"{blk}attn_v_b.weight"), v_is_k=True)
        return b.project(cur, f"{blk}attn_output.weight")

    def _chosen(self, x: Tensor, narrow: Tensor, block: int) -> Tensor:
        """build_kpool_select: the causal mask without the cells of pools that were not chosen."""
        b, pools, blk, n = self._b, self._pools, f"blk.{block}.indexer.", self._b.n_tokens
        length, heads = b.required("attention.indexer.key_length"), b.required("attention.indexer.head_count")
        q = reshape(b.project(narrow, f"{blk}attn_q_b.weight"), length, heads, n)
        k = b.project(x, f"{blk}attn_k.weight")
        k = b.norm(k, b.weight(f"{blk}k_norm.weight"), b.weight(f"{blk}k_norm.bias"))
        gate = b.project(x, f"blk.{block}.indexer_compressor_gate.weight")
        empty = like("fill", scratch_leaf(shape(length, n)))
        packed = reshape(concat(concat(k, gate), empty), 3 * length, n)
        cache = cache_rows(3 * length, b.s.n_kv, b.s.cache_type_k, b.s, b.homes.caches[block])
        b.graph.expand(written(cache, packed, pools.k_idxs, cache))
        pooled = self._pooled(cache, block, length)
        weights = like("scale", b.project(x, f"{blk}proj.weight"))
        scores = new("lightning_indexer", shape(pools.cells.ne[0], n), q, pooled, weights, pools.mask)
        ids = self._cells(self._ordered(scores))
        b.graph.expand(ids)
        return self._opened(ids)

    def _pooled(self, cache: Tensor, block: int, length: int) -> Tensor:
        """New pools' keys, weighed by their gates, are stored; then those of all pools are read."""
        b, pools = self._b, self._pools
        kpool, n_new, kind = pools.kpool, pools.n_new, b.s.cache_type_k
        cells = cache.ne[1] * cache.ne[2]
        one, three = row_bytes(kind, length), row_bytes(kind, 3 * length)
        pair = view(cache, shape(2 * length, cells), is_plain=False, n_bytes=cache.n_bytes - (three - 2 * one))
        rows = reshape(get_rows(pair, reshape(pools.new_members, kpool * n_new)), 2 * length, kpool, n_new)
        keys, gates = (window(rows, (length, kpool, n_new, 1), 2 * length * kpool) for _ in range(2))
        logits = like("add", gates, b.need(f"blk.{block}.indexer_compressor_ape.weight"))
        logits = cont(permute(logits, (kpool, length, n_new, 1)))
        weights = reshape(like("soft_max", reshape(logits, kpool, length * n_new)), kpool, length, n_new)
        keys = cont(permute(keys, (kpool, length, n_new, 1)))
        fresh = reshape(new("sum_rows", (1, length, n_new, 1), like("mul", weights, keys)), length, n_new)
        n_bytes = cache.n_bytes - three + one
        kept, read = (view(cache, shape(length, cells), is_plain=False, n_bytes=n_bytes) for _ in range(2))
        b.graph.expand(written(kept, fresh, pools.new_cells, kept))
        return reshape(get_rows(read, pools.cells), length, 1, pools.cells.ne[0])

    def _ordered(self, scores: Tensor) -> Tensor:
        """The best pools, the very best first."""
        pools, n = self._pools, self._b.n_tokens
        best = new("top_k", (pools.chosen, *scores.ne[1:]), scores, element=I32)
        values = get_rows(reshape(scores, 1, scores.ne[0], n), best)
        values = reshape(values, pools.chosen, n)
        order = new("argsort", values.ne, values, element=I32)
        numbers = reshape(new("cast", best.ne, best), 1, pools.chosen, n)
        picked = cont(reshape(get_rows(numbers, order), pools.chosen, n))
        return new("cast", picked.ne, picked, element=I32)

    def _cells(self, best: Tensor) -> Tensor:
        """The cells of these pools, then the newest ones that fill no pool yet."""
        pools, n = self._pools, self._b.n_tokens
        ids = reshape(get_rows(pools.members, reshape(best, pools.chosen * n)), pools.kpool * pools.chosen, n)
        return concat(ids, pools.tails) if pools.n_selected > ids.ne[0] else ids

    def _opened(self, ids: Tensor) -> Tensor:
        b, pools, n, mask = self._b, self._pools, self._b.n_tokens, self._b.cache.mask
        n_selected, n_rows = ids.ne[0], b.s.n_kv + ids.ne[0]

        def filled(width: int) -> Tensor:
            row = like("fill", scratch_leaf(shape(width), mask.element))
            return reshape(new("repeat", shape(width, n), row, element=mask.element), 1, width, n)

        hidden, zeros = filled(n_rows), filled(n_selected)
        live = like("unary", reshape(pools.live, n_selected, n))
        dump = new("arange", shape(n_selected))
        numbers = new("cast", ids.ne, ids, element=F32)
        numbers = like("add", like("mul", like("sub", numbers, dump), live), dump)
        targets = reshape(new("cast", numbers.ne, numbers, element=I32), n_selected, n)
        opened = written(hidden, zeros, targets, hidden)
        n_bytes = opened.n_bytes - n_selected * mask.element
        seen = view(opened, shape(b.s.n_kv, n), is_plain=False, n_bytes=n_bytes)
        return like("add", seen, reshape(mask, b.s.n_kv, n))
