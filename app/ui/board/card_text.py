"""The words on a card. Plain values, no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from app.common.units import size_text
from app.model.types import ModelInfo, Role
from app.planner.types import Card
from app.words import say

_SHOWN_TYPES = 3


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the cards need to know of the model: experts per block and how many of them each token uses."""

    expert_count: int = 0
    expert_used_count: int = 0

    @staticmethod
    def of(model: ModelInfo | None) -> ModelFacts:
        """The facts of a model, zeros when there is none."""
        return ModelFacts() if model is None else ModelFacts(model.expert_count, model.expert_used_count)


def title(card: Card, *, is_child: bool = False) -> str:
    """The first line: the kind with its layers; inside an open card only what the card does not say."""
    kind, _, rest = card.id.partition(":")
    part = card.id.split(":", 2)[2] if card.id.count(":") == 2 else None
    if kind == "router" and not any("gate_inp" in name for name in card.tensor_names):
        kind = "norms"
    if part is not None:
        own = _part_title(part)
        return own if is_child else say("card.title.part", kind=kind_title(kind), layer=card.first, part=own)
    if card.first is None:
        return _part_title(rest) if rest and is_child else kind_title(kind)
    if card.first == card.last:
        return (
            say("card.title.block", layer=card.first)
            if is_child
            else say("card.title.one", kind=kind_title(kind), layer=card.first)
        )
    return say("card.title.run", kind=kind_title(kind), first=card.first, last=card.last)


def kind_title(kind: str) -> str:
    """The name of a card kind."""
    return say(f"card.kind.{kind}")


def _part_title(part: str) -> str:
    known = {"gate", "up", "down", "gate_up"}
    return say(f"card.part.{part}") if part in known else part


def subtitle(card: Card, facts: ModelFacts) -> str:
    """The second, dim line: what is special about these tensors."""
    kind, _, rest = card.id.partition(":")
    if rest == "tied":
        return say("card.note.tied")
    if kind in ("embeddings", "mtp", "vision"):
        return say(f"card.note.{kind}")
    types = ", ".join(card.types[:_SHOWN_TYPES])
    if card.kv_bytes > 0:
        code = "card.note.state" if card.role is Role.RECURRENT else "card.note.kv"
        return say(code, kv=card.kv_bytes)
    if card.role is Role.ROUTED_EXPERT and facts.expert_count and card.id.count(":") < 2:
        parts = ", ".join(dict.fromkeys(_part_title(p) for p in _parts(card)))
        return say("card.note.experts", n=facts.expert_count, parts=parts, types=types)
    return say("card.note.tensors", n=card.n_tensors, types=types)


def _parts(card: Card) -> tuple[str, ...]:
    """gate, up, down of a run: those of its first block."""
    block = card
    while block.children and block.children[0].id.count(":") < 2:
        block = block.children[0]
    return tuple(child.id.split(":")[-1] for child in block.children)


def side_note(card: Card, facts: ModelFacts) -> str:
    """The dim text under the size: the share of routed experts that each token reads."""
    if card.role is not Role.ROUTED_EXPERT or not facts.expert_count or not facts.expert_used_count:
        return ""
    share = 100 * facts.expert_used_count / facts.expert_count
    return say("card.note.share", share=f"{share:.2f}".rstrip("0").rstrip("."))


def spoken(card: Card, facts: ModelFacts, device: str, *, is_child: bool) -> str:
    """Everything on the card in one sentence, for screen readers."""
    pieces = (title(card, is_child=is_child), size_text(card.n_bytes), subtitle(card, facts), side_note(card, facts))
    return say("card.spoken", text=", ".join(piece for piece in pieces if piece), device=device)
