"""Headers that were seen before under another name: a copy in another program's folder is not parsed again.

Two files count as alike when their sizes, the first 64 KiB (all settings in front of the vocabulary) and the end of the
header (the whole tensor table and what stands in front of it) are the same bytes. What is not compared is the middle of
the vocabulary, which no plan looks at.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from dataclasses import dataclass, replace

from app.model.types import ModelInfo
from app.work.library.types import Summary

_HEAD = 64 << 10
_MOST = 512
_LONGEST_ROW = 8 + 4 + 4 * 8 + 4 + 8
"""Of a tensor with four dimensions, without its name."""


@dataclass(frozen=True, slots=True)
class _Seen:
    tail_start: int
    tail_end: int
    tail_hash: bytes
    model: ModelInfo
    summary: Summary


class AlikeHeaders:
    """Models of single files by their first bytes and their size. Safe to use from several threads."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, bytes], _Seen] = {}
        self._lock = threading.Lock()

    def find(self, path: str) -> tuple[Summary, ModelInfo] | None:
        """The same summary and model under this path; None when its header has to be read."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for ever
                return None
            with open(path, "rb") as file:
                key = (os.fstat(file.fileno()).st_size, _hash(file.read(_HEAD)))
                with self._lock:
                    seen = self._seen.get(key)
                if seen is None:
                    return None
                file.seek(seen.tail_start)
                same = _hash(file.read(seen.tail_end - seen.tail_start)) == seen.tail_hash
        except (OSError, ValueError):
            return None
        if not same:
            return None
        return replace(seen.summary, files=(path,)), replace(seen.model, path=path, parts=(path,))

    def keep(self, model: ModelInfo, summary: Summary) -> None:
        """Remember a model of one file."""
        if len(model.parts) != 1 or not model.tensors:
            return
        end = min(tensor.offset for tensor in model.tensors)
        start = max(0, end - _table_bytes(model) - _HEAD)
        try:
            with open(model.path, "rb") as file:
                key = (os.fstat(file.fileno()).st_size, _hash(file.read(_HEAD)))
                file.seek(start)
                tail = _hash(file.read(end - start))
        except OSError:
            return
        with self._lock:
            self._seen[key] = _Seen(start, end, tail, model, summary)
            if len(self._seen) > _MOST:
                del self._seen[next(iter(self._seen))]


def _table_bytes(model: ModelInfo) -> int:
    """Length of the tensor table, or a little more: name, number and lengths of dimensions, type, offset
    (ggml/docs/gguf.md)."""
    return _LONGEST_ROW * len(model.tensors) + len("".join([t.name for t in model.tensors]).encode("utf-8", "replace"))


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
