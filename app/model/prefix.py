"""A model from the first bytes of its files: enough for a plan before anything else of it has been downloaded."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import Buffer, override

from app.common.problem import ProblemError, fail
from app.model._cursor import Cursor
from app.model._file_role import FileRole, role_of
from app.model._header import Header, parse_header
from app.model.reader import model_of_headers
from app.model.types import ModelInfo


@dataclass(frozen=True, slots=True)
class FileStart:
    """The beginning of a file that lies elsewhere. ``file_bytes``: how long the whole file is said to be."""

    name: str
    data: bytes
    file_bytes: int


class NeedsMoreError(Exception):
    """The header goes on behind these bytes; ``name`` is the file's."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _Start(io.RawIOBase):
    """Known bytes as a file; reading behind them is noted."""

    def __init__(self, start: FileStart) -> None:
        super().__init__()
        self._data = io.BytesIO(start.data)
        self._n_bytes = len(start.data)
        self._is_whole = len(start.data) >= start.file_bytes
        self.was_short = False

    @override
    def seek(self, offset: int, whence: int = 0, /) -> int:
        if not self._is_whole and offset >= self._n_bytes:
            self.was_short = True
        return self._data.seek(offset, whence)

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        return self._data.readinto(buffer)


def model_from_starts(starts: Sequence[FileStart]) -> ModelInfo:
    """The model whose parts begin so, in order; its paths are the names.

    Raises NeedsMoreError, and the ProblemErrors of ``read_model``.
    """
    headers = [_header(start) for start in starts]
    role = role_of(headers[0])
    if role is not FileRole.MODEL:
        code = "gguf_not_a_model" if role is FileRole.OTHER else f"gguf_not_a_model_{role.value}"
        raise fail(code, path=starts[0].name, role=role.value)
    return model_of_headers(tuple(start.name for start in starts), headers)


def _header(start: FileStart) -> Header:
    file = _Start(start)
    try:
        return parse_header(Cursor(file, start.file_bytes, start.name))
    except ProblemError as error:
        is_short = len(start.data) < start.file_bytes
        if is_short and error.problem.code == "gguf_truncated_header":
            raise NeedsMoreError(start.name) from error
        raise
