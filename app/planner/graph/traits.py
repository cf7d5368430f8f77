"""What an architecture's graph does that its tensors do not show.

Read from src/models/*.cpp of b11434. An architecture that is not listed takes the common form: everything else follows
from which tensors a block has.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.planner.graph.ffn import Routing


@dataclass(frozen=True, slots=True)
class Traits:
    """``crops_early``: the last block drops rows that need no logits before its FFN; else only the head does.

    ``shared_gate``: how the shared experts' own gate is squashed. ``scales_rows``: token rows times sqrt(n_embd).
    ``has_mixed``: batches of text and embeddings together (llama-arch.cpp:1182). ``adds_to_residual``: the residual is
    the first term of the sum, so the sum takes over its memory. ``is_parallel``: attention and FFN read the same row.
    ``routes_first``: the router reads what the block's attention reads, before any norm.
    """

    routing: Routing = field(default_factory=Routing)
    crops_early: bool = True
    shared_gate: str = ""
    scales_rows: bool = False
    has_mixed: bool = True
    adds_to_residual: bool = False
    is_parallel: bool = False
    routes_first: bool = False


_LATE = frozenset({
    "bailingmoe3", "cohere2moe", "gemma4", "hy_v3", "gpt-oss", "qwen35", "qwen35moe", "qwen3next", "step35",
    "nemotron_h", "nemotron_h_moe",
})  # fmt: skip
_SCALED_ROWS = frozenset({"gemma3", "gemma3n", "gemma4", "gemma-embedding"})
_ADDS_TO_RESIDUAL = frozenset({"lfm2", "lfm2moe"})
_NO_MIX = frozenset({"cogvlm", "deepseek4", "granite-switch"})
_SHARED_GATE = {"qwen2moe": "silu_div", "qwen3next": "sigmoid", "qwen35moe": "sigmoid", "qwen4exp": "sigmoid"}
_NORM_ALWAYS = frozenset({
    "qwen3moe", "qwen3vlmoe", "qwen3next", "qwen35moe", "qwen4exp", "mimo2", "granitehybrid", "granitemoe", "granite",
    "minimax-m2", "lfm2moe", "lfm2", "ernie4_5-moe", "grok", "hunyuan-moe", "gemma4", "kimi-linear", "llama",
    "mistral3", "llada-moe", "smallthinker", "dbrx", "phimoe", "rnd1", "mellum", "arctic", "grovemoe", "minicpm",
    "granite_swa",
})  # fmt: skip
_GATING = {1: "softmax", 2: "sigmoid", 3: "softmax_weight", 4: "sqrt_softplus"}
_GATING_BY_ARCH = {
    "gpt-oss": "softmax_weight", "llama4": "sigmoid", "mimo2": "sigmoid", "nemotron_h": "sigmoid",
    "nemotron_h_moe": "sigmoid",
}  # fmt: skip


def traits_of(architecture: str, gating: int, norms: bool, scale: float, groups: int, groups_used: int) -> Traits:
    """Traits from the architecture's name and the routing keys of the file."""
    routing = Routing(
        gating=_GATING_BY_ARCH.get(architecture) or _GATING.get(gating, "softmax"),
        norms_weights=norms or architecture in _NORM_ALWAYS,
        scales_weights=scale not in (0.0, 1.0),
        groups=groups,
        groups_used=groups_used,
        weighs_first=architecture == "llama4",
        squashes_choice=architecture == "grovemoe",
        act="relu_sqr" if architecture.startswith("nemotron") else "situ" if architecture == "kimi-k3" else "glu",
    )
    return Traits(
        routing=routing,
        crops_early=architecture not in _LATE,
        shared_gate=_SHARED_GATE.get(architecture, ""),
        scales_rows=architecture in _SCALED_ROWS,
        has_mixed=architecture not in _NO_MIX,
        adds_to_residual=architecture in _ADDS_TO_RESIDUAL,
        is_parallel=architecture == "cohere2moe",
        routes_first=architecture == "smallthinker",
    )
