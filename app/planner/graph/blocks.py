"""One block of a model: mixer, feed-forward network, norms and residuals, as the file's tensors call for."""

from __future__ import annotations

from app.planner.graph.attention import attend, grouped_query
from app.planner.graph.build import Build
from app.planner.graph.ffn import Routing, dense, routed, shared
from app.planner.graph.ggml import Tensor, cont, like, mul_mat, new, reshape, window
from app.planner.graph.kda import delta_attention
from app.planner.graph.latent import latent
from app.planner.graph.msa import is_sparse, sparse_query
from app.planner.graph.recurrent import delta_net, mamba2, short_convolution
from app.planner.graph.traits import Traits


def block(b: Build, traits: Traits, x: Tensor, number: int, is_last: bool) -> Tensor:
    """The block's output; ``is_last``: only rows with logits are needed afterwards."""
    blk = f"blk.{number}."
    cur = b.norm(x, b.weight(f"{blk}attn_norm.weight"), b.weight(f"{blk}attn_norm.bias"))
    if b.model.architecture.startswith("nemotron_h"):  # each block is a mixer or an FFN, not both
        is_ffn = b.weight(f"{blk}ffn_up.weight") or b.weight(f"{blk}ffn_up_exps.weight")
        return like("add", feed_forward(b, traits, cur, number) if is_ffn else mixer(b, cur, number), x)
    if traits.is_parallel:
        return _parallel(b, traits, x, cur, number)
    logits = b.project(x, f"{blk}ffn_gate_inp.weight") if traits.routes_first else None
    cur = mixer(b, cur, number)
    post = b.weight(f"{blk}post_attention_norm.weight") or b.weight(f"{blk}attn_output_norm.weight")
    pre = b.weight(f"{blk}ffn_norm.weight")
    if is_last and traits.crops_early:
        cur, x = b.last_rows(cur), b.last_rows(x)
        logits = None if logits is None else b.last_rows(logits)
    if pre is not None and post is not None:
        cur = b.norm(cur, post)
    residual = _sum(b, traits, cur, x)
    cur = b.norm(residual, pre if pre is not None else post, b.weight(f"{blk}ffn_norm.bias"))
    if (beside := b.weight(f"{blk}ffn_norm_exps.weight")) is not None:  # arctic.cpp: the experts read the block's input
        residual = like("add", dense(b, cur, blk), residual)
        cur = b.norm(x, beside)
    cur = feed_forward(b, traits, cur, number, logits)
    after = b.weight(f"{blk}post_ffw_norm.weight") or b.weight(f"{blk}layer_output_norm.weight")
    if after is not None:
        cur = b.norm(cur, after)
    return _sum(b, traits, cur, residual)


def _parallel(b: Build, traits: Traits, x: Tensor, normed: Tensor, number: int) -> Tensor:
    """Attention and FFN read the same normed row (cohere2moe.cpp); shared experts are averaged in."""
    mixed = mixer(b, normed, number)
    cur = feed_forward(b, traits, normed, number)
    return like("add", like("add", cur, x), mixed)


def _sum(b: Build, traits: Traits, cur: Tensor, residual: Tensor) -> Tensor:
    """The block's result and what came in; Granite scales the result first."""
    if b.scales_residual:
        cur = like("scale", cur)
    return like("add", residual, cur) if traits.adds_to_residual else like("add", cur, residual)


def mixer(b: Build, x: Tensor, number: int) -> Tensor:
    """Attention of the block's kind, or its recurrent part."""
    blk = f"blk.{number}."
    if b.model.layers[number].recurrent:
        if b.weight(f"{blk}shortconv.conv.weight") is not None:
            return short_convolution(b, x, number)
        if b.weight(f"{blk}ssm_d") is not None or b.weight(f"{blk}ssm_d.weight") is not None:
            return mamba2(b, x, number)
        if b.weight(f"{blk}ssm_conv1d_q.weight") is not None:
            if b.weight(f"{blk}ssm_f_b.weight") is not None:
                b.graph.expand(x)
            return delta_attention(b, x, number)
        b.graph.expand(x)
        return delta_net(b, x, number)
    if b.weight(f"{blk}attn_kv_a_mqa.weight") is not None:
        return latent(b, x, number)
    q = b.weight(f"{blk}attn_q.weight")
    layer = b.model.layers[number]
    if q is not None and q.ne[1] == 2 * layer.head_count * layer.key_length:
        b.graph.expand(x)
        return gated_query(b, x, number)
    if b.model.architecture == "minimax-m3" and is_sparse(b, number):
        return sparse_query(b, x, number)
    return grouped_query(b, x, number, rope=b.has_positions(number), v_first=not b.slides)


