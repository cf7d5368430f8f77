"""Blocks with a state instead of a cache: gated delta net, Mamba-2, short convolutions.

Mirrors ``build_rs`` (llama-graph.cpp:3587), delta-net-base.cpp, qwen3next.cpp, qwen35moe.cpp, mamba-base.cpp and
lfm2.cpp of b11434. The fused delta net is taken: every backend here has it, and the engine turns it on by itself.
"""

from __future__ import annotations

from app.planner.graph.build import Build
from app.planner.graph.ggml import (
    Tensor,
    concat,
    cont,
    get_rows,
    like,
    mul_mat,
    new,
    permute,
    reshape,
    stored,
    view,
    written,
)


def states(b: Build, block: int, size: int) -> tuple[Tensor, Tensor]:
    """One state per sequence: (what is stored, the rows of this batch)."""
    cache = stored((size, b.s.n_seqs, 1, 1), size * b.s.n_seqs * 4, b.homes.caches[block], is_weight=False)
    rows = reshape(cache, size, b.s.n_seqs)
    _clear(b, cache)
    gathered = get_rows(rows, b.state_ids)
    now = view(gathered, (size, b.s.n_seqs, 1, 1))
    b.graph.expand(now)
    extra = view(gathered, (size, 0, 1, 1), n_bytes=0)
    b.graph.expand(written(view(cache, (size, 0, 1, 1), n_bytes=0), extra, op="cpy"))
    return cache, now


def _clear(b: Build, cache: Tensor) -> None:
    """The state of a new sequence is set to zero in place."""
    zero = view(cache, (cache.ne[0], 1, 1, 1))
    b.graph.expand(written(zero, zero, op="scale"))


def save(b: Build, cache: Tensor, result: Tensor) -> None:
    """The new state goes where the old one was."""
    b.graph.expand(written(view(cache, cache.ne), result, view(cache, cache.ne), op="cpy"))


def _last(line: Tensor, width: int, channels: int, seqs: int) -> Tensor:
    """The rows that the next batch's convolution needs: a narrow part of every long row."""
    n_bytes = ((channels * seqs - 1) * line.ne[0] + width) * 4
    return view(line, (width, channels, seqs, 1), is_plain=False, n_bytes=n_bytes)


