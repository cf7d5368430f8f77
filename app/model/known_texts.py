"""Vocabularies that were walked before in another file: their ends are found again without reading what lies between.

A folder of models holds few vocabularies, and each takes ten milliseconds to walk, text by text, since only the lengths
tell where it ends. A list that begins with the same bytes as one walked before, and has the same bytes in front of one
of the places noted on that walk, is taken to be the same up to there; the rest is walked. What is not compared is the
middle of a vocabulary, which no plan looks at. Only the library reads so, and reads a file that then seems damaged once
more without; a model that is opened is walked as a whole.
"""

from __future__ import annotations

import threading

from app.model._cursor import Cursor

_HEAD_BYTES = 4 << 10
_PROOF_BYTES = 1 << 10
_STEP = 4096
"""Texts between two noted places."""
_MOST = 128
_MOST_ALIKE = 16
"""Lists that begin the same and part later: those of one family of models."""

_Place = tuple[int, int, bytes]
"""How many texts lie in front of it, how many bytes, and the last of those."""
_START: _Place = (0, 0, b"")


class KnownTexts:
    """Lists of texts by their beginning. Safe to use from several threads."""

    def __init__(self) -> None:
        self._walked: dict[bytes, tuple[tuple[_Place, ...], ...]] = {}
        self._lock = threading.Lock()

    def skip(self, cursor: Cursor, count: int) -> None:
        """Move past ``count`` texts. Raises the ProblemError of a file that ends too early."""
        start = cursor.position
        head = cursor.peek(start, _HEAD_BYTES)
        with self._lock:
            lists = self._walked.get(head, ())
        known: tuple[_Place, ...] = ()
        for places in lists:
            alike = _alike(cursor, start, count, places)
            known = max(known, alike, key=len)
            if len(known) and count - known[-1][0] < _STEP:
                break
        walked, n_bytes, _ = known[-1] if known else _START
        cursor.skip(n_bytes)
        noted = _walk(cursor, start, walked, count)
        if noted:
            self._keep(head, (*known, *noted))

    def _keep(self, head: bytes, places: tuple[_Place, ...]) -> None:
        """Remember a list; one that goes on where another ended takes its place."""
        with self._lock:
            others = self._walked.pop(head, ())
            kept = [other for other in others if other != places[: len(other)]]
            self._walked[head] = (places, *kept[: _MOST_ALIKE - 1])
            if len(self._walked) > _MOST:
                del self._walked[next(iter(self._walked))]


def _walk(cursor: Cursor, start: int, walked: int, count: int) -> tuple[_Place, ...]:
    """Walk to the end, and note a place after every few thousand texts."""
    noted: list[_Place] = []
    while walked < count:
        step = min(_STEP, count - walked)
        cursor.skip_strings(step)
        walked += step
        here = cursor.position
        if step == _STEP:
            noted.append((walked, here - start, cursor.peek(here - _PROOF_BYTES, _PROOF_BYTES)))
    return tuple(noted)


def _alike(cursor: Cursor, start: int, count: int, places: tuple[_Place, ...]) -> tuple[_Place, ...]:
    """The noted places up to which the file looks the same; two lists part once, so the last is found by halving."""
    low, high = 0, min(len(places), count // _STEP)
    while low < high:
        middle = (low + high + 1) // 2 if low else high  # most lists are the same to the end
        _, n_bytes, proof = places[middle - 1]
        is_same = n_bytes <= cursor.size - start and cursor.peek(start + n_bytes - _PROOF_BYTES, _PROOF_BYTES) == proof
        low, high = (middle, high) if is_same else (low, middle - 1)
    return places[:low]
