"""Moves on the board: a wish ("these cards to that device") -> the nearest placement the engine can express.

Experts, dense FFN, shared experts, routers, the output head and single tensors move as overrides. Attention and
recurrent cards carry KV, and KV follows the block's home, so they move by changing homes: a prefix of the units is in
RAM, the rest in one run per GPU, in the engine's order (llama-model.cpp:1560-1601). A wish that is none of that is
snapped to the nearest that grants it, and the note says so. What the user did not move stays where it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.common.problem import ParamValue, Problem, Severity
from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.card_runs import Runs, moved_home
from app.planner.cards import tensors_of
from app.planner.placement import FOLLOWS_HOME, homes, locations, with_locations
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
        runs = moved_home(placement, [d.name for d in devices.gpus], kv_blocks, device)
        snapped = _snap_note(model, placement, kv_blocks, runs, device, len(devices.gpus))
    wanted = locations(model, placement)
    wanted.update(_home_followers(model, placement, runs))
    wanted.update(dict.fromkeys(moved, device))
    return MoveResult(with_locations(model, placement, wanted, runs), snapped)


def _snap_note(
    model: ModelInfo, before: Placement, blocks: set[int], runs: Runs, device: str, n_gpus: int
) -> Problem | None:
    """Says which blocks went along, when the wish was not a run the engine can express."""
    after = Placement(before.block_count, runs)
    along = [
        b
        for b in range(before.block_count)
        if b not in blocks
        and before.home_of_unit(b) != after.home_of_unit(b)
        and any(t.block == b and t.role in _WITH_KV for t in model.tensors)
    ]
    if not along:
        return None
    code = "move_snapped_ram" if device == RAM else "move_snapped_gpu" if n_gpus == 1 else "move_snapped_run"
    return Problem(code, Severity.INFO, {"first": along[0], "last": along[-1], "n": len(along), "device": device})


def _home_followers(model: ModelInfo, before: Placement, runs: Runs) -> dict[str, str]:
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
