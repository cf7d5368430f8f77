"""The search behind the preset ``fill``: the fewest bytes read from RAM per token that the budgets allow. Pure.

Every layer's dense part and KV on the GPUs first, then routed experts (``expert_fill``). Where dense parts and KV do
not fit, fewer layers get their home on a GPU, or the whole KV stays in RAM where that is clearly faster (reads fewer
bytes from RAM where speeds are unknown) at half the context. A smaller KV type costs quality: that is the user's
choice (``planner.trades``).

With several GPUs every sensible set of them is planned and the best is kept, so two cards are never worse than the
better one: by predicted seconds per token where all bandwidths are known, else by bytes from RAM; the fewest cards of
equals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from app.model.types import ModelInfo, Role
from app.planner.card_runs import Runs, packed_runs, rooms, runs_around, shared_runs, unit_bytes
from app.planner.expert_fill import Estimator, fill_experts, is_full
from app.planner.placement import NOT_LOADED, runs_for, with_experts_in_ram
from app.planner.types import Device, DeviceSet, KvHome, MemoryEstimate, Placement

Cost = Callable[[Placement], float]
"""Bytes read from RAM per token (``token_work.ram_bytes_per_token``)."""
Seconds = Callable[[Placement], float | None]
"""Predicted seconds per token; None where a bandwidth is unknown."""

_KV_IN_RAM_GAIN = 0.05
"""What KV in RAM must save: the processor then computes attention, which makes prompts slower."""
_MORE_CARDS_GAIN = 0.005
"""What another card must save of a token's time: each one costs a context and a hand-over."""
_REPAIRS = 3
_MOST_FOR_SETS = 4
"""Up to this many cards every set of them may be tried; beyond, each alone and all together."""


@dataclass(frozen=True)
class Measures:
    """How placements are judged."""

    estimate: Estimator
    cost: Cost
    seconds: Seconds
    kv_by_block: tuple[int, ...] = ()

    def per_token(self, placement: Placement) -> float:
        """Seconds per token, or bytes from RAM where nobody knows how long these take."""
        seconds = self.seconds(placement)
        return self.cost(placement) if seconds is None else seconds


def fill(
    model: ModelInfo, devices: DeviceSet, kv_home: KvHome, measures: Measures, n_units: int | None = None
) -> Placement:
    """The best placement; see the module's docstring. ``n_units``: layer units that the user forces onto GPUs."""
    measures = replace(measures, estimate=_remembering(measures.estimate))

    def on(gpus: tuple[Device, ...]) -> Placement:
        return _fill_set(model, replace(devices, gpus=gpus), kv_home, measures, n_units)

    found = [on((gpu,)) for gpu in sorted(devices.gpus, key=lambda d: -(d.free_bytes or 0))]
    if len(devices.gpus) > 1:
        together = on(devices.gpus)
        found += [on(gpus) for gpus in _sets_between(devices.gpus, together, measures)]
        found.append(together)
    return min(found, key=lambda placement: _worth(placement, devices, measures)) if len(found) > 1 else found[0]


def _sets_between(gpus: Sequence[Device], together: Placement, measures: Measures) -> Iterator[tuple[Device, ...]]:
    """Sets of more than one card but not all, in the engine's order. They can be better only where all cards have more
    room than is needed, or where one of them is slower than it is worth, as far as that is known."""
    if len(gpus) <= _MOST_FOR_SETS and (not together.overrides or measures.seconds(together) is not None):
        for size in range(2, len(gpus)):
            yield from sorted(combinations(gpus, size), key=lambda each: -sum(d.free_bytes or 0 for d in each))


def _worth(placement: Placement, devices: DeviceSet, measures: Measures) -> tuple[bool, float]:
    """What to be small: over-full or not, then time (or bytes) per token with a little for every further card."""
    predicted = measures.estimate(placement)
    is_over = any(predicted.get(d.name).fits is False for d in devices.gpus)
    n_cards = sum(1 for _, n_units in placement.runs if n_units)
    return is_over, measures.per_token(placement) * (1 + _MORE_CARDS_GAIN * n_cards)


