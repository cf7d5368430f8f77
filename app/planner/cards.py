"""The board's cards: derived from a placement, never stored.

Atoms are tensors. A card is a run of neighbouring blocks of one kind on one device; it opens into blocks, a block opens
into parts (gate / up / down with their biases, or single tensors). A block whose parts live on several devices makes
one card per part, so an id names the same tensors in every column. Ids are listed in ``types.Card``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.placement import NOT_LOADED, kv_device, locations
from app.planner.types import RAM, Card, Placement

_KIND = {
    Role.EMBEDDING: "embeddings",
    Role.OUTPUT: "output",
    Role.ATTENTION: "attention",
    Role.RECURRENT: "recurrent",
    Role.DENSE_FFN: "dense_ffn",
    Role.ROUTER: "router",
    Role.NORM: "router",
    Role.SHARED_EXPERT: "shared",
    Role.ROUTED_EXPERT: "experts",
    Role.MTP: "mtp",
    Role.VISION: "vision",
    Role.OTHER: "other",
}
_ROLE = {kind: role for role, kind in _KIND.items() if role is not Role.NORM}
_ORDER = ("attention", "recurrent", "dense_ffn", "shared", "router", "output", "experts", "embeddings", "other")
_UNLOADED_ORDER = ("mtp", "vision")
_PART = re.compile(r"(?:ffn_)?(gate_up|gate|up|down)_(?:ch)?exps\b|ffn_(gate|up|down)(?:_shexp)?\b")


def kind_of(tensor: TensorInfo) -> str:
    """The card kind: the first word of its id."""
    if tensor.role is Role.NORM and tensor.block is None:
        return "output"
    return _KIND[tensor.role]


def part_of(tensor: TensorInfo) -> str:
    """The last word of an atom's id: gate, up, down, gate_up, or the tensor's own name without block and suffix."""
    stem = tensor.name.split(".", 2)[-1] if tensor.block is not None else tensor.name
    match = _PART.match(stem)
    if match and tensor.role in (Role.ROUTED_EXPERT, Role.SHARED_EXPERT, Role.DENSE_FFN):
        part = match.group(1) or match.group(2)
        return f"{part}_ch" if "_chexps" in stem else part
    return stem.rsplit(".", 1)[0] if stem.endswith((".weight", ".bias")) else stem


@dataclass(frozen=True, slots=True)
class _Atom:
    """The tensors of one part of one block on one device."""

    kind: str
    block: int | None
    part: str
    device: str
    tensors: tuple[TensorInfo, ...]


def _atoms(model: ModelInfo, where: Mapping[str, str]) -> list[_Atom]:
    grouped: dict[tuple[str, int | None, str, str], list[TensorInfo]] = {}
    for tensor in model.tensors:
        device = where.get(tensor.name, RAM)
        grouped.setdefault((kind_of(tensor), tensor.block, part_of(tensor), device), []).append(tensor)
    return [_Atom(k, b, p, d, tuple(ts)) for (k, b, p, d), ts in grouped.items()]


def _card(card_id: str, kind: str, device: str, atoms: Iterable[_Atom], kv: int, children: tuple[Card, ...]) -> Card:
    tensors = [t for atom in atoms for t in atom.tensors]
    blocks = [t.block for t in tensors if t.block is not None]
    types: dict[str, int] = {}
    for tensor in tensors:
        types[tensor.type_name] = types.get(tensor.type_name, 0) + tensor.n_bytes
    return Card(
        id=card_id,
        role=_ROLE[kind],
        device=device,
        first=min(blocks) if blocks else None,
        last=max(blocks) if blocks else None,
        n_bytes=sum(t.n_bytes for t in tensors),
        n_tensors=len(tensors),
        kv_bytes=kv,
        types=tuple(sorted(types, key=lambda name: (-types[name], name))),
        tensor_names=tuple(t.name for t in tensors),
        children=children,
        movable=kind not in ("embeddings", "mtp", "vision", "other"),
    )


def _part_cards(prefix: str, kind: str, atoms: list[_Atom]) -> tuple[Card, ...]:
    return tuple(_card(f"{prefix}:{a.part}", kind, a.device, (a,), 0, ()) for a in atoms)


def _block_cards(kind: str, atoms: list[_Atom], kv_by_block: Mapping[int, int]) -> tuple[Card, ...]:
    cards = []
    for block, group in groupby(sorted(atoms, key=lambda a: a.block or 0), key=lambda a: a.block):
        members = list(group)
        block_id = f"{kind}:{block}"
        kv = kv_by_block.get(block or 0, 0) if kind in ("attention", "recurrent") else 0
        children = _part_cards(block_id, kind, members) if len(members) > 1 else ()
        cards.append(_card(block_id, kind, members[0].device, members, kv, children))
    return tuple(cards)


def _runs(blocks: Iterable[int], known: list[int]) -> Iterable[list[int]]:
    """Split ascending block numbers into runs of neighbours; neighbours are consecutive in ``known`` (all blocks that
    have this kind at all), so a hybrid model's attention in every fourth block is still one card."""
    position = {block: i for i, block in enumerate(known)}
    run: list[int] = []
    for block in sorted(blocks):
        if run and position[block] != position[run[-1]] + 1:
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _kind_cards(kind: str, atoms: list[_Atom], kv_by_block: Mapping[int, int], device: str) -> list[Card]:
    """All top-level cards of one kind on one device. ``atoms`` holds the kind's atoms on every device."""
    if all(a.block is None for a in atoms):
        here = [a for a in atoms if a.device == device]
        if not here:
            return []
        whole = len(here) == len(atoms)
        children = _part_cards(kind, kind, here) if len(here) > 1 else ()
        if whole:
            return [_card(kind, kind, device, here, 0, children)]
        return list(_part_cards(kind, kind, here))
    devices_of: dict[int, set[str]] = {}
    for atom in atoms:
        if atom.block is not None:
            devices_of.setdefault(atom.block, set()).add(atom.device)
    known = sorted(devices_of)
    here = [a for a in atoms if a.device == device and a.block is not None]
    whole_blocks = {b for b, ds in devices_of.items() if ds == {device}}
    cards: list[Card] = []
    for run in _runs(whole_blocks, known):
        members = [a for a in here if a.block in set(run)]
        card_id = f"{kind}:{run[0]}" if len(run) == 1 else f"{kind}:{run[0]}-{run[-1]}"
        children = _block_cards(kind, members, kv_by_block)
        if len(run) == 1:
            cards.append(children[0])
        else:
            cards.append(_card(card_id, kind, device, members, sum(c.kv_bytes for c in children), children))
    cards.extend(
        _card(f"{kind}:{atom.block}:{atom.part}", kind, device, (atom,), 0, ())
        for atom in here
        if atom.block not in whole_blocks
    )
    return sorted(cards, key=lambda c: (c.first or 0, c.id))


