"""A model's header as JSON (docs/cli.md, "inspect --json") and as text. Pure."""

from __future__ import annotations

from app.cli.console import table
from app.cli.plan_json import Json, experts_json
from app.common.units import size_text
from app.model.types import ModelInfo
from app.planner.cards import cards_by_device
from app.planner.types import RAM, Card, Placement
from app.words import say
from app.words.catalogue import number_text


def cards_of(model: ModelInfo) -> tuple[Card, ...]:
    """The cards of the file itself: one per kind of tensor, as on a board where nothing has been moved."""
    return cards_by_device(model, Placement(model.block_count), (RAM,), {})[RAM]


def inspect_json(model: ModelInfo, *, with_tensors: bool) -> Json:
    """The facts that a script may rely on."""
    result = {
        "path": model.path,
        "architecture": model.architecture,
        "name": model.name,
        "version": model.version,
        "file_bytes": model.file_bytes,
        "parts": len(model.parts),
        "files": list(model.parts),
        "blocks": model.block_count,
        "context_length": model.context_length,
        "vocab": model.vocab_size,
        "experts": experts_json(model),
        "quants": model.quant_counts(),
        "cards": [_card_json(card) for card in cards_of(model)],
    }
    if with_tensors:
        result["tensors"] = [
            {
                "name": tensor.name,
                "shape": list(tensor.shape),
                "type": tensor.type_name,
                "bytes": tensor.n_bytes,
                "role": tensor.role.value,
                "block": tensor.block,
            }
            for tensor in model.tensors
        ]
    return result


def _card_json(card: Card) -> Json:
    return {
        "id": card.id,
        "role": card.role.value,
        "first": card.first,
        "last": card.last,
        "bytes": card.n_bytes,
        "tensors": card.n_tensors,
    }


def model_line(model: ModelInfo) -> str:
    """'Qwen3-30B-A3B · qwen3moe · 48 layers · 128 experts, 8 used per token · 17.3 GiB'."""
    parts = [model.name, model.architecture, say("cli.layers", n=model.block_count)]
    if model.is_moe:
        parts.append(say("cli.experts", count=model.expert_count, used=model.expert_used_count))
    else:
        parts.append(say("cli.dense"))
    return " · ".join([*parts, size_text(model.file_bytes)])


def inspect_text(model: ModelInfo, *, with_tensors: bool) -> str:
    """The facts for people."""
    lines = [model_line(model), model.path, ""]
    quants = ", ".join(f"{name} × {n}" for name, n in model.quant_counts().items())
    context = None if model.context_length is None else number_text(model.context_length)
    vocab = None if model.vocab_size is None else number_text(model.vocab_size)
    facts = [
        ("cli.fact.context", context),
        ("cli.fact.vocab", vocab),
        ("cli.fact.parts", str(len(model.parts)) if len(model.parts) > 1 else ""),
        ("cli.fact.version", str(model.version)),
        ("cli.fact.quants", quants),
    ]
    lines += table([(say(code), say("machine.value.unknown") if v is None else v) for code, v in facts if v != ""])
    rows = [(say("cli.column.card"), say("cli.column.what"), say("cli.column.tensors"), say("cli.column.bytes"))]
    rows += [
        (card.id, say(f"role.{card.role.value}"), str(card.n_tensors), size_text(card.n_bytes))
        for card in cards_of(model)
    ]
    lines += ["", *table(rows, right=frozenset({2, 3}))]
    if with_tensors:
        lines += ["", *_tensor_table(model)]
    return "\n".join(lines)


def _tensor_table(model: ModelInfo) -> list[str]:
    rows = [(say("cli.column.tensor"), say("cli.column.shape"), say("cli.column.type"), say("cli.column.bytes"))]
    rows += [(t.name, " × ".join(str(n) for n in t.shape), t.type_name, size_text(t.n_bytes)) for t in model.tensors]
    return table(rows, right=frozenset({3}))