def _fill_set(
    model: ModelInfo, devices: DeviceSet, kv_home: KvHome, measures: Measures, n_units: int | None
) -> Placement:
    """The best placement on exactly these cards. Unknown free memory gives the careful answer: experts in RAM."""
    estimate = measures.estimate
    units = model.block_count + 1 if n_units is None else n_units
    every = frozenset(model.expert_blocks)
    kv = measures.kv_by_block if kv_home is KvHome.HOME else ()
    homes_only = Placement(model.block_count, _first_runs(model, devices, units, kv, measures), {}, kv_home)
    bare = with_experts_in_ram(model, homes_only, devices, every)
    if any(device.free_bytes is None for device in devices.gpus):
        return bare
    everything = [p for p in _all_in(model, devices, homes_only, kv, estimate) if _fits(estimate(p), devices)]
    if everything:
        return min(everything, key=measures.per_token) if len(everything) > 1 else everything[0]
    fitting = _filled_starts(model, devices, bare, kv, measures)
    if fitting:
        return min(fitting, key=measures.per_token) if len(fitting) > 1 else fitting[0]
    if n_units is not None:
        return bare
    return _with_less_on_cards(model, devices, bare, measures)


def _filled_starts(
    model: ModelInfo, devices: DeviceSet, bare: Placement, kv: Sequence[int], measures: Measures
) -> list[Placement]:
    """Experts filled in from several homes, those that fit: by whole layers; with all but the fastest card packed full
    where speeds are known; by dense parts where the first do not fit or leave a card half empty.

    A filled placement that fits shows that the bare one does, which would cost an estimate of its own.
    """
    estimate, n_units = measures.estimate, bare.n_gpu_layers
    found = [fill_experts(model, devices, bare, estimate)]
    if len(devices.gpus) > 1:
        if measures.seconds(bare) is not None:
            speeds = [device.bandwidth_gbs or 0.0 for device in devices.gpus]
            sizes = unit_bytes(model, kv, with_experts=True)
            room = rooms(devices, estimate(bare))
            runs = runs_around(devices, sizes, n_units, room, speeds.index(max(speeds)))
            found.append(fill_experts(model, devices, _with_runs(model, devices, bare, runs), estimate))
        first = estimate(found[0])
        if not (_fits(first, devices) and is_full(model, devices, found[0], first)):
            runs = _dense_runs(model, devices, bare, n_units, measures)
            found.append(fill_experts(model, devices, _with_runs(model, devices, bare, runs), estimate))
    return [placement for placement in found if _fits(estimate(placement), devices)]


def _with_runs(model: ModelInfo, devices: DeviceSet, bare: Placement, runs: Runs) -> Placement:
    """The same with other homes, all experts in RAM."""
    homes_only = Placement(model.block_count, runs, {}, bare.kv_home)
    return with_experts_in_ram(model, homes_only, devices, frozenset(model.expert_blocks))


def _fits(predicted: MemoryEstimate, devices: DeviceSet) -> bool:
    return all(predicted.get(device.name).fits for device in devices.gpus)


def _first_runs(model: ModelInfo, devices: DeviceSet, n_units: int, kv: Sequence[int], measures: Measures) -> Runs:
    """Homes to begin with: whole layers in proportion to each card's room."""
    if len(devices.gpus) == 1:
        return runs_for(devices, n_units)
    sizes = unit_bytes(model, kv, with_experts=True)
    first = Placement(model.block_count, shared_runs(devices, sizes, n_units, rooms(devices)))
    return shared_runs(devices, sizes, n_units, rooms(devices, measures.estimate(first)))


def _all_in(
    model: ModelInfo, devices: DeviceSet, first: Placement, kv: Sequence[int], estimate: Estimator
) -> Iterator[Placement]:
    """Everything on the cards: shared out, or with each card packed full in turn (which one should be depends on their
    speeds); nothing where the bytes alone are too many."""
    sizes = unit_bytes(model, kv, with_experts=True)
    total = sum(sizes[len(sizes) - first.n_gpu_layers :])
    nothing_in_ram: frozenset[int] = frozenset()
    if total > sum(rooms(devices)):
        return
    yield with_experts_in_ram(model, first, devices, nothing_in_ram)
    if len(devices.gpus) == 1:
        return
    room = rooms(devices, estimate(first))
    for i in range(len(room)):
        runs = packed_runs(devices, sizes, first.n_gpu_layers, room, i)
        yield with_experts_in_ram(model, replace(first, runs=runs), devices, nothing_in_ram)


