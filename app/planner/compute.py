"""The compute buffer of each device: what one micro-batch needs besides weights and KV.

The engine builds the graph of its worst batch, cuts it between the devices and lays its tensors over each other in
memory (llama-context.cpp:624 ``sched_reserve``). ``app.planner.graph`` mirrors the three steps, on the few blocks that
differ from their neighbours; the result is kept, because most moves on the board lead to a graph seen before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from operator import itemgetter
from typing import NamedTuple

from app.model.types import ModelInfo, TensorInfo
from app.planner.graph.build import GraphSettings, Homes
from app.planner.graph.coverage import is_verified as graph_is_verified
from app.planner.graph.repeats import representative
from app.planner.graph.whole import Backends, buffer_sizes, unread_by
from app.planner.kv import KvSettings, number_of, sliding_cells
from app.planner.placement import NOT_LOADED, homes
from app.planner.types import RAM, DeviceKind, DeviceSet, KvHome, Placement

_CUDA_NAMES = ("CUDA", "ROCm", "MUSA")
"""Devices whose backend is built from ggml-cuda."""
_NO_FLASH_ATTENTION = frozenset({"grok"})
"""The engine switches flash attention off for these (llama-context.cpp:3819)."""
_KEPT_RESULTS = 2048
_KEPT_MODELS = 4


class _Block(NamedTuple):
    """A block's tensors; ``kind`` is the same number for blocks of the same shapes."""

    places: Callable[[Mapping[str, str]], tuple[str, ...]]
    sizes: tuple[int, ...]
    kind: int


class _Prepared:
    """What follows from a model alone, and the results found for it so far.

    ``is_uneven``: a hole grows from block to block (``indexer.chosen_mask``), so no block can stand for another.
    """

    def __init__(self, model: ModelInfo) -> None:
        self.model = model
        self.infos: dict[str, TensorInfo] = {t.name: t for t in model.tensors if t.role not in NOT_LOADED}
        self.blocks = _blocks(model, self.infos)
        self.rest = _places([name for name, info in self.infos.items() if info.block is None])
        grows = number_of(model, "attn_res.block_size") > 0  # kimi-k3 keeps rows of earlier blocks
        self.is_uneven = grows or any(".indexer." in name for name in self.infos)
        self.memo = _Memo()
        self.unread: tuple[str, ...] | None = None

    def keep(self, memo: _Memo, key: object, sizes: tuple[int, ...]) -> None:
        """Remember a result; a full memory is replaced by an empty one."""
        memo.results[key] = sizes
        if len(memo.results) >= _KEPT_RESULTS or len(memo.kinds) >= _KEPT_RESULTS:
            self.memo = _Memo()


class _Memo:
    """Results by graph, and numbers for the kinds of blocks; safe to fill from several threads."""

    def __init__(self) -> None:
        self.results: dict[object, tuple[int, ...]] = {}
        self.kinds: dict[object, int] = {}
        self._numbers = count()

    def kind(self, what: object) -> int:
        """The same number for the same thing."""
        known = self.kinds.get(what)
        return self.kinds.setdefault(what, next(self._numbers)) if known is None else known


def _places(names: list[str]) -> Callable[[Mapping[str, str]], tuple[str, ...]]:
    """Picks these tensors' devices out of a placement, always as a tuple."""
    if not names:
        return lambda where: ()
    if len(names) == 1:
        return lambda where: (where[names[0]],)
    return itemgetter(*names)


def _blocks(model: ModelInfo, infos: Mapping[str, TensorInfo]) -> tuple[_Block, ...]:
    """The blocks that run: MTP blocks do not, without speculation."""
    n_run = model.block_count - model.nextn_count
    found: list[list[TensorInfo]] = [[] for _ in range(n_run)]
    for info in infos.values():
        if info.block is not None and info.block < n_run:
            found[info.block].append(info)
    kinds: dict[object, int] = {}
    n_deepstack = number_of(model, "n_deepstack_layers")
    made: list[_Block] = []
    for i, tensors in enumerate(found):
        shapes = tuple((t.name.split(".", 2)[2], t.shape) for t in tensors)
        own = i if i < n_deepstack else None  # the first blocks take in what a vision encoder hands them
        facts = (shapes, model.layers[i] if i < len(model.layers) else None, model.used_experts(i), own)
        kind = kinds.setdefault(facts, len(kinds))
        made.append(_Block(_places([t.name for t in tensors]), tuple(t.n_bytes for t in tensors), kind))
    return tuple(made)


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
    mixes_embeddings: bool = True,
) -> dict[str, int]:
    """Device name -> compute buffer bytes; RAM is the host's buffer.

    ``where``: tensor -> device (``placement.locations``). ``op_offload`` holds for GPU backends only: RPC has none.
    ``mask_is_f32``: builds before ggml-org/llama.cpp#23764. ``n_outputs``: rows of logits, one per slot when None
    (llama-server since #23861; before, and in the command-line tools, one per token of a micro-batch). CUDA and ROCm:
    ``fuses_experts`` since #25952, ``reserves_f16_cache`` since #23907. ``takes_embeddings`` since #18550,
    ``mixes_embeddings`` since autumn 2026: inputs for rows that are no text.
    """
    prepared = _prepare(model)
    unit_homes = homes(placement)
    in_ram = placement.kv_home is KvHome.RAM
    settings = replace(
        graph_settings(model, kv, flash_attention and model.architecture not in _NO_FLASH_ATTENTION, n_outputs),
        casts_mask=mask_is_f32,
        takes_embeddings=takes_embeddings,
        mixes_embeddings=mixes_embeddings,
    )
    backends = _backends(model, placement, devices, op_offload, (fuses_experts, reserves_f16_cache))
    memo = prepared.memo
    kinds = _kinds(prepared.blocks, memo, where, unit_homes, in_ram, any(backends.offloads))
    blocks = tuple(range(len(kinds))) if prepared.is_uneven else representative(kinds)
    seen = tuple([kinds[block] for block in blocks])
    key = (seen, prepared.rest(where), unit_homes[-1], settings, backends, devices.gpus)
    sizes = memo.results.get(key)
    if sizes is None:
        sizes = _simulated(prepared, where, unit_homes, in_ram, devices, settings, blocks, backends)
        prepared.keep(memo, key, sizes)
    return dict(zip((*(d.name for d in devices.gpus), RAM), sizes, strict=True))