def cards_by_device(
    model: ModelInfo, placement: Placement, device_names: Iterable[str], kv_bytes_by_block: Mapping[int, int]
) -> dict[str, tuple[Card, ...]]:
    """Every column's cards, top level first in a fixed order of kinds.

    ``kv_bytes_by_block``: KV (or recurrent state) bytes of each block, shown in the attention card of the device
    where that KV really lives; a card whose KV lives elsewhere (-nkvo) shows none.
    """
    where = locations(model, placement)
    atoms: dict[str, list[_Atom]] = {}
    for atom in _atoms(model, where):
        atoms.setdefault(atom.kind, []).append(atom)
    columns: dict[str, tuple[Card, ...]] = {}
    for device in device_names:
        kv_here = {b: n for b, n in kv_bytes_by_block.items() if kv_device(placement, b) == device}
        column: list[Card] = []
        for kind in (*_ORDER, *_UNLOADED_ORDER):
            if kind in atoms:
                column.extend(_kind_cards(kind, atoms[kind], kv_here, device))
        columns[device] = tuple(column)
    return columns


def tied_output_card(model: ModelInfo, device: str) -> Card | None:
    """The second copy of a tied token_embd, which the engine keeps at the output's home; None when the file has its
    own output.weight or the copy is not on a GPU (then both uses share one tensor: llama-model-loader.cpp:1369)."""
    source = next((t for t in model.tensors if t.name == "token_embd.weight"), None)
    if source is None or not model.has_tied_output or device == RAM:
        return None
    return Card(
        "output:tied", Role.OUTPUT, device, None, None, source.n_bytes, 1, 0, (source.type_name,), (), (), False
    )


def tensors_of(model: ModelInfo, card_id: str) -> tuple[TensorInfo, ...]:
    """The tensors that an id names, wherever they live; empty when the id names nothing in this file.

    ``experts:12-31`` all parts of those blocks, ``experts:12:up`` one part, ``output`` everything of that kind.
    """
    kind, _, rest = card_id.partition(":")
    if kind not in _ROLE:
        return ()
    of_kind = [t for t in model.tensors if kind_of(t) == kind and t.role not in NOT_LOADED]
    if not rest:
        return tuple(of_kind)
    match = re.fullmatch(r"(\d+)(?:-(\d+))?(?::(.+))?", rest)
    if match is None:
        return tuple(t for t in of_kind if t.block is None and part_of(t) == rest)
    first = int(match.group(1))
    last = int(match.group(2) or first)
    part = match.group(3)
    return tuple(
        t for t in of_kind if t.block is not None and first <= t.block <= last and (part is None or part_of(t) == part)
    )
