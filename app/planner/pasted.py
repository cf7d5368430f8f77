"""A command as people paste it -> the words after the program's name, and the variables it sets.

Unlike ``shell_split``, which proves what we wrote, this reads what anybody wrote: bash, cmd or PowerShell, with line
continuations, comments, variables set in front, a wrapper (``numactl``, ``sudo``, ``docker run``) or a JSON list.
Nothing is executed or looked up; a variable that the text does not set stays as it is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from app.planner.shell_split import parse_command_line_to_argv_w
from app.planner.shells import Shell

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SERVER = re.compile(r"(?:llama[-_.]?server|(?:^|[\\/])server)(?:\.exe)?$", re.IGNORECASE)
_IMAGE = re.compile(r"llama[.\w-]*(?::|@|$)", re.IGNORECASE)
_DOUBLE = '"“”„'
_SINGLE = "'‘’‚‛"


@dataclass(frozen=True, slots=True)
class Pasted:
    """What a pasted text says. ``program`` is None when the text begins with options; ``shell`` None for a JSON list.

    ``unset``: variables that the text uses but does not set.
    """

    program: str | None
    argv: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    shell: Shell | None = None
    unset: tuple[str, ...] = ()


class PasteError(ValueError):
    """The text holds no command: ``reason`` is ``empty``, ``quote`` (one is never closed), ``json`` (a list that cannot
    be read), ``no_options`` or ``too_long``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


MOST_CHARACTERS = 1 << 18
"""Windows takes 32 767 in one command line, Linux 131 072 in one argument; a longer paste is some other text."""


def read_pasted(text: str) -> Pasted:
    """Find the command in a text. Raises PasteError."""
    if len(text) > MOST_CHARACTERS:
        raise PasteError("too_long")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "").replace("\u00a0", " ")
    text = re.sub(r"^\s*```\w*\s*$", "", text, flags=re.MULTILINE).strip()
    if not text:
        raise PasteError("empty")
    if text.startswith("["):
        return _from_json(text)
    shell = guess_shell(text)
    reader = _Reader(shell)
    commands = reader.commands(text)
    words = next((c for c in commands if any(_SERVER.search(w) for w in c)), None)
    if words is None:
        words = next((c for c in commands if any(w.startswith("-") for w in c)), None)
    if words is None:
        raise PasteError("no_options")
    program, argv, in_front = split_program(words)
    return Pasted(program, argv, {**reader.variables, **in_front}, shell, tuple(dict.fromkeys(reader.unset)))


def guess_shell(text: str) -> Shell:
    """The shell a text is written for, by its marks; bash when there are none."""
    if re.search(r"`\n|\$env:|^\s*&\s*['\"]|^\s*\$\w+\s*=|^\s*\.\\\S+\.ps1", text, re.MULTILINE):
        return Shell.PWSH
    cmd_marks = r"\^\n|^\s*@?echo off|^\s*@?set\s|^\s*@?rem\b|^\s*::|%[A-Za-z_~]\w*%|^\s*start\s"
    if re.search(cmd_marks, text, re.MULTILINE | re.IGNORECASE):
        return Shell.CMD
    if re.search(r"\\\n|^\s*#|\bexport\b|\$\{?[A-Za-z_]", text, re.MULTILINE):
        return Shell.BASH
    windows_path = re.search(r"(?:^|[\s\"'])(?:[A-Za-z]:|\.{1,2})\\\S", text)
    return Shell.CMD if windows_path else Shell.BASH


def split_program(words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...], dict[str, str]]:
    """(program, its arguments, variables set in front) of one command; wrappers before the server are dropped."""
    in_front: dict[str, str] = {}
    rest = list(words)
    while rest and (match := _ASSIGNMENT.fullmatch(rest[0])):
        in_front[match[1]] = match[2]
        rest.pop(0)
    if not rest or rest[0].startswith("-"):
        return None, tuple(rest), in_front
    at = next((i for i, word in enumerate(rest) if _SERVER.search(word)), None)
    if at is None and rest[0].rpartition("/")[2] in ("docker", "podman"):
        at = next((i for i, word in enumerate(rest) if i and _IMAGE.search(word) and "=" not in word), None)
        in_front.update(_of_container(rest[: at or 0]))
    if at is None:
        at = 0
    for word in rest[:at]:
        if match := _ASSIGNMENT.fullmatch(word):
            in_front[match[1]] = match[2]
    return rest[at], tuple(rest[at + 1 :]), in_front


