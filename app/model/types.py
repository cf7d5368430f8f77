"""What a GGUF header says, as frozen values. Unknown is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

MetaValue = str | int | float | bool | tuple[str | int | float | bool, ...]


class Role(StrEnum):
    """What a tensor is for; the names are part of the command line's contract (docs/cli.md)."""

    EMBEDDING = "embedding"
    OUTPUT = "output"
    ATTENTION = "attention"
    RECURRENT = "recurrent"
    DENSE_FFN = "dense_ffn"
    ROUTER = "router"
    SHARED_EXPERT = "shared_expert"
    ROUTED_EXPERT = "routed_expert"
    NORM = "norm"
    MTP = "mtp"
    VISION = "vision"
    OTHER = "other"


class TensorInfo(NamedTuple):
    """One tensor of the header.

    ``shape`` is ggml order (ne[0], the contiguous dimension, first). ``block`` is N of ``blk.N.``, else None.
    ``part`` says which file of a split model holds it (0-based), ``offset`` where in that file its data starts.
    ``size_is_gap``: mainline llama.cpp does not know the type id, so ``n_bytes`` is the distance to the next tensor.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    type_name: str
    n_bytes: int
    offset: int
    role: Role
    block: int | None
    part: int = 0
    size_is_gap: bool = False


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """What the KV cache and the recurrent state of one block need. Lengths are in elements.

    ``head_count_kv`` 0 means that this block keeps no KV cache. ``key_length``/``value_length`` are those of this
    block (sliding layers may differ). ``sliding``: the cache holds only the window.
    """

    head_count: int
    head_count_kv: int
    key_length: int
    value_length: int
    sliding: bool = False
    recurrent: bool = False


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model: every part's header joined, nothing of the weights.

    ``block_count`` includes the MTP (nextn) blocks, as the file's ``block_count`` does; ``nextn_count`` says how many
    of the last blocks those are. ``metadata`` keeps scalars and short arrays under their full keys; long arrays
    (vocabulary) are left out and only counted (``vocab_size``). ``path`` is the first part, which the engine is given.
    """

    path: str
    parts: tuple[str, ...]
    version: int
    architecture: str
    name: str
    file_bytes: int
    block_count: int
    context_length: int | None
    vocab_size: int | None
    embedding_length: int | None
    expert_count: int
    expert_used_count: int
    expert_shared_count: int
    expert_ff_length: int | None
    nextn_count: int
    sliding_window: int | None
    is_mla: bool
    layers: tuple[LayerFacts, ...]
    tensors: tuple[TensorInfo, ...]
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    expert_used_per_block: tuple[int, ...] | None = None

    @property
    def is_moe(self) -> bool:
        """Has the file any routed experts to move?"""
        return any(t.role is Role.ROUTED_EXPERT for t in self.tensors)

    @property
    def has_tied_output(self) -> bool:
        """No output.weight: the engine stores token_embd twice (engine.md 5.2, llama-model-loader.cpp:1149)."""
        return not any(t.name == "output.weight" for t in self.tensors)

    @property
    def tensor_bytes(self) -> int:
        """Sum of all tensors' bytes."""
        return sum(t.n_bytes for t in self.tensors)

    @property
    def expert_blocks(self) -> tuple[int, ...]:
        """Blocks that have routed experts, ascending."""
        return tuple(sorted({t.block for t in self.tensors if t.role is Role.ROUTED_EXPERT and t.block is not None}))

    def quant_counts(self) -> dict[str, int]:
        """How many tensors of each type: {'Q4_K': 289, ...}, most frequent first."""
        counts: dict[str, int] = {}
        for tensor in self.tensors:
            counts[tensor.type_name] = counts.get(tensor.type_name, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def used_experts(self, block: int | None) -> int:
        """expert_used_count of a block; newer files may give one per layer."""
        if self.expert_used_per_block is not None and block is not None and block < len(self.expert_used_per_block):
            return self.expert_used_per_block[block]
        return self.expert_used_count
