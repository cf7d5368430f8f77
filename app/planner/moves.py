"""Moves on the board: a wish ("these cards to that device") -> the nearest placement the engine can express.

Experts, dense FFN, shared experts, routers, the output head and single tensors move as overrides. Attention and
recurrent cards carry KV, and KV follows the block's home, so they move by changing homes: a suffix of the units is on
the GPU (llama-model.cpp:1591-1601). A wish that is not a suffix is snapped to the smallest one that grants it, and
the note says so. What the user did not move stays where it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.common.problem import ParamValue, Problem, Severity
from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.cards import kind_of, tensors_of
from app.planner.placement import FOLLOWS_HOME, homes, locations, runs_for, with_locations
from app.planner.types import RAM, DeviceSet, MoveResult, Placement, Refusal

_WITH_KV = frozenset({Role.ATTENTION, Role.RECURRENT})


def _refuse(code: str, **params: ParamValue) -> Refusal:
    return Refusal(Problem(f"move_{code}", Severity.WARNING, params))


def _is_whole_block_id(card_id: str) -> bool:
    """``attention:3-9`` and ``attention:3`` carry the KV; ``attention:3:attn_q`` is a single tensor."""
    return card_id.count(":") == 1


def _refusal(model: ModelInfo, card_id: str, tensors: tuple[TensorInfo, ...]) -> Refusal | None:
    if card_id == "output:tied":
        return _refuse("output_tied")
    kind = card_id.partition(":")[0]
    if kind in ("mtp", "vision"):
        return _refuse("not_loaded")
    if not tensors:
        return _refuse("unknown_card", card=card_id)
    if kind == "embeddings":
        return _refuse("embeddings")
    if kind == "other":
        return _refuse("other")
    if kind == "output" and model.has_tied_output:
        return _refuse("output_tied")
    return None


def move(
    model: ModelInfo, devices: DeviceSet, placement: Placement, card_ids: Iterable[str], device: str
) -> MoveResult | Refusal:
    """Move cards to a device. A parent and its child together move each tensor once.

    Returns a ``Refusal`` with the reason (``problem.move_*``) when the engine has no way to say it, or a
    ``MoveResult``; its note tells what moved along (``problem.move_snapped``).
    """
    if all(d.name != device for d in devices.all):
        return _refuse("no_device", device=device)
    moved: dict[str, TensorInfo] = {}
    kv_blocks: set[int] = set()
    for card_id in card_ids:
        tensors = tensors_of(model, card_id)
        refusal = _refusal(model, card_id, tensors)
        if refusal is not None:
            return refusal
        moved.update({t.name: t for t in tensors})
        if _is_whole_block_id(card_id) and tensors[0].role in _WITH_KV:
            kv_blocks.update(t.block for t in tensors if t.block is not None)
    if not moved:
        return MoveResult(placement)
    runs = placement.runs
    snapped = None
    if kv_blocks:
        if device != RAM and device != devices.gpus[0].name:
            return _refuse("one_gpu", device=device)
        runs = runs_for(devices, _snapped_gpu_layers(placement, kv_blocks, device))
        snapped = _snap_note(model, placement, kv_blocks, runs, device)
    wanted = locations(model, placement)
    wanted.update(_home_followers(model, placement, runs))
    wanted.update(dict.fromkeys(moved, device))
    return MoveResult(with_locations(model, placement, wanted, runs), snapped)


def _snapped_gpu_layers(placement: Placement, blocks: set[int], device: str) -> int:
    """The ``-ngl`` that puts at least these blocks' homes on the device (suffix on GPU, prefix in RAM)."""
    n_units = placement.block_count + 1
    if device == RAM:
        return min(placement.n_gpu_layers, n_units - 1 - max(blocks))
    return max(placement.n_gpu_layers, n_units - min(blocks))


def _snap_note(
    model: ModelInfo, before: Placement, blocks: set[int], runs: tuple[tuple[str, int], ...], device: str
) -> Problem | None:
    """Says which blocks went along, when the wish was not a prefix or a suffix."""
    after = Placement(before.block_count, runs)
    along = [
        b
        for b in range(before.block_count)
        if b not in blocks
        and (before.home_of_unit(b) == RAM) != (after.home_of_unit(b) == RAM)
        and any(t.block == b and t.role in _WITH_KV for t in model.tensors)
    ]
    if not along:
        return None
    code = "move_snapped_ram" if device == RAM else "move_snapped_gpu"
    return Problem(code, Severity.INFO, {"first": along[0], "last": along[-1], "n": len(along), "device": device})


def _home_followers(model: ModelInfo, before: Placement, runs: tuple[tuple[str, int], ...]) -> dict[str, str]:
    """Attention, routers and norms that sat at their block's old home go along to the new one.

    The output unit is not a block: it keeps its place unless its tensors are moved themselves.
    """
    old = homes(before)
    new = homes(Placement(before.block_count, runs))
    return {
        t.name: new[t.block]
        for t in model.tensors
        if t.block is not None
        and t.role in FOLLOWS_HOME
        and old[t.block] != new[t.block]
        and before.overrides.get(t.name) is None
    }


def move_kinds(card_ids: Iterable[str], model: ModelInfo) -> tuple[str, ...]:
    """The kinds of the moved cards, for the undo text."""
    return tuple(sorted({kind_of(t) for card_id in card_ids for t in tensors_of(model, card_id)}))