def _simulated(
    prepared: _Prepared,
    where: Mapping[str, str],
    unit_homes: tuple[str, ...],
    in_ram: bool,
    devices: DeviceSet,
    settings: GraphSettings,
    blocks: tuple[int, ...],
    backends: Backends,
) -> tuple[int, ...]:
    number = {device.name: i for i, device in enumerate(devices.gpus)}
    number[RAM] = len(number)
    units = tuple(number[home] for home in unit_homes)
    run = Homes(
        units=units,
        caches=(number[RAM],) * len(units) if in_ram else units,
        tensors={name: number[device] for name, device in where.items()},
        cpu=number[RAM],
    )
    try:
        return buffer_sizes(prepared.model, prepared.infos, settings, run, blocks, backends)
    except (LookupError, ArithmeticError):
        # A graph this code does not know: shapes that no block of b11434 has. The board must still say something.
        return (_rough_bytes(prepared.model, settings),) * len(number)


def unread_names(model: ModelInfo) -> tuple[str, ...]:
    """Matrices that the mirrored graph leaves out, of one block of each kind; empty for a model known throughout."""
    prepared = _prepare(model)
    if prepared.unread is None:
        kinds = [block.kind for block in prepared.blocks]
        blocks = [kinds.index(kind) for kind in sorted(set(kinds))]
        settings = graph_settings(model, KvSettings(512), flash_attention=True)
        try:
            prepared.unread = tuple(unread_by(model, prepared.infos, settings, blocks))
        except (LookupError, ArithmeticError):
            prepared.unread = tuple(prepared.infos)
    return prepared.unread


def is_verified(model: ModelInfo) -> bool:
    """Are this model's compute buffers the engine's own to 1 MiB? Else they are an upper-side estimate."""
    return graph_is_verified(model, unread_names(model))


def _rough_bytes(model: ModelInfo, settings: GraphSettings) -> int:
    """A careful figure for a graph that cannot be mirrored: mask, two rows of each routed expert's result, its inner
    rows, eight rows as wide as the model or its heads, the scores without flash attention, and the logits."""
    heads = max((layer.head_count for layer in model.layers), default=0)
    width = max([model.embedding_length or 0, *(layer.head_count * layer.key_length for layer in model.layers)])
    used = max(model.expert_used_per_block or (model.expert_used_count,))
    floats = 8 * width + used * (2 * (model.embedding_length or 0) + 2 * (model.expert_ff_length or 0))
    scores = 0 if settings.flash_attention else 4 * heads * settings.n_kv
    row = 4 * floats + 4 * (settings.n_kv + settings.n_kv_sliding) + scores
    return settings.n_tokens * row + 4 * settings.n_outputs * (model.vocab_size or 0)


class BufferBounds(NamedTuple):
    """Bytes that no compute buffer of a model exceeds: a card that holds all of the model, a card that takes over
    weights in RAM, RAM beside a card, and RAM alone."""

    card: int
    card_with_copies: int
    host: int
    host_alone: int


def buffer_bounds(model: ModelInfo, kv: KvSettings, largest: int, largest_expert: int) -> BufferBounds:
    """Bounds without a graph, for a first verdict (``first_verdict``).

    The careful figure and the inner rows of a dense FFN, half as much again; copies of weights in RAM lie on a card two
    at a time. Twice the exact figure or more for most models; tests hold them against every recorded architecture.
    """
    settings = graph_settings(model, kv, kv.flash_attention and model.architecture not in _NO_FLASH_ATTENTION)
    dense = model.metadata.get(f"{model.architecture}.feed_forward_length")
    lengths = dense if isinstance(dense, tuple) else (dense,)
    inner = max((length for length in lengths if isinstance(length, int)), default=0)
    careful = _rough_bytes(model, settings) + 12 * settings.n_tokens * inner
    card = careful + careful // 2
    return BufferBounds(card, card + 2 * max(largest, largest_expert), card, 5 * careful // 2)


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
    n_outputs: int | None = None,
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
    )


def _kinds(
    blocks: tuple[_Block, ...],
    memo: _Memo,
    where: Mapping[str, str],
    unit_homes: tuple[str, ...],
    in_ram: bool,
    offloads: bool,
) -> list[int]:
    """What makes one block's graph differ from another's; sizes count only where weights may be copied to a card."""
    kinds: list[int] = []
    for block, home in zip(blocks, unit_homes, strict=False):
        places = block.places(where)
        copied = None
        if offloads and RAM in places:
            copied = tuple([size for size, place in zip(block.sizes, places, strict=True) if place == RAM])
        kinds.append(memo.kind((block.kind, places, RAM if in_ram else home, copied)))
    if kinds:
        kinds[-1] = -1 - kinds[-1]  # the last block is unlike any other: it drops rows
    return kinds
