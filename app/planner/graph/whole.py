"""The graph of a whole model, block by block, then scheduled and allocated: bytes of each backend's compute buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.model.types import ModelInfo, TensorInfo
from app.planner.graph.allocate import Allocator
from app.planner.graph.blocks import block, plain_block
from app.planner.graph.build import Build, GraphSettings, Homes
from app.planner.graph.coverage import is_verified, margin_bytes, unread_matrices
from app.planner.graph.gemma import gemma4_block, per_layer_inputs
from app.planner.graph.ggml import Tensor, mul_mat
from app.planner.graph.glm5 import Glm5
from app.planner.graph.hy4 import Hy4
from app.planner.graph.kimi3 import Kimi3
from app.planner.graph.qwen4 import Qwen4
from app.planner.graph.schedule import Scheduler
from app.planner.graph.traits import Traits, traits_of


def make(b: Build, blocks: Sequence[int], is_plain: bool = False) -> None:
    """All nodes of the graph; ``blocks``: the block numbers to build, in order. LookupError: a tensor is missing."""
    scale = b.real("expert_weights_scale")
    norms = bool(b.model.metadata.get(f"{b.model.architecture}.expert_weights_norm"))
    groups, used = b.number("expert_group_count", 1), b.number("expert_group_used_count", 1)
    traits = traits_of(b.model.architecture, b.number("expert_gating_func"), norms, scale, groups, used)
    x = b.embeddings(traits.has_mixed, traits.scales_rows)
    if b.model.architecture == "qwen4exp" and not is_plain:
        _make_qwen4(b, traits, x, blocks)
        return
    if (kind := _WITH_ROWS.get(b.model.architecture)) is not None and not is_plain:
        rows = kind(b, x)
        for number in blocks:
            rows.block(traits, number)
        _expand_logits(b, rows.head())
        return
    per_layer = None if is_plain else per_layer_inputs(b, x)
    for number in blocks:
        if b.model.architecture == "gemma4" and not is_plain:
            x = gemma4_block(b, x, number, per_layer)
            continue
        x = plain_block(b, x, number) if is_plain else block(b, traits, x, number, number == blocks[-1])
        x = b.with_deepstack(x, number)
    x = b.norm(x, b.weight("output_norm.weight") or b.weight("token_embd_norm.weight"), b.weight("output_norm.bias"))
    if is_plain or not traits.crops_early:
        x = b.last_rows(x)
    _expand_logits(b, x)


def _make_qwen4(b: Build, traits: Traits, x: Tensor, blocks: Sequence[int]) -> None:
    rows = Qwen4(b, x)
    for number in blocks:
        rows.block(traits, number, number == blocks[-1])
    _expand_logits(b, rows.head())


_WITH_ROWS: dict[str, type[Glm5 | Hy4 | Kimi3]] = {"glm5-next": Glm5, "hy_v4": Hy4, "kimi-k3": Kimi3}
"""Architectures that hand more than one row per token from block to block."""


def _expand_logits(b: Build, x: Tensor) -> None:
    head = b.output_weight()
    b.graph.expand(x if head is None else mul_mat(head, x))


@dataclass(frozen=True, slots=True)
class Backends:
    """The backends in the engine's order, the CPU last; what each does (see ``Scheduler`` and ``Tensor.scratch``)."""

    alignments: tuple[int, ...]
    offloads: tuple[bool, ...]
    fuses: tuple[bool, ...]
    has_scratch: tuple[bool, ...]
    n_copies: int = 1


def buffer_sizes(
    model: ModelInfo,
    infos: Mapping[str, TensorInfo],
    s: GraphSettings,
    homes: Homes,
    blocks: Sequence[int],
    backends: Backends,
) -> tuple[int, ...]:
    """Bytes of each backend's compute buffer for the graph of these blocks."""
    b = _made(model, infos, s, homes, blocks)
    scheduler = Scheduler(len(backends.alignments), backends.offloads, backends.fuses, backends.n_copies)
    scheduler.run(b.graph)
    allocator = Allocator(backends.alignments, backends.has_scratch)
    allocator.run(scheduler.order, scheduler.leafs)
    sizes = allocator.sizes
    unread = unread_matrices(infos, b.read, blocks)
    if is_verified(model, unread):
        return sizes
    here = [[t for t in unread if homes.tensors.get(t.name) == backend] for backend in range(len(sizes))]
    return tuple(
        size + margin_bytes(model, here[backend], s, size, is_partial=bool(unread)) if size else 0
        for backend, size in enumerate(sizes)
    )


def _made(
    model: ModelInfo, infos: Mapping[str, TensorInfo], s: GraphSettings, homes: Homes, blocks: Sequence[int]
) -> Build:
    b = Build(model, infos, s, homes)
    try:
        make(b, blocks)
    except LookupError:  # an architecture whose blocks are not known here
        b = Build(model, infos, s, homes)
        make(b, blocks, is_plain=True)
    return b


def unread_by(model: ModelInfo, infos: Mapping[str, TensorInfo], s: GraphSettings, blocks: Sequence[int]) -> list[str]:
    """Names of the matrices of these blocks that the mirrored graph leaves out."""
    units = (0,) * (model.block_count + 1)
    b = _made(model, infos, s, Homes(units, units, {}, 0), blocks)
    return [info.name for info in unread_matrices(infos, b.read, blocks)]
