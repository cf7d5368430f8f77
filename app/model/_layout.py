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
    placed: list[PlacedTensor] = []
    expected, last, start = 0, len(header.tensors) - 1, header.data_start
    mask = header.alignment - 1
    for index, raw in enumerate(header.tensors):
        if raw.offset != expected:
            raise _damaged(path, raw, "offset")
        known = TENSOR_TYPES.get(raw.type_id)
        if known is not None:
            n_bytes = _known_size(raw, known.block_elements, known.block_bytes, path)
            expected += n_bytes + mask & ~mask
            placed.append(PlacedTensor(raw, known.name, n_bytes, start + raw.offset, False))
            continue
        end = header.file_bytes - start if index == last else header.tensors[index + 1].offset
        n_bytes = end - raw.offset
        expected = end
        if n_bytes <= 0 and index != last:
            raise _damaged(path, raw, "offset")
        placed.append(PlacedTensor(raw, type_name(raw.type_id), n_bytes, start + raw.offset, True))
    _check_complete(header, placed, path)
    return tuple(placed)


def _known_size(raw: RawTensor, block_elements: int, block_bytes: int, path: str) -> int:
    row = raw.shape[0]
    if row % block_elements:  # gguf.cpp:738-745
        raise _damaged(path, raw, "row_length")
    n_bytes = row // block_elements * block_bytes
    for length in raw.shape[1:]:
        n_bytes *= length
    return n_bytes


def _check_complete(header: Header, placed: list[PlacedTensor], path: str) -> None:
    """Does the file hold all its data? (The padding after the last tensor may be missing.)"""
    if not placed:
        return
    last = placed[-1]
    end = last.offset + max(1, last.n_bytes)
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
