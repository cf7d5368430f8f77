"""What each block keeps in the KV cache and in the recurrent state, computed as the engine does.

Mirrors ``llama_model_base::load_hparams`` (llama-model.cpp:1300-1494), ``load_arch_hparams`` of every file in
src/models, and the layer filters of ``create_memory`` (llama-model.cpp:2358-2845) of llama.cpp b11434. Two
architectures keep more than one value per block can say: granite-switch (an extra router layer) and nanbeige (layers
run several times); deepseek4's compressed caches are in ``app.planner.kv``.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.model._meta import Meta
from app.model._swa import SlidingFacts, sliding_facts
from app.model.types import LayerFacts

_RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
"""llm_arch_is_recurrent, llama-arch.cpp:1110."""
NO_MEMORY = frozenset(
    {
        "bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3",
        "eurobert", "wavtokenizer-dec", "gemma-embedding", "dream", "llada", "llada-moe", "rnd1", "clef", "t5encoder",
    }
)  # fmt: skip
"""Architectures without any cache, llama-model.cpp:2364-2381."""
_RECURRENT_WITHOUT_KV_HEADS = frozenset(
    {
        "jamba", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "kimi-linear", "kimi-k3", "glm5-next", "bailingmoe3",
    }
)  # fmt: skip
"""A block is recurrent where head_count_kv is 0 (jamba.cpp:12, granite-hybrid.cpp:24, kimi-linear.cpp:18, ...)."""
_NEMOTRON = frozenset({"nemotron_h", "nemotron_h_moe"})
_ATTENTION_INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4, "clef": 4, "minimax-01": 8}
"""Every nth block has attention unless the file says otherwise (qwen3next.cpp:17-23, minimax-01.cpp:12-18)."""
_KV_IN_MTP_BLOCKS = _NEMOTRON | {"bailingmoe3"}
"""Hybrids whose cache filter does not leave the MTP blocks out (llama-memory-hybrid.cpp, llama-model.cpp:2699-2705)."""


@dataclass(frozen=True, slots=True)
class HParams:
    """``sliding_window`` is None when no block slides, whatever the file says."""

    layers: tuple[LayerFacts, ...]
    nextn_count: int
    sliding_window: int | None
    is_mla: bool


def compute_hparams(
    meta: Meta, architecture: str, block_count: int, embedding_length: int | None, tensor_names: frozenset[str]
) -> HParams:
    """Facts per block; a key that the file lacks takes the engine's default."""
    nextn_count = effective_nextn(meta, architecture, block_count, tensor_names)
    n_trunk = block_count - nextn_count
    heads = meta.integers("attention.head_count", block_count) or (0,) * block_count
    heads_kv = meta.integers("attention.head_count_kv", block_count) or heads
    feed_forward = meta.integers("feed_forward_length", block_count) or (0,) * block_count
    recurrent = _recurrent_blocks(meta, architecture, block_count, n_trunk, heads_kv, feed_forward)
    has_kv = _blocks_with_kv(meta, architecture, block_count, n_trunk, recurrent, feed_forward)
    sliding = sliding_facts(meta, architecture, block_count, n_trunk, recurrent)
    is_mla = bool(meta.integer("attention.key_length_mla")) and bool(meta.integer("attention.value_length_mla"))
    lengths = _row_lengths(meta, architecture, embedding_length, heads)
    layers = tuple(
        _layer(heads[i], heads_kv[i] if has_kv[i] else 0, lengths, sliding, i, recurrent[i], is_mla)
        for i in range(block_count)
    )
    return HParams(layers, nextn_count, sliding.window, is_mla)


def effective_nextn(meta: Meta, architecture: str, block_count: int, tensor_names: frozenset[str]) -> int:
    """How many of the last blocks are MTP heads: nextn_predict_layers, unless that is all of them (a draft model)."""
    count = meta.integer("nextn_predict_layers") or 0
    if count >= block_count:
        return 0
    probe = f"blk.{block_count - count}.nextn.eh_proj.weight"
    if architecture == "deepseek4" and probe not in tensor_names:  # deepseek4.cpp:20-26
        return 0
    return count


