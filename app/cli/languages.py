"""The language of the command line: ``--lang``, else the settings, else the system's."""

from __future__ import annotations

import os
from collections.abc import Sequence

from app.cli.values import language
from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.words import Language, set_language, system_language


def choose_language(arguments: Sequence[str]) -> Language:
    """Set the language before the arguments are parsed, so that their mistakes are told in it.

    A ``--lang`` that is none is passed over here and named by the parser.
    """
    chosen = _named(arguments) or _of_settings() or system_language()
    set_language(chosen)
    return chosen


def _named(arguments: Sequence[str]) -> Language | None:
    found: Language | None = None
    for i, argument in enumerate(arguments):
        if argument == "--":
            break
        name, equals, value = argument.partition("=")
        if name != "--lang":
            continue
        try:
            found = language(value if equals else " ".join(arguments[i + 1 : i + 2]))
        except ProblemError:
            return None
    return found


def _of_settings() -> Language | None:
    file = app_paths().settings_file
    if not os.path.exists(file):  # Path.exists raises for a folder that may not be read
        return None
    from app.settings.store import load

    told = load(file).settings.language
    return None if told == "system" else Language(told)
