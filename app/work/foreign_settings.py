"""Reads a settings file of LM Studio, KoboldCpp or Ollama, and writes it as a command that the paste box reads."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.common.problem import Problem, Severity, fail
from app.planner.foreign_settings import MOST_CHARACTERS, ForeignSettings, read_foreign
from app.planner.pasted import PasteError, read_pasted
from app.planner.shells import Shell, quote_command

PROGRAMS = {"koboldcpp": "KoboldCpp", "lmstudio": "LM Studio", "ollama": "Ollama"}


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """The settings of a file and what was left out of them, as problems."""

    settings: ForeignSettings
    problems: tuple[Problem, ...]


def read_foreign_file(path: Path, n_layers: int | None = None) -> ForeignFile:
    """Read a file. Raises ``file_missing``, ``foreign_unreadable`` or ``foreign_unknown``."""
    text = _text_of(path)
    settings = read_foreign(text, n_layers)
    if settings is None:
        raise fail("foreign_unknown", name=path.name)
    program = PROGRAMS[settings.source]
    problems = tuple(
        Problem("foreign_left_out", Severity.WARNING, {"program": program, "name": name, "value": value})
        for name, value in settings.left_out
    )
    return ForeignFile(settings, problems)


def _text_of(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for, a folder cannot be read
            raise fail("foreign_unreadable", name=path.name, why="no regular file")
        with path.open("rb") as file:
            data = file.read(4 * MOST_CHARACTERS + 1)
    except FileNotFoundError as error:
        raise fail("file_missing", path=str(path)) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise fail("foreign_unreadable", name=path.name, why=why) from error
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise fail("foreign_unreadable", name=path.name, why="no UTF-8") from error


def as_text(found: ForeignFile, remarks: Sequence[str] = ()) -> str:
    """The settings as a command to read and change, with ``remarks`` above it; a bare list of words where some value
    would make another shell of it."""
    argv = found.settings.argv
    command = quote_command("llama-server", argv, Shell.BASH, multiline=True)
    text = "".join(f"# {remark}\n" for remark in remarks) + command
    try:
        is_same = read_pasted(text).argv == argv
    except PasteError:
        is_same = False
    return text if is_same else json.dumps(["llama-server", *argv], ensure_ascii=False)
