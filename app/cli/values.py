"""Text of an option -> checked value. Each raises a ProblemError that names the option, the text and an example."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from app.common.problem import fail
from app.words import Language

LARGEST_MIB = 1 << 27
"""128 TiB: more is a slip of the keyboard."""
LARGEST_CONTEXT = 1 << 27
LARGEST_BATCH = 1 << 20
_LONGEST_NUMBER = 18
_NUMBER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_DEVICE = re.compile(r"[A-Za-z][\w.:-]*")
_HOST_NAMES = frozenset({"RAM", "CPU"})
_LANGUAGES = {"en": Language.EN, "zh": Language.ZH_CN, "zh_cn": Language.ZH_CN}


def whole(option: str, low: int, high: int) -> Callable[[str], int]:
    """A whole number from ``low`` to ``high``."""

    def convert(text: str) -> int:
        if _NUMBER.fullmatch(text) is None:
            raise fail("cli_not_a_number", option=option, text=text)
        if len(text) > _LONGEST_NUMBER or not low <= int(text) <= high:
            raise fail("cli_out_of_range", option=option, text=text, low=low, high=high)
        return int(text)

    return convert


def seconds(option: str, high: int) -> Callable[[str], float]:
    """A positive time in seconds, at most ``high``; parts of a second are fine."""

    def convert(text: str) -> float:
        if _DECIMAL.fullmatch(text) is None:
            raise fail("cli_not_a_number", option=option, text=text)
        if len(text) > _LONGEST_NUMBER or not 0 < float(text) <= high:
            raise fail("cli_out_of_range", option=option, text=text, low=0, high=high)
        return float(text)

    return convert


def one_of(option: str, choices: Sequence[str]) -> Callable[[str], str]:
    """One of a few words."""

    def convert(text: str) -> str:
        if text not in choices:
            raise fail("cli_bad_choice", option=option, text=text, known=", ".join(choices))
        return text

    return convert


def language(text: str) -> Language:
    """``en`` or ``zh_CN``; ``zh`` and ``zh-CN`` are understood."""
    known = _LANGUAGES.get(text.lower().replace("-", "_"))
    if known is None:
        raise fail("cli_bad_choice", option="--lang", text=text, known="en, zh_CN")
    return known


def slots(text: str) -> int | None:
    """Users at once; ``auto`` is None."""
    return None if text == "auto" else whole("--slots", 1, 256)(text)


def device(text: str) -> tuple[str, int]:
    """``CUDA0=12288`` -> (name as the engine says it, free MiB)."""
    name, equals, size = text.partition("=")
    if not equals or _DEVICE.fullmatch(name) is None:
        raise fail("cli_bad_device", text=text)
    if name.upper() in _HOST_NAMES:
        raise fail("cli_device_ram", text=text)
    return name, whole(f"--device {name}", 0, LARGEST_MIB)(size)


def endpoint(text: str) -> str:
    """``HOST:PORT`` of an RPC server."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or "," in text or any(c.isspace() for c in text):
        raise fail("cli_bad_endpoint", text=text)
    whole("--rpc", 1, 65535)(port)
    return text


def api_key(text: str) -> str:
    """A key that fits into an HTTP header; the engine cuts the value at commas (common/arg.cpp, ``--api-key``)."""
    if not text or "," in text or " " in text or not text.isascii() or not text.isprintable():
        raise fail("cli_bad_key")
    return text


def split_arguments(text: str) -> tuple[str, ...]:
    """``--extra``: words, with quotes as in a shell. A backslash is itself, so Windows paths stay whole.

    Raises ProblemError ``cli_extra_quote`` when a quote is never closed.
    """
    import shlex

    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escape = ""
    try:
        return tuple(lexer)
    except ValueError as error:
        raise fail("cli_extra_quote", text=text) from error
