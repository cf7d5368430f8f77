"""Standard output and error: UTF-8 for JSON, readable text for people, and a reader that goes away is no error."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from app.common.problem import Problem, Severity
from app.common.ranges import ranges_text as number_ranges
from app.words import say, say_problem

_MARKS = {Severity.WARNING: "!", Severity.INFO: "·"}
_GAP = "  "
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys instead of showing it (escape sequences), and what turns the direction of text around."""


class ReaderGoneError(Exception):
    """Nobody reads standard output any more (``lanewise plan ... | head``): the rest need not be written."""


def prepare_streams(*, json_output: bool) -> None:
    """JSON is UTF-8 on every system; text keeps the console's own encoding. What it cannot show is escaped.

    Windows still gives pipes its old code page (cp936), and a character outside of it must not end the program.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # None: no console (pythonw); absent: a test's own stream
        if reconfigure is None:
            continue
        if json_output and stream is sys.stdout:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
        else:
            reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """One JSON document, indented. A file name that is no Unicode comes out as JSON's own escapes."""
    print_exactly(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def print_json_line(value: Any) -> None:
    """One JSON value on a line of its own, written at once."""
    print_exactly(json.dumps(value, ensure_ascii=False, allow_nan=False))


def print_text(text: str = "") -> None:
    """Write text for people to standard output. Raises ``ReaderGoneError``."""
    print_exactly(harmless(text))


def harmless(text: str) -> str:
    """Names come out of files that anybody may have made: what would command the terminal is shown as an escape."""
    return _COMMANDS.sub(lambda found: ascii(found[0])[1:-1], text)


def print_exactly(text: str) -> None:
    """Write to standard output, flushed. Raises ``ReaderGoneError``."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGoneError from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # what Windows says for a closed pipe
            raise
        raise ReaderGoneError from error


def print_note(text: str) -> None:
    """Write to standard error; a closed one is no reason to fail."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(harmless(text) + "\n")
        sys.stderr.flush()
    except OSError:
        return  # nobody is there to be told


def print_problems(problems: Iterable[Problem], *, least: Severity) -> None:
    """Sentences of the problems at least this bad, on standard error."""
    rank = list(Severity)
    for problem in problems:
        if rank.index(problem.severity) <= rank.index(least):
            print_note(problem_line(problem))


def print_error(problem: Problem) -> None:
    """The reason why the job ended, on standard error, whatever its severity is elsewhere."""
    print_note(say("cli.error", text=say_problem(problem)))


def problem_line(problem: Problem) -> str:
    """'Error: sentence', or '! sentence' for a warning and '· sentence' for a note."""
    if problem.severity is Severity.ERROR:
        return say("cli.error", text=say_problem(problem))
    return f"{_MARKS[problem.severity]} {say_problem(problem)}"


def forget_stdout() -> None:
    """After ``ReaderGoneError``: let Python's own flush at the end write into nothing instead of failing again."""
    stream: TextIO | None = sys.stdout
    if stream is None:
        return
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        return  # a stream without a file behind it has nothing to flush


def width_of(text: str) -> int:
    """Columns that a terminal needs: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Lines with aligned columns; those in ``right`` are aligned to the right. The last column is not padded."""
    n_columns = max((len(row) for row in rows), default=0)
    widths = [max((width_of(row[i]) for row in rows if i < len(row)), default=0) for i in range(n_columns)]
    lines = []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            space = " " * (widths[i] - width_of(cell))
            cells.append(space + cell if i in right else cell + space)
        lines.append(_GAP.join(cells).rstrip())
    return lines


def ranges_text(numbers: Iterable[int]) -> str:
    """'0-5, 8' for a list of numbers; an em dash for none."""
    return number_ranges(numbers) or "—"
