"""One line of anybody's log as the engine wrote it: without colours, prefixes of wrappers, or time stamps. Pure.

llama-server's own prefix is ``M.SS.mmm.uuu L text`` (common/log.cpp); older builds print none. Around it come the
prefixes of ollama (logfmt), LM Studio, llama-swap, docker, journald, PowerShell redirection and the router's
``[port]``. What is not recognised stays as it is.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass

from app.engine.log_decoding import LONGEST_LINE

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
        r"^(?:\t| {4,})(?=\S)",  # a quotation in a forum
        r"^[\w.-]{1,60}\s+\| ?",  # docker compose
        r"^\w{3,5}\.? {1,2}\d{1,2} \d\d:\d\d:\d\d [\w.-]{1,80} [\w./@-]{1,80}(?:\[\d{1,10}\])?: ?",  # journald
        rf"^\[?{_DATE}\]? {{0,3}}",
        r"^[\w.-]{1,80} [\w./@-]{1,80}\[\d{1,10}\]: ?",  # the rest of journald -o short-iso
        r"^(?:stdout|stderr) [FP] ",  # kubernetes
        r"^\[\d{4}-\d\d-\d\d\]",
        r"^- [\w.:-]{1,60} - (?P<word>DEBUG|INFO|WARNING|ERROR|CRITICAL) - ",
        r"^##\[\w{1,20}\]",
        r"^[\w:]{1,80}: \S{1,120}\.rs:\d{1,6}: (?:<[\w -]{1,30}>: )?",  # tabby
        r"^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:\]|\s)\s*",
        r"^ {0,6}\d{1,6}(?:: | \| )",  # numbered lines
        r"^\[(?P<word>(?i:debug|trace|dbg|info|inf|warn|warning|wrn|error|err|fatal))\]:? ?",
        r"^(?P<word>DEBUG|TRACE|INFO|WARN|WARNING|ERROR|FATAL)(?:\s*\||:)? {1,4}(?=\S)",
        r"^\[(?=[^\]\n]{0,40}[A-Za-z])[\w ./:@-]{1,41}\]:? ?",
        r"^\S{0,200}llama-server(?:\.exe)? : ",  # PowerShell 5.1 puts the program before the first error line
    )
)
_MOST_WRAPPERS = 8
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27|#34);")
_LOGFMT = re.compile(r"^time=\S+ (?:level=(?P<level>[A-Z]+)\S* )?")
_LOGFMT_PAIR = re.compile(r'(?P<key>(?<![\w.-])[\w.-]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+))')
_MESSAGE_KEYS = ("msg", "message", "log", "MESSAGE", "event", "text")
"""The engine's own, loggers of Node and Python, docker's json-file, journald."""
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
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    if text.startswith(_JSON_STARTS):
        level, text = _split_json(text)
        if text != line and not text.startswith(_JSON_STARTS):  # it may be another program's whole line
            inner = _without_wrappers(line, text)
            return CleanLine(line, inner.text, inner.level or level, inner.stream)
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
    message = next((data[key] for key in _MESSAGE_KEYS if key in data), None)
    if not isinstance(message, str):
        return None, "" if "type" in data else line
    return _LEVELS.get(str(data.get("level")).lower()), message.rstrip("\n")
