"""Reads somebody's log for the doctor: any size, any encoding, bounded, and says what it cannot read."""

from __future__ import annotations

import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.common.problem import fail
from app.diagnose.doctor.log_facts import LogFacts, read_log
from app.engine.log_decoding import decoded_lines, decoder_for, looks_binary, whole_lines

HEAD_BYTES = 4 << 20
TAIL_BYTES = 12 << 20
HEAD_LINES = 20_000
TAIL_LINES = 80_000
"""What is read of a log: how it began and how it ended; what lies between is told as left out. A start-up at -lv 5
has some thousand lines."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LogText:
    """The text of a log. ``cut_bytes``: left out in its middle."""

    lines: tuple[str, ...]
    cut_bytes: int = 0


def log_facts_of_file(path: Path) -> LogFacts:
    """The facts of a log file. Raises ProblemError (``doctor_log_*``)."""
    return facts_of(log_from_file(path))


def facts_of(text: LogText) -> LogFacts:
    """The facts of a log that was read."""
    lines, cut = text.lines, text.cut_bytes
    if len(lines) > HEAD_LINES + TAIL_LINES:
        cut += sum(len(line) + 1 for line in lines[HEAD_LINES:-TAIL_LINES])
        lines = (*lines[:HEAD_LINES], *lines[-TAIL_LINES:])
    return read_log(lines, cut)


def log_from_file(path: Path) -> LogText:
    """The first 4 and the last 12 MiB of a file; the whole of a shorter one. Raises ProblemError (``doctor_log_*``)."""
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise fail("doctor_log_folder", path=str(path))
        if not stat.S_ISREG(kind):
            raise fail("doctor_log_no_file", path=str(path))
        with path.open("rb") as file:
            return _bounded_file(file, path.stat().st_size, str(path))
    except FileNotFoundError as error:
        raise fail("doctor_log_missing", path=str(path)) from error
    except PermissionError as error:
        raise fail("doctor_log_denied", path=str(path)) from error
    except (OSError, ValueError) as error:
        raise fail("doctor_log_unreadable", path=str(path), why=str(error)) from error


def log_from_stream(stream: BinaryIO) -> LogText:
    """A log from standard input; endless streams are read to their end, but only so much is kept."""
    head = bytearray()
    tail: deque[bytes] = deque()
    kept = cut = 0
    while chunk := stream.read(_CHUNK):
        room = HEAD_BYTES - len(head)
        head += chunk[:room]
        rest = chunk[room:] if room > 0 else chunk
        if rest:
            tail.append(rest)
            kept += len(rest)
        while kept - len(tail[0] if tail else b"") > TAIL_BYTES:
            dropped = len(tail.popleft())
            kept, cut = kept - dropped, cut + dropped
    return _text(bytes(head), b"".join(tail), cut, "-")


def log_from_text(text: str) -> LogText:
    """A log that was pasted; its middle is left out when it is very long."""
    cut = max(0, len(text) - HEAD_BYTES - TAIL_BYTES)
    if cut:
        return LogText((*whole_lines(text[:HEAD_BYTES]), *whole_lines(text[-TAIL_BYTES:])), cut)
    return LogText(tuple(whole_lines(text)))


def _bounded_file(file: BinaryIO, size: int, name: str) -> LogText:
    if size <= HEAD_BYTES + TAIL_BYTES:
        return _text(file.read(HEAD_BYTES + TAIL_BYTES), b"", 0, name)
    head = file.read(HEAD_BYTES)
    # an even offset keeps the halves of UTF-16 together
    file.seek((size - TAIL_BYTES) // 2 * 2)
    return _text(head, file.read(TAIL_BYTES + 2), size - HEAD_BYTES - TAIL_BYTES, name)


def _text(head: bytes, tail: bytes, cut: int, name: str) -> LogText:
    if head[:4] == b"GGUF":
        raise fail("doctor_log_is_model", path=name)
    if looks_binary(head):
        raise fail("doctor_log_binary", path=name)
    encoding = decoder_for(head)
    if not cut:
        return LogText(tuple(decoded_lines(head + tail, encoding)))
    lines = list(decoded_lines(head, encoding))
    if tail:
        last = "utf-16-le" if encoding == "utf-16" and head[:2] == b"\xff\xfe" else encoding
        last = "utf-16-be" if encoding == "utf-16" and head[:2] == b"\xfe\xff" else last
        lines += decoded_lines(tail, last)
    return LogText(tuple(lines), cut)
