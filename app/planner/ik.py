"""The compute buffers of ik_llama.cpp, where its graph differs from mainline's by design.

Sources, by file of ikawrakow/ik_llama.cpp (read in public; figures checked against some thirty public logs):

* Its context reserves the graph for a whole micro-batch of logits (``llama_new_context_with_model``; a later ``-wgt``
  option changes that), so the device with the output holds tokens x (n_vocab + 2 n_embd) floats.
* ``-mla 2`` and ``3`` with flash attention compute K and V of the whole cache for a prompt (build_deepseek2.cpp, "PP
  for mla=2,3"): one F32 product of at most ``-amb`` MiB at a time, the F16 K and V of all heads kept.
* Routed experts in RAM are multiplied on the first GPU only from 32 x n_expert / n_expert_used tokens upwards, where
  gate and up are one fused operation with both tensors copied; below that the CPU does it and holds their results.
* The mask was F32 for the inputs until #825 (October 2025), whatever attention was used.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.common.units import MIB
from app.model.types import ModelInfo, Role
from app.planner.engine_traits import EngineTraits, IkTraits
from app.planner.kv import KvSettings
from app.planner.placement import homes
from app.planner.types import RAM, DeviceSet, Placement

_F32 = 4
_F16 = 2
_OFFLOAD_TOKENS = 32


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Bytes per token of rows, and of what one micro-batch holds as a whole."""

    tokens: int
    embd: int
    query: int
    ff: int
    expert_rows: int
    mask: int

    @property
    def moe(self) -> int:
        """Fused gate and up, then down: the products of the used experts."""
        return self.tokens * (2 * self.ff + self.expert_rows)


def _sizes(model: ModelInfo, kv: KvSettings, mask_element: int) -> _Sizes:
    tokens = min(kv.n_ctx, kv.n_ubatch)
    embd = (model.embedding_length or 0) * _F32
    used = model.expert_used_count
    return _Sizes(
        tokens=tokens,
        embd=embd,
        query=max((x.head_count * x.key_length for x in model.layers if not x.recurrent), default=0) * _F32,
        ff=used * (model.expert_ff_length or 0) * _F32,
        expert_rows=used * embd,
        mask=tokens * kv.n_cells * mask_element,
    )


def mla_prompt_bytes(model: ModelInfo, kv: KvSettings, traits: IkTraits) -> int:
    """K, V and the working set of one head group for a prompt with ``-mla 2`` or ``3`` and flash attention."""
    key, value = _mla_lengths(model)
    rope = _number(model, "rope.dimension_count", 64)
    heads = max((layer.head_count for layer in model.layers), default=0)
    cells = kv.n_cells
    product = heads * (key - rope + value) * cells * _F32
    groups = _head_groups(heads, product, traits.attn_max_batch_mib)
    part = heads // groups
    keys, values = key * cells * _F16, value * cells * _F16
    # one round: the product, and K without its rotated part cast to F16 beside it; V is in ``values`` already
    working = product // groups + part * (key - rope) * cells * _F16
    if groups > 1:  # the rotated part repeated for a group's heads, and K of every group
        working += part * rope * cells * _F16 + heads * keys
    if kv.cache_type_k not in ("f16", "bf16", "f32"):
        working += _number(model, "attention.kv_lora_rank", 512) * cells * _F16
    per_token = heads * key * _F32 + (model.embedding_length or 0) * _F32 + cells * _F16
    return working + heads * values + min(kv.n_ubatch, kv.n_ctx) * per_token


