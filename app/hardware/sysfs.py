"""Small readers of Linux's text files; a file that is missing or refuses to be read is None.

Every function takes the path, so that tests point at a tree of their own.
"""

from __future__ import annotations

from pathlib import Path


def read_text(path: Path) -> str | None:
    """The file's text without surrounding blanks and NULs; None when it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8", errors="replace").strip(" \t\r\n\0")
    except OSError:
        return None


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
