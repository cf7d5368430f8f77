"""Bytes of the KV cache and of recurrent state, block by block.

Formulas: llama-kv-cache.cpp:150-200 (cells, rows, streams), llama-kv-cache-iswa.cpp:58-75 (sliding window),
llama-hparams.cpp:208-257 (recurrent state), llama-memory-recurrent.cpp (F32 rows, one per sequence), of b11434.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.common.units import pad
from app.model.types import LayerFacts, ModelInfo

CACHE_TYPES: dict[str, tuple[int, int]] = {
    "f32": (1, 4),
    "f16": (1, 2),
    "bf16": (1, 2),
    "q8_0": (32, 34),
    "q5_1": (32, 24),
    "q5_0": (32, 22),
    "q4_1": (32, 20),
    "q4_0": (32, 18),
    "iq4_nl": (32, 18),
}
"""KV cache type -> (elements per block, bytes per block), as ``-ctk``/``-ctv`` list them (arg.cpp:2440)."""

IK_CACHE_TYPES: dict[str, tuple[int, int]] = {"q6_0": (32, 26)}
"""Further types of ik_llama.cpp. Its ``q8_KV`` has no blocks: one byte per element, and 8 for each head's row."""
_Q8_KV = "q8_kv"
_Q8_KV_ROW = 8

INEXACT = frozenset({"graniteswitch", "nanbeige"})
"""Architectures whose caches are not those that one value per block can say (``app.model.hparams``)."""

_CELL_PAD = 256  # llama-context.cpp pads n_ctx, llama-kv-cache-iswa.cpp:66 the sliding cache


