"""One line of anybody's log as the engine wrote it: without colours, prefixes of wrappers, or time stamps. Pure.

llama-server's own prefix is ``M.SS.mmm.uuu L text`` (common/log.cpp); older builds print none. Around it come the
prefixes of ollama (logfmt), LM Studio, llama-swap, docker, journald, PowerShell redirection and the router's
``[port]``. What is not recognised stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_LINE = 1024
"""Characters of a line that are looked at; no line of the engine that states a fact is longer."""

_PREFIX = re.compile(r"^(?:\[(?P<port>\d+)\] )?(?:\d+\.\d\d\.\d{3}\.\d{3} )?(?:(?P<level>[DIWE]) )?")
_COLOR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b[@-_]")
_LEVELS = {
    "debug": "D", "trace": "D", "dbg": "D", "info": "I", "inf": "I", "warn": "W", "warning": "W", "wrn": "W",
    "error": "E", "err": "E", "fatal": "E", "critical": "E",
}  # fmt: skip
_DATE = r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?"
_WRAPPERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:> ?)+",
        r"^[\w.-]{1,60}\s+\| ?",  # docker compose
        r"^[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d [\w.-]{1,80} [\w./@-]{1,80}(?:\[\d{1,10}\])?: ?",  # journald
        rf"^\[?{_DATE}\]? ?",
        r"^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?\s+",
        r"^\[(?P<word>(?i:debug|trace|dbg|info|inf|warn|warning|wrn|error|err|fatal))\]:? ?",
        r"^(?P<word>DEBUG|TRACE|INFO|WARN|WARNING|ERROR|FATAL)(?:\s*\||:)? {1,4}(?=\S)",
        r"^\[(?=[^\]\n]{0,40}[A-Za-z])[\w ./:@-]{1,41}\]:? ?",
        r"^\S{0,200}llama-server(?:\.exe)? : ",  # PowerShell 5.1 puts the program before the first error line
    )
)
_MOST_WRAPPERS = 5
_LOGFMT = re.compile(r"^time=\S+ (?:level=(?P<level>[A-Z]+)\S* )?")
_LOGFMT_PAIR = re.compile(r'(?P<key>(?<![\w.-])[\w.-]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+))')
_JSON_STARTS = ('{"type"', '{"')


@dataclass(frozen=True, slots=True)
class CleanLine:
    """``raw`` as it stands, ``text`` as the engine wrote it; ``level`` D, I, W, E or None; ``stream``: the router's
    port number, "" without one."""

    raw: str
    text: str
    level: str | None
    stream: str = ""


def split_level(line: str) -> tuple[str | None, str]:
    """A line without colours and prefix, and its level letter (D, I, W, E); also reads JSON lines."""
    clean = clean_line(line)
    return clean.level, clean.text


def clean_line(line: str) -> CleanLine:
    """Take everything off a line that the engine did not write. Never raises, whatever the line holds."""
    text = line[:LONGEST_LINE]
    if text.startswith(_JSON_STARTS):
        level, text = _split_json(text)
        return CleanLine(line, text, level)
    if "\x1b" in text:
        text = _COLOR.sub("", text)
    if "\r" in text:  # a progress line that overwrote itself: what was to be seen last
        text = next((part for part in reversed(text.split("\r")) if part.strip()), "")
    own = _PREFIX.match(text)
    if own is not None and own.end():
        return CleanLine(line, text[own.end() :], own["level"], own["port"] or "")
    return _without_wrappers(line, text)


def _without_wrappers(raw: str, text: str) -> CleanLine:
    level: str | None = None
    for _ in range(_MOST_WRAPPERS):
        if text.startswith("time=") and (logfmt := _split_logfmt(text)) is not None:
            return CleanLine(raw, logfmt[1], logfmt[0] or level)
        own = _PREFIX.match(text)
        if own is not None and own.end():
            return CleanLine(raw, text[own.end() :], own["level"] or level, own["port"] or "")
        match = next((found for pattern in _WRAPPERS if (found := pattern.match(text)) is not None), None)
        if match is None:
            break
        level = _LEVELS.get((match.groupdict().get("word") or "").lower(), level)
        text = text[match.end() :]
    return CleanLine(raw, text, level)


def _split_logfmt(line: str) -> tuple[str | None, str] | None:
    """ollama's ``time=... level=WARN source=x.go:1 msg="..." error="..."``: the message, then the other words."""
    head = _LOGFMT.match(line)
    if head is None:
        return None
    pairs = {m["key"]: m["quoted"] if m["quoted"] is not None else m["bare"] for m in _LOGFMT_PAIR.finditer(line)}
    message = pairs.pop("msg", None)
    if message is None:
        return None
    skipped = ("time", "level", "source")
    rest = " ".join(f"{key}={value}" for key, value in pairs.items() if key not in skipped)
    text = f"{message} {rest}".rstrip().replace('\\"', '"').replace("\\n", " ")
    return _LEVELS.get((head["level"] or "").lower()), text


def _split_json(line: str) -> tuple[str | None, str]:
    """``--log-jsonl`` of today and the JSON lines of servers before 2024 (``{"tid":..,"level":"ERR","msg":..}``)."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None, line
    if not isinstance(data, dict):
        return None, line
    message = data.get("msg", data.get("message"))
    if not isinstance(message, str):
        return None, "" if "type" in data else line
    return _LEVELS.get(str(data.get("level")).lower()), message.rstrip("\n")


def decoder_for(start: bytes) -> str:
    """The encoding of a log by its first bytes: UTF-16 as PowerShell's ``>`` writes it, else UTF-8 (replace errors)."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    sample = start[:2000]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 5 > len(sample) * 2 and min(even, odd) * 10 < len(sample):
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8-sig" if start[:3] == b"\xef\xbb\xbf" else "utf-8"


def looks_binary(start: bytes) -> bool:
    """Is this no text at all (a model, a picture, a program)? Judged by its first kilobytes."""
    if decoder_for(start) != "utf-8":
        return False
    sample = start[:4096].rstrip(b"\0")  # a log whose end the disk never got is filled up with zeros
    if start and not sample:
        return True
    strange = sum(1 for byte in sample if byte < 32 and byte not in (9, 10, 12, 13, 27, 8, 7))
    return strange > len(sample) // 20


def whole_lines(text: str, most_characters: int = LONGEST_LINE) -> Iterator[str]:
    """The lines of a text (LF, CRLF), each cut at ``most_characters``."""
    for line in text.split("\n"):
        yield line[:most_characters].rstrip("\r")
