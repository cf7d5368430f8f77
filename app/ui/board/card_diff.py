"""Which cards of a new plan are the old ones, changed. Plain values, no Qt.

A move changes the ids of runs (``experts:0-25`` becomes ``experts:0-20``). Matching them by what they hold keeps the
card open, selected and in place, where a model reset would lose all of that (and take a frame: architecture.md 7.1).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from app.planner.types import Card


def match_cards(old: Sequence[Card], new: Sequence[Card]) -> list[int | None]:
    """For each new card the position of the old card it continues, or None.

    The positions rise: a card that changed places counts as new.
    """
    position = {card.id: i for i, card in enumerate(old)}
    result: list[int | None] = [position.get(card.id) for card in new]
    free = set(range(len(old))) - {i for i in result if i is not None}
    for j, card in enumerate(new):
        if result[j] is None:
            best = max(free, key=lambda i: _overlap(old[i], card), default=None)
            if best is not None and _overlap(old[best], card) > 0:
                result[j] = best
                free.discard(best)
    kept = _longest_rise([i for i in result if i is not None])
    return [i if i in kept else None for i in result]


def _overlap(one: Card, other: Card) -> int:
    """How many blocks two runs of the same kind share; 0 for cards that are not runs of blocks."""
    if one.id.partition(":")[0] != other.id.partition(":")[0] or one.id.count(":") == 2 or other.id.count(":") == 2:
        return 0
    if one.first is None or one.last is None or other.first is None or other.last is None:
        return 0
    return min(one.last, other.last) - max(one.first, other.first) + 1


def _longest_rise(values: list[int]) -> set[int]:
    """A longest rising subsequence (patience sorting); values are distinct."""
    tails: list[int] = []
    last_of_length: list[int] = []
    before: dict[int, int | None] = {}
    for value in values:
        place = bisect_left(tails, value)
        before[value] = last_of_length[place - 1] if place else None
        if place == len(tails):
            tails.append(value)
            last_of_length.append(value)
        else:
            tails[place] = value
            last_of_length[place] = value
    kept: set[int] = set()
    walk: int | None = last_of_length[-1] if last_of_length else None
    while walk is not None:
        kept.add(walk)
        walk = before[walk]
    return kept