def _head_groups(heads: int, product: int, limit_mib: int) -> int:
    """How many rounds keep one product within ``-amb`` (``n_max_head`` in build_deepseek2.cpp)."""
    size_mib = product // MIB
    if limit_mib <= 0 or size_mib <= limit_mib:
        return 1
    return next((n for n in range(2, heads) if heads % n == 0 and size_mib // n <= limit_mib), heads)


def _number(model: ModelInfo, key: str, default: int) -> int:
    value = model.metadata.get(f"{model.architecture}.{key}")
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _mla_lengths(model: ModelInfo) -> tuple[int, int]:
    return _number(model, "attention.key_length_mla", 192), _number(model, "attention.value_length_mla", 128)


def ik_compute_bytes(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    where: dict[str, str],
    kv: KvSettings,
    flash_attention: bool,
    engine: EngineTraits,
) -> dict[str, int]:
    """Device name -> compute buffer bytes; RAM is the host's buffer."""
    traits = engine.ik
    sizes = _sizes(model, kv, _F32 if engine.mask_is_f32 or not flash_attention else _F16)
    unit_homes = homes(placement)
    scores = 0 if flash_attention else sizes.tokens * kv.n_cells * _F32 * _heads_at_once(model, kv, traits)
    on_cpu = any(t.role is Role.ROUTED_EXPERT and where.get(t.name) == RAM for t in model.tensors)
    offloads = on_cpu and not traits.repacks and sizes.tokens >= _offload_tokens(model, traits)
    result: dict[str, int] = {}
    for index, device in enumerate(devices.gpus):
        name = device.name
        moments = [0]
        if name in unit_homes[: model.block_count]:
            moments.append(sizes.mask + sizes.tokens * (2 * sizes.query + 2 * sizes.embd) + scores)
            moments.append(sizes.mask + sizes.moe)
            if model.is_mla and flash_attention and traits.mla >= 2:
                moments.append(mla_prompt_bytes(model, kv, traits))
        if unit_homes[-1] == name:
            moments.append(sizes.tokens * ((model.vocab_size or 0) * _F32 + 2 * sizes.embd))
        if index == 0 and offloads:
            moments.append(_largest_gate_and_up(model, where) + sizes.mask + sizes.tokens * (sizes.ff + sizes.embd))
        result[name] = max(moments)
    result[RAM] = _host_bytes(model, sizes, unit_homes, on_cpu and not offloads, scores)
    return result


def _offload_tokens(model: ModelInfo, traits: IkTraits) -> int:
    """Tokens from which experts in RAM are copied to the GPU: 32 for each expert that one token uses."""
    if traits.offloads_small_batches:
        return _OFFLOAD_TOKENS
    return _OFFLOAD_TOKENS * model.expert_count // max(1, model.expert_used_count)


def _heads_at_once(model: ModelInfo, kv: KvSettings, traits: IkTraits) -> int:
    """Heads whose scores are held together: all, or as many as ``-amb`` allows (``attn_max_batch``)."""
    heads = max((layer.head_count for layer in model.layers), default=0)
    one = kv.n_cells * min(kv.n_ctx, kv.n_ubatch) * _F32
    limit = traits.attn_max_batch_mib * MIB
    return heads if not limit or not one else max(1, min(heads, limit // one))


def _host_bytes(model: ModelInfo, sizes: _Sizes, unit_homes: tuple[str, ...], experts_here: bool, scores: int) -> int:
    """Mask and embeddings always; the experts' results when the CPU has them; whole blocks when they live here."""
    inputs = sizes.mask + sizes.tokens * (sizes.expert_rows if experts_here else sizes.embd)
    if RAM in unit_homes[: model.block_count]:
        whole = sizes.mask + sizes.tokens * (2 * sizes.query + 2 * sizes.embd) + scores
        inputs = max(inputs, whole, sizes.mask + sizes.moe)
    if unit_homes[-1] == RAM:
        inputs = max(inputs, sizes.tokens * ((model.vocab_size or 0) * _F32 + 2 * sizes.embd))
    return inputs


def _largest_gate_and_up(model: ModelInfo, where: dict[str, str]) -> int:
    """The largest pair of gate and up of one block in RAM: the fused operation copies both."""
    pairs: dict[int, int] = {}
    for t in model.tensors:
        in_ram = t.role is Role.ROUTED_EXPERT and where.get(t.name) == RAM
        if in_ram and t.block is not None and ("_gate" in t.name or "_up" in t.name):
            pairs[t.block] = pairs.get(t.block, 0) + t.n_bytes
    return max(pairs.values(), default=0)
