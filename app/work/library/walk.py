"""Walks a folder for model files: bounded, without loops, and never writing anything."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.common.problem import ParamValue, Problem, Severity
from app.work.downloads.types import Cancelled, check_cancelled
from app.work.library.types import FoundFile, Place

MOST_ENTRIES = 200_000
MOST_DEPTH = 24
MOST_FILES = 20_000
_ENDING = ".gguf"
_UNFINISHED = (
    ".part", ".partial", ".incomplete", ".aria2", ".crdownload", ".download", ".downloading", ".!qb", ".tmp",
    ".opdownload", ".bc!", ".jc!", ".!ut", ".xltd", ".td",
)  # fmt: skip
"""What browsers and download programs append while a file is not whole."""
_UNFINISHED_START = "downloading_"
"""What LM Studio puts in front."""
_MAGIC = b"GGUF"
_CONTROL = ".aria2"
_SKIPPED = frozenset({".git", "node_modules", "$recycle.bin", "system volume information", "__pycache__", ".venv"})
_LATER_PART = re.compile(r".*-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE | re.DOTALL)
_FIRST_PART = "00001"
_MOST_TOLD = 20


@dataclass
class Walk:
    """What a walk has counted and could not do. ``problems`` holds the first twenty."""

    entries: int = 0
    problems: list[Problem] = field(default_factory=list)
    is_cut: bool = False

    def tell(self, problem: Problem) -> None:
        """Note a folder that could not be read."""
        if len(self.problems) < _MOST_TOLD:
            self.problems.append(problem)


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a walk ends, however large the folder is."""

    entries: int = MOST_ENTRIES
    depth: int = MOST_DEPTH
    files: int = MOST_FILES


_USUAL = Limits()


def walk_folder(
    place: Place,
    walk: Walk,
    cancelled: Cancelled,
    on_folder: Callable[[str], None] = lambda _: None,
    limits: Limits = _USUAL,
) -> Iterator[FoundFile]:
    """Model files below a place, folder by folder. Raises ProblemError ``download_cancelled``.

    A folder that links lead back to is visited once. What cannot be read goes to ``walk.problems``, and the walk goes
    on elsewhere; at a limit it ends with ``library_too_many``.
    """
    waiting = [(str(place.path), 0)]
    visited: set[tuple[int, int]] = set()
    n_files = 0
    while waiting:
        folder, depth = waiting.pop()
        check_cancelled(cancelled)
        on_folder(folder)
        if not _is_new(folder, visited, walk):
            continue
        found, below = _look_into(folder, place, walk, cancelled, limits)
        for file in found:
            n_files += 1
            yield file
        if walk.is_cut or n_files >= limits.files:
            walk.is_cut = True
            params: dict[str, ParamValue] = {"folder": str(place.path), "entries": walk.entries}
            walk.problems.insert(0, Problem("library_too_many", Severity.WARNING, params))
            return
        if depth < limits.depth:
            waiting += [(name, depth + 1) for name in reversed(below)]


def _is_new(folder: str, visited: set[tuple[int, int]], walk: Walk) -> bool:
    """Each real folder once, whichever links lead to it."""
    try:
        status = os.stat(folder)
    except (OSError, ValueError) as error:
        walk.tell(_unread(folder, error))
        return False
    key = (status.st_dev, status.st_ino)
    if key in visited and status.st_ino:
        return False
    visited.add(key)
    return True


def _look_into(
    folder: str, place: Place, walk: Walk, cancelled: Cancelled, limits: Limits
) -> tuple[list[FoundFile], list[str]]:
    """One folder's model files and its folders, by name."""
    names: dict[str, bool] = {}
    try:
        with os.scandir(folder) as listing:
            for entry in listing:
                walk.entries += 1
                if walk.entries > limits.entries:
                    walk.is_cut = True
                    break
                if walk.entries % 1000 == 0:
                    check_cancelled(cancelled)
                if (is_folder := _is_folder(entry)) or (may_be_model(entry.name) and _may_be_read(entry)):
                    names[entry.name] = is_folder
    except OSError as error:
        walk.tell(_unread(folder, error))
    below = [os.path.join(folder, name) for name in sorted(names) if names[name] and name.lower() not in _SKIPPED]
    files = [name for name in sorted(names) if not names[name]]
    return [_found(folder, name, names, place) for name in files if _is_listed(name, names)], below


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle, a drive that went away
        return False


def _may_be_read(entry: os.DirEntry[str]) -> bool:
    """A file, or a link whatever it leads to; pipes, sockets and devices hold no model, and opening one may wait for
    ever."""
    try:
        return entry.is_symlink() or entry.is_file()
    except OSError:
        return True


def begins_as_gguf(path: str) -> bool:
    """Do the first bytes of this file say so? False for what is no file, or cannot be read."""
    data = first_bytes(path, len(_MAGIC))
    return data == _MAGIC


def first_bytes(path: str, n_bytes: int) -> bytes:
    """The beginning of a file; nothing of what is no file (opening a pipe waits for a writer) or cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with open(path, "rb") as file:
            return file.read(n_bytes)
    except (OSError, ValueError):
        return b""


def may_be_model(name: str) -> bool:
    """Could this be a model, or half of one, by its name?"""
    lower = name.lower()
    return lower.endswith(_ENDING) or (_ENDING in lower and lower.endswith(_UNFINISHED))


def is_unfinished(name: str) -> bool:
    """Does the name say that the file is half a download?"""
    lower = name.lower()
    return lower.endswith(_UNFINISHED) or lower.startswith(_UNFINISHED_START)


def _is_listed(name: str, names: dict[str, bool]) -> bool:
    """Later parts of a split model come with the first; a control file comes with its file."""
    if name.lower().endswith(_CONTROL) and name[: -len(_CONTROL)] in names:
        return False
    found = _LATER_PART.fullmatch(name)
    if found is None or found[1] == _FIRST_PART:
        return True
    first = f"{name[: found.start(1)]}{_FIRST_PART}{name[found.end(1) :]}"
    return first not in names and name == _least_part(name, names)


def _least_part(name: str, names: dict[str, bool]) -> str:
    """Of a set without its first part, the one that stands for it."""
    found = _LATER_PART.fullmatch(name)
    assert found is not None
    head, tail = name[: found.start(1)], name[found.end(1) :]
    same = [other for other in names if other.startswith(head) and other.endswith(tail) and len(other) == len(name)]
    return min(same)


def _found(folder: str, name: str, names: dict[str, bool], place: Place) -> FoundFile:
    half = is_unfinished(name) or f"{name}{_CONTROL}" in names
    return FoundFile(os.path.join(folder, name), name, place.source, str(place.path), unfinished=half)


def _unread(folder: str, error: OSError | ValueError) -> Problem:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Problem("library_folder_unread", Severity.WARNING, {"folder": folder, "why": why})


def folder_of(path: str) -> str:
    """The folder of a file, whole."""
    return str(Path(path).parent)
