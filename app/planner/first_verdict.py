"""A verdict before the plan: what is certain by sums alone, in a fraction of a millisecond. Pure.

A folder of hundreds of files is listed at once with these, and the plans follow. A first verdict is on the safe side of
the plan's: it says that a file runs only where the plan says so too, never promises fewer layers in RAM, and calls a
file too big only where its bare weights have no room. Compute buffers, the one part that a plan has to simulate, are
taken as the bound of ``planner.compute``. Where sums decide nothing there is no first verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.model.types import ModelInfo, Role
from app.planner.compute import BufferBounds, buffer_bounds
from app.planner.file_verdict import FileVerdict, VerdictKind
from app.planner.host_memory import checkpoint_bytes, is_part_of_ram
from app.planner.kv import kv_bytes_by_block
from app.planner.placement import NOT_LOADED
from app.planner.plan import context_of, kv_settings
from app.planner.types import DeviceSet, KvHome, Wishes


@dataclass(frozen=True, slots=True)
class _Sums:
    """Bytes of a model. ``home``: what moves with each block's home; ``experts``: by block; ``head``: the output unit;
    ``in_ram``: what stays in RAM wherever the rest is."""

    home: list[int]
    experts: dict[int, int]
    head: int
    in_ram: int
    largest: int
    largest_expert: int


def first_verdict(model: ModelInfo, devices: DeviceSet, wishes: Wishes) -> FileVerdict | None:
    """What is certain of the plan of these wishes; None where that is nothing.

    Only for plans that the preset is free to make: forced layers, files beside the model, figures that this machine
    has learned and graphics that take their memory from RAM are left to the plan.
    """
    if _is_special(devices, wishes):
        return None
    kv = replace(kv_settings(model, wishes), flash_attention=wishes.flash_attn != "off")
    cached = kv_bytes_by_block(model, kv)
    sums = _sums(model)
    bounds = buffer_bounds(model, kv, sums.largest, sums.largest_expert)
    beside = checkpoint_bytes(model, kv, wishes.extra) + ((wishes.prompt_cache_mib or 0) << 20)
    made = FileVerdict(
        kind=VerdictKind.GPU,
        n_ctx=context_of(model, wishes),
        expert_layers=len(sums.experts),
        expert_layers_in_ram=0 if sums.experts else None,
        layers=model.block_count + 1,
        is_first=True,
    )
    return _of_sums(model, devices, made, sums, sum(cached.values()), beside, bounds)


def _is_special(devices: DeviceSet, wishes: Wishes) -> bool:
    has_files = wishes.mmproj_path or wishes.draft_path or wishes.lora_paths or wishes.mtp
    is_bound = wishes.preset != "fill" or wishes.n_gpu_layers is not None or wishes.kv_home is KvHome.RAM
    is_unknown = any(device.free_bytes is None or device.corrections for device in devices.all)
    is_one = any(is_part_of_ram(gpu.kind, gpu.total_bytes, devices.ram.total_bytes) for gpu in devices.gpus)
    return bool(has_files) or is_bound or is_unknown or is_one


def _of_sums(
    model: ModelInfo, devices: DeviceSet, made: FileVerdict, sums: _Sums, cached: int, beside: int, bounds: BufferBounds
) -> FileVerdict | None:
    dense, experts = sum(sums.home) + sums.head, sum(sums.experts.values())
    everything = dense + experts + sums.in_ram + cached
    ram = _room(devices, 0) - beside
    missing = dense + experts + cached - sum(max(0, _room(devices, i)) for i in range(len(devices.all)))
    if missing > 0:
        return replace(made, kind=VerdictKind.TOO_BIG, missing_bytes=missing)
    card = max((_room(devices, i) for i in range(1, len(devices.all))), default=0)
    if card >= dense + experts + cached + bounds.card and ram >= sums.in_ram + bounds.host:
        return made
    left = card - dense - cached - bounds.card_with_copies
    if sums.experts and left >= 0:
        n_on_card = min(len(sums.experts), left // max(sums.experts.values()))
        in_ram = experts - n_on_card * min(sums.experts.values())
        if ram >= in_ram + sums.in_ram + bounds.host:
            n_in_ram = max(1, len(sums.experts) - n_on_card)
            return replace(made, kind=VerdictKind.EXPERTS_IN_RAM, expert_layers_in_ram=n_in_ram)
    if ram < everything + bounds.host_alone:
        return None
    in_ram = model.block_count + 1 - _units_on_card(sums, card - bounds.card_with_copies, cached, model.block_count)
    kind = VerdictKind.LAYERS_IN_RAM if devices.gpus and in_ram <= model.block_count else VerdictKind.RAM
    is_moe = len(sums.experts) or None
    return replace(made, kind=kind, layers_in_ram=in_ram, expert_layers_in_ram=is_moe)


def _room(devices: DeviceSet, index: int) -> int:
    """What RAM (0) or a card (from 1) has for a model."""
    device = devices.gpus[index - 1] if index else devices.ram
    return (device.free_bytes or 0) - device.reserve_bytes - device.overhead_bytes


def _units_on_card(sums: _Sums, room: int, cached: int, block_count: int) -> int:
    """How many of the last units the card takes, experts not counted, every block with the same share of the cache."""
    share = -(-cached // max(1, block_count))
    room -= sums.head
    n_units = 1
    for size in reversed(sums.home):
        room -= size + share
        if room < 0:
            break
        n_units += 1
    return n_units if n_units > 1 else 0


def _sums(model: ModelInfo) -> _Sums:
    home = [0] * model.block_count
    experts: dict[int, int] = {}
    head = in_ram = largest = largest_expert = 0
    embedding = 0
    for tensor in model.tensors:
        role, n_bytes, block = tensor.role, tensor.n_bytes, tensor.block
        if role in NOT_LOADED:
            continue
        if role is Role.EMBEDDING or (block is None and role is not Role.OUTPUT and role is not Role.NORM):
            in_ram += n_bytes
            if tensor.name == "token_embd.weight":
                embedding = n_bytes
            continue
        if block is None:
            head += n_bytes
        elif role is Role.ROUTED_EXPERT:
            experts[block] = experts.get(block, 0) + n_bytes
            largest_expert = max(largest_expert, n_bytes)
        else:
            home[block] += n_bytes
        largest = max(largest, n_bytes)
    if model.has_tied_output:  # the engine stores it twice
        head, largest = head + embedding, max(largest, embedding)
    return _Sums(home, experts, head, in_ram, largest, largest_expert)
