"""The compute buffer of each device: what one micro-batch needs besides weights and KV.

The engine's allocator overlays tensors that do not live at the same time, so the buffer is the worst moment of one
block, times the micro-batch, plus the attention mask. The coefficients below were fitted on 224 dry runs of b11434
(four MoE architectures x seven placements x eight settings; ``benchmarks/memory_vs_engine.py`` repeats the
comparison). They are an estimate: the engine's own dry run is the truth.

Terms and their sources in b11434: mask llama-graph.cpp ``build_attn_inp_kv`` (F16 with flash attention, else F32);
scores without flash attention ``build_attn_mha``; routed experts ``build_moe_ffn``; op offload
ggml-backend.cpp:1109 (one copy of the largest host-resident expert tensor in the device's buffer).
"""

from __future__ import annotations

from dataclasses import dataclass

from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.kv import KvSettings, sliding_cells
from app.planner.placement import homes, kv_device
from app.planner.types import RAM, DeviceKind, DeviceSet, Placement

_F32 = 4
_FFN = frozenset({Role.DENSE_FFN, Role.SHARED_EXPERT, Role.ROUTED_EXPERT})


@dataclass(frozen=True, slots=True)
class _Widths:
    """Row widths in bytes per token of the widest block, F32 activations."""

    embd: int
    attention: int
    moe: int
    moe_ff: int
    boundary: int
    has_expert_bias: bool
    head_count: int


def _dense_bytes(tensors: list[TensorInfo], embd: int) -> int:
    """Gate, up and their product of the widest dense or shared FFN among these tensors, and the rows around them."""
    rows = [t.shape[1] for t in tensors if len(t.shape) == 2 and t.name.endswith(("ffn_up.weight", "_up_shexp.weight"))]
    return 3 * max(rows) * _F32 + 4 * embd if rows else 0


def _widths(model: ModelInfo) -> _Widths:
    embd = (model.embedding_length or 0) * _F32
    heads = max((layer.head_count for layer in model.layers), default=0)
    query = max((layer.head_count * layer.key_length for layer in model.layers), default=0) * _F32
    has_q_norm = any(t.name.endswith(".attn_q_norm.weight") for t in model.tensors)
    # q, its normed and rotated copies, k, v and the result live together; MLA works on the absorbed, wider q
    attention = 2 * query + 4 * embd if model.is_mla else (5 if has_q_norm else 4) * query + 2 * embd
    used = max(model.expert_used_per_block or (model.expert_used_count,))
    moe_ff = used * (model.expert_ff_length or 0) * _F32
    bias = any("_exps.bias" in t.name for t in model.tensors)
    moe = (2 * embd + moe_ff + 2 * used * embd + (2 * embd if bias else 0)) if model.is_moe else 0
    boundary = (5 if has_q_norm else 1) * embd  # rows that come in from the other side of a split
    return _Widths(embd, attention, moe, moe_ff, boundary, bias, heads)


@dataclass(frozen=True, slots=True)
class _Where:
    """Which parts of a block's work one device does; ``dense`` is bytes per token of its widest dense FFN."""

    attention: bool
    dense: int
    experts: bool
    boundary: bool


def _work_on(model: ModelInfo, placement: Placement, where: dict[str, str], device: str) -> _Where:
    homes_here = homes(placement)[: model.block_count - model.nextn_count]
    ffn, experts = [], False
    for tensor in model.tensors:
        if tensor.role in _FFN and where.get(tensor.name) == device:
            if tensor.role is Role.ROUTED_EXPERT:
                experts = True
            else:
                ffn.append(tensor)
    return _Where(
        attention=device in homes_here,
        dense=_dense_bytes(ffn, (model.embedding_length or 0) * _F32),
        experts=experts,
        boundary=device in homes_here and any(h != device for h in homes_here),
    )


def _mask_bytes_per_token(model: ModelInfo, kv: KvSettings, flash_attention: bool) -> int:
    """One mask row per token over the cells, and a second one over the window where blocks slide."""
    cells = kv.n_cells * kv.n_streams if kv.is_unified else kv.n_cells
    if model.sliding_window and any(layer.sliding for layer in model.layers):
        cells += sliding_cells(model.sliding_window, kv)
    return cells * (2 if flash_attention else 4)


def compute_bytes(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    where: dict[str, str],
    kv: KvSettings,
    kv_by_block: dict[int, int],
    flash_attention: bool,
    op_offload: bool = True,
) -> dict[str, int]:
    """Device name -> compute buffer bytes; RAM is the host's buffer.

    ``where``: tensor -> device (``placement.locations``). ``op_offload`` holds for GPU backends only: RPC has none.
    """
    widths = _widths(model)
    tokens = min(kv.n_ctx, kv.n_ubatch)
    mask = _mask_bytes_per_token(model, kv, flash_attention)
    scores = 0 if flash_attention else widths.head_count * kv.n_cells * _F32
    result: dict[str, int] = {}
    for device in devices.gpus:
        work = _work_on(model, placement, where, device.name)
        offload = op_offload and device.kind in (DeviceKind.GPU, DeviceKind.IGPU)
        per_token = _block_bytes(widths, work, scores)
        extra = 0
        if work.attention and offload:
            largest = _largest_host_expert(model, where)
            extra += largest
            per_token = max(per_token, widths.attention + widths.moe_ff) if largest else per_token
        if work.attention and any(kv_device(placement, b) != placement.home_of_unit(b) for b in kv_by_block):
            extra += max(kv_by_block.values(), default=0)  # -nkvo: one block's KV is copied over for its attention
        if per_token:
            per_token += mask if work.attention else 0
        result[device.name] = tokens * per_token + extra
    result[RAM] = tokens * _host_bytes(model, widths, placement, where, mask, scores)
    return result


def _block_bytes(widths: _Widths, work: _Where, scores: int) -> int:
    """Bytes per token of the worst moment of a block, without the mask."""
    attention = widths.attention if work.attention else 0
    moe = widths.moe if work.experts else 0
    if work.boundary:
        attention += widths.boundary
        moe += 2 * widths.embd if work.experts else 0
    return max(attention + scores if work.attention else 0, work.dense, moe)


def _host_bytes(
    model: ModelInfo, widths: _Widths, placement: Placement, where: dict[str, str], mask: int, scores: int
) -> int:
    """Host side: the inputs (embeddings, mask) always; whole blocks or only routed experts where they live in RAM."""
    work = _work_on(model, placement, where, RAM)
    inputs = mask + 4 * widths.embd
    if work.attention:
        whole = _Where(attention=True, dense=work.dense, experts=work.experts, boundary=False)
        return max(inputs, mask + _block_bytes(widths, whole, scores) + widths.embd)
    if work.experts or work.dense:
        part = max(widths.moe if work.experts else 0, work.dense)
        return max(inputs, part + (mask if widths.has_expert_bias else 0))
    return inputs


def _largest_host_expert(model: ModelInfo, where: dict[str, str]) -> int:
    return max(
        (t.n_bytes for t in model.tensors if t.role is Role.ROUTED_EXPERT and where.get(t.name) == RAM), default=0
    )
