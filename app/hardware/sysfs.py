"""Small readers of Linux's text files; a file that is missing or refuses to be read is None.

Every function takes the path, so that tests point at a tree of their own. ``recording`` notes what was read, so that
the same probes can be run again elsewhere (``selftest``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Recording:
    """What one look read: path -> text, and which paths were links to which other ones."""

    files: dict[Path, str] = field(default_factory=dict)
    links: dict[Path, Path] = field(default_factory=dict)


_recording: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextlib.contextmanager
def recording() -> Iterator[Recording]:
    """Note all that this thread reads through this module."""
    record = Recording()
    token = _recording.set(record)
    try:
        yield record
    finally:
        _recording.reset(token)


def real_path(path: Path) -> Path:
    """Where a link points, through all links."""
    real = path.resolve()
    record = _recording.get()
    if record is not None and real != path:
        record.links[path] = real
    return real


def read_text(path: Path) -> str | None:
    """The file's text without surrounding blanks and NULs; None when it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace").strip(" \t\r\n\0")
    except OSError:
        return None
    record = _recording.get()
    if record is not None:
        record.files[path] = text
    return text


def read_int(path: Path) -> int | None:
    """A decimal or 0x number; None when there is none."""
    text = read_text(path)
    if not text:
        return None
    try:
        return int(text, 0)
    except ValueError:
        return None


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """``0-3,8`` -> (0, 1, 2, 3, 8), ascending; '' -> (). Raises ValueError on anything else."""
    numbers: set[int] = set()
    for piece in filter(None, (p.strip() for p in text.split(","))):
        first, _, last = piece.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


def read_cpu_list(path: Path) -> tuple[int, ...] | None:
    """A CPU list file; None when it cannot be read, is empty or is not such a list."""
    text = read_text(path)
    if not text:
        return None
    try:
        return parse_cpu_list(text) or None
    except ValueError:
        return None
