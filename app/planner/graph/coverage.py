"""How far a model's graph is known: verified against the engine, or mirrored in part and estimated for the rest.

A model is verified when the engine's own dry runs of its architecture agree with this mirror to 1 MiB (the recorded
ones in tests/data/planner; a test compares the list here with them) and when no matrix of the file is left out of the
graph. Everything else gets an upper-side estimate: what was mirrored, plus what the matrices left out would make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.common.units import MIB
from app.model.types import ModelInfo, TensorInfo
from app.planner.graph.build import GraphSettings

VERIFIED = frozenset({
    "afmoe", "arctic", "bailingmoe", "bailingmoe2", "bailingmoe3", "cohere2moe", "dbrx", "deepseek", "deepseek2",
    "deepseek2-ocr", "deepseek32", "dots1", "dots3note", "ernie4_5-moe", "exaone-moe", "gemma3", "gemma4",
    "glm-dsa", "glm4moe", "glm5-next", "gpt-oss", "granite", "granite_swa", "granitehybrid", "granitemoe", "grok",
    "grovemoe", "hunyuan-moe", "hy_v3", "hy_v4", "kimi-k3", "kimi-linear", "laguna", "lfm2moe", "llama", "llama4",
    "maple", "mellum", "mimo2", "minicpm", "minimax-m2", "minimax-m3", "mistral3", "nemotron_h_moe", "olmoe",
    "phimoe", "qwen2moe", "qwen3", "qwen35moe", "qwen3moe", "qwen3next", "qwen3vlmoe", "qwen4exp", "smallthinker",
    "step35",
})  # fmt: skip
"""Architectures whose recorded dry runs agree."""
_NEVER_READ = ("attn_kv_b.weight", "rope_freqs.weight")
"""Left out by the engine too where a file has them beside what replaces them."""
_SPARSE = ("indexer", "compressor")
_MOST_INDEX_HEADS = 8
_LEAST_MARGIN = 16 * MIB


def is_verified(model: ModelInfo, unread: Sequence[object]) -> bool:
    """Is the figure of this model's graph the engine's own to 1 MiB?"""
    mapping = model.metadata.get(f"{model.architecture}.deepstack_mapping")  # Granite with a vision encoder
    has_streams = isinstance(mapping, tuple) and any(isinstance(n, int) and n >= 0 for n in mapping)
    return model.architecture in VERIFIED and not unread and not has_streams


def unread_matrices(
    infos: Mapping[str, TensorInfo], read: Mapping[str, object], blocks: Sequence[int]
) -> list[TensorInfo]:
    """Matrices of these blocks that no step of the graph multiplies."""
    wanted = frozenset(blocks)
    return [
        info
        for name, info in infos.items()
        if info.block in wanted
        and name not in read
        and sum(n > 1 for n in info.shape) > 1
        and not name.endswith(_NEVER_READ)
    ]


def margin_bytes(
    model: ModelInfo, unread: Sequence[TensorInfo], s: GraphSettings, mirrored: int, *, is_partial: bool
) -> int:
    """What one buffer of an unverified graph may take beyond the mirrored part.

    All results of one block's unread matrices held together, the scores and masks of cells that are chosen, further
    residual rows; and a tenth, a quarter where the graph is known in part only (``is_partial``), at least 16 MiB.
    """
    by_block: dict[int | None, int] = {}
    for info in unread:
        rows = info.shape[1] if len(info.shape) < 3 else info.shape[1] * max(1, model.used_experts(info.block or 0))
        by_block[info.block] = by_block.get(info.block, 0) + rows
    floats = max(by_block.values(), default=0)
    if any(part in info.name for info in unread for part in _SPARSE):
        floats += s.n_kv // _compression(model) * _floats_per_cell(model, s)
    if any(".hc_" in info.name for info in unread):
        floats += 6 * max(1, _number(model, "hyper_connection.count")) * (model.embedding_length or 0)
    rest = max(2 * _LEAST_MARGIN, mirrored // 4) if is_partial else max(_LEAST_MARGIN, mirrored // 10)
    return 4 * floats * s.n_tokens + rest


def _floats_per_cell(model: ModelInfo, s: GraphSettings) -> int:
    """Masks and the indexer's scores; without flash attention every head's scores too."""
    heads = 0 if s.flash_attention else max((layer.head_count for layer in model.layers), default=0)
    return 4 + min(_number(model, "attention.indexer.head_count"), _MOST_INDEX_HEADS) + heads


def _compression(model: ModelInfo) -> int:
    """For how many tokens a cell of the smallest compressed cache stands."""
    ratios = model.metadata.get(f"{model.architecture}.attention.compress_ratios")
    found = [r for r in ratios if isinstance(r, int) and r > 1] if isinstance(ratios, tuple) else []
    return min(found, default=1)


def _number(model: ModelInfo, key: str) -> int:
    value = model.metadata.get(f"{model.architecture}.{key}")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