def _of_container(words: list[str]) -> dict[str, str]:
    """``-e NAME=value`` of ``docker run``."""
    found = (_ASSIGNMENT.fullmatch(value) for flag, value in pairwise(words) if flag in ("-e", "--env"))
    return {match[1]: match[2] for match in found if match}


def _from_json(text: str) -> Pasted:
    try:
        words = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PasteError("quote" if str(error).startswith("Unterminated string") else "json") from error
    if not isinstance(words, list) or not words or not all(isinstance(w, str | int | float) for w in words):
        raise PasteError("no_options")
    program, argv, in_front = split_program(tuple(str(word) for word in words))
    return Pasted(program, argv, in_front)


@dataclass(slots=True)
class _Reader:
    """Reads lines of one shell; variables set on the way are put in where later lines use them."""

    shell: Shell
    variables: dict[str, str] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)

    def commands(self, text: str) -> list[tuple[str, ...]]:
        """Every command of the text as words; lines that only set variables are kept as variables."""
        found = []
        for line in _joined_lines(text, self.shell):
            if self._is_setting(line):
                continue
            commands = [self._cmd_words(line)] if self.shell is Shell.CMD else _words(line, self)
            for words in commands:
                bare = _without_export(words)
                if bare and all(_ASSIGNMENT.fullmatch(w) for w in bare):
                    self.variables.update((name, value) for name, _, value in (w.partition("=") for w in bare))
                elif bare:
                    found.append(bare)
        return found

    def _is_setting(self, line: str) -> bool:
        """``set X=v``, ``$env:X = 'v'``, ``$x = 'v'``; comments count as settings of nothing."""
        if self.shell is Shell.CMD:
            if re.match(r"@?(?:rem\b|::|echo\b|setlocal|chcp\b|cd\b|pushd\b|pause)", line, re.IGNORECASE):
                return True
            match = re.match(r"@?set\s+(?:\"([^=\"]+)=([^\"]*)\"|([^=\s]+)=(.*))$", line, re.IGNORECASE)
            if match:
                self.variables[match[1] or match[3]] = match[2] if match[1] else match[4]
            return match is not None
        if self.shell is Shell.PWSH:
            match = re.match(r"\$(?:env:)?(\w+)\s*=\s*(.*)$", line, re.IGNORECASE)
            if match and not match[2].lstrip().startswith("@"):
                words = _words(match[2], self)
                self.variables[match[1]] = words[0][0] if words and words[0] else ""
                return True
        return False

    def expand(self, name: str, written: str) -> str:
        """The value of a variable, or how it was written when nobody sets it."""
        value = next((v for k, v in self.variables.items() if k.lower() == name.lower()), None)
        if value is None:
            self.unset.append(name)
            return written
        return value

    def _cmd_words(self, line: str) -> tuple[str, ...]:
        line = re.sub(r"%%|%([A-Za-z_]\w*)%", lambda m: self.expand(m[1], m[0]) if m[1] else "%", line)
        line = re.sub(r"^@?(?:call\s+)?(?:start\s+(?:\"[^\"]*\"\s+)?(?:/\w+\s+)*)?", "", line, flags=re.IGNORECASE)
        kept: list[str] = []
        quoted = False
        rest = iter(line)
        for char in rest:
            if char == '"':
                quoted = not quoted
            elif char == "^" and not quoted:
                char = next(rest, "")
            elif char in "&|<>" and not quoted:
                if char == ">" and "".join(kept[-2:]) in (" 1", " 2"):
                    kept.pop()
                break
            kept.append(char)
        command = "".join(kept).strip()
        return parse_command_line_to_argv_w(command) if command else ()


