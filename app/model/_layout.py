"""Header -> tensors with sizes and places in the file, checked the way the engine checks them."""

from __future__ import annotations

from typing import NamedTuple

from app.common.problem import ProblemError, fail
from app.model._header import Header, RawTensor
from app.model._types_table import TENSOR_TYPES, type_name


class PlacedTensor(NamedTuple):
    """A tensor with its size. ``offset`` counts from the start of its file."""

    raw: RawTensor
    type_name: str
    n_bytes: int
    offset: int
    size_is_gap: bool


def place_tensors(header: Header, path: str) -> tuple[PlacedTensor, ...]:
    """Sizes and offsets of all tensors of one file.

    Tensors must follow each other without holes (ggml/src/gguf.cpp:783-810). A type we do not know has the size of the
    gap to the next tensor. Raises ProblemError: gguf_damaged_tensor, gguf_truncated (with the bytes that are missing).
    """
    return tuple(
        PlacedTensor(
            raw, type_name(raw.type_id), n_bytes, header.data_start + raw.offset, raw.type_id not in TENSOR_TYPES
        )
        for raw, n_bytes in zip(header.tensors, tensor_sizes(header, path), strict=True)
    )


def tensor_sizes(header: Header, path: str) -> list[int]:
    """Bytes of each tensor of one file. Raises as ``place_tensors`` does."""
    sizes: list[int] = []
    expected, mask, types = 0, header.alignment - 1, TENSOR_TYPES
    for index, raw in enumerate(header.tensors):
        _, shape, type_id, offset, n_elements = raw
        if offset != expected:
            raise _damaged(path, raw, "offset")
        known = types.get(type_id)
        if known is not None:
            if shape[0] % known.block_elements:  # gguf.cpp:738-745
                raise _damaged(path, raw, "row_length")
            n_bytes = n_elements // known.block_elements * known.block_bytes
            expected += n_bytes + mask & ~mask
        else:
            is_last = index == len(header.tensors) - 1
            end = header.file_bytes - header.data_start if is_last else header.tensors[index + 1].offset
            n_bytes, expected = end - offset, end
            if n_bytes <= 0 and not is_last:
                raise _damaged(path, raw, "offset")
        sizes.append(n_bytes)
    if sizes:
        _check_complete(header, header.data_start + header.tensors[-1].offset + max(1, sizes[-1]), path)
    return sizes


def _check_complete(header: Header, end: int, path: str) -> None:
    """Does the file hold all its data? (The padding after the last tensor may be missing.)"""
    if end > header.file_bytes:
        raise fail(
            "gguf_truncated",
            path=path,
            missing_bytes=end - header.file_bytes,
            expected_bytes=end,
            file_bytes=header.file_bytes,
        )


def _damaged(path: str, raw: RawTensor, detail: str) -> ProblemError:
    return fail("gguf_damaged_tensor", path=path, tensor=raw.name, detail=detail)
