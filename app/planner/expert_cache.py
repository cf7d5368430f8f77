"""The preset ``cache``: routed experts in RAM, and the rest of the card as the engine's own cache of experts. Pure.

``--moe-cache-mib N`` came to llama.cpp after b11434 (ggml-org/llama.cpp; default 0 = off). An engine is asked by its
``--help``, never by its version. The cache is allocated in full, so a share of the room stays free.
"""

from __future__ import annotations

from dataclasses import replace

from app.common.capabilities import Capabilities
from app.common.problem import fail
from app.common.units import MIB
from app.model.types import ModelInfo
from app.planner.types import MemoryEstimate, Placement

CACHE_PRESET = "cache"
CACHE_FLAG = "--moe-cache-mib"
_SHARE = 0.93
"""Of the room on the card: the budget is used to the last byte, and drivers take a little more with time."""


def require_cache(capabilities: Capabilities) -> None:
    """Raises ProblemError ``preset_cache_unsupported`` for an engine without the cache."""
    if not capabilities.has(CACHE_FLAG):
        raise fail("preset_cache_unsupported", flags=CACHE_FLAG)


def cache_mib(model: ModelInfo, placement: Placement, predicted: MemoryEstimate) -> int:
    """MiB for the cache: what is left on the card that has the layers; 0 without experts, a card, or known memory."""
    card = next((name for name, n_units in placement.runs if n_units), None)
    left = None if card is None else predicted.get(card).left_bytes
    if left is None or left <= 0 or not model.is_moe:
        return 0
    experts = sum(t.n_bytes for t in model.tensors if t.block in model.expert_blocks and t.name in placement.overrides)
    return min(int(left * _SHARE), experts) // MIB


def with_cache(predicted: MemoryEstimate, placement: Placement, n_mib: int) -> MemoryEstimate:
    """The estimate with the cache on its card, as part of what is neither weights nor KV."""
    card = next((name for name, n_units in placement.runs if n_units), None)
    return MemoryEstimate(
        tuple(
            replace(d, overhead_bytes=d.overhead_bytes + n_mib * MIB) if d.device == card else d
            for d in predicted.devices
        )
    )


def cache_words(argv: tuple[str, ...], extra: tuple[str, ...], n_mib: int) -> tuple[str, ...]:
    """The arguments with the cache in front of the user's own ones."""
    if not n_mib:
        return argv
    return (*argv[: len(argv) - len(extra)], CACHE_FLAG, str(n_mib), *extra)
