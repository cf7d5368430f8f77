"""qwen4exp: several residual rows mixed before and after each part, pooled sparse attention, one block of n-gram rows.

Mirrors qwen4exp.cpp of b11434. The fused mixing steps are taken: CUDA, Vulkan, Metal and the CPU have them.
"""

from __future__ import annotations

from app.planner.graph.blocks import feed_forward, gated_query
from app.planner.graph.build import Build
from app.planner.graph.ggml import (
    I32,
    Tensor,
    concat,
    cont,
    get_rows,
    leaf,
    like,
    new,
    permute,
    reshape,
    shape,
    view,
)
from app.planner.graph.pooled import Pools, pooled_mask
from app.planner.graph.recurrent import delta_net, save, states
from app.planner.graph.traits import Traits


class Qwen4:
    """The graph's rows between two blocks, and what all blocks share."""

    def __init__(self, b: Build, x: Tensor) -> None:
        self._b = b
        self._streams = b.required("hyper_connection.count")
        ratios = b.model.metadata.get("qwen4exp.attention.compress_ratios")
        self._ratios = ratios if isinstance(ratios, tuple) else ()
        kpool = max((r for r in self._ratios if isinstance(r, int)), default=0)
        self._pools = Pools(b, kpool) if kpool else None
        self._ngrams = _ngram_rows(b)
        self._rows = new("repeat", (b.n_embd, self._streams, b.n_tokens, 1), reshape(x, b.n_embd, 1, b.n_tokens))
        b.graph.expand(self._rows)

    def block(self, traits: Traits, number: int, is_last: bool) -> None:
        """One block: mixer and experts, each between a mix of the rows and their update."""
        b, blk = self._b, f"blk.{number}."
        if self._ngrams is not None and b.weight(f"{blk}ple_key.weight") is not None:
            self._rows = _with_ngrams(b, self._ngrams, self._rows, number)
        x, inject = self._mixed(f"{blk}hc_attn")
        b.graph.expand(x)
        if b.model.layers[number].recurrent:
            cur = delta_net(b, x, number)
        else:
            sparse = self._pools is not None and number < len(self._ratios) and self._ratios[number]
            mask = pooled_mask(b, self._pools, x, number) if self._pools is not None and sparse else None
            cur = gated_query(b, x, number, mask)
        if is_last:
            cur, inject = b.last_rows(cur), b.last_rows(inject)
            flat = b.last_rows(reshape(self._rows, b.n_embd * self._streams, b.n_tokens))
            self._rows = reshape(flat, b.n_embd, self._streams, flat.ne[1])
        self._update(cur, inject)
        x, inject = self._mixed(f"{blk}hc_ffn")
        self._update(feed_forward(b, traits, x, number), inject)

    def head(self) -> Tensor:
        """The last mix takes the place of the output norm; it is not fused."""
        b, n = self._b, self._rows.ne[2]
        normed, gate = self._gate("output_hc")
        rows = reshape(like("mul", normed, like("unary", gate)), b.n_embd, self._streams, n)
        cur = cont(view(rows, shape(b.n_embd, n), is_plain=False))
        for _ in range(self._streams - 1):
            cur = like("add", cur, view(rows, shape(b.n_embd, n), is_plain=False))
        return like("scale", cur)

    def _gate(self, start: str) -> tuple[Tensor, Tensor]:
        b, n = self._b, self._rows.ne[2]
        normed = like("mul", like("rms_norm", self._rows), b.need(f"{start}_norm.weight"))
        normed = reshape(normed, b.n_embd * self._streams, n)
        narrow = like("unary", like("scale", b.project(normed, f"{start}_down.weight")))
        return normed, b.project(narrow, f"{start}_up.weight")

    def _mixed(self, start: str) -> tuple[Tensor, Tensor]:
        """build_hc_mix: one row per token, and the weights with which the result comes back."""
        b, n = self._b, self._rows.ne[2]
        normed, gate = self._gate(start)
        parts = (reshape(part, b.n_embd, self._streams, n) for part in (normed, gate))
        return new("hc_pre", shape(b.n_embd, n), *parts), b.project(normed, f"{start}_inject.weight")

    def _update(self, cur: Tensor, inject: Tensor) -> None:
        """build_hc_combine."""
        weights = like("scale", like("unary", like("scale", inject)))
        self._rows = new("hc_post", self._rows.ne, cur, self._rows, weights)


def _ngram_rows(b: Build) -> Tensor | None:
    """Rows of the n-gram table, several heads per token side by side."""
    table = b.weight("per_layer_token_embd.weight")
    if table is None or not b.number("ple.ngram_size"):
        return None
    heads = (b.required("ple.ngram_size") - 1) * b.required("ple.heads_per_ngram")
    rows = get_rows(table, leaf(shape(heads * b.n_tokens), I32))
    rows = reshape(rows, table.ne[0] * heads, b.n_tokens)
    b.graph.expand(rows)
    return rows


def _with_ngrams(b: Build, ngrams: Tensor, rows: Tensor, block: int) -> Tensor:
    """build_ple: gated n-gram values and a dilated convolution over them, added to every residual row."""
    blk, n, embd, streams = f"blk.{block}.ple_", b.n_tokens, b.n_embd, rows.ne[1]

    def normed(x: Tensor, part: str) -> Tensor:
        x = reshape(x, embd, streams, n)
        return like("mul", like("rms_norm", x), b.need(f"{blk}norm_{part}.weight"))

    key, value = b.project(ngrams, f"{blk}key.weight"), b.project(ngrams, f"{blk}value.weight")
    product = like("mul", normed(key, "key"), normed(rows, "query"))
    dot = like("scale", new("sum_rows", (1, streams, n, 1), product))
    size = like("sqrt", like("clamp", like("unary", dot)))
    gate = like("unary", like("mul", like("unary", dot), size))
    gated = like("mul", new("repeat", (embd, streams, n, 1), reshape(value, embd, 1, n)), gate)
    line = _ngram_line(b, reshape(normed(gated, "conv"), embd * streams, n), block)
    conv = reshape(cont(like("unary", _dilated(b, line, blk))), embd, streams, n)
    return like("add", rows, like("add", gated, conv))


def _ngram_line(b: Build, x: Tensor, block: int) -> Tensor:
    """The rows of this batch behind those that the convolution still needs."""
    seqs, channels = b.s.n_seqs, x.ne[0]
    history = (b.required("ple.conv_kernel") - 1) * b.required("ple.ngram_size")
    n = b.n_tokens // seqs
    cache, before = states(b, block, history * channels)
    across = permute(reshape(x, channels, n, seqs), (n, channels, seqs, 1))
    line = concat(reshape(before, history, channels, seqs), across)
    save(b, cache, cont(view(line, (history, channels, seqs, 1), is_plain=False)))
    return line


def _dilated(b: Build, line: Tensor, blk: str) -> Tensor:
    """One shifted copy of the line per tap, weighted and added up."""
    weight, channels, seqs = b.need(f"{blk}conv1d.weight"), line.ne[1], line.ne[2]
    n = b.n_tokens // seqs
    total: Tensor | None = None
    for _ in range(weight.ne[0]):
        shifted = cont(permute(view(line, (n, channels, seqs, 1), is_plain=False), (channels, n, seqs, 1)))
        tap = reshape(cont(view(weight, shape(1, channels), is_plain=False)), channels)
        term = like("mul", shifted, tap)
        total = term if total is None else like("add", total, term)
    assert total is not None
    return total
