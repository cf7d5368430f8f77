"""hy_v4: several residual rows per token; each part reads a mix of them, its result goes back into all.

Mirrors hy-v4.cpp:140-600 of b11434. The rows are summed and written back stream by stream, without fused steps.
"""

from __future__ import annotations

from app.planner.graph.blocks import feed_forward
from app.planner.graph.build import Build
from app.planner.graph.ggml import Tensor, like, mul_mat, new, reshape, shape, view, window
from app.planner.graph.latent import latent
from app.planner.graph.traits import Traits


class Hy4:
    """The rows between two blocks."""

    def __init__(self, b: Build, x: Tensor) -> None:
        self._b = b
        self._streams = b.required("hyper_connection.count")
        self._rows = new("repeat", (b.n_embd, self._streams, b.n_tokens, 1), reshape(x, b.n_embd, 1, b.n_tokens))

    def block(self, traits: Traits, number: int) -> None:
        """One block: MLA and experts, each between a mix of the rows and their update."""
        b, blk = self._b, f"blk.{number}."
        x, weights = self._mixed(f"{blk}hc_attn")
        self._update(latent(b, b.norm(x, b.need(f"{blk}attn_norm.weight")), number), weights)
        x, weights = self._mixed(f"{blk}hc_ffn")
        self._update(feed_forward(b, traits, b.norm(x, b.need(f"{blk}ffn_norm.weight")), number), weights)

    def head(self) -> Tensor:
        """Only the rows with logits, mixed and normed."""
        b = self._b
        flat = b.last_rows(reshape(self._rows, b.n_embd * self._streams, b.n_tokens))
        self._rows = reshape(flat, b.n_embd, self._streams, flat.ne[1])
        mixes = self._mixes("output_hc")
        gate = like("add", like("mul", mixes, b.need("output_hc_scale.weight")), b.need("output_hc_base.weight"))
        gate = like("scale", like("unary", gate))
        return b.norm(self._reduced(gate), b.need("output_norm.weight"))

    def _mixes(self, start: str) -> Tensor:
        b, n = self._b, self._rows.ne[2]
        return mul_mat(b.need(f"{start}_fn.weight"), like("rms_norm", reshape(self._rows, b.n_embd * self._streams, n)))

    def _mixed(self, start: str) -> tuple[Tensor, Tensor]:
        """build_hc_pre: one row per token, and the weights with which the result comes back."""
        b, n, streams = self._b, self._rows.ne[2], self._streams
        mixes = self._mixes(start)
        scale, base = b.need(f"{start}_scale.weight"), b.need(f"{start}_base.weight")

        def squashed() -> Tensor:
            part = window(mixes, shape(streams, n), mixes.ne[0])
            part = like("mul", part, view(scale, shape(1)))
            return like("scale", like("unary", like("add", part, view(base, shape(streams)))))

        return self._reduced(squashed()), squashed()

    def _reduced(self, weights: Tensor) -> Tensor:
        """hy_v4_hc_reduce: the weighted sum of the rows."""
        b, n = self._b, self._rows.ne[2]
        rows = new("cast", self._rows.ne, self._rows)
        total: Tensor | None = None
        for _ in range(self._streams):
            row = window(rows, shape(b.n_embd, n), b.n_embd * self._streams)
            term = like("mul", row, window(weights, shape(1, n), self._streams))
            total = term if total is None else like("add", total, term)
        assert total is not None
        return new("cast", total.ne, total)

    def _update(self, x: Tensor, weights: Tensor) -> None:
        """build_hc_post."""
        b, n, streams = self._b, self._rows.ne[2], self._streams
        x, weights, rows = (new("cast", t.ne, t) for t in (x, weights, self._rows))
        out: Tensor | None = None
        for i in range(streams):
            row = window(rows, shape(b.n_embd, n), b.n_embd * streams)
            part = like("add", row, like("mul", x, window(weights, shape(1, n), streams)))
            part = reshape(part, b.n_embd, 1, n)
            out = part if out is None else new("concat", (b.n_embd, i + 1, n, 1), out, part)
        assert out is not None
        self._rows = new("cast", out.ne, out)
