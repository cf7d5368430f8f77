"""Python's memory for lines of source code, kept empty.

PySide looks into the source of every module that is imported, to see whether it names PySide, and the standard library
keeps every line it has read: some 700 files, 240 000 lines, 10 to 20 MiB for nothing. Traces of errors read the few
files that they quote anew.
"""

from __future__ import annotations

import linecache

from typing_extensions import override


class _NoLines(dict[str, tuple[object, ...]]):
    """Takes where to find a file's text (one item: what a trace is about to quote) and the text of such a file, but no
    text (four items) that was only looked at."""

    @override
    def __setitem__(self, name: str, entry: tuple[object, ...]) -> None:
        if len(entry) == 1 or name in self:
            super().__setitem__(name, entry)


def keep_no_source_lines() -> None:
    """From now on no line is kept; what was kept is forgotten. To be called before Qt is imported."""
    setattr(linecache, "cache", _NoLines())  # noqa: B010  # typeshed does not name it
