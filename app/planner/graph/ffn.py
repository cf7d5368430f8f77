"""Feed-forward blocks: dense, shared and routed experts.

Mirrors ``build_ffn`` (llama-graph.cpp:1799) and ``build_moe_ffn`` (:2044).
"""

from __future__ import annotations

from dataclasses import dataclass

from app.planner.graph.build import Build
from app.planner.graph.ggml import I32, Tensor, get_rows, like, mul_mat_id, new, reshape, view, window

_FUSED_EXPERTS = 15
"""MOE_WEIGHTED_REDUCTION_MAX_EXPERTS, ggml-cuda.cu:3096."""


@dataclass(frozen=True, slots=True)
class Routing:
    """How an architecture routes. ``gating``: softmax, sigmoid, softmax_weight (after the choice), sqrt_softplus."""

    gating: str = "softmax"
    norms_weights: bool = True
    scales_weights: bool = False
    groups: int = 1
    groups_used: int = 1
    act: str = "glu"
    weighs_first: bool = False
    squashes_choice: bool = False


def dense(b: Build, x: Tensor, blk: str, part: str = "", act: str = "glu") -> Tensor:
    """build_ffn with a parallel gate where the file has one. ``part``: "" or "_shexp"."""
    up = b.project(x, f"{blk}ffn_up{part}.weight", f"{blk}ffn_up{part}.bias")
    if b.weight(f"{blk}ffn_gate{part}.weight") is not None:
        gate = b.project(x, f"{blk}ffn_gate{part}.weight", f"{blk}ffn_gate{part}.bias")
        up = _situ(b, gate, up) if act == "situ" else new("glu", gate.ne, gate, up)
    elif up.ne[0] == 2 * b.need(f"{blk}ffn_down{part}.weight").ne[0]:  # gate and up in one tensor
        up = new("glu", (up.ne[0] // 2, *up.ne[1:]), up)
    elif act == "relu_sqr":
        up = like("sqr", like("unary", up))
    else:
        up = like("unary", up)
    return b.project(up, f"{blk}ffn_down{part}.weight", f"{blk}ffn_down{part}.bias")


def routed(b: Build, x: Tensor, block: int, how: Routing, logits: Tensor | None = None, part: str = "exps") -> Tensor:
    """build_moe_ffn: choose, compute the chosen experts, weigh and add them up. ``part``: exps, chexps."""
    blk, n = f"blk.{block}.", x.ne[1]
    used = b.model.used_experts(block)
    if logits is None:
        logits = b.project(x, f"{blk}ffn_gate_inp.weight", f"{blk}ffn_gate_inp.bias")
    chosen, weights = _choose(b, logits, blk, used, how, part == "chexps")
    b.graph.expand(weights)
    rows = reshape(x, x.ne[0], 1, n)
    if how.weighs_first:  # llama4: the weights go on the rows before the experts see them
        rows = like("mul", new("repeat", (x.ne[0], used, n, 1), rows), weights)
    cur = _experts(b, rows, blk, chosen, how, part)
    cur = mul_mat_id(b.need(f"{blk}ffn_down_{part}.weight"), cur, chosen)
    cur = _scaled(b, cur, f"{blk}ffn_down_exps.scale", chosen)
    cur = _biased(b, cur, f"{blk}ffn_down_exps.bias", chosen)
    if not how.weighs_first:
        cur = like("mul", cur, weights)
    return _summed(b, cur, used)


def _choose(
    b: Build, logits: Tensor, blk: str, used: int, how: Routing, is_chunked: bool
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The chosen experts' numbers and weights."""
    experts, n = logits.ne[0], logits.ne[1]
    if how.gating == "softmax":
        probs = like("soft_max", logits)
    elif how.gating == "sigmoid":
        probs = like("unary", logits)
    elif how.gating == "sqrt_softplus":
        probs = like("sqrt", like("unary", logits))
    else:
        probs = logits
    bias = next((t for end in (".bias", ".weight", "") if (t := b.weight(f"{blk}exp_probs_b{end}"))), None)
    selection = probs if bias is None else like("add", probs, bias)
    if how.squashes_choice:
        selection = like("unary", logits)
    if how.groups > 1:
        selection = _grouped(selection, experts, n, how)
    order = new("argsort", selection.ne, selection)
    chosen = view(order, (used, n, 1, 1), is_plain=False, n_bytes=((n - 1) * experts + used) * 4)
    if is_chunked:  # the group's number instead of the expert's
        as_float = like("scale", new("cast", chosen.ne, chosen))
        chosen = new("cast", chosen.ne, as_float, element=I32)
    weights = get_rows(reshape(probs, 1, experts, n), chosen)
    if how.gating == "softmax_weight":
        weights = reshape(like("soft_max", reshape(weights, used, n)), 1, used, n)
    if how.norms_weights:
        flat = reshape(weights, used, n)
        total = like("clamp", new("sum_rows", (1, n, 1, 1), flat))
        weights = reshape(like("div", flat, total), 1, used, n)
    if how.scales_weights:
        weights = like("scale", weights)
    return chosen, weights


def _grouped(selection: Tensor, experts: int, n: int, how: Routing) -> Tensor:
    """Only the best groups of experts stay in the choice (llama-graph.cpp:2131-2157)."""
    size, groups, used = experts // how.groups, how.groups, how.groups_used
    cut = reshape(selection, size, groups, n)
    best = view(new("argsort", cut.ne, cut), (2, groups, n, 1), is_plain=False)
    scores = get_rows(reshape(cut, 1, size, groups, n), best)
    total = reshape(new("sum_rows", (1, groups, n, 1), reshape(scores, 2, groups, n)), groups, n)
    order = new("argsort", total.ne, total)
    kept = view(order, (used, n, 1, 1), is_plain=False)
    rows = get_rows(cut, kept)
    filled = like("fill", cut)
    masked = view(filled, cut.ne, op="write")
    masked.srcs = [rows, kept, filled]
    return reshape(masked, experts, n)


def _experts(b: Build, rows: Tensor, blk: str, chosen: Tensor, how: Routing, part: str) -> Tensor:
    """Gate and up of the chosen experts and their activation."""
    fused = b.weight(f"{blk}ffn_gate_up_exps.weight")
    if fused is not None:
        both = _scaled(b, mul_mat_id(fused, rows, chosen), f"{blk}ffn_up_exps.scale", chosen)
        half, row = (both.ne[0] // 2, *both.ne[1:]), both.ne[0] * both.ne[1]
        return new("glu", half, window(both, half, row), window(both, half, row))
    up = mul_mat_id(b.need(f"{blk}ffn_up_{part}.weight"), rows, chosen)
    up = _scaled(b, up, f"{blk}ffn_up_exps.scale", chosen)
    up = _biased(b, up, f"{blk}ffn_up_exps.bias", chosen)
    if b.weight(f"{blk}ffn_gate_{part}.weight") is None:
        up = like("unary", up)
        return like("sqr", up) if how.act == "relu_sqr" else up
    gate = mul_mat_id(b.need(f"{blk}ffn_gate_{part}.weight"), rows, chosen)
    gate = _scaled(b, gate, f"{blk}ffn_gate_exps.scale", chosen)
    gate = _biased(b, gate, f"{blk}ffn_gate_exps.bias", chosen)
    return _situ(b, gate, up) if how.act == "situ" else new("glu", gate.ne, gate, up)


def _situ(b: Build, gate: Tensor, up: Tensor) -> Tensor:
    """Kimi-K3's activation, step by step (kimi-k3.cpp:148)."""
    act = like("scale", like("unary", like("scale", gate)))
    act = like("mul", act, like("unary", gate))
    if b.real("activation.situ_linear_beta") > 0:
        up = like("scale", like("unary", like("scale", up)))
    return like("mul", act, up)


def _biased(b: Build, x: Tensor, name: str, chosen: Tensor) -> Tensor:
    bias = b.weight(name)
    return x if bias is None else new("add_id", x.ne, x, bias, chosen)


def _scaled(b: Build, x: Tensor, name: str, chosen: Tensor) -> Tensor:
    """One factor per expert (NVFP4 files, Gemma 4): repeated for every token, then the chosen ones (:1605)."""
    factors = b.weight(name)
    if factors is None:
        return x
    every = new("repeat", (1, factors.ne[0], x.ne[2], 1), view(factors, (1, factors.ne[0], 1, 1)))
    return like("mul", x, get_rows(every, chosen))


def _summed(b: Build, cur: Tensor, used: int) -> Tensor:
    """The chosen experts' rows added up (llama-graph.cpp:2381-2405).

    The engine has a window and a sum per expert; all but the first sum work in place, so one step stands for them.
    """
    b.graph.expand(cur)
    embd, n = cur.ne[0], cur.ne[2]
    rows = view(cur, (embd, n, 1, 1), is_plain=False, n_bytes=((n - 1) * used + 1) * embd * 4)
    total = new("sum_experts", (embd, n, 1, 1), rows)
    if 1 < used <= _FUSED_EXPERTS:
        total.keeps = cur
    b.graph.expand(total)
    return total


def shared(b: Build, x: Tensor, blk: str, gate_op: str = "", act: str = "glu") -> Tensor | None:
    """The shared experts; ``gate_op``: how their own gate is squashed (qwen2moe: silu divided by its input)."""
    if b.weight(f"{blk}ffn_up_shexp.weight") is None:
        return None
    if gate_op == "silu_div":
        raw = b.project(x, f"{blk}ffn_gate_inp_shexp.weight")
        gate = like("div", like("unary", raw), raw)
        return like("mul", dense(b, x, blk, "_shexp", act), gate)
    out = dense(b, x, blk, "_shexp", act)
    if gate_op == "sigmoid":
        out = like("mul", out, like("unary", b.project(x, f"{blk}ffn_gate_inp_shexp.weight")))
    return out
