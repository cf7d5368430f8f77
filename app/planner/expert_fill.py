"""Routed-expert layers onto the GPUs, as many bytes as each budget takes; dense parts are placed already. Pure.

On each device a run of its first layers or, where that pays, another run or a subset-sum over real layer sizes (Q4_K_M
layers differ), then one split layer for the rest; at last whole layers of another device's blocks where one has room
left. Every expert byte is worth the same per token (expert_used_count / expert_count), so the most bytes on GPUs is
the fastest (engine.md 10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from app.common.units import MIB
from app.model.types import ModelInfo, TensorInfo
from app.planner.cards import part_of
from app.planner.placement import expert_tensors, homes, locations, with_experts_in_ram, with_locations
from app.planner.types import RAM, DeviceSet, MemoryEstimate, Placement

Estimator = Callable[[Placement], MemoryEstimate]

_Choice = Callable[[Mapping[int, int], int], frozenset[int]]
"""Block sizes and a budget -> the blocks to put on the device."""

_STEP = MIB
"""Resolution of the subset sum; sizes are rounded up, so the chosen set never exceeds the budget."""


def fill_experts(model: ModelInfo, devices: DeviceSet, nothing: Placement, estimate: Estimator) -> Placement:
    """The best of the ways to choose layers, all checked against the full estimate. ``nothing``: the same homes with
    all experts in RAM.

    A run of layers is one card and one short rule; layers differ little in size, and the split layer evens that out.
    """
    sizes = _layer_sizes(model, nothing)
    if not any(sizes.values()):
        return nothing
    budgets = _budgets(model, devices, nothing, estimate, sizes)
    everything = sum(sum(blocks.values()) for blocks in sizes.values())
    least_in_ram = everything - sum(budgets.values())
    best, least = nothing, float("inf")
    for choose, unrest in _CHOICES:
        if least_in_ram * (1 + unrest) >= least:
            continue  # not even a budget used to the last byte would make up for the unrest
        found = _filled(model, devices, nothing, estimate, choose, sizes, budgets)
        in_ram = _expert_bytes_in_ram(model, found) * (1 + unrest)
        if in_ram < least:
            best, least = found, in_ram
    return _add_strangers(model, devices, best, estimate) if len(devices.gpus) > 1 else best


def _budgets(
    model: ModelInfo, devices: DeviceSet, nothing: Placement, estimate: Estimator, sizes: Mapping[str, dict[int, int]]
) -> dict[str, int]:
    """Device -> what it has for whole layers, seen with one layer on each: compute buffers change with the first."""
    every = frozenset(model.expert_blocks)
    smallest = {name: min(blocks, key=lambda b: (blocks[b], b)) for name, blocks in sizes.items()}
    one = estimate(with_experts_in_ram(model, nothing, devices, every - set(smallest.values())))
    lefts = {name: one.get(name).left_bytes for name in smallest}
    return {name: left + sizes[name][smallest[name]] for name, left in lefts.items() if left is not None and left >= 0}


def _filled(
    model: ModelInfo,
    devices: DeviceSet,
    nothing: Placement,
    estimate: Estimator,
    choose: _Choice,
    sizes: Mapping[str, dict[int, int]],
    budgets: Mapping[str, int],
) -> Placement:
    """Whole layers as ``choose`` picks them for each device's budget, checked against the full estimate (the compute
    buffers move with the experts), then a part of one more on each."""
    every = frozenset(model.expert_blocks)
    rest = dict(budgets)
    placement = nothing
    while rest:
        chosen = {name: choose(sizes[name], budget) for name, budget in rest.items()}
        placement = with_experts_in_ram(model, nothing, devices, every.difference(*chosen.values()))
        predicted = estimate(placement)
        over = [name for name in rest if chosen[name] and (predicted.get(name).left_bytes or 0) < 0]
        if not over:
            break
        for name in over:
            rest[name] += predicted.get(name).left_bytes or 0
    return _add_split_layers(model, devices, placement, estimate)


def is_full(model: ModelInfo, devices: DeviceSet, placement: Placement, predicted: MemoryEstimate) -> bool:
    """Has no card room for one more whole layer of its own? Then other homes would read the same from RAM."""
    sizes = _layer_sizes(model, placement)
    return all(
        (predicted.get(device.name).left_bytes or 0) < min(sizes.get(device.name, {0: 0}).values())
        for device in devices.gpus
    )


def _expert_bytes_in_ram(model: ModelInfo, placement: Placement) -> int:
    unit_homes = homes(placement)
    overrides = placement.overrides
    return sum(
        tensor.n_bytes
        for tensor, block in expert_tensors(model)
        if (overrides.get(tensor.name) or unit_homes[block]) == RAM
    )


def _layer_sizes(model: ModelInfo, placement: Placement) -> dict[str, dict[int, int]]:
    """Device -> routed-expert bytes of each block that has its home there; RAM left out."""
    unit_homes = homes(placement)
    sizes: dict[str, dict[int, int]] = {}
    for tensor, block in expert_tensors(model):
        home = unit_homes[block]
        if home != RAM:
            blocks = sizes.setdefault(home, {})
            blocks[block] = blocks.get(block, 0) + tensor.n_bytes
    return sizes


def _first_blocks(sizes: Mapping[int, int], budget: int) -> frozenset[int]:
    """As many of the first blocks as the budget takes."""
    chosen: set[int] = set()
    for block in sorted(sizes):
        budget -= sizes[block]
        if budget < 0:
            break
        chosen.add(block)
    return frozenset(chosen)


def _best_run(sizes: Mapping[int, int], budget: int) -> frozenset[int]:
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


def _best_subset(sizes: Mapping[int, int], budget: int) -> frozenset[int]:
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


_CHOICES: tuple[tuple[_Choice, float], ...] = ((_first_blocks, 0.0), (_best_run, 0.003), (_best_subset, 0.02))
"""How to choose layers, and the share of the expert bytes in RAM that a more restless board must save."""


def _add_split_layers(model: ModelInfo, devices: DeviceSet, placement: Placement, estimate: Estimator) -> Placement:
    """On each device tensors of one more of its own layers, as many bytes as still fit. A block that has a tensor in
    RAM hands over anyway, so a part of it on the GPU costs no extra switch."""
    names = [device.name for device in devices.gpus]
    split = _with_split_layers(model, names, placement, estimate)
    if split is placement or all(estimate(split).get(name).fits for name in names):
        return split
    for name in names if len(names) > 1 else ():  # a compute buffer grew on one of them: each by itself
        split = _with_split_layers(model, [name], placement, estimate)
        if all(estimate(split).get(each).fits for each in names):
            placement = split
    return placement


def _with_split_layers(model: ModelInfo, names: Sequence[str], placement: Placement, estimate: Estimator) -> Placement:
    """With the heaviest part of a layer that each of these devices has room for; the same when none has any."""
    predicted = estimate(placement)
    chosen: set[str] = set()
    for name in names:
        left = predicted.get(name).left_bytes
        if left is not None and left > 0:
            chosen.update(_best_split(model, name, placement, left))
    if not chosen:
        return placement
    overrides = {name: device for name, device in placement.overrides.items() if name not in chosen}
    return Placement(placement.block_count, placement.runs, overrides, placement.kv_home)


def _best_split(model: ModelInfo, gpu: str, placement: Placement, left: int) -> tuple[str, ...]:
    unit_homes = homes(placement)
    by_block: dict[int, list[TensorInfo]] = {}
    for tensor, block in expert_tensors(model):
        if unit_homes[block] == gpu and placement.overrides.get(tensor.name) == RAM:
            by_block.setdefault(block, []).append(tensor)
    best: _Part = (0, ())
    tried: set[tuple[int, ...]] = set()
    for block in sorted(by_block):
        parts = _parts(by_block[block])
        sizes = tuple(n for n, _ in parts)
        if sizes not in tried:
            tried.add(sizes)
            best = max(best, _best_part(parts, left), key=lambda part: part[0])
    return best[1]


_Part = tuple[int, tuple[str, ...]]
"""Bytes and tensor names of gate, up or down of one block, biases and scales included."""


def _parts(tensors: list[TensorInfo]) -> list[_Part]:
    parts: dict[str, _Part] = {}
    for tensor in tensors:
        n_bytes, names = parts.get(part_of(tensor), (0, ()))
        parts[part_of(tensor)] = (n_bytes + tensor.n_bytes, (*names, tensor.name))
    return list(parts.values())


def _best_part(parts: list[_Part], left: int) -> _Part:
    """The heaviest proper subset of one layer's parts that fits; there are at most a handful, so all are tried."""
    best: _Part = (0, ())
    for bits in range(1, (1 << len(parts)) - 1):
        chosen = [part for i, part in enumerate(parts) if bits >> i & 1]
        total = sum(n for n, _ in chosen)
        if best[0] < total <= left:
            best = (total, tuple(name for _, names in chosen for name in names))
    return best


