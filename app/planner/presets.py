"""Presets: named recipes for a placement. Pure and deterministic.

``fill``, the default, keeps every layer's dense part and KV on the GPU, then fills what is left of the budget with
routed-expert layers: a run of first layers or, where that pays, a subset-sum over real layer sizes (Q4_K_M layers
differ), and one split layer for the rest.
Every expert byte is worth the same per token (expert_used_count / expert_count), so the most bytes on the GPU is the
fastest placement (engine.md 10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.common.units import MIB
from app.model.types import ModelInfo, Role
from app.planner.cards import part_of
from app.planner.placement import (
    all_in_ram,
    all_on_gpu,
    home_of,
    homes,
    locations,
    runs_for,
    with_experts_in_ram,
    with_locations,
)
from app.planner.types import RAM, DeviceSet, MemoryEstimate, Placement, Wishes

PRESETS = ("fill", "experts-cpu", "all-gpu", "all-cpu", "article", "fit")
"""Names of the command line's contract (docs/cli.md); ``cache`` joins them with the engine that has it."""

Estimator = Callable[[Placement], MemoryEstimate]

_STEP = MIB
"""Resolution of the subset sum; sizes are rounded up, so the chosen set never exceeds the budget."""


def wishes_for_preset(wishes: Wishes, preset: str) -> Wishes:
    """The wishes a preset brings along: the article's plan D quantises the KV cache and asks for 16k context."""
    wishes = replace(wishes, preset=preset)
    if preset != "article":
        return wishes
    return replace(
        wishes,
        cache_type_k="q8_0" if wishes.cache_type_k == "f16" else wishes.cache_type_k,
        cache_type_v="q8_0" if wishes.cache_type_v == "f16" else wishes.cache_type_v,
        n_ctx=16384 if wishes.n_ctx is None else wishes.n_ctx,
        flash_attn="on" if wishes.flash_attn == "auto" else wishes.flash_attn,
    )


def preset_placement(model: ModelInfo, devices: DeviceSet, wishes: Wishes, estimate: Estimator) -> Placement:
    """The placement of ``wishes.preset``; ``wishes.n_gpu_layers`` forces the homes of every preset."""
    if not devices.gpus or wishes.preset == "all-cpu":
        return replace(all_in_ram(model, devices), kv_home=wishes.kv_home)
    base = replace(all_on_gpu(model, devices), kv_home=wishes.kv_home)
    if wishes.n_gpu_layers is not None:
        n_units = max(0, min(wishes.n_gpu_layers, model.block_count + 1))
        base = replace(base, runs=runs_for(devices, n_units))
    if wishes.preset in ("all-gpu", "fit"):
        return base
    experts_in_ram = with_experts_in_ram(model, base, devices, frozenset(model.expert_blocks))
    if wishes.preset in ("experts-cpu", "article"):
        return experts_in_ram
    return fill(model, devices, base, estimate, forced_homes=wishes.n_gpu_layers is not None)


def fill(
    model: ModelInfo, devices: DeviceSet, base: Placement, estimate: Estimator, forced_homes: bool = False
) -> Placement:
    """The most routed-expert bytes on the GPU that the budget allows; see the module's docstring.

    When even the dense parts do not fit, fewer layers get their home on the GPU (unless the user forced ``-ngl``).
    Unknown free memory gives the careful answer: experts in RAM.
    """
    everything = with_experts_in_ram(model, base, devices, frozenset())
    nothing = with_experts_in_ram(model, base, devices, frozenset(model.expert_blocks))
    gpu = devices.gpus[0].name
    if devices.gpus[0].free_bytes is None:
        return nothing
    if estimate(everything).get(gpu).fits:
        return everything
    if not estimate(nothing).get(gpu).fits:
        return nothing if forced_homes else _fewer_layers(model, devices, nothing, estimate)
    return _fill_experts(model, devices, nothing, estimate)


def _fewer_layers(model: ModelInfo, devices: DeviceSet, placement: Placement, estimate: Estimator) -> Placement:
    """The largest ``-ngl`` whose dense parts fit, experts in RAM; 0 when none does. Monotonic, so bisected."""
    gpu = devices.gpus[0].name

    def at(n_units: int) -> Placement:
        moved = replace(placement, runs=runs_for(devices, n_units), overrides={})
        return with_experts_in_ram(model, moved, devices, frozenset(model.expert_blocks))

    low, high = 0, model.block_count
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(at(middle)).get(gpu).fits:
            low = middle
        else:
            high = middle - 1
    return at(low)


def _fill_experts(model: ModelInfo, devices: DeviceSet, nothing: Placement, estimate: Estimator) -> Placement:
    """The first layers and a part of the next; another run of layers or a scattered choice where that pays.

    A run of layers is one card and one short rule; layers differ little in size, and the split layer evens that out.
    """
    found = [(_filled(model, devices, nothing, estimate, choose), unrest) for choose, unrest in _CHOICES]
    return min(found, key=lambda each: _expert_bytes_in_ram(model, each[0]) * (1 + each[1]))[0]