def delta_net(b: Build, x: Tensor, block: int) -> Tensor:
    """Gated delta net of qwen3next (joint beta and alpha) and qwen3.5 (separate ones)."""
    blk, seqs = f"blk.{block}.", b.s.n_seqs
    n = b.s.n_tokens // seqs
    key, k_heads, v_heads = (
        b.required("ssm.state_size"),
        b.required("ssm.group_count"),
        b.required("ssm.time_step_rank"),
    )
    inner = b.required("ssm.inner_size")
    value = inner // v_heads
    channels = inner + 2 * k_heads * key
    mixed, z = _mixed_and_gate(b, x, blk, channels)
    beta, gate = _beta_and_decay(b, x, blk, v_heads, n)
    line = _convolved_line(b, block, mixed, blk, channels)
    cache, now = states(b, block, value * value * v_heads)
    state = reshape(now, value, value, v_heads, seqs)
    conv = like("unary", new("ssm_conv", (channels, n, seqs, 1), line, b.need(f"{blk}ssm_conv1d.weight")))
    q, k = (like("scale", like("rms_norm", view(conv, (key, k_heads, n, seqs), is_plain=False))) for _ in range(2))
    if b.model.architecture == "qwen3next" and k_heads != v_heads:
        shape = (key, v_heads // k_heads, k_heads, n * seqs)
        q, k = (reshape(new("repeat", shape, part), key, v_heads, n, seqs) for part in (q, k))
    v = view(conv, (value, v_heads, n, seqs), is_plain=False)
    result = new("delta_net", (value * v_heads, n * seqs + value * seqs, 1, 1), q, k, v, gate, beta, state)
    save(b, cache, view(result, (value, value, v_heads, seqs), is_plain=False))
    out = view(result, (value, v_heads, n, seqs), is_plain=False)
    normed = b.norm(out, b.weight(f"{blk}ssm_norm.weight"))
    cur = like("mul", normed, like("unary", reshape(z, value, v_heads, n, seqs)))
    cur = mul_mat(b.need(f"{blk}ssm_out.weight"), reshape(cur, inner, n, seqs))
    return reshape(cur, b.n_embd, n * seqs)


def _convolved_line(b: Build, block: int, mixed: Tensor, blk: str, channels: int) -> Tensor:
    weight = b.need(f"{blk}ssm_conv1d.weight")
    width, n = weight.ne[0], b.s.n_tokens // b.s.n_seqs
    cache, now = states(b, block, (width - 1) * channels)
    line = concat(reshape(now, width - 1, channels, b.s.n_seqs), permute(mixed, (n, channels, b.s.n_seqs, 1)))
    last = _last(line, width - 1, channels, b.s.n_seqs)
    save(b, cache, cont(last) if b.model.architecture == "qwen4exp" else last)
    return line


def _mixed_and_gate(b: Build, x: Tensor, blk: str, channels: int) -> tuple[Tensor, Tensor]:
    n, seqs = b.s.n_tokens // b.s.n_seqs, b.s.n_seqs
    if b.weight(f"{blk}attn_qkv.weight") is not None:
        mixed = reshape(b.project(x, f"{blk}attn_qkv.weight"), channels, n, seqs)
        return mixed, b.project(x, f"{blk}attn_gate.weight")
    both = b.project(x, f"{blk}ssm_in.weight")
    inner = b.required("ssm.inner_size")
    heads = b.required("ssm.group_count")
    keys = (channels - inner) // 2
    z = cont(view(both, (inner // heads, heads, n, seqs), is_plain=False))
    q, k = (cont(view(both, (keys // heads, heads, n, seqs), is_plain=False), keys, n, seqs) for _ in range(2))
    v = cont(view(both, (inner // heads, heads, n, seqs), is_plain=False), inner, n, seqs)
    return concat(concat(q, k), v), z


def _beta_and_decay(b: Build, x: Tensor, blk: str, heads: int, n: int) -> tuple[Tensor, Tensor]:
    seqs = b.s.n_seqs
    if b.weight(f"{blk}ssm_ba.weight") is not None:
        both = b.project(x, f"{blk}ssm_ba.weight")
        groups = b.required("ssm.group_count")
        part = view(both, (heads // groups, groups, n, seqs), is_plain=False)
        beta = like("unary", cont(part))
        alpha = cont(view(both, (heads // groups, groups, n, seqs), is_plain=False), heads, n, seqs)
    else:
        beta = like("unary", reshape(b.project(x, f"{blk}ssm_beta.weight"), 1, heads, n, seqs))
        alpha = reshape(b.project(x, f"{blk}ssm_alpha.weight"), heads, n, seqs)
    alpha = like("unary", like("add", alpha, b.need(f"{blk}ssm_dt.bias")))
    gate = like("mul", alpha, b.need(f"{blk}ssm_a"))
    return reshape(beta, 1, heads, n, seqs), reshape(gate, 1, heads, n, seqs)


def mamba2(b: Build, x: Tensor, block: int) -> Tensor:
    """build_mamba2_layer (mamba-base.cpp)."""
    blk, seqs = f"blk.{block}.", b.s.n_seqs
    n = b.s.n_tokens // seqs
    inner, state, groups = b.required("ssm.inner_size"), b.required("ssm.state_size"), b.required("ssm.group_count")
    heads = b.required("ssm.time_step_rank")
    head, channels = inner // heads, inner + 2 * groups * state
    width = b.need(f"{blk}ssm_conv1d.weight").ne[0]
    conv_cache, before = states(b, block, (width - 1) * channels)
    rows = b.project(x, f"{blk}ssm_in.weight")
    rows = reshape(rows, rows.ne[0], n, seqs)
    z = view(rows, (head, heads, n, seqs), is_plain=False)
    xbc = view(rows, (channels, n, seqs, 1), is_plain=False)
    dt = view(rows, (heads, n, seqs, 1), is_plain=False)
    line = concat(reshape(before, width - 1, channels, seqs), permute(xbc, (n, channels, seqs, 1)))
    save(b, conv_cache, _last(line, width - 1, channels, seqs))
    conv = new("ssm_conv", (channels, n, seqs, 1), line, b.need(f"{blk}ssm_conv1d.weight"))
    conv = like("unary", like("add", conv, b.need(f"{blk}ssm_conv1d.bias")))
    seen = view(conv, (head, heads, n, seqs), is_plain=False)
    parts = [view(conv, (state, groups, n, seqs), is_plain=False) for _ in range(2)]
    dt = like("add", cont(dt), b.need(f"{blk}ssm_dt.bias"))
    y = _scanned(b, block, seen, dt, parts, state * inner)
    y = like("add", y, like("mul", seen, b.need(f"{blk}ssm_d")))
    y = new("glu", y.ne, cont(z), y)
    if (weight := b.weight(f"{blk}ssm_norm.weight")) is not None:
        y = b.norm(reshape(y, inner // groups, groups, n, seqs), weight)
    return mul_mat(b.need(f"{blk}ssm_out.weight"), reshape(y, inner, n * seqs))


def _scanned(b: Build, block: int, x: Tensor, dt: Tensor, parts: list[Tensor], size: int) -> Tensor:
    """The scan reads the states where they are stored and returns outputs and new states in one tensor."""
    seqs = b.s.n_seqs
    cache = stored((size, seqs, 1, 1), size * seqs * 4, b.homes.caches[block], is_weight=False)
    _clear(b, cache)
    elements = x.ne[0] * x.ne[1] * x.ne[2] * x.ne[3]
    blk = f"blk.{block}."
    rows = reshape(cache, size, seqs)
    result = new("ssm_scan", (elements + size * seqs, 1, 1, 1),
                 reshape(rows, size, seqs), x, dt, b.need(f"{blk}ssm_a"), *parts, b.own_state_ids)  # fmt: skip
    b.graph.expand(result)
    gathered = get_rows(rows, b.other_state_ids)
    extra = view(gathered, (size, 0, 1, 1), n_bytes=0)
    b.graph.expand(written(view(cache, (size, 0, 1, 1), n_bytes=0), extra, op="cpy"))
    save(b, cache, view(result, (size, seqs, 1, 1), is_plain=False))
    return view(result, x.ne, is_plain=False)


def short_convolution(b: Build, x: Tensor, block: int) -> Tensor:
    """build_shortconv_block (lfm2.cpp)."""
    blk, seqs, embd = f"blk.{block}.", b.s.n_seqs, b.n_embd
    n = b.s.n_tokens // seqs
    rows = mul_mat(b.need(f"{blk}shortconv.in_proj.weight"), reshape(x, embd, n, seqs))
    parts = [view(rows, (embd, n, seqs, 1), is_plain=False) for _ in range(3)]
    across = permute(like("mul", parts[0], parts[2]), (n, embd, seqs, 1))
    width = b.required("shortconv.l_cache") - 1
    cache, now = states(b, block, width * embd)
    line = concat(reshape(now, width, embd, seqs), across)
    save(b, cache, _last(line, width, embd, seqs))
    conv = new("ssm_conv", (embd, n, seqs, 1), line, b.need(f"{blk}shortconv.conv.weight"))
    cur = mul_mat(b.need(f"{blk}shortconv.out_proj.weight"), like("mul", parts[1], conv))
    return reshape(cur, embd, n * seqs)
