"""One GGUF file's header -> plain values. Nothing in the file decides how much memory is used (limits below)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import NamedTuple

from app.common.problem import ProblemError, fail
from app.model._cursor import Cursor
from app.model._sniff import not_gguf
from app.model.types import MetaValue

MAX_KEPT_ARRAY = 1024
"""Longer arrays (vocabulary) are counted, not kept."""
_MAX_KEPT_STRING_BYTES = 1 << 20
_MAX_KEPT_TOTAL_BYTES = 16 << 20
_MAX_STRING_BYTES = 1 << 30  # the engine's own limit, ggml/src/gguf.cpp:17
_MAX_ARRAY_ELEMENTS = 1 << 30  # ggml/src/gguf.cpp:18
_MAX_WALKED_STRINGS = 8 << 20  # ten times the largest vocabulary there is; a third of a second
_MAX_KEYS = 1 << 16
_MAX_TENSORS = 1 << 17  # the largest models have about 2 000 (old one-file-per-expert ones 50 000)
_MAX_KEY_BYTES = 1 << 16
_MAX_TENSOR_NAME_BYTES = 255  # the engine takes 63 (GGML_MAX_NAME), forks take more
_MAX_DIMS = 4  # GGML_MAX_DIMS, ggml/include/ggml.h:222
_LONGEST_ROW = 8 + _MAX_TENSOR_NAME_BYTES + 4 + 8 * _MAX_DIMS + 4 + 8
_MAX_ELEMENTS = (1 << 63) - 1

_STRING, _ARRAY, _BOOL = 8, 9, 7
_SCALARS: dict[int, str] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_SCALAR_STRUCTS = {type_id: struct.Struct("<" + letter) for type_id, letter in _SCALARS.items()}
_ARRAY_START = struct.Struct("<IQ")
_COUNTS = struct.Struct("<QQ")


@cache
def _row_layout(name_bytes: int, n_dims: int) -> struct.Struct:
    """A row of the tensor table; one with too many dimensions is read only as far as to say so."""
    return struct.Struct(f"<Q{name_bytes}sI" + (f"{n_dims}QIQ" if n_dims <= _MAX_DIMS else ""))


SkipTexts = Callable[[Cursor, int], None]
"""Moves a cursor past so many texts that nobody keeps."""


class RawTensor(NamedTuple):
    """A tensor as the header lists it; ``offset`` counts from the start of the data section.

    ``shape`` is never empty: no dimension means one element (gguf.cpp:686-692); ``n_elements`` is its product.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    offset: int
    n_elements: int


@dataclass(frozen=True, slots=True)
class Header:
    """The whole header of one file. ``array_lengths`` counts every array, kept or not."""

    version: int
    alignment: int
    data_start: int
    file_bytes: int
    metadata: dict[str, MetaValue]
    array_lengths: dict[str, int]
    tensors: tuple[RawTensor, ...]


def parse_header(cursor: Cursor, skip_texts: SkipTexts = Cursor.skip_strings) -> Header:
    """Read a header from the start of a file.

    Raises ProblemError: not_gguf..., gguf_version, gguf_big_endian, gguf_truncated_header, gguf_damaged...
    """
    return _Parser(cursor, skip_texts).parse()


