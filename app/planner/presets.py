"""Presets: named recipes for a placement. Pure and deterministic.

``fill``, the default, keeps every layer's dense part and KV on the GPU, then fills what is left of the budget with
routed-expert layers: a run of first layers or, where that pays, a subset-sum over real layer sizes (Q4_K_M layers
differ), and one split layer for the rest.
Where the dense parts and KV do not fit, fewer layers get their home on the GPU, or the whole KV stays in RAM where that
reads clearly fewer bytes from RAM per token at half the context. A smaller KV type costs quality: that is the user's
choice (``planner.trades``).
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
    NOT_LOADED,
    all_in_ram,
    all_on_gpu,
    home_of,
    homes,
    locations,
    runs_for,
    with_experts_in_ram,
    with_locations,
)
from app.planner.types import RAM, DeviceEstimate, DeviceSet, KvHome, MemoryEstimate, Placement, Wishes

PRESETS = ("fill", "experts-cpu", "all-gpu", "all-cpu", "article", "fit")
"""Names of the command line's contract (docs/cli.md); ``cache`` joins them with the engine that has it."""

Estimator = Callable[[Placement], MemoryEstimate]

Cost = Callable[[Placement], float]
"""What makes one placement better than another: bytes read from RAM per token (``token_work.ram_bytes_per_token``)."""

_KV_IN_RAM_GAIN = 0.05
"""What KV in RAM must save: the processor then computes attention, which makes prompts slower."""

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


def preset_placement(
    model: ModelInfo, devices: DeviceSet, wishes: Wishes, estimate: Estimator, cost: Cost
) -> Placement:
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
    return fill(model, devices, base, estimate, cost, forced_homes=wishes.n_gpu_layers is not None)


def fill(
    model: ModelInfo, devices: DeviceSet, base: Placement, estimate: Estimator, cost: Cost, forced_homes: bool = False
) -> Placement:
    """The fewest bytes read from RAM that the budget allows; see the module's docstring.

    Homes stay where the user forced them (``-ngl``). Unknown free memory gives the careful answer: experts in RAM.
    """
    estimate = _remembering(estimate)
    everything = with_experts_in_ram(model, base, devices, frozenset())
    nothing = with_experts_in_ram(model, base, devices, frozenset(model.expert_blocks))
    gpu = devices.gpus[0].name
    if devices.gpus[0].free_bytes is None:
        return nothing
    if estimate(everything).get(gpu).fits:
        return everything
    if estimate(nothing).get(gpu).fits:
        return _fill_experts(model, devices, nothing, estimate)
    if forced_homes:
        return nothing
    fewer = _fill_experts(model, devices, _fewer_layers(model, devices, nothing, estimate), estimate)
    if nothing.kv_home is KvHome.RAM:
        return fewer
    without_kv = replace(nothing, kv_home=KvHome.RAM)
    if not estimate(without_kv).get(gpu).fits:
        without_kv = _fewer_layers(model, devices, without_kv, estimate)
    kv_in_ram = _fill_experts(model, devices, without_kv, estimate)
    return kv_in_ram if cost(kv_in_ram) < cost(fewer) * (1 - _KV_IN_RAM_GAIN) else fewer


def _remembering(estimate: Estimator) -> Estimator:
    """The same estimator, asked once for each placement: the ways to choose layers often agree."""
    known: dict[object, MemoryEstimate] = {}

    def ask(placement: Placement) -> MemoryEstimate:
        key = (placement.runs, placement.kv_home, frozenset(placement.overrides.items()))
        if key not in known:
            known[key] = estimate(placement)
        return known[key]

    return ask


def _fewer_layers(model: ModelInfo, devices: DeviceSet, placement: Placement, estimate: Estimator) -> Placement:
    """The largest ``-ngl`` whose dense parts fit, experts in RAM; 0 when none does.

    Monotonic, so bisected, from a guess: an estimate costs more than the sums that make the guess.
    """
    gpu = devices.gpus[0].name

    def at(n_units: int) -> Placement:
        moved = replace(placement, runs=runs_for(devices, n_units), overrides={})
        return with_experts_in_ram(model, moved, devices, frozenset(model.expert_blocks))

    def fits(n_units: int) -> bool:
        return bool(estimate(at(n_units)).get(gpu).fits)

    low, high = 0, model.block_count
    guess = _guessed_units(model, placement, estimate(placement).get(gpu))
    for n_units in (guess, guess + 1, guess - 1):
        if low < n_units <= high:
            low, high = (n_units, high) if fits(n_units) else (low, n_units - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return at(low)


def _guessed_units(model: ModelInfo, placement: Placement, over_full: DeviceEstimate) -> int:
    """How many units may stay when the first ones leave until the over-full device is not over-full."""
    sizes = [over_full.kv_bytes / max(1, model.block_count)] * model.block_count
    for tensor in model.tensors:
        if tensor.block is not None and tensor.role is not Role.ROUTED_EXPERT and tensor.role not in NOT_LOADED:
            sizes[tensor.block] += tensor.n_bytes
    missing = -(over_full.left_bytes or 0)
    n_units = placement.n_gpu_layers
    for size in sizes[model.block_count + 1 - n_units :]:
        if missing <= 0:
            break
        missing -= round(size)
        n_units -= 1
    return n_units


def _fill_experts(model: ModelInfo, devices: DeviceSet, nothing: Placement, estimate: Estimator) -> Placement:
    """The first layers and a part of the next; another run of layers or a scattered choice where that pays.

    A run of layers is one card and one short rule; layers differ little in size, and the split layer evens that out.
    """
    if not _layer_sizes(model, nothing):
        return nothing
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
    every = frozenset(model.expert_blocks)
    smallest = min(sizes, key=lambda b: (sizes[b], b))
    one = with_experts_in_ram(model, nothing, devices, every - {smallest})
    left = estimate(one).get(gpu).left_bytes
    if left is None or left < 0:
        return _add_split_layer(model, devices, nothing, estimate)
    budget = left + sizes[smallest]
    while True:
        chosen = choose(sizes, budget)
        placement = with_experts_in_ram(model, nothing, devices, every - chosen)
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
    part of it on the GPU costs no extra switch; a block at home in RAM would have to hand over for it."""
    gpu = devices.gpus[0].name
    left = estimate(placement).get(gpu).left_bytes
    if left is None or left <= 0:
        return placement
    unit_homes = homes(placement)
    by_block: dict[int, dict[str, _Part]] = {}
    for tensor in model.tensors:
        if tensor.role is not Role.ROUTED_EXPERT or tensor.block is None or unit_homes[tensor.block] == RAM:
            continue
        if (placement.overrides.get(tensor.name) or home_of(tensor, unit_homes)) == RAM:
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
