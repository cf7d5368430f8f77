"""kimi-k3: what earlier blocks put out is kept and mixed into what each part reads.

Mirrors kimi-k3.cpp:185-345 of b11434. Every ``attn_res.block_size`` blocks the residual row is banked and starts anew,
so what is kept grows from block to block.
"""

from __future__ import annotations

from app.planner.graph.blocks import feed_forward, mixer
from app.planner.graph.build import Build
from app.planner.graph.ggml import Tensor, concat, cont, like, new, reshape, shape, window
from app.planner.graph.traits import Traits


class Kimi3:
    """The residual row, and the rows banked so far."""

    def __init__(self, b: Build, x: Tensor) -> None:
        self._b = b
        self._row = x
        self._banked: Tensor | None = None
        self._period = b.required("attn_res.block_size")

    def block(self, traits: Traits, number: int) -> None:
        """One block: delta attention or MLA, then experts."""
        b, blk = self._b, f"blk.{number}."
        cur = self._mixed(b.need(f"{blk}attn_res_score.weight"))
        is_banked = number % self._period == 0
        if is_banked:
            self._bank()
        cur = b.norm(cur, b.need(f"{blk}attn_norm.weight"))
        b.graph.expand(cur)
        cur = mixer(b, cur, number)
        self._row = cur if is_banked else like("add", self._row, cur)
        cur = b.norm(self._mixed(b.need(f"{blk}ffn_res_score.weight")), b.need(f"{blk}ffn_norm.weight"))
        self._row = like("add", self._row, feed_forward(b, traits, cur, number))

    def head(self) -> Tensor:
        """The last mix, only the rows with logits, normed."""
        b = self._b
        return b.norm(b.last_rows(self._mixed(b.need("output_res_score.weight"))), b.need("output_norm.weight"))

    def _bank(self) -> None:
        """res_push."""
        b = self._b
        row = reshape(self._row, b.n_embd, 1, b.n_tokens)
        if self._banked is None:
            self._banked = row
        else:
            self._banked = new("concat", (b.n_embd, self._banked.ne[1] + 1, b.n_tokens, 1), self._banked, row)

    def _mixed(self, scores: Tensor) -> Tensor:
        """res_mix: the banked rows and the current one, weighed by their scores."""
        b, n, banked = self._b, self._b.n_tokens, self._banked
        if banked is None:
            return self._row
        kept = banked.ne[1]
        normed = like("mul", like("rms_norm", banked), scores)
        before = reshape(new("sum_rows", (1, kept, n, 1), normed), kept, n)
        now = new("sum_rows", shape(1, n), like("mul", like("rms_norm", self._row), scores))
        weights = like("soft_max", concat(before, now))
        of_banked = cont(window(weights, shape(kept, n), kept + 1))
        of_row = cont(window(weights, shape(1, n), kept + 1))
        out = new("hc_pre", shape(b.n_embd, n), banked, of_banked)
        return like("add", out, like("mul", self._row, of_row))