@dataclass(frozen=True, slots=True)
class _RowLengths:
    key: int
    value: int
    key_sliding: int
    value_sliding: int


def _row_lengths(meta: Meta, architecture: str, embedding_length: int | None, heads: tuple[int, ...]) -> _RowLengths:
    """Head sizes of K and V (llama-model.cpp:1437-1472); all 0 when block 0 has no attention heads."""
    first_heads = heads[0] if heads else 0
    default = (embedding_length or 0) // first_heads if first_heads else 0
    reads_keys = first_heads > 0 or architecture == "plamo2"  # plamo2.cpp:15-16 reads them again
    key = meta.integer("attention.key_length") if reads_keys else None
    value = meta.integer("attention.value_length") if reads_keys else None
    key = default if key is None else key
    value = default if value is None else value
    key_sliding = meta.integer("attention.key_length_swa")
    value_sliding = meta.integer("attention.value_length_swa")
    return _RowLengths(
        key, value, key if key_sliding is None else key_sliding, value if value_sliding is None else value_sliding
    )


def _layer(
    heads: int, heads_kv: int, lengths: _RowLengths, sliding: SlidingFacts, block: int, recurrent: bool, is_mla: bool
) -> LayerFacts:
    """With MLA only K is cached: it holds the compressed row of both (llama-kv-cache.cpp:158, 222-226).

    A file that tells of KV heads but of no length for their rows keeps no cache that could be counted.
    """
    slides = sliding.blocks[block]
    key_length = lengths.key_sliding if slides else lengths.key
    return LayerFacts(
        head_count=heads,
        head_count_kv=heads_kv if key_length else 0,
        key_length=key_length,
        value_length=0 if is_mla else lengths.value_sliding if slides else lengths.value,
        sliding=slides,
        recurrent=recurrent,
    )


def _recurrent_blocks(
    meta: Meta, architecture: str, n: int, n_trunk: int, heads_kv: tuple[int, ...], feed_forward: tuple[int, ...]
) -> tuple[bool, ...]:
    if architecture in _RECURRENT or architecture == "falcon-h1":  # falcon-h1.cpp:14: every block has both
        return (True,) * n
    if architecture in _RECURRENT_WITHOUT_KV_HEADS:
        return tuple(heads_kv[i] == 0 and (i < n_trunk or architecture == "glm5-next") for i in range(n))
    if architecture in _NEMOTRON:  # nemotron-h.cpp:15
        return tuple(i < n_trunk and heads_kv[i] == 0 and feed_forward[i] == 0 for i in range(n))
    if architecture in _ATTENTION_INTERVAL:
        told = meta.integers("attention.recurrent_layers", n)
        if told is not None:
            return tuple(bool(flag) for flag in told)
        interval = meta.integer("full_attention_interval") or _ATTENTION_INTERVAL[architecture]
        return tuple(i < n_trunk and (i + 1) % interval != 0 for i in range(n))
    return (False,) * n


def _blocks_with_kv(
    meta: Meta, architecture: str, n: int, n_trunk: int, recurrent: tuple[bool, ...], feed_forward: tuple[int, ...]
) -> tuple[bool, ...]:
    """Which blocks own rows of the KV cache (head_count_kv may still be 0)."""
    if architecture in NO_MEMORY or architecture in _RECURRENT:
        return (False,) * n
    if architecture == "falcon-h1":
        return (True,) * n
    end = n if architecture in _KV_IN_MTP_BLOCKS else n_trunk
    if architecture == "gemma3n":  # the blocks after these reuse an earlier block's cache, gemma3n.cpp:7
        end = min(end, 20)
    elif architecture == "gemma4":  # gemma4.cpp:8-11
        end = min(end, max(0, n - (meta.integer("attention.shared_kv_layers") or 0)))
    return tuple(
        i < end and not recurrent[i] and not (architecture in _NEMOTRON and feed_forward[i] > 0) for i in range(n)
    )
