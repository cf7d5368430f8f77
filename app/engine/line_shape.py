"""Is a line worth a look? Answered once for each shape of line: long logs repeat themselves. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

_SMALL = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", b"abcdefghijklmnopqrstuvwxyz000000000")
_MOST_SHAPES = 8192


def shape_of(text: str) -> bytes:
    """The line in small letters with every digit a 0: equal for lines that differ in their figures alone."""
    return text.encode("utf-8", "replace").translate(_SMALL)


def looks_for(words: Iterable[str], *, foreign: bool = False) -> Callable[[str], bool]:
    """A question to lines: does any of the words stand in it, in capitals or not? ``foreign``: or anything that is no
    plain English. Where a word has a digit, any digit will do."""
    wanted = tuple(shape_of(word) for word in words)

    @lru_cache(_MOST_SHAPES)
    def has_one(shape: bytes) -> bool:
        return any(word in shape for word in wanted) or (foreign and not shape.isascii())

    return lambda text: has_one(shape_of(text))