@dataclass(frozen=True, slots=True)
class KvSettings:
    """What the cache's size depends on. ``n_ctx`` is the total over all slots.

    ``keeps_mla_values``: engines from before llama.cpp#19067 and ik_llama.cpp's ``-mla 1`` without flash attention
    cache c^KV a second time, as V. ``flash_attention``: without it V is stored transposed, every block's rows as wide
    as the widest block's (llama-kv-cache.cpp:210). ``n_snapshots``: recurrent states kept besides the current one, to
    take back drafted tokens (llama-memory-recurrent.cpp:101).
    """

    n_ctx: int
    n_ubatch: int = 512
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    n_slots: int = 1
    is_unified: bool = True
    swa_full: bool = False
    keeps_mla_values: bool = False
    flash_attention: bool = True
    n_snapshots: int = 0

    @property
    def n_streams(self) -> int:
        """Separate caches: one when unified, else one per slot."""
        return 1 if self.is_unified else self.n_slots

    @property
    def n_cells(self) -> int:
        """Cells per stream."""
        return pad(self.n_ctx // self.n_streams, _CELL_PAD)


def row_bytes(cache_type: str, n_elements: int, n_heads: int = 1) -> int:
    """Bytes of one cache row; a partial block counts as a whole one (the engine refuses such a type).

    KeyError for a type that no engine has.
    """
    if cache_type == _Q8_KV:
        return n_elements + _Q8_KV_ROW * n_heads
    block, size = CACHE_TYPES.get(cache_type) or IK_CACHE_TYPES[cache_type]
    return -(-n_elements // block) * size


def sliding_cells(window: int, settings: KvSettings) -> int:
    """Cells of a sliding-window layer (llama-kv-cache-iswa.cpp:66)."""
    if settings.swa_full:
        return settings.n_cells
    sequences = settings.n_slots if settings.is_unified else 1
    return pad(min(settings.n_cells, window * sequences + settings.n_ubatch), _CELL_PAD)


def _attention_bytes(model: ModelInfo, layer: LayerFacts, settings: KvSettings) -> int:
    if layer.head_count_kv == 0:
        return 0
    cells = settings.n_cells
    if layer.sliding and model.sliding_window:
        cells = sliding_cells(model.sliding_window, settings)
    heads = layer.head_count_kv
    row = row_bytes(settings.cache_type_k, layer.key_length * heads, heads)
    if not model.is_mla:  # MLA keeps one latent row and no V cache (llama-kv-cache.cpp:196 has_v = !is_mla)
        width = layer.value_length * heads if settings.flash_attention else _widest_values(model)
        row += row_bytes(settings.cache_type_v, width, heads)
    elif settings.keeps_mla_values:
        row += row_bytes(settings.cache_type_v, number_of(model, "attention.kv_lora_rank"))
    return cells * settings.n_streams * row


def _widest_values(model: ModelInfo) -> int:
    """n_embd_v_gqa_max, llama-hparams.cpp."""
    return max(layer.value_length * layer.head_count_kv for layer in model.layers)


def number_of(model: ModelInfo, key: str) -> int:
    """A whole number of the architecture's own keys; 0 when the file lacks it."""
    value = model.metadata.get(f"{model.architecture}.{key}")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def recurrent_state_elements(model: ModelInfo, layer: LayerFacts) -> int:
    """F32 elements of one sequence's state in one recurrent block: conv rows + state (llama-hparams.cpp:208-257)."""
    conv = number_of(model, "ssm.conv_kernel")
    if short := number_of(model, "shortconv.l_cache"):
        return (model.embedding_length or 0) * (short - 1)
    if kda := number_of(model, "kda.head_dim"):
        inner = layer.head_count * kda
        return 3 * ((conv - 1) if conv else 3) * inner + kda * kda * layer.head_count
    if head := number_of(model, "wkv.head_size"):
        shift = number_of(model, "token_shift_count") or 2
        return (model.embedding_length or 0) * (shift + head)
    if model.architecture == "minimax-01":
        return layer.key_length * layer.key_length * layer.head_count
    inner, state = number_of(model, "ssm.inner_size"), number_of(model, "ssm.state_size")
    groups = number_of(model, "ssm.group_count")
    return ((conv - 1) if conv else 0) * (inner + 2 * groups * state) + state * inner


def _ngram_state_elements(model: ModelInfo, block: int) -> int:
    """Elements of the convolution over n-gram rows, in the block that reads them (llama-hparams.cpp:268)."""
    blocks = model.metadata.get(f"{model.architecture}.ple.layers")
    if not isinstance(blocks, tuple) or block not in blocks:
        return 0
    width = number_of(model, "hyper_connection.count") * (model.embedding_length or 0)
    return (number_of(model, "ple.conv_kernel") - 1) * number_of(model, "ple.ngram_size") * width


def _pooled_rows(model: ModelInfo) -> int:
    """Rows of an indexer's cache: key, (gate,) and pooled key where it pools (llama-memory-hybrid-idx.cpp:55-58)."""
    if model.architecture == "qwen4exp":
        ratios = model.metadata.get("qwen4exp.attention.compress_ratios")
        return 2 if isinstance(ratios, tuple) and any(ratios) else 1
    return 3 if model.architecture == "glm5-next" and number_of(model, "attention.indexer.kpool") else 1


def _indexer_row(model: ModelInfo, layer: LayerFacts, settings: KvSettings) -> int:
    """Bytes per cell of a sparse-attention indexer's own cache: one head of keys (llama-kv-cache-dsa.cpp:41-52).

    MiniMax-M3's is an ordinary cache with V as well (llama-kv-cache-msa.cpp:39-51).
    """
    row = row_bytes(settings.cache_type_k, number_of(model, "attention.indexer.key_length") * _pooled_rows(model))
    if model.architecture == "minimax-m3":
        row += row_bytes(settings.cache_type_v, layer.value_length)
    return row


_COMPRESSED = {4: 2, 128: 1}
"""DeepSeek-V4's ratios of compression -> how many rows' halves the compressor mixes (llama-kv-cache-dsv4.cpp:1290)."""


def _compressed_bytes(model: ModelInfo, block: int, settings: KvSettings) -> int:
    """DeepSeek-V4's block: a window of raw rows and, where the block compresses, a row for every 4 or 128 tokens, the
    indexer's row for every 4, and the compressor's state. Every slot has its own, each for the whole context
    (llama-kv-cache-dsv4.cpp:1213-1310)."""
    layer, slots, kind = model.layers[block], settings.n_slots, settings.cache_type_k
    n_ctx = settings.n_cells if settings.is_unified else pad(settings.n_ctx // slots, _CELL_PAD)
    alone = replace(settings, n_ctx=n_ctx, n_slots=1, is_unified=True)
    size = sliding_cells(model.sliding_window or n_ctx, alone) * row_bytes(kind, layer.key_length)
    ratios = model.metadata.get("deepseek4.attention.compress_ratios")
    ratio = ratios[block] if isinstance(ratios, tuple) and block < len(ratios) else 0
    if isinstance(ratio, int) and ratio in _COMPRESSED:
        halves, cells = _COMPRESSED[ratio], pad(-(-n_ctx // ratio), _CELL_PAD)
        widths = [layer.key_length]
        if ratio == min(_COMPRESSED):
            widths.append(number_of(model, "attention.indexer.key_length"))
        size += sum(cells * row_bytes(kind, width) for width in widths)
        planes = 1 + settings.n_snapshots
        size += sum(2 * 4 * halves * width * halves * ratio * planes for width in widths)
    return size * slots


def _indexed_blocks(model: ModelInfo) -> frozenset[int]:
    """Blocks with an indexer of their own; others use the choice of an earlier one, MTP blocks attend to all."""
    if not number_of(model, "attention.indexer.key_length"):
        return frozenset()
    trunk = model.block_count - model.nextn_count
    return frozenset(
        t.block
        for t in model.tensors
        if t.block is not None
        and t.block < trunk
        and t.name.endswith((".indexer.attn_k.weight", ".indexer.k_proj.weight"))
    )


_KEPT = 8
_known: list[tuple[ModelInfo, KvSettings, dict[int, int]]] = []
"""The last answers: a search asks for the same dozens of times."""


def kv_bytes_by_block(model: ModelInfo, settings: KvSettings) -> dict[int, int]:
    """Block -> bytes of its cache and state; a block without KV heads keeps none (most MTP blocks: ``LayerFacts``)."""
    for known, same, sizes in _known:
        if known is model and same == settings:
            return dict(sizes)
    sizes = _bytes_by_block(model, settings)
    _known.insert(0, (model, settings, sizes))
    del _known[_KEPT:]
    return dict(sizes)


def _bytes_by_block(model: ModelInfo, settings: KvSettings) -> dict[int, int]:
    sizes: dict[int, int] = {}
    indexed = _indexed_blocks(model)
    for block, layer in enumerate(model.layers):
        if model.architecture == "deepseek4" and layer.head_count_kv:
            sizes[block] = _compressed_bytes(model, block, settings)
        elif layer.recurrent:
            elements = recurrent_state_elements(model, layer) + _ngram_state_elements(model, block)
            sizes[block] = settings.n_slots * (1 + settings.n_snapshots) * elements * 4
        else:
            sizes[block] = _attention_bytes(model, layer, settings)
            if block in indexed:
                sizes[block] += settings.n_cells * settings.n_streams * _indexer_row(model, layer, settings)
    return sizes
