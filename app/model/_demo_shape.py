"""How large the demo model is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """Small enough for 20 MB of F16, large enough to have something to place: 8 blocks of 8 experts."""

    blocks: int = 8
    embedding: int = 256
    heads: int = 4
    heads_kv: int = 2
    head_length: int = 64
    experts: int = 8
    experts_used: int = 2
    expert_ff: int = 128
    context: int = 32768


SHAPE = Shape()
