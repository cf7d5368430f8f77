"""Opening model files, and the names of split parts."""

from __future__ import annotations

import io
import ntpath
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from app.common.problem import fail
from app.model._cursor import Cursor

_PART_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL | re.ASCII)
_LONG_PATH = 248  # Windows: files over 259 characters, folders over 247 need the extended prefix


@contextmanager
def open_model_file(path: str) -> Iterator[Cursor]:
    """Open a regular file for reading; ProblemError file_missing, file_is_folder or file_unreadable otherwise."""
    try:
        file = _open(path)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # ValueError: a NUL in the name
        raise fail("file_missing", path=path) from error
    except OSError as error:
        raise fail("file_unreadable", evidence=(str(error),), path=path) from error
    try:
        with file:
            yield Cursor(file, os.fstat(file.fileno()).st_size, path)
    except OSError as error:  # a disk error, a network drive that went away
        raise fail("file_unreadable", evidence=(str(error),), path=path) from error


def _open(path: str) -> io.FileIO:
    real = extended_path(path, sys.platform == "win32")
    mode = os.stat(real).st_mode
    if stat.S_ISDIR(mode):
        raise fail("file_is_folder", path=path)
    if not stat.S_ISREG(mode):  # opening a pipe would wait for ever
        raise fail("file_unreadable", path=path)
    return io.FileIO(real)


def extended_path(path: str, is_windows: bool) -> str:
    r"""On Windows, a long path with the ``\\?\`` prefix that lifts the 260-character limit; else the path itself."""
    if not is_windows or path.startswith("\\\\?\\"):
        return path
    absolute = ntpath.abspath(path)
    if len(absolute) < _LONG_PATH:
        return path
    if absolute.startswith("\\\\"):
        return "\\\\?\\UNC\\" + absolute[2:]
    return "\\\\?\\" + absolute


def part_paths(path: str, n_parts: int) -> tuple[str, ...] | None:
    """The paths of all parts of a split model, from the path of any one; None when the name is not a part's.

    The engine's own naming, counted from 1 (llama.cpp:545-590): ``name-00001-of-00003.gguf``.
    """
    folder, name = os.path.split(path)
    found = _PART_NAME.fullmatch(name)
    if found is None or int(found[3]) != n_parts or not 1 <= int(found[2]) <= n_parts:
        return None
    return tuple(os.path.join(folder, f"{found[1]}-{n + 1:05d}-of-{n_parts:05d}.gguf") for n in range(n_parts))
