"""Leaves out blocks that repeat: the buffer's size is decided by the first repetitions and by every change.

A block starts with the inputs, the residual row and free memory around them; after a few equal blocks the allocator
finds the same holes again, so more of them change nothing (tests compare with the whole model).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

_KEPT = 3
"""Equal blocks, or pairs of blocks, kept in a row: two at the start and the last one before what follows."""
_KEPT_GROUPS = 2
"""Equal groups of more blocks kept in a row: the first and the last."""
_LONGEST = 8
"""Blocks in a repeating group: interleaved attention repeats after 2 to 6."""


def representative(kinds: Sequence[Hashable]) -> tuple[int, ...]:
    """Indexes of the blocks that stand for all; the last block is always one of them."""
    if not kinds:
        return ()
    kept = list(range(len(kinds)))
    for length in range(1, _LONGEST + 1):
        kept = _without_repeats(kept, kinds, length)
    return tuple(kept)


def _without_repeats(kept: list[int], kinds: Sequence[Hashable], length: int) -> list[int]:
    """Cut every run of equal groups of this length down to the kept number."""
    allowed = _KEPT if length <= 2 else _KEPT_GROUPS
    result: list[int] = []
    at = 0
    while at < len(kept):
        group = [kinds[i] for i in kept[at : at + length]]
        end = at + length
        while [kinds[i] for i in kept[end : end + length]] == group and end + length <= len(kept):
            end += length
        repeats = (end - at) // length
        if repeats > allowed:
            result += kept[at : at + (allowed - 1) * length] + kept[end - length : end]
            at = end
        else:
            result.append(kept[at])
            at += 1
    return result
