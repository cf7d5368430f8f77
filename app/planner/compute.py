"""The compute buffer of each device: what one micro-batch needs besides weights and KV.

The engine builds the graph of its worst batch, cuts it between the devices and lays its tensors over each other in
memory (llama-context.cpp:624 ``sched_reserve``). ``app.planner.graph`` mirrors the three steps, on the few blocks that
differ from their neighbours; the result is kept, because most moves on the board lead to a graph seen before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.model.types import LayerFacts, ModelInfo, TensorInfo
from app.planner.graph.build import GraphSettings, Homes
from app.planner.graph.repeats import representative
from app.planner.graph.whole import Backends, buffer_sizes
from app.planner.kv import KvSettings, sliding_cells
from app.planner.placement import NOT_LOADED, homes, kv_device
from app.planner.types import RAM, DeviceKind, DeviceSet, KvHome, Placement

_CUDA_NAMES = ("CUDA", "ROCm", "MUSA")
"""Devices whose backend is built from ggml-cuda."""
_KEPT_RESULTS = 512
_KEPT_MODELS = 4


class _Block(NamedTuple):
    """A block's tensors and what of them decides its graph."""

    names: tuple[str, ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    sizes: tuple[int, ...]
    facts: LayerFacts | None


class _Prepared:
    """What follows from a model alone, and the results found for it so far."""

    def __init__(self, model: ModelInfo) -> None:
        self.model = model
        self.infos: dict[str, TensorInfo] = {t.name: t for t in model.tensors if t.role not in NOT_LOADED}
        self.blocks = _blocks(model, self.infos)
        self.rest = tuple(name for name, info in self.infos.items() if info.block is None)
        self.results: dict[object, tuple[int, ...]] = {}


def _blocks(model: ModelInfo, infos: Mapping[str, TensorInfo]) -> tuple[_Block, ...]:
    """The blocks that run; equal ones share one object, so comparing them is quick."""
    n_run = model.block_count - model.nextn_count
    found: list[list[TensorInfo]] = [[] for _ in range(n_run)]
    for info in infos.values():
        if info.block is not None and info.block < n_run:
            found[info.block].append(info)
    return tuple(
        _Block(
            tuple(t.name for t in tensors),
            tuple((t.name.split(".", 2)[2], t.shape) for t in tensors),
            tuple(t.n_bytes for t in tensors),
            model.layers[i] if i < len(model.layers) else None,
        )
        for i, tensors in enumerate(found)
    )


_prepared: list[_Prepared] = []


def _prepare(model: ModelInfo) -> _Prepared:
    for known in _prepared:
        if known.model is model:
            return known
    made = _Prepared(model)
    _prepared.insert(0, made)
    del _prepared[_KEPT_MODELS:]
    return made


def compute_bytes(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    where: dict[str, str],
    kv: KvSettings,
    kv_by_block: dict[int, int],
    flash_attention: bool,
    op_offload: bool = True,
    mask_is_f32: bool = False,
    n_outputs: int | None = None,
    fuses_experts: bool = True,
    reserves_f16_cache: bool = True,
    takes_embeddings: bool = True,
) -> dict[str, int]:
    """Device name -> compute buffer bytes; RAM is the host's buffer.

    ``where``: tensor -> device (``placement.locations``). ``op_offload`` holds for GPU backends only: RPC has none.
    ``mask_is_f32``: builds before ggml-org/llama.cpp#23764. ``n_outputs``: rows of logits, one per slot when None
    (llama-server since #23861; before, and in the command-line tools, one per token of a micro-batch). CUDA and ROCm:
    ``fuses_experts`` since #25952, ``reserves_f16_cache`` since #23907. ``takes_embeddings`` since #18550.
    """
    prepared = _prepare(model)
    number = {device.name: i for i, device in enumerate(devices.gpus)}
    number[RAM] = len(number)
    backends = _backends(model, placement, devices, op_offload, (fuses_experts, reserves_f16_cache))
    unit_homes = tuple(number[home] for home in homes(placement))
    caches = tuple(number[kv_device(placement, block)] for block in range(len(prepared.blocks)))
    settings = graph_settings(model, kv, flash_attention, mask_is_f32, n_outputs, takes_embeddings)
    tensors = {name: number[device] for name, device in where.items()}
    kinds = _kinds(prepared, tensors, caches, any(backends.offloads))
    rest = tuple(tensors.get(name, number[RAM]) for name in prepared.rest)
    key = (tuple(kinds), rest, unit_homes[-1], settings, backends)
    sizes = prepared.results.get(key)
    if sizes is None:
        run = Homes(unit_homes, caches, tensors, number[RAM])
        sizes = buffer_sizes(model, prepared.infos, settings, run, representative(kinds), backends)
        if len(prepared.results) >= _KEPT_RESULTS:
            prepared.results.clear()
        prepared.results[key] = sizes
    return dict(zip(number, sizes, strict=True))


def _backends(
    model: ModelInfo, placement: Placement, devices: DeviceSet, op_offload: bool, cuda: tuple[bool, bool]
) -> Backends:
    """The devices as the scheduler sees them, the CPU last.

    Several devices with nothing in RAM work on several micro-batches at once, with every input four times
    (llama-context.cpp:432-440, GGML_SCHED_MAX_COPIES); an override or a cache in RAM turns that off.
    """
    real = tuple(d.kind in (DeviceKind.GPU, DeviceKind.IGPU) for d in devices.gpus)
    is_cuda = tuple(d.name.startswith(_CUDA_NAMES) for d in devices.gpus)
    overlaps = len(devices.gpus) > 1 and placement.n_gpu_layers > model.block_count
    is_pipeline = overlaps and placement.kv_home is KvHome.HOME and not placement.overrides
    return Backends(
        alignments=(*(128 if is_real else 32 for is_real in real), 32),
        offloads=(*(is_real and op_offload for is_real in real), False),
        fuses=(*(here and cuda[0] for here in is_cuda), False),
        has_scratch=(*(here and cuda[1] for here in is_cuda), False),
        n_copies=4 if is_pipeline else 1,
    )


def graph_settings(
    model: ModelInfo,
    kv: KvSettings,
    flash_attention: bool,
    mask_is_f32: bool = False,
    n_outputs: int | None = None,
    takes_embeddings: bool = True,
) -> GraphSettings:
    """The worst batch (llama-context.cpp:637-676): a full micro-batch shared by all slots, one output each."""
    n_tokens = min(kv.n_ctx, kv.n_ubatch)
    slides = bool(model.sliding_window) and any(layer.sliding for layer in model.layers)
    return GraphSettings(
        n_tokens=-(-n_tokens // kv.n_slots) * kv.n_slots,
        n_seqs=kv.n_slots,
        n_outputs=min(n_tokens, kv.n_slots if n_outputs is None else n_outputs),
        n_kv=kv.n_cells,
        n_kv_sliding=sliding_cells(model.sliding_window, kv) if slides and model.sliding_window else 0,
        n_streams=kv.n_streams,
        flash_attention=flash_attention,
        cache_type_k=kv.cache_type_k,
        cache_type_v=kv.cache_type_v,
        casts_mask=mask_is_f32,
        takes_embeddings=takes_embeddings,
    )


def _kinds(
    prepared: _Prepared, tensors: Mapping[str, int], caches: tuple[int, ...], offloads: bool
) -> list[tuple[object, ...]]:
    """What makes one block's graph differ from another's; sizes count only where weights may be copied."""
    kinds: list[tuple[object, ...]] = []
    for block, cache in zip(prepared.blocks, caches, strict=True):
        places = tuple([tensors[name] for name in block.names])
        kinds.append((block.shapes, places, cache, block.facts, block.sizes if offloads else None))
    if kinds:
        kinds[-1] = (*kinds[-1], "last")
    return kinds