def _without_export(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if words and words[0] in ("export", "exec", "env", "sudo", "nohup", "time") else words


def _joined_lines(text: str, shell: Shell) -> list[str]:
    """Logical lines. A comment line between continued lines, and blanks after the mark, are forgiven."""
    mark = {Shell.CMD: r"\^", Shell.PWSH: "`", Shell.POWERSHELL: "`", Shell.BASH: r"\\"}[shell]
    text = re.sub(rf"{mark}[ \t]*\n(?:[ \t]*#[^\n]*\n)*", " ", text)
    lines = [line.strip() for line in text.split("\n")]
    joined: list[str] = []
    for line in lines:
        # people also break lines without any mark: an option alone on a line goes on with the one before
        if joined and line.startswith("-") and joined[-1] and not joined[-1].startswith("#"):
            joined[-1] += f" {line}"
        elif line:
            joined.append(line)
    return [line for line in joined if not (line.startswith("#") and shell is not Shell.CMD)]


def _words(line: str, reader: _Reader) -> list[tuple[str, ...]]:
    """The commands of a bash or PowerShell line as words; what follows ``|`` or ``>`` is not part of a command."""
    tokens = _Tokens(line, reader)
    return tokens.run()


@dataclass(slots=True)
class _Tokens:
    """Cuts one line of bash or PowerShell."""

    line: str
    reader: _Reader
    position: int = 0
    word: str | None = None
    words: list[str] = field(default_factory=list)
    done: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def _is_bash(self) -> bool:
        return self.reader.shell is Shell.BASH

    def run(self) -> list[tuple[str, ...]]:
        """All commands of the line."""
        while self.position < len(self.line):
            char = self.line[self.position]
            self.position += 1
            if char.isspace():
                self._end_word()
            elif char == "#" and self.word is None:
                break
            elif char in "|;&<>":
                self._operator(char)
            else:
                self._take(char)
        self._end_command()
        return self.done

    def _take(self, char: str) -> None:
        escape = "\\" if self._is_bash else "`"
        if char in _SINGLE:
            self._add(self._single())
        elif char in _DOUBLE:
            self._add(self._double(escape))
        elif char == escape:
            self._add(self.line[self.position : self.position + 1])
            self.position += 1
        elif char == "$":
            self._add(self._variable())
        else:
            self._add(char)

    def _add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def _end_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
        self.word = None

    def _end_command(self) -> None:
        self._end_word()
        if self.words:
            self.done.append(tuple(self.words))
        self.words = []

    def _operator(self, char: str) -> None:
        """PowerShell's call operator is no end of a command; a redirection takes its target along."""
        if char in "<>":
            if self.word is not None and self.word.isdigit():
                self.word = None
            self._end_word()
            target = re.compile(r"[>&]*\s*[^\s;|&]*").match(self.line, self.position)
            self.position = target.end() if target else self.position
        elif self._is_bash or char != "&" or self.words or self.word is not None:
            self._end_command()

    def _single(self) -> str:
        closing = _SINGLE if not self._is_bash else "'’"
        found: list[str] = []
        while self.position < len(self.line):
            char = self.line[self.position]
            self.position += 1
            if char not in closing:
                found.append(char)
            elif not self._is_bash and self.line[self.position : self.position + 1] in tuple(closing):
                found.append("'")
                self.position += 1
            else:
                return "".join(found)
        raise PasteError("quote")

    def _double(self, escape: str) -> str:
        found: list[str] = []
        while self.position < len(self.line):
            char = self.line[self.position]
            self.position += 1
            following = self.line[self.position : self.position + 1]
            if char in _DOUBLE:
                if not self._is_bash and following and following in _DOUBLE:
                    found.append('"')
                    self.position += 1
                    continue
                return "".join(found)
            if char == escape and (following in '"`$\\' if self._is_bash else following):
                found.append(following)
                self.position += 1
            elif char == "\\" and following == '"' and not self._is_bash:
                found.append('"')  # for Windows PowerShell 5.1 people write \" inside quotes
                self.position += 1
            elif char == "$":
                found.append(self._variable())
            else:
                found.append(char)
        raise PasteError("quote")

    def _variable(self) -> str:
        pattern = r"\{(?:env:)?(\w+)\}|(?:env:)?([A-Za-z_]\w*)"
        match = re.compile(pattern, re.IGNORECASE).match(self.line, self.position)
        if match is None:
            return "$"
        self.position = match.end()
        return self.reader.expand(match[1] or match[2], f"${match[0]}")
