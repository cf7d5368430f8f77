"""What kind of GGUF file this is. People open projectors and adapters by mistake; the header tells."""

from __future__ import annotations

from enum import StrEnum

from app.model._header import Header


class FileRole(StrEnum):
    """A language model, or one of the files that come beside one; OTHER: none that we know."""

    MODEL = "model"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    VOCAB = "vocab"
    IMATRIX = "imatrix"
    CONTROL_VECTOR = "control_vector"
    OTHER = "other"


_BY_GENERAL_TYPE = {
    "mmproj": FileRole.PROJECTOR,
    "clip-vision": FileRole.PROJECTOR,
    "adapter": FileRole.ADAPTER,
    "imatrix": FileRole.IMATRIX,
}
_MAX_ARCHITECTURE_LENGTH = 64
_BY_ARCHITECTURE = {"clip": FileRole.PROJECTOR, "controlvector": FileRole.CONTROL_VECTOR}


def role_of(header: Header) -> FileRole:
    """By general.type first, then by what only that kind of file has."""
    kind = header.metadata.get("general.type")
    if isinstance(kind, str) and kind in _BY_GENERAL_TYPE:
        return _BY_GENERAL_TYPE[kind]
    architecture = header.metadata.get("general.architecture")
    if isinstance(architecture, str) and architecture in _BY_ARCHITECTURE:
        return _BY_ARCHITECTURE[architecture]
    if "adapter.type" in header.metadata:
        return FileRole.ADAPTER
    if "imatrix.chunk_count" in header.metadata:
        return FileRole.IMATRIX
    split = header.metadata.get("split.count", 0)
    is_part = isinstance(split, int) and split > 1
    if is_part:  # a later part has no architecture of its own
        return FileRole.MODEL
    if not isinstance(architecture, str) or not 0 < len(architecture) <= _MAX_ARCHITECTURE_LENGTH:
        return FileRole.OTHER
    if not header.tensors:
        return FileRole.VOCAB if "tokenizer.ggml.model" in header.metadata else FileRole.OTHER
    return FileRole.MODEL