class _Parser:
    """Keeps the running totals that bound the work."""

    def __init__(self, cursor: Cursor, skip_texts: SkipTexts) -> None:
        self._cursor = cursor
        self._skip_texts = skip_texts
        self._metadata: dict[str, MetaValue] = {}
        self._array_lengths: dict[str, int] = {}
        self._kept_bytes = 0
        self._walked_strings = 0

    def parse(self) -> Header:
        cursor = self._cursor
        version = self._read_version()
        n_tensors, n_keys = cursor.unpack(_COUNTS)
        if n_tensors > _MAX_TENSORS or n_keys > _MAX_KEYS:
            raise cursor.damaged("counts", f"{n_tensors} tensors, {n_keys} keys")
        self._read_metadata(n_keys)
        alignment = self._alignment()
        tensors = self._read_tensors(n_tensors)
        data_start = (cursor.position + alignment - 1) // alignment * alignment
        return Header(version, alignment, data_start, cursor.size, self._metadata, self._array_lengths, tensors)

    def _read_version(self) -> int:
        cursor = self._cursor
        if cursor.remaining < 8:
            raise not_gguf(cursor)
        magic = cursor.take(4)
        if magic == b"FUGG":
            raise fail("gguf_big_endian", path=cursor.path)
        if magic != b"GGUF":
            raise not_gguf(cursor)
        version = cursor.u32()
        if version & 0xFFFF == 0 and version:  # byte-swapped 1..3, the engine's own test (gguf.cpp:438)
            raise fail("gguf_big_endian", path=cursor.path)
        if version not in (2, 3):
            raise fail("gguf_version", path=cursor.path, version=version)
        return version

    def _read_metadata(self, n_keys: int) -> None:
        seen: set[bytes] = set()
        for _ in range(n_keys):
            raw_key = self._string(_MAX_KEY_BYTES, "key_length")
            if not raw_key or raw_key in seen:
                raise self._cursor.damaged("key", repr(raw_key[:80]))
            seen.add(raw_key)
            self._read_value(raw_key.decode("utf-8", "replace"))

    def _read_value(self, key: str) -> None:
        cursor = self._cursor
        value_type = cursor.u32()
        if value_type == _STRING:
            text = self._text()
            if text is not None:
                self._metadata[key] = text
        elif value_type == _ARRAY:
            self._read_array(key)
        elif value_type in _SCALAR_STRUCTS:
            self._metadata[key] = cursor.unpack(_SCALAR_STRUCTS[value_type])[0]
        else:
            raise cursor.damaged("value_type", f"{key}: type {value_type}")

    def _text(self) -> str | None:
        """A string value, or None when it is too long to keep."""
        cursor = self._cursor
        n_bytes = self._length(_MAX_STRING_BYTES, "string_length")
        if n_bytes > _MAX_KEPT_STRING_BYTES or self._kept_bytes + n_bytes > _MAX_KEPT_TOTAL_BYTES:
            cursor.skip(n_bytes)
            return None
        self._kept_bytes += n_bytes
        return cursor.take(n_bytes).decode("utf-8", "replace")

    def _read_array(self, key: str) -> None:
        cursor = self._cursor
        element_type, count = cursor.unpack(_ARRAY_START)
        if count > _MAX_ARRAY_ELEMENTS:
            raise cursor.damaged("array_length", f"{key}: {count}")
        self._array_lengths[key] = count
        if element_type == _STRING:
            self._read_string_array(key, count)
        elif element_type in _SCALARS:
            layout = struct.Struct(f"<{count if count <= MAX_KEPT_ARRAY else 1}{_SCALARS[element_type]}")
            if count > MAX_KEPT_ARRAY:
                cursor.skip(layout.size * count)
            else:
                self._metadata[key] = cursor.unpack(layout)
        else:  # an array of arrays is legal GGUF, but the engine refuses it (gguf.cpp:566)
            raise cursor.damaged("element_type", f"{key}: type {element_type}")

    def _read_string_array(self, key: str, count: int) -> None:
        self._walked_strings += count
        if self._walked_strings > _MAX_WALKED_STRINGS:
            raise self._cursor.damaged("array_length", f"{key}: {count}")
        if count > MAX_KEPT_ARRAY:
            self._skip_texts(self._cursor, count)
            return
        texts = [self._text() for _ in range(count)]
        kept = tuple(text for text in texts if text is not None)
        if len(kept) == count:
            self._metadata[key] = kept

    def _alignment(self) -> int:
        """general.alignment: a power of two (gguf.cpp:598-613); 32 when the file does not say."""
        value = self._metadata.get("general.alignment", 32)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1 or value & (value - 1):
            raise self._cursor.damaged("alignment", repr(value))
        return value

    def _read_tensors(self, n_tensors: int) -> tuple[RawTensor, ...]:
        cursor, row_of = self._cursor, _row_layout
        tensors: list[RawTensor] = []
        names: list[bytes] = []
        data, at = cursor.ahead(_LONGEST_ROW)
        try:
            for _ in range(n_tensors):
                if len(data) - at < _LONGEST_ROW:
                    cursor.skip_ahead(at)
                    data, at = cursor.ahead(_LONGEST_ROW)
                length = data[at]  # both are one byte long in a good file; what they are as a whole is checked below
                layout = row_of(length, data[at + 8 + length])
                whole_length, raw_name, n_dims, *rest = layout.unpack_from(data, at)
                if whole_length != length or n_dims > _MAX_DIMS:
                    raise self._bad_row(whole_length, n_dims, raw_name)
                name, offset, type_id = raw_name.decode("utf-8", "replace"), rest.pop(), rest.pop()
                n_elements = prod(rest)
                if not 0 < n_elements <= _MAX_ELEMENTS:
                    self._check_shape(name, rest)
                names.append(raw_name)
                tensors.append(RawTensor(name, tuple(rest) or (1,), type_id, offset, n_elements))
                at += layout.size
        except (struct.error, IndexError):
            raise cursor.truncated() from None
        cursor.skip_ahead(at)
        if len(set(names)) < len(names):
            twice = next(t.name for i, t in enumerate(tensors) if names[i] in names[:i])
            raise fail("gguf_damaged_tensor", path=cursor.path, tensor=twice, detail="duplicate")
        return tuple(tensors)

    def _bad_row(self, length: int, n_dims: int, raw_name: bytes) -> ProblemError:
        """A row of the tensor table whose name is too long, or that has too many dimensions."""
        if length > _MAX_TENSOR_NAME_BYTES:
            return self._cursor.damaged("tensor_name_length", str(length))
        name = raw_name.decode("utf-8", "replace")
        return fail("gguf_damaged_tensor", path=self._cursor.path, tensor=name, detail="dimensions")

    def _check_shape(self, name: str, shape: list[int]) -> None:
        n_elements = 1
        for dimension, length in enumerate(shape):
            if length == 0:  # servers before mid-2026 divide by it and die without a message
                raise fail("gguf_zero_dimension", path=self._cursor.path, tensor=name, dimension=dimension)
            n_elements *= length
            if n_elements > _MAX_ELEMENTS:
                raise fail("gguf_damaged_tensor", path=self._cursor.path, tensor=name, detail="too_large")

    def _length(self, limit: int, detail: str) -> int:
        n_bytes = self._cursor.u64()
        if n_bytes > limit:
            raise self._cursor.damaged(detail, str(n_bytes))
        return n_bytes

    def _string(self, limit: int, detail: str) -> bytes:
        return self._cursor.take(self._length(limit, detail))
