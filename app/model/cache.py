"""A header read once need not be read again: a small cache beside the app's other caches.

One JSON file per model, found by the model's path and believed only while size and time of every part are the same.
Columns instead of objects keep it small: the 579 tensors of a 30B load in a millisecond. A cache that is damaged, of
another version or cannot be written is as good as none: an entry begins with the digest of the rest, and every column
is checked for its type before a value of it is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.model._files import extended_path
from app.model.reader import read_model
from app.model.types import LayerFacts, MetaValue, ModelInfo, Role, TensorInfo

_FORMAT = 2
"""To be raised whenever a reader of the same file would now say something else (roles, facts per block)."""
_MAX_ENTRIES = 256
_MAX_ENTRY_BYTES = 64 << 20
_DIGEST_LENGTH = 64

_PLAIN_FIELDS = (
    "path", "version", "architecture", "name", "file_bytes", "block_count", "context_length", "vocab_size",
    "embedding_length", "expert_count", "expert_used_count", "expert_shared_count", "expert_ff_length",
    "nextn_count", "sliding_window", "is_mla",
)  # fmt: skip


def read_model_cached(path: str | os.PathLike[str], folder: Path) -> ModelInfo:
    """Like ``read_model``, but remembers in ``folder``. Raises the same ProblemErrors."""
    given = os.fsdecode(path)
    text = os.path.abspath(given)
    entry = folder / (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".json")
    model = _load(entry, text)
    if model is None:
        model = read_model(text)
        with contextlib.suppress(OSError):  # no room for the cache: the model was read all the same
            _save(entry, model)
    return model if given == text else _as_given(model, given)


def _as_given(model: ModelInfo, path: str) -> ModelInfo:
    """The model with the paths as the user wrote the one: relative stays relative."""
    folder = os.path.dirname(path)
    parts = tuple(os.path.join(folder, os.path.basename(part)) for part in model.parts)
    return replace(model, path=parts[0], parts=parts)


def _stamps(parts: Iterable[str]) -> list[list[int]]:
    """Size and time of change of each part."""
    stamps = []
    for part in parts:
        status = os.stat(extended_path(part, sys.platform == "win32"))
        stamps.append([status.st_size, status.st_mtime_ns])
    return stamps


def _load(entry: Path, path: str) -> ModelInfo | None:
    """The model of an entry, None when there is none that can be believed for this path."""
    try:
        if entry.stat().st_size > _MAX_ENTRY_BYTES:
            return None
        content = entry.read_bytes()
        digest, packed = content[:_DIGEST_LENGTH], content[_DIGEST_LENGTH:]
        if hashlib.sha256(packed).hexdigest().encode() != digest:
            return None
        stored = json.loads(packed)
        if stored["format"] != _FORMAT or path not in stored["parts"] or stored["stamps"] != _stamps(stored["parts"]):
            return None
        return _unpack(stored)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _save(entry: Path, model: ModelInfo) -> None:
    packed = json.dumps(_pack(model), separators=(",", ":")).encode("ascii")  # lone surrogates too, escaped
    if _DIGEST_LENGTH + len(packed) > _MAX_ENTRY_BYTES:
        return
    entry.parent.mkdir(parents=True, exist_ok=True)
    unfinished = entry.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    unfinished.write_bytes(hashlib.sha256(packed).hexdigest().encode("ascii") + packed)
    os.replace(unfinished, entry)
    _prune(entry.parent)


def _prune(folder: Path) -> None:
    """Forget the oldest entries when there are too many."""
    entries = sorted(folder.glob("*.json"), key=lambda entry: entry.stat().st_mtime_ns)
    for entry in entries[:-_MAX_ENTRIES]:
        entry.unlink(missing_ok=True)


def _pack(model: ModelInfo) -> dict[str, object]:
    return {
        "format": _FORMAT,
        "parts": model.parts,
        "stamps": _stamps(model.parts),
        "plain": [getattr(model, name) for name in _PLAIN_FIELDS],
        "metadata": dict(model.metadata),
        "used": model.expert_used_per_block,
        "layers": [
            [x.head_count, x.head_count_kv, x.key_length, x.value_length, x.sliding, x.recurrent] for x in model.layers
        ],
        "tensors": [
            [t.name, t.shape, t.type_id, t.type_name, t.n_bytes, t.offset, t.role.value, t.block, t.part, t.size_is_gap]
            for t in model.tensors
        ],
    }


_TENSOR_TYPES = (str, list, int, str, int, int, str, (int, type(None)), int, bool)
_LAYER_TYPES = (int, int, int, int, bool, bool)
_TEXT_FIELDS = frozenset({"path", "architecture", "name"})
_OPTIONAL_FIELDS = frozenset({"context_length", "vocab_size", "embedding_length", "expert_ff_length", "sliding_window"})


def _unpack(stored: dict[str, Any]) -> ModelInfo:  # Any: parsed JSON that only ``_pack`` writes
    """JSON back to values; KeyError, TypeError or ValueError when it is not what ``_pack`` made."""
    _check_columns(stored["tensors"], _TENSOR_TYPES)
    _check_columns(stored["layers"], _LAYER_TYPES)
    plain = dict(zip(_PLAIN_FIELDS, stored["plain"], strict=True))
    _check_plain(plain)
    roles = {role.value: role for role in Role}
    tensors = tuple(
        TensorInfo(name, tuple(shape), type_id, type_name, n_bytes, offset, roles[role], block, part, is_gap)
        for name, shape, type_id, type_name, n_bytes, offset, role, block, part, is_gap in stored["tensors"]
    )
    used = stored["used"]
    return ModelInfo(
        **plain,
        parts=tuple(stored["parts"]),
        layers=tuple(LayerFacts(*layer) for layer in stored["layers"]),
        tensors=tensors,
        metadata=_metadata(stored["metadata"]),
        expert_used_per_block=None if used is None else tuple(_whole(n) for n in used),
    )


def _metadata(stored: dict[str, Any]) -> dict[str, MetaValue]:
    found: dict[str, MetaValue] = {}
    for key, value in stored.items():
        found[key] = tuple(value) if isinstance(value, list) else value
        if not isinstance(found[key], (str, int, float, tuple)):
            raise TypeError(key)
    return found


def _check_columns(rows: list[list[object]], types: tuple[type | tuple[type, ...], ...]) -> None:
    """TypeError when a column holds anything but its type; each column is looked at as a whole, which is quick."""
    for column, expected in zip(zip(*rows, strict=True), types, strict=True):
        for kind in set(map(type, column)):
            if kind is not expected and not (isinstance(expected, tuple) and kind in expected):
                raise TypeError(kind.__name__)
    shapes = [row[1] for row in rows if isinstance(row[1], list)]
    if {type(length) for shape in shapes for length in shape} - {int}:
        raise TypeError("shape")


def _check_plain(plain: dict[str, Any]) -> None:
    for name, value in plain.items():
        if name in _TEXT_FIELDS:
            if not isinstance(value, str):
                raise TypeError(name)
        elif name == "is_mla":
            if not isinstance(value, bool):
                raise TypeError(name)
        elif value is not None or name not in _OPTIONAL_FIELDS:
            _whole(value)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(repr(value))
    return value
