"""Kimi's delta attention: three convolved streams, a decay per channel, a gated norm.

Mirrors kimi-linear.cpp and bailingmoe3.cpp (which has one matrix each where Kimi has a pair) of b11434.
"""

from __future__ import annotations

from app.planner.graph.build import Build
from app.planner.graph.ggml import Tensor, concat, cont, like, mul_mat, new, permute, reshape, view
from app.planner.graph.recurrent import save, states


def delta_attention(b: Build, x: Tensor, block: int) -> Tensor:
    """One recurrent block."""
    blk, seqs, n = f"blk.{block}.", b.s.n_seqs, b.n_tokens
    head, heads = b.required("kda.head_dim"), b.model.layers[block].head_count
    width = b.required("ssm.conv_kernel") - 1
    inner = head * heads
    cache, rows = states(b, block, 3 * width * inner)
    q, k, v = (_stream(b, x, blk, part, cache, rows, width, head, heads) for part in "qkv")
    gate = reshape(_decay(b, x, blk, head, heads), head, heads, n // seqs, seqs)
    beta = like("unary", reshape(mul_mat(b.need(f"{blk}ssm_beta.weight"), x), 1, heads, n // seqs, seqs))
    state_cache, now = _state(b, block, head, heads)
    q, k = (like("scale", like("rms_norm", part)) for part in (q, k))
    result = new("delta_net", (inner, n + head * seqs, 1, 1), q, k, v, gate, beta, now)
    return _gated_output(b, x, blk, result, state_cache, head, heads)


def _state(b: Build, block: int, head: int, heads: int) -> tuple[Tensor, Tensor]:
    cache, now = states(b, block, head * head * heads)
    return cache, reshape(now, head, head, heads, b.s.n_seqs)


def _stream(
    b: Build, x: Tensor, blk: str, part: str, cache: Tensor, rows: Tensor, width: int, head: int, heads: int
) -> Tensor:
    """causal_conv1d: projection, convolution over the tokens and the rows kept from before, activation."""
    seqs, inner = b.s.n_seqs, head * heads
    n = b.n_tokens // seqs
    n_bytes = ((seqs - 1) * rows.ne[0] + width * inner) * 4
    before = view(rows, (width, inner, seqs, 1), is_plain=False, n_bytes=n_bytes)
    projected = reshape(mul_mat(b.need(f"{blk}attn_{part}.weight"), x), inner, n, seqs)
    line = concat(before, permute(projected, (n, inner, seqs, 1)))
    n_bytes = ((inner * seqs - 1) * line.ne[0] + width) * 4
    kept = view(line, (width, inner, seqs, 1), is_plain=False, n_bytes=n_bytes)
    save(b, cache, kept)
    kernel = b.need(f"{blk}ssm_conv1d_{part}.weight")
    out = new("ssm_conv", (inner, n, seqs, 1), line, view(kernel, (width + 1, inner, 1, 1)))
    return reshape(like("unary", reshape(out, inner, b.n_tokens)), head, heads, n, seqs)


def _decay(b: Build, x: Tensor, blk: str, head: int, heads: int) -> Tensor:
    """The decay of every channel; Kimi has a narrow matrix and a wide one, softplus first and the factor after."""
    n = b.n_tokens
    gate = mul_mat(b.need(f"{blk}ssm_f_a.weight"), x)
    wide = b.weight(f"{blk}ssm_f_b.weight")
    factor = view(b.need(f"{blk}ssm_a"), (1, heads, 1, 1))
    if wide is not None:
        gate = mul_mat(wide, gate)
    if wide is not None and not b.real("kda.gate_lower_bound"):
        gate = like("unary", like("add", gate, b.need(f"{blk}ssm_dt.bias")))
        return like("mul", reshape(gate, head, heads, n), factor)
    gate = reshape(like("add", gate, b.need(f"{blk}ssm_dt.bias")), head, heads, n)
    return like("scale", like("unary", like("mul", gate, factor)))


def _gated_output(
    b: Build, x: Tensor, blk: str, result: Tensor, cache: Tensor, head: int, heads: int
) -> Tensor:  # fmt: skip
    seqs, n, inner = b.s.n_seqs, b.n_tokens, head * heads
    out = view(result, (head, heads, n // seqs, seqs), is_plain=seqs == 1)
    state = view(result, (head, head, heads, seqs), is_plain=False)
    wide, whole = b.weight(f"{blk}ssm_g_b.weight"), b.weight(f"{blk}ssm_g.weight")
    copies_first = b.model.architecture == "kimi-linear"  # before the state is saved
    out = cont(out) if copies_first else out
    save(b, cache, state)
    out = out if copies_first else cont(out)
    gate = mul_mat(b.need(f"{blk}ssm_g_a.weight") if whole is None else whole, x)
    gate = gate if wide is None else mul_mat(wide, gate)
    normed = b.norm(reshape(out, head, heads, n), b.weight(f"{blk}ssm_norm.weight"))
    cur = like("mul", normed, like("unary", reshape(gate, head, heads, n)))
    return mul_mat(b.need(f"{blk}attn_output.weight"), cont(cur, inner, n))
