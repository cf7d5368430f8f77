"""Homes over several GPUs: which contiguous run of layer units each device gets. Pure.

The engine can be told any cut of the last ``-ngl`` units into runs in its own device order (``-ts``, see ``homes``).
Runs are cut so that every device gets the same share of its own room: then each of them keeps as many experts as its
memory allows, and those in RAM are spread over all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from app.model.types import ModelInfo, Role
from app.planner.placement import NOT_LOADED
from app.planner.types import DeviceSet, MemoryEstimate, Placement

Runs = tuple[tuple[str, int], ...]


def unit_bytes(model: ModelInfo, kv_by_block: Sequence[int], *, with_experts: bool) -> list[int]:
    """Bytes that come along with each layer unit's home: its tensors (routed experts or not) and its KV."""
    sizes = [0] * (model.block_count + 1)
    for tensor in model.tensors:
        if tensor.role in NOT_LOADED or (tensor.role is Role.ROUTED_EXPERT and not with_experts):
            continue
        if tensor.block is not None:
            sizes[tensor.block] += tensor.n_bytes
        elif tensor.role in (Role.OUTPUT, Role.NORM) or (tensor.role is Role.EMBEDDING and model.has_tied_output):
            sizes[-1] += tensor.n_bytes
    for block, n_bytes in enumerate(kv_by_block[: model.block_count]):
        sizes[block] += n_bytes
    return sizes


def rooms(devices: DeviceSet, predicted: MemoryEstimate | None = None) -> list[int]:
    """What each device has for weights and KV; 0 where its free memory is unknown. ``predicted``: its compute buffers
    are taken off."""
    found = []
    for device in devices.gpus:
        compute = 0 if predicted is None else predicted.get(device.name).compute_bytes
        free = device.free_bytes or 0
        found.append(max(0, free - device.reserve_bytes - device.overhead_bytes - compute))
    return found


def shared_runs(devices: DeviceSet, sizes: Sequence[int], n_units: int, room: Sequence[int]) -> Runs:
    """The last ``n_units`` of ``sizes`` cut into one run per device, in proportion to the room of each.

    A border lies where the sum is nearest to its share; without any room the units are shared out evenly.
    """
    n_units = max(0, min(n_units, len(sizes)))
    names = [d.name for d in devices.gpus]
    if len(names) < 2 or not n_units:
        return tuple((name, n_units if i == 0 else 0) for i, name in enumerate(names))
    weights = list(room) if any(room) else [1] * len(names)
    sums = [0, *accumulate(max(1, size) for size in sizes[len(sizes) - n_units :])]
    lengths, first, share = [], 0, 0
    for weight in weights[:-1]:
        share += weight
        wanted = sums[-1] * share / sum(weights)
        border = max(first, min(range(len(sums)), key=lambda i: abs(sums[i] - wanted)))
        lengths.append(border - first)
        first = border
    return tuple(zip(names, (*lengths, n_units - first), strict=True))


def packed_runs(devices: DeviceSet, sizes: Sequence[int], n_units: int, room: Sequence[int], first: int) -> Runs:
    """As many units as fit on device number ``first``, the rest in proportion over the others, in the engine's order:
    what the fastest card is given. Devices before it take the units in front, those behind it the last ones."""
    before = sum(room[:first])
    others = before + sum(room[first + 1 :])
    mine = room[first]
    total = sum(sizes[len(sizes) - n_units :])
    rest = max(0, total - mine)
    parts = [rest * r / others if others and i != first else 0 for i, r in enumerate(room)]
    parts[first] = min(mine, total)
    return shared_runs(devices, sizes, n_units, [round(part) for part in parts])


def runs_around(devices: DeviceSet, sizes: Sequence[int], n_units: int, room: Sequence[int], main: int) -> Runs:
    """As many whole units as fit on each card but number ``main``, which gets all the rest: the fastest card then has
    most of the dense parts and of the KV. Cards before it take units in front, those behind it the last ones."""
    units = list(sizes[len(sizes) - n_units :])
    lengths = [0] * len(room)
    for i in (*range(main), *range(len(room) - 1, main, -1)):
        left = room[i]
        while units and left >= (size := units[0 if i < main else -1]):
            left -= size
            lengths[i] += 1
            del units[0 if i < main else -1]
    lengths[main] = len(units)
    return tuple(zip((d.name for d in devices.gpus), lengths, strict=True))


def moved_home(placement: Placement, names: Sequence[str], blocks: set[int], device: str) -> Runs:
    """The runs after these blocks went to ``device`` (a name of ``names``, else RAM): the nearest the engine can say.

    Homes never go back in device order (RAM, then ``names``) from unit to unit, so what stands before the last moved
    block may be at most at the device, and what stands behind the first at least.
    """
    level = {name: i for i, name in enumerate(names)}
    old = [level.get(placement.home_of_unit(unit), -1) for unit in range(placement.block_count + 1)]
    target = level.get(device, -1)
    low, high = min(blocks), max(blocks)
    new = [
        target if low <= unit <= high else min(home, target) if unit < low else max(home, target)
        for unit, home in enumerate(old)
    ]
    named = {name for name, _ in placement.runs} | {device}
    alone = len(names) == 1
    return tuple((name, new.count(i)) for i, name in enumerate(names) if alone or name in named or new.count(i))