def _add_strangers(model: ModelInfo, devices: DeviceSet, placement: Placement, estimate: Estimator) -> Placement:
    """Whole expert layers of another card's blocks to a card that has room left: reading them from RAM takes longer
    than handing two rows of activations over."""
    for giver, taker in combinations([device.name for device in devices.gpus], 2):
        for home, gpu in ((giver, taker), (taker, giver)):
            placement = _with_strangers(model, placement, home, gpu, estimate)
    return placement


def _with_strangers(model: ModelInfo, placement: Placement, home: str, gpu: str, estimate: Estimator) -> Placement:
    unit_homes = homes(placement)
    sizes: dict[int, int] = {}
    whole: dict[int, bool] = {}
    for tensor, block in expert_tensors(model):
        if unit_homes[block] == home:
            sizes[block] = sizes.get(block, 0) + tensor.n_bytes
            whole[block] = whole.get(block, True) and placement.overrides.get(tensor.name) == RAM
    in_ram = {block: n_bytes for block, n_bytes in sizes.items() if whole[block]}
    budget = estimate(placement).get(gpu).left_bytes or 0
    while chosen := _first_blocks(in_ram, budget):
        wanted = locations(model, placement)
        wanted.update({tensor.name: gpu for tensor, block in expert_tensors(model) if block in chosen})
        moved = with_locations(model, placement, wanted)
        predicted = estimate(moved)
        if all(d.fits is not False for d in predicted.devices if d.device != RAM):
            return moved
        budget -= max(1, -min(d.left_bytes or 0 for d in predicted.devices if d.device != RAM))
    return placement