def _filled(
    model: ModelInfo,
    devices: DeviceSet,
    nothing: Placement,
    estimate: Estimator,
    choose: Callable[[dict[int, int], int], frozenset[int]],
) -> Placement:
    """Whole layers as ``choose`` picks them for the budget, checked against the full estimate (the compute buffer
    moves with the experts), then a part of one more."""
    gpu = devices.gpus[0].name
    sizes = _layer_sizes(model, nothing)
    smallest = min(sizes, key=lambda b: (sizes[b], b))
    one = with_experts_in_ram(model, nothing, devices, frozenset(sizes) - {smallest})
    left = estimate(one).get(gpu).left_bytes
    if left is None or left < 0:
        return _add_split_layer(model, devices, nothing, estimate)
    budget = left + sizes[smallest]
    while True:
        chosen = choose(sizes, budget)
        placement = with_experts_in_ram(model, nothing, devices, frozenset(sizes) - chosen)
        left = estimate(placement).get(gpu).left_bytes
        if left is None or left >= 0 or not chosen:
            return _add_split_layer(model, devices, placement, estimate)
        budget += left


def _expert_bytes_in_ram(model: ModelInfo, placement: Placement) -> int:
    where = locations(model, placement)
    return sum(t.n_bytes for t in model.tensors if t.role is Role.ROUTED_EXPERT and where.get(t.name) == RAM)


def _first_blocks(sizes: dict[int, int], budget: int) -> frozenset[int]:
    """As many of the first blocks as the budget takes."""
    chosen: set[int] = set()
    for block in sorted(sizes):
        budget -= sizes[block]
        if budget < 0:
            break
        chosen.add(block)
    return frozenset(chosen)


def _best_run(sizes: dict[int, int], budget: int) -> frozenset[int]:
    """The run of neighbouring blocks with the largest total that is not above the budget; the first of equals."""
    blocks = sorted(sizes)
    best, chosen = 0, slice(0, 0)
    first, total = 0, 0
    for last, block in enumerate(blocks):
        total += sizes[block]
        while total > budget:
            total -= sizes[blocks[first]]
            first += 1
        if total > best:
            best, chosen = total, slice(first, last + 1)
    return frozenset(blocks[chosen])


def _layer_sizes(model: ModelInfo, placement: Placement) -> dict[int, int]:
    """Routed-expert bytes per block, of blocks whose home is a GPU."""
    unit_homes = homes(placement)
    sizes: dict[int, int] = {}
    for tensor in model.tensors:
        if tensor.role is Role.ROUTED_EXPERT and tensor.block is not None and unit_homes[tensor.block] != RAM:
            sizes[tensor.block] = sizes.get(tensor.block, 0) + tensor.n_bytes
    return sizes


def _best_subset(sizes: dict[int, int], budget: int) -> frozenset[int]:
    """The blocks with the largest total that is not above the budget; ties prefer the first blocks.

    Reachable sums are bits of one integer, one per MiB; walking back from the best sum recovers the set.
    """
    capacity = max(0, budget) // _STEP
    blocks = sorted(sizes, reverse=True)
    mask = (1 << (capacity + 1)) - 1
    reachable = [1]
    for block in blocks:
        weight = -(-sizes[block] // _STEP)
        reachable.append((reachable[-1] | reachable[-1] << weight) & mask)
    total = reachable[-1].bit_length() - 1
    chosen = set()
    for i in range(len(blocks) - 1, -1, -1):
        weight = -(-sizes[blocks[i]] // _STEP)
        if total >= weight and reachable[i] >> (total - weight) & 1:
            chosen.add(blocks[i])
            total -= weight
    return frozenset(chosen)


_CHOICES = ((_first_blocks, 0.0), (_best_run, 0.003), (_best_subset, 0.02))
"""How to choose layers, and the share of the expert bytes in RAM that a more restless board must save."""


def _add_split_layer(model: ModelInfo, devices: DeviceSet, placement: Placement, estimate: Estimator) -> Placement:
    """Tensors of one more layer, as many bytes as still fit. A block that has a tensor in RAM hands over anyway, so a
    part of it on the GPU costs no extra switch."""
    gpu = devices.gpus[0].name
    left = estimate(placement).get(gpu).left_bytes
    if left is None or left <= 0:
        return placement
    unit_homes = homes(placement)
    by_block: dict[int, dict[str, _Part]] = {}
    for tensor in model.tensors:
        in_ram = (placement.overrides.get(tensor.name) or home_of(tensor, unit_homes)) == RAM
        if tensor.role is Role.ROUTED_EXPERT and tensor.block is not None and in_ram:
            parts = by_block.setdefault(tensor.block, {})
            n_bytes, names = parts.get(part_of(tensor), (0, ()))
            parts[part_of(tensor)] = (n_bytes + tensor.n_bytes, (*names, tensor.name))
    best: _Part = (0, ())
    for block in sorted(by_block):
        found = _best_part(list(by_block[block].values()), left)
        if found[0] > best[0]:
            best = found
    if not best[1]:
        return placement
    wanted = locations(model, placement)
    wanted.update(dict.fromkeys(best[1], gpu))
    split = with_locations(model, placement, wanted)
    return split if estimate(split).get(gpu).fits else placement


_Part = tuple[int, tuple[str, ...]]
"""Bytes and tensor names of gate, up or down of one block, biases and scales included."""


def _best_part(parts: list[_Part], left: int) -> _Part:
    """The heaviest proper subset of one layer's parts that fits; there are at most a handful, so all are tried."""
    best: _Part = (0, ())
    for bits in range(1, (1 << len(parts)) - 1):
        chosen = [part for i, part in enumerate(parts) if bits >> i & 1]
        total = sum(n for n, _ in chosen)
        if best[0] < total <= left:
            best = (total, tuple(name for _, names in chosen for name in names))
    return best
