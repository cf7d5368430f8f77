"""Is a line worth a look? Answered once for each shape of line: long logs repeat themselves. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

_SMALL = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", b"abcdefghijklmnopqrstuvwxyz000000000")
_MOST_SHAPES = 8192
_LONGEST_KEPT = 256
"""Bytes. Longer lines hardly come twice (a prompt, a template); kept, they would take tens of MiB."""


def shape_of(text: str) -> bytes:
    """The line in small letters with every digit a 0: equal for lines that differ in their figures alone."""
    return text.encode("utf-8", "replace").translate(_SMALL)


def looks_for(words: Iterable[str], *, foreign: bool = False) -> Callable[[str], bool]:
    """A question to lines: does any of the words stand in it, in capitals or not? ``foreign``: or anything that is no
    plain English. Where a word has a digit, any digit will do."""
    wanted = tuple(shape_of(word) for word in words)

    def has_one(shape: bytes) -> bool:
        return any(word in shape for word in wanted) or (foreign and not shape.isascii())

    known = lru_cache(_MOST_SHAPES)(has_one)

    def ask(text: str) -> bool:
        shape = shape_of(text)
        return known(shape) if len(shape) <= _LONGEST_KEPT else has_one(shape)

    return ask
