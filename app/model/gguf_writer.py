"""A small GGUF writer: the demo model, test fixtures and header-faithful sparse files are made with it.

Layout: ggml/include/gguf.h:1-40 of llama.cpp. Version 2 differs from 3 only in its number.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from app.model._types_table import TENSOR_TYPES

_TYPE_IDS = {known.name: type_id for type_id, known in TENSOR_TYPES.items()}

Scalar = str | int | float | bool
Data = bytes | bytearray | memoryview


class ValueType(IntEnum):
    """Types of metadata values (``enum gguf_type``)."""

    U8 = 0
    I8 = 1
    U16 = 2
    I16 = 3
    U32 = 4
    I32 = 5
    F32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    U64 = 10
    I64 = 11
    F64 = 12


_LETTERS = {
    ValueType.U8: "B", ValueType.I8: "b", ValueType.U16: "H", ValueType.I16: "h", ValueType.U32: "I",
    ValueType.I32: "i", ValueType.F32: "f", ValueType.BOOL: "?", ValueType.U64: "Q", ValueType.I64: "q",
    ValueType.F64: "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    type_id: int
    n_bytes: int
    data: Data | None


def tensor_bytes(type_name: str, shape: Sequence[int]) -> int:
    """Bytes of a tensor; ValueError when its rows are no whole number of blocks."""
    known = TENSOR_TYPES[_TYPE_IDS[type_name]]
    if shape[0] % known.block_elements:
        raise ValueError(f"rows of {shape[0]} are no multiple of {known.block_elements} ({type_name})")
    n_bytes = shape[0] // known.block_elements * known.block_bytes
    for length in shape[1:]:
        n_bytes *= length
    return n_bytes


class GgufWriter:
    """Collects metadata and tensors, then writes one file."""

    def __init__(self, *, alignment: int = 32, version: int = 3) -> None:
        self._alignment = alignment
        self._version = version
        self._pairs: list[bytes] = []
        self._tensors: list[_Tensor] = []
        if alignment != 32:
            self.add("general.alignment", ValueType.U32, alignment)

    def add(self, key: str, value_type: ValueType, value: Scalar) -> None:
        """Add one value."""
        self._pairs.append(_text(key) + struct.pack("<I", value_type) + _scalar(value_type, value))

    def add_array(self, key: str, element_type: ValueType, values: Sequence[Scalar]) -> None:
        """Add an array of one type."""
        if element_type is ValueType.STRING:
            body = b"".join(_text(str(value)) for value in values)
        else:
            body = struct.pack(f"<{len(values)}{_LETTERS[element_type]}", *values)
        start = struct.pack("<IIQ", ValueType.ARRAY, element_type, len(values))
        self._pairs.append(_text(key) + start + body)

    def add_tensor(self, name: str, shape: Sequence[int], type_name: str, data: Data | None = None) -> None:
        """Add a tensor; ``shape`` in ggml order (ne[0] first). Without data it becomes a hole that reads as zeros."""
        n_bytes = tensor_bytes(type_name, shape)
        if data is not None and len(data) != n_bytes:
            raise ValueError(f"{name}: {len(data)} bytes instead of {n_bytes}")
        self._tensors.append(_Tensor(name, tuple(shape), _TYPE_IDS[type_name], n_bytes, data))

    def header(self) -> bytes:
        """Everything before the data, padded to the alignment."""
        start = b"GGUF" + struct.pack("<IQQ", self._version, len(self._tensors), len(self._pairs))
        parts = [start, *self._pairs]
        offset = 0
        for tensor in self._tensors:
            n_dims = len(tensor.shape)
            tail = struct.pack(f"<I{n_dims}QIQ", n_dims, *tensor.shape, tensor.type_id, offset)
            parts.append(_text(tensor.name) + tail)
            offset += self._padded(tensor.n_bytes)
        joined = b"".join(parts)
        return joined.ljust(self._padded(len(joined)), b"\0")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file; tensors without data cost no disk space where the file system knows holes."""
        with open(path, "wb") as file:
            file.write(self.header())
            position = file.tell()
            for tensor in self._tensors:
                if tensor.data is not None:
                    file.seek(position)
                    file.write(tensor.data)
                position += self._padded(tensor.n_bytes)
            file.truncate(position)

    def write_parts(self, folder: str | os.PathLike[str], stem: str, n_parts: int) -> tuple[str, ...]:
        """Write a split model as llama-gguf-split does (``name-00001-of-00003.gguf``): the first part carries the
        metadata, every part its share of the tensors. Gives the paths."""
        if n_parts < 1:
            raise ValueError(f"{n_parts} parts")
        paths = []
        share = -(-len(self._tensors) // n_parts)
        for number in range(n_parts):
            part = GgufWriter(alignment=self._alignment, version=self._version)
            if number == 0:
                part._pairs = list(self._pairs)
            part.add("split.no", ValueType.U16, number)
            part.add("split.count", ValueType.U16, n_parts)
            part.add("split.tensors.count", ValueType.I32, len(self._tensors))
            part._tensors = self._tensors[number * share : (number + 1) * share]
            paths.append(os.path.join(os.fspath(folder), f"{stem}-{number + 1:05d}-of-{n_parts:05d}.gguf"))
            part.write(paths[-1])
        return tuple(paths)

    def _padded(self, n_bytes: int) -> int:
        return (n_bytes + self._alignment - 1) // self._alignment * self._alignment


def byte_symbols() -> tuple[str, ...]:
    """The printable character that stands for each byte in a byte-level BPE vocabulary (as in GPT-2)."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return tuple(chr(byte) if byte in printable else chr(next(others)) for byte in range(256))


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _scalar(value_type: ValueType, value: Scalar) -> bytes:
    if value_type is ValueType.STRING:
        return _text(str(value))
    return struct.pack("<" + _LETTERS[value_type], value)
