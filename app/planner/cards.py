"""The board's cards: derived from a placement, never stored.

Atoms are tensors. A card is a run of neighbouring blocks of one kind on one device; it opens into blocks, a block opens
into parts (gate / up / down with their biases, or single tensors). A block whose parts live on several devices makes
one card per part, so an id names the same tensors in every column. Ids are listed in ``types.Card``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
_FIXED = frozenset({"embeddings", "mtp", "vision", "other"})
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
class _Part:
    """The tensors of one part of one block of one kind: what the smallest card holds when they stay together."""

    kind: str
    block: int | None
    name: str
    tensors: tuple[TensorInfo, ...]


_Located = tuple[_Part, str]
"""A part, or the share of it that lies on one device, and that device."""


class BoardCards:
    """All cards of one model, column by column.

    Parts are sorted out once per model; cards of blocks that a move did not touch come from a cache, so that a move of
    one card costs one block and not the whole board.
    """

    def __init__(self, model: ModelInfo) -> None:
        grouped: dict[tuple[str, int | None, str], list[TensorInfo]] = {}
        for tensor in model.tensors:
            grouped.setdefault((kind_of(tensor), tensor.block, part_of(tensor)), []).append(tensor)
        self._parts = [_Part(k, b, name, tuple(ts)) for (k, b, name), ts in grouped.items()]
        self._blocks: dict[tuple[str, int, str, int], Card] = {}

    def columns(
        self,
        model: ModelInfo,
        placement: Placement,
        device_names: Iterable[str],
        kv_bytes_by_block: Mapping[int, int],
        where: Mapping[str, str] | None = None,
    ) -> dict[str, tuple[Card, ...]]:
        """Every column's cards, top level first in a fixed order of kinds.

        ``kv_bytes_by_block``: KV (or recurrent state) bytes of each block, shown in the attention card of the device
        where that KV really lives; a card whose KV lives elsewhere (-nkvo) shows none.
        """
        located = self._located(locations(model, placement) if where is None else where)
        kv_home = {block: kv_device(placement, block) for block in kv_bytes_by_block}
        columns: dict[str, tuple[Card, ...]] = {}
        for device in device_names:
            kv_here = {b: n for b, n in kv_bytes_by_block.items() if kv_home[b] == device}
            column: list[Card] = []
            for kind in (*_ORDER, *_UNLOADED_ORDER):
                if kind in located:
                    column.extend(self._kind_cards(kind, located[kind], kv_here, device))
            columns[device] = tuple(column)
        return columns

    def _located(self, where: Mapping[str, str]) -> dict[str, list[_Located]]:
        """Kind -> parts with their device; a part whose tensors are apart becomes one share per device."""
        found: dict[str, list[_Located]] = {}
        for part in self._parts:
            devices = {where.get(t.name, RAM) for t in part.tensors}
            here = found.setdefault(part.kind, [])
            if len(devices) == 1:
                here.append((part, devices.pop()))
                continue
            for device in sorted(devices):
                share = tuple(t for t in part.tensors if where.get(t.name, RAM) == device)
                here.append((_Part(part.kind, part.block, part.name, share), device))
        return found

    def _kind_cards(self, kind: str, located: list[_Located], kv: Mapping[int, int], device: str) -> list[Card]:
        """All top-level cards of one kind on one device. ``located`` holds the kind's parts on every device."""
        if all(part.block is None for part, _ in located):
            return _blockless_cards(kind, located, device)
        devices_of: dict[int, set[str]] = {}
        by_block: dict[int, list[_Part]] = {}
        for part, on in located:
            if part.block is None:
                continue
            devices_of.setdefault(part.block, set()).add(on)
            if on == device:
                by_block.setdefault(part.block, []).append(part)
        known = sorted(devices_of)
        whole = [b for b in by_block if len(devices_of[b]) == 1]
        cards: list[Card] = []
        for run in _runs(whole, known):
            children = tuple(self._block_card(kind, b, device, by_block[b], kv.get(b, 0)) for b in run)
            cards.append(children[0] if len(run) == 1 else _run_card(kind, device, run, children))
        for block, parts in by_block.items():
            if len(devices_of[block]) > 1:
                cards.extend(_card(f"{kind}:{block}:{p.name}", kind, device, (p,)) for p in parts)
        return sorted(cards, key=lambda c: (c.first or 0, c.id))

    def _block_card(self, kind: str, block: int, device: str, parts: list[_Part], kv: int) -> Card:
        kv = kv if kind in ("attention", "recurrent") else 0
        key = (kind, block, device, kv)
        found = self._blocks.get(key)
        if found is None:
            block_id = f"{kind}:{block}"
            children = tuple(_card(f"{block_id}:{p.name}", kind, device, (p,)) for p in parts) if len(parts) > 1 else ()
            found = self._blocks[key] = _card(block_id, kind, device, parts, kv, children)
        return found


def _card(
    card_id: str, kind: str, device: str, parts: Iterable[_Part], kv: int = 0, children: tuple[Card, ...] = ()
) -> Card:
    tensors = [t for part in parts for t in part.tensors]
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
        types=_heaviest_first(types),
        tensor_names=tuple(t.name for t in tensors),
        children=children,
        movable=kind not in _FIXED,
    )


def _run_card(kind: str, device: str, run: list[int], children: tuple[Card, ...]) -> Card:
    """The card over a run of whole blocks: sums of its children."""
    types: dict[str, int] = {}
    for child in children:
        for name in child.types:
            types[name] = types.get(name, 0) + child.n_bytes
    return Card(
        id=f"{kind}:{run[0]}-{run[-1]}",
        role=_ROLE[kind],
        device=device,
        first=run[0],
        last=run[-1],
        n_bytes=sum(c.n_bytes for c in children),
        n_tensors=sum(c.n_tensors for c in children),
        kv_bytes=sum(c.kv_bytes for c in children),
        types=_heaviest_first(types),
        tensor_names=tuple(name for c in children for name in c.tensor_names),
        children=children,
        movable=kind not in _FIXED,
    )


def _heaviest_first(types: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(types, key=lambda name: (-types[name], name)))


def _blockless_cards(kind: str, located: list[_Located], device: str) -> list[Card]:
    """Embeddings, the output head and the like: one card while all of it is together, else one per part."""
    here = [part for part, on in located if on == device]
    if not here:
        return []
    parts = [_card(f"{kind}:{p.name}", kind, device, (p,)) for p in here]
    if len(here) == len(located):
        return [_card(kind, kind, device, here, 0, tuple(parts) if len(parts) > 1 else ())]
    return parts


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


def cards_by_device(
    model: ModelInfo, placement: Placement, device_names: Iterable[str], kv_bytes_by_block: Mapping[int, int]
) -> dict[str, tuple[Card, ...]]:
    """Every column's cards, for a caller that needs them once; see ``BoardCards``."""
    return BoardCards(model).columns(model, placement, device_names, kv_bytes_by_block)


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
