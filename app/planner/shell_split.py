"""Text -> argv, as cmd, PowerShell, bash and Windows programs read a command line. The counterpart of ``shells``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from app.planner.shells import SINGLE_QUOTES, Shell

_BLANKS = " \t"


def parse_command_line_to_argv_w(text: str) -> tuple[str, ...]:
    """``CommandLineToArgvW``: what a Windows program makes of its command line.

    The program's name: up to the closing quote, or to the first blank. Arguments: 2n backslashes and a quote are n
    backslashes and the quote switches; 2n+1 and a quote are n backslashes and a literal quote; other backslashes are
    literal; three quotes in a row, the opening one counted, give one literal quote.
    """
    if text[:1] == '"':
        program, _, rest = text[1:].partition('"')
    else:
        end = next((i for i, c in enumerate(text) if c in _BLANKS), len(text))
        program, rest = text[:end], text[end:]
    return (program, *_windows_arguments(rest))


def _windows_arguments(text: str) -> list[str]:
    arguments: list[str] = []
    position = 0
    while position < len(text):
        if text[position] in _BLANKS:
            position += 1
            continue
        argument, position = _windows_argument(text, position)
        arguments.append(argument)
    return arguments


def _windows_argument(text: str, position: int) -> tuple[str, int]:
    """One argument and the position after it."""
    found: list[str] = []
    n_quotes = 0
    while position < len(text) and (n_quotes or text[position] not in _BLANKS):
        backslashes = re.compile(r"\\*").match(text, position)
        assert backslashes is not None  # the pattern also matches nothing
        n = len(backslashes[0])
        position = backslashes.end()
        if text[position : position + 1] != '"':
            found.append("\\" * n)
            if n == 0:
                found.append(text[position])
                position += 1
            continue
        found.append("\\" * (n // 2))
        position += 1
        if n % 2:
            found.append('"')
            continue
        n_quotes += 1
        while text[position : position + 1] == '"':
            n_quotes += 1
            position += 1
            if n_quotes == 3:
                found.append('"')
                n_quotes = 0
        n_quotes %= 2
    return "".join(found), position


def read_cmd(text: str, in_batch: bool = False, environment: Mapping[str, str] | None = None) -> str:
    """What cmd.exe hands to the program: ``%`` expanded, carets and line continuations removed, quotes kept.

    At the prompt an unknown ``%name%`` stays, in a batch file ``%%`` is one ``%`` and an unknown name is nothing.
    Raises ValueError when the text is more than one plain command (a pipe, a redirection, ``&``, a line break).
    """
    text = _expand_percent(text.replace("\r\n", "\n"), in_batch, environment or {})
    found: list[str] = []
    quoted = False
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char == '"':
            quoted = not quoted
        elif char == "^" and not quoted:
            if text[position : position + 1] == "\n":
                position += 1
            char = text[position : position + 1]
            position += 1
        elif char == "\n" or (char in "&|<>()" and not quoted):
            raise ValueError(f"not one plain command for cmd: {char!r} at {position}")
        found.append(char)
    return "".join(found)


def _expand_percent(text: str, in_batch: bool, environment: Mapping[str, str]) -> str:
    if in_batch:
        return re.sub(r"%%|%([^%\n]*)%|%", lambda m: "%" if m[0] == "%%" else environment.get(m[1] or "", ""), text)
    return re.sub(r"%([^%\n]+)%", lambda m: environment.get(m[1], m[0]), text)


def split_cmd(text: str, in_batch: bool = False, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Program and arguments of a cmd command."""
    return parse_command_line_to_argv_w(read_cmd(text, in_batch, environment))


def split_bash(text: str) -> tuple[str, ...]:
    """Program and arguments of a bash command without expansions."""
    return tuple(shlex.split(text))


def split_powershell(text: str, shell: Shell = Shell.POWERSHELL) -> tuple[str, ...]:
    """Program and arguments of a PowerShell command made of plain words and single-quoted strings.

    ``Shell.POWERSHELL`` adds what Windows PowerShell 5.1 does afterwards: it puts the arguments into one command line,
    in quotes only where a blank stands outside quotes, and the program cuts that apart again.
    Raises ValueError for anything else PowerShell would evaluate (variables, pipes, arrays, double quotes).
    """
    words = _powershell_words(text)
    if shell is not Shell.POWERSHELL:
        return tuple(words)
    joined = " ".join(f'"{word}"' if _needs_quotes(word) else word for word in words[1:] if word)
    return (words[0], *parse_command_line_to_argv_w(f"x {joined}")[1:])


def _needs_quotes(word: str) -> bool:
    """``NativeCommandParameterBinder.NeedQuotes`` of PowerShell: a blank outside of unescaped quotes."""
    quotes = 0
    before = ""
    for char in word:
        if char == '"' and before != "\\":
            quotes += 1
        elif char.isspace() and quotes % 2 == 0:
            return True
        before = char
    return False


def _powershell_words(text: str) -> list[str]:
    text = text.replace("\r\n", "\n").replace("`\n", " ").strip()
    is_called = text.startswith("&")
    words: list[str] = []
    position = 1 if is_called else 0
    while position < len(text):
        if text[position] in _BLANKS:
            position += 1
            continue
        word, position = _powershell_word(text, position)
        words.append(word)
    if not words or (not is_called and text[0] in SINGLE_QUOTES):
        raise ValueError("a quoted program needs the call operator &")
    return words


def _powershell_word(text: str, position: int) -> tuple[str, int]:
    if text[position] not in SINGLE_QUOTES:
        plain = re.compile(r"[A-Za-z0-9_.:\\/+-]+(?=[ \t]|$)").match(text, position)
        if plain is None:
            raise ValueError(f"not a plain word for PowerShell at {position}: {text[position : position + 20]!r}")
        return plain[0], plain.end()
    found: list[str] = []
    position += 1
    while position < len(text):
        char = text[position]
        if char in SINGLE_QUOTES:
            if text[position + 1 : position + 2] not in tuple(SINGLE_QUOTES):
                return "".join(found), position + 1
            position += 1
            char = text[position]
        found.append(char)
        position += 1
    raise ValueError("a single-quoted string without an end")