def gated_query(b: Build, x: Tensor, number: int, mask: Tensor | None = None) -> Tensor:
    """Attention whose q matrix also makes a gate for the result (qwen3next.cpp, qwen35moe.cpp ``build_layer_attn``).

    ``mask``: instead of the cache's own.
    """
    blk, n, layer = f"blk.{number}.", b.n_tokens, b.model.layers[number]
    length, heads, heads_kv = layer.key_length, layer.head_count, layer.head_count_kv
    q, k, v = (b.project(x, f"{blk}attn_{part}.weight", f"{blk}attn_{part}.bias") for part in "qkv")
    gate = cont(window(q, (length, heads, n, 1), q.ne[0]), length * heads, n)
    q = b.norm(window(q, (length, heads, n, 1), q.ne[0]), b.weight(f"{blk}attn_q_norm.weight"))
    k = b.norm(reshape(k, length, heads_kv, n), b.weight(f"{blk}attn_k_norm.weight"))
    q, k = like("rope", q, b.positions), like("rope", k, b.positions)
    cur = attend(b, number, q, k, reshape(v, layer.value_length, heads_kv, n), "", mask=mask)
    cur = like("mul", cur, like("unary", gate))
    return mul_mat(b.need(f"{blk}attn_output.weight"), cur)


def feed_forward(b: Build, traits: Traits, x: Tensor, number: int, logits: Tensor | None = None) -> Tensor:
    """The block's experts or dense FFN, shared experts included. ``logits``: the router's, when it read another row."""
    blk, act = f"blk.{number}.", traits.routing.act
    if b.weight(f"{blk}ffn_gate_inp.weight") is None:
        return dense(b, x, blk, act=act)
    narrow = b.weight(f"{blk}ffn_latent_down.weight") or b.weight(f"{blk}ffn_routed_down.weight")
    if narrow is None:
        if b.weight(f"{blk}ffn_up_chexps.weight") is not None:
            return _with_chunked(b, x, number, traits)
        out = routed(b, x, number, traits.routing, logits)
        if b.weight(f"{blk}ffn_up.weight") is not None and b.weight(f"{blk}ffn_norm_exps.weight") is None:
            out = like("scale", like("add", dense(b, x, blk, act=act), out))  # grok.cpp: both, averaged
    else:  # the experts work on a narrower row, the router on the whole one
        rows, logits = mul_mat(narrow, x), b.project(x, f"{blk}ffn_gate_inp.weight")
        out = routed(b, rows, number, traits.routing, logits)
        if (weight := b.weight(f"{blk}ffn_routed_norm.weight")) is not None:
            out = b.norm(out, weight)
        wide = b.weight(f"{blk}ffn_latent_up.weight")
        out = mul_mat(b.need(f"{blk}ffn_routed_up.weight") if wide is None else wide, out)
    extra = shared(b, x, blk, traits.shared_gate, act)
    if extra is None:
        return out
    out = like("add", out, extra)
    return like("scale", out) if traits.is_parallel else out


def _with_chunked(b: Build, x: Tensor, number: int, traits: Traits) -> Tensor:
    """GroveMoE: the experts' result goes through a second, smaller set that each share with a neighbour."""
    logits = b.project(x, f"blk.{number}.ffn_gate_inp.weight")
    out = routed(b, x, number, traits.routing, logits)
    more = routed(b, out, number, traits.routing, logits, part="chexps")
    return like("add", out, like("scale", more))


def plain_block(b: Build, x: Tensor, number: int) -> Tensor:
    """A block of unknown make: every matrix that takes the residual row, all results held together, then one row."""
    blk = f"blk.{number}."
    names = [name for name in b.matrices(number) if ".ffn_" not in name]
    parts = [mul_mat(b.need(name), x) for name in names]
    cur = like("add", new("mix", x.ne, *parts), x) if parts else x
    if b.weight(f"{blk}ffn_up.weight") is not None and b.weight(f"{blk}ffn_down.weight") is not None:
        cur = like("add", dense(b, cur, blk), cur)
    elif b.weight(f"{blk}ffn_up_exps.weight") is not None and b.weight(f"{blk}ffn_gate_inp.weight") is not None:
        cur = like("add", routed(b, cur, number, Routing()), cur)
    b.graph.expand(cur)
    return cur