def _dense_runs(model: ModelInfo, devices: DeviceSet, bare: Placement, n_units: int, measures: Measures) -> Runs:
    """Homes by what is there when all experts are in RAM; a card that they overfill gets less, a few times over."""
    kv = measures.kv_by_block if bare.kv_home is KvHome.HOME else ()
    sizes = unit_bytes(model, kv, with_experts=False)
    room = rooms(devices, measures.estimate(bare))
    runs = shared_runs(devices, sizes, n_units, room)
    for _ in range(_REPAIRS):
        predicted = measures.estimate(_with_runs(model, devices, bare, runs))
        over = [-min(0, predicted.get(d.name).left_bytes or 0) for d in devices.gpus]
        if not any(over):
            break
        room = [max(0, r - o) for r, o in zip(room, over, strict=True)]
        runs = shared_runs(devices, sizes, n_units, room)
    return runs


def _with_less_on_cards(model: ModelInfo, devices: DeviceSet, bare: Placement, measures: Measures) -> Placement:
    """Fewer layers at home on the cards, or all KV in RAM, whichever reads clearly less from RAM."""
    estimate = measures.estimate
    fewer = fill_experts(model, devices, _fewer_layers(model, devices, bare, measures), estimate)
    if bare.kv_home is KvHome.RAM:
        return fewer
    without_kv = replace(bare, kv_home=KvHome.RAM)
    if not _fits(estimate(without_kv), devices):
        without_kv = _fewer_layers(model, devices, without_kv, measures)
    kv_in_ram = fill_experts(model, devices, without_kv, estimate)
    gains = measures.per_token(kv_in_ram) < measures.per_token(fewer) * (1 - _KV_IN_RAM_GAIN)
    return kv_in_ram if gains else fewer


def _fewer_layers(model: ModelInfo, devices: DeviceSet, placement: Placement, measures: Measures) -> Placement:
    """The largest ``-ngl`` whose dense parts fit, experts in RAM; 0 when none does.

    Monotonic, so bisected, from a guess: an estimate costs more than the sums that make the guess.
    """
    made: dict[int, Placement] = {}

    def at(n_units: int) -> Placement:
        if n_units not in made:
            several = len(devices.gpus) > 1
            runs = _dense_runs(model, devices, placement, n_units, measures) if several else runs_for(devices, n_units)
            made[n_units] = _with_runs(model, devices, placement, runs)
        return made[n_units]

    def fits(n_units: int) -> bool:
        return _fits(measures.estimate(at(n_units)), devices)

    low, high = 0, model.block_count
    guess = _guessed_units(model, devices, placement, measures.estimate(placement))
    for n_units in (guess, guess + 1, guess - 1):
        if low < n_units <= high:
            low, high = (n_units, high) if fits(n_units) else (low, n_units - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return at(low)


def _guessed_units(model: ModelInfo, devices: DeviceSet, placement: Placement, over_full: MemoryEstimate) -> int:
    """How many units may stay when the first ones leave until nothing is missing on the cards together."""
    cards = [over_full.get(device.name) for device in devices.gpus]
    sizes = [sum(card.kv_bytes for card in cards) / max(1, model.block_count)] * model.block_count
    for tensor in model.tensors:
        if tensor.block is not None and tensor.role is not Role.ROUTED_EXPERT and tensor.role not in NOT_LOADED:
            sizes[tensor.block] += tensor.n_bytes
    missing = -sum(card.left_bytes or 0 for card in cards)
    n_units = placement.n_gpu_layers
    for size in sizes[model.block_count + 1 - n_units :]:
        if missing <= 0:
            break
        missing -= round(size)
        n_units -= 1
    return n_units


def _remembering(estimate: Estimator) -> Estimator:
    """The same estimator, asked once for each placement: the ways to choose layers often agree."""
    known: dict[object, MemoryEstimate] = {}

    def ask(placement: Placement) -> MemoryEstimate:
        key = (placement.runs, placement.kv_home, frozenset(placement.overrides.items()))
        if key not in known:
            known[key] = estimate(placement)
        return known[key]

    return ask
