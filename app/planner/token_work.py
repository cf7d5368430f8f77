"""What one decoded token and one prompt micro-batch ask of the machine: bytes to read, hand-overs. No speeds. Pure.

Active bytes of a routed expert tensor are n_bytes * expert_used_count / expert_count, of the embedding one row, of
everything else n_bytes (engine.md 10, checked there on four models).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.kv import KvSettings, kv_bytes_by_block, sliding_cells
from app.planner.placement import blocks_away, expert_tensors, homes, kv_device, locations
from app.planner.types import RAM, DeviceSet, KvHome, Placement

_KV_FILL = 0.5
"""Share of the context in use that a figure is given for when nobody says a depth: half way through a full one."""


@dataclass(frozen=True, slots=True)
class TokenWork:
    """One decoded token. ``read_bytes``: device name -> weights and cache; ``ram_weight_bytes``: weights in RAM alone.

    ``hand_overs``: switches between the processor and a GPU, or between two GPUs. ``gpu_blocks``: blocks whose
    attention a GPU computes; each starts some dozens of kernels, which takes time whatever their size.
    """

    read_bytes: Mapping[str, float]
    ram_weight_bytes: float
    hand_overs: int
    gpu_blocks: int


@dataclass(frozen=True, slots=True)
class PromptWork:
    """One prompt micro-batch of ``n_tokens``: bytes copied from RAM to the GPU, its matrix work there, the rows that
    one GPU hands to the next, and the part of the work on weights in RAM (the processor's, where no GPU takes over)."""

    n_tokens: int
    copy_bytes: float
    flops: float
    row_bytes: float = 0.0
    host_flops: float = 0.0


def active_bytes(model: ModelInfo, tensor: TensorInfo) -> float:
    """Bytes of a tensor that one decoded token reads."""
    if tensor.role is Role.ROUTED_EXPERT and model.expert_count:
        return tensor.n_bytes * model.used_experts(tensor.block) / model.expert_count
    if tensor.role is Role.EMBEDDING:
        return tensor.n_bytes / max(1, tensor.shape[-1])
    return float(tensor.n_bytes)


_KEPT_MODELS = 4
_known: list[tuple[ModelInfo, tuple[tuple[str, float], ...]]] = []


def _active(model: ModelInfo) -> tuple[tuple[str, float], ...]:
    """Every tensor's name and ``active_bytes``; kept for the last few models, a search asks dozens of times."""
    for known, active in _known:
        if known is model:
            return active
    active = tuple((tensor.name, active_bytes(model, tensor)) for tensor in model.tensors)
    _known.insert(0, (model, active))
    del _known[_KEPT_MODELS:]
    return active


def kv_read_bytes(model: ModelInfo, kv: KvSettings, depth: int | None = None) -> dict[int, float]:
    """Block -> bytes of cache that a token at ``depth`` (tokens before it; None: half of the context) reads.

    A sliding layer reads its window at most; a recurrent state is read and written whole, whatever the depth.
    """
    used = round(kv.n_ctx * _KV_FILL) if depth is None else depth
    n_cells = max(1, kv.n_cells * kv.n_streams)
    read: dict[int, float] = {}
    for block, n_bytes in kv_bytes_by_block(model, kv).items():
        layer = model.layers[block] if block < len(model.layers) else None
        if layer is not None and layer.recurrent:
            read[block] = 2.0 * n_bytes / max(1, kv.n_slots)
        elif layer is not None and layer.sliding and model.sliding_window:
            read[block] = n_bytes * min(used, model.sliding_window) / sliding_cells(model.sliding_window, kv)
        else:
            read[block] = n_bytes * min(1.0, used / n_cells)
    return read


def token_work(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    kv: KvSettings,
    where: Mapping[str, str] | None = None,
    depth: int | None = None,
) -> TokenWork:
    """What a token reads from each device and how often it changes hands."""
    where = locations(model, placement) if where is None else where
    read = {d.name: 0.0 for d in devices.all}
    for name, n_bytes in _active(model):
        place = where.get(name)
        if place is not None:
            read[place] += n_bytes
    if model.has_tied_output:  # the output matmul reads the whole tied embedding at the output's home
        home = placement.home_of_unit(placement.block_count)
        read[home] += sum(t.n_bytes for t in model.tensors if t.name == "token_embd.weight")
    weights = read[RAM]
    for block, n_bytes in kv_read_bytes(model, kv, depth).items():
        read[kv_device(placement, block)] += n_bytes
    return TokenWork(read, weights, _hand_overs(model, placement), max(0, placement.n_gpu_layers - 1))


def ram_bytes_per_token(model: ModelInfo, placement: Placement, cached: Mapping[int, float]) -> float:
    """Bytes that a token reads from RAM: weights, and of ``cached`` (``kv_read_bytes``) what blocks keep there.

    What placements are compared by where no bandwidth is known: RAM is the slowest of the memories.
    """
    total = 0.0
    where = locations(model, placement)
    for name, active in _active(model):
        if where.get(name) == RAM:
            total += active
    if model.has_tied_output and placement.home_of_unit(placement.block_count) == RAM:
        total += sum(t.n_bytes for t in model.tensors if t.name == "token_embd.weight")
    return total + sum(n for block, n in cached.items() if kv_device(placement, block) == RAM)


def _hand_overs(model: ModelInfo, placement: Placement) -> int:
    """Two per block on a GPU that has work in RAM or on another GPU, one pair around the rest, one per border between
    two GPUs."""
    n_gpu = placement.n_gpu_layers
    if not n_gpu:
        return 0
    first_gpu_block = placement.block_count + 1 - n_gpu
    touched = sum(1 for block in blocks_away(model, placement) if block >= first_gpu_block)
    if placement.kv_home is KvHome.RAM:
        touched = max(touched, n_gpu - 1)
    return 2 * touched + 2 + _borders(placement)


def _borders(placement: Placement) -> int:
    return max(0, sum(1 for _, n in placement.runs if n) - 1)


def card_crossings(model: ModelInfo, placement: Placement) -> int:
    """How often a token goes from one GPU to another: at each border of two runs, and to experts on another card and
    back. Experts in RAM are none: in a prompt their weights come to the card."""
    unit_homes, overrides = homes(placement), placement.overrides
    away = {block for t, block in expert_tensors(model) if overrides.get(t.name, RAM) not in (RAM, unit_homes[block])}
    return _borders(placement) + 2 * len(away)


def expert_share_of_batch(model: ModelInfo, n_tokens: int) -> float:
    """Share of a layer's experts that a batch touches when each token picks its own: 1 - (1 - U/X)^n (engine.md 10)."""
    if not model.expert_count:
        return 1.0
    return float(1 - (1 - model.expert_used_count / model.expert_count) ** n_tokens)


def prompt_work(model: ModelInfo, where: Mapping[str, str], n_tokens: int, n_crossings: int = 0) -> PromptWork:
    """A micro-batch whose work the GPU takes over (op offload): ggml-backend.cpp copies only the experts in use.

    ``n_crossings``: how often its rows go from one GPU to another (``card_crossings``).
    """
    share = expert_share_of_batch(model, n_tokens)
    copies = 0.0
    for tensor in model.tensors:
        if where.get(tensor.name) == RAM and tensor.role is not Role.EMBEDDING:
            copies += tensor.n_bytes * (share if tensor.role is Role.ROUTED_EXPERT else 1.0)
    rows = 4.0 * (model.embedding_length or 0) * n_tokens * n_crossings  # F32
    flops, in_ram = _flops_per_token(model, where)
    return PromptWork(n_tokens, copies, flops * n_tokens, rows, in_ram * n_tokens)


def whole_prompt(
    model: ModelInfo, where: Mapping[str, str], n_tokens: int, n_ubatch: int, n_crossings: int
) -> PromptWork:
    """A prompt of this length, micro-batch by micro-batch."""
    full, rest = divmod(n_tokens, n_ubatch)
    parts = [prompt_work(model, where, n_ubatch, n_crossings)] * full
    if rest:
        parts.append(prompt_work(model, where, rest, n_crossings))
    return PromptWork(
        n_tokens,
        sum(part.copy_bytes for part in parts),
        sum(part.flops for part in parts),
        sum(part.row_bytes for part in parts),
        sum(part.host_flops for part in parts),
    )


def _flops_per_token(model: ModelInfo, where: Mapping[str, str]) -> tuple[float, float]:
    """2 x active parameters: the matrix work of one prompt token, attention scores left out; and what of it is on
    weights in RAM."""
    total = in_ram = 0.0
    for tensor in model.tensors:
        if tensor.block is None or len(tensor.shape) < 2 or tensor.name not in where:
            continue
        elements = float(prod(tensor.shape))
        if tensor.role is Role.ROUTED_EXPERT and model.expert_count:
            elements *= model.used_experts(tensor.block) / model.expert_count
        total += 2 * elements
        if where[tensor.name] == RAM:
            in_ram += 2 * elements
    return total, in_ram
