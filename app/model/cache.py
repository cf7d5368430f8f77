"""A header read once need not be read again: a small cache beside the app's other caches.

One JSON file per model, found by the model's path and believed only while size and time of every part are the same.
Columns instead of objects keep it small: the 579 tensors of a 30B load in a millisecond. A cache that is damaged, of
another version or cannot be written is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.model._files import extended_path
from app.model.reader import read_model
from app.model.types import LayerFacts, MetaValue, ModelInfo, Role, TensorInfo

_FORMAT = 1
"""To be raised whenever a reader of the same file would now say something else (roles, facts per block)."""
_MAX_ENTRIES = 256

_PLAIN_FIELDS = (
    "path", "version", "architecture", "name", "file_bytes", "block_count", "context_length", "vocab_size",
    "embedding_length", "expert_count", "expert_used_count", "expert_shared_count", "expert_ff_length",
    "nextn_count", "sliding_window", "is_mla",
)  # fmt: skip


def read_model_cached(path: str | os.PathLike[str], folder: Path) -> ModelInfo:
    """Like ``read_model``, but remembers in ``folder``. Raises the same ProblemErrors."""
    text = os.path.abspath(os.fsdecode(path))
    entry = folder / (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".json")
    model = _load(entry)
    if model is None:
        model = read_model(text)
        with contextlib.suppress(OSError):  # no room for the cache: the model was read all the same
            _save(entry, model)
    return model


def _stamps(parts: Iterable[str]) -> list[list[int]]:
    """Size and time of change of each part."""
    stamps = []
    for part in parts:
        status = os.stat(extended_path(part, sys.platform == "win32"))
        stamps.append([status.st_size, status.st_mtime_ns])
    return stamps


def _load(entry: Path) -> ModelInfo | None:
    try:
        stored = json.loads(entry.read_bytes())
        if stored["format"] != _FORMAT or stored["stamps"] != _stamps(stored["parts"]):
            return None
        return _unpack(stored)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save(entry: Path, model: ModelInfo) -> None:
    packed = json.dumps(_pack(model), ensure_ascii=False, separators=(",", ":"))
    entry.parent.mkdir(parents=True, exist_ok=True)
    unfinished = entry.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_text(packed, encoding="utf-8", errors="surrogatepass")
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


def _unpack(stored: dict[str, Any]) -> ModelInfo:  # Any: parsed JSON that only ``_pack`` writes
    """JSON back to values; KeyError, TypeError or ValueError when it is not what ``_pack`` made."""
    roles = {role.value: role for role in Role}
    tensors = tuple(
        TensorInfo(name, tuple(shape), type_id, type_name, n_bytes, offset, roles[role], block, part, is_gap)
        for name, shape, type_id, type_name, n_bytes, offset, role, block, part, is_gap in stored["tensors"]
    )
    metadata: dict[str, MetaValue] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in stored["metadata"].items()
    }
    used = stored["used"]
    return ModelInfo(
        **dict(zip(_PLAIN_FIELDS, stored["plain"], strict=True)),
        parts=tuple(stored["parts"]),
        layers=tuple(LayerFacts(*layer) for layer in stored["layers"]),
        tensors=tensors,
        metadata=metadata,
        expert_used_per_block=None if used is None else tuple(used),
    )
