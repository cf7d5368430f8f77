"""Lines that a terminal broke in two before they were copied, put together again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.engine.log_decoding import LONGEST_LINE
from app.engine.loglines import CleanLine

_LEAST_WIDTH = 50
"""No terminal is narrower: a shorter line ended by itself."""


def unwrapped(lines: Sequence[CleanLine]) -> Iterator[list[CleanLine]]:
    """The lines with every long one followed by the next, broken within a word and then between words. What follows
    must look like a rest: without a level of its own."""
    for between in ("", " "):
        yield [
            _joined(line, after, between) if len(line.raw) >= _LEAST_WIDTH and after.level is None else line
            for line, after in zip(lines, [*lines[1:], CleanLine("", "", "I")], strict=True)
        ]


def _joined(line: CleanLine, after: CleanLine, between: str) -> CleanLine:
    rest = after.text.lstrip() if between else after.text
    raw, text = f"{line.raw}{between}{after.raw.lstrip()}", f"{line.text}{between}{rest}"
    return CleanLine(raw, text[:LONGEST_LINE], line.level, line.stream)
