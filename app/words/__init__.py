"""Codes -> sentences, in English and Chinese. The only place that knows sentences.

``say("plan.fits", n=3)`` uses the current language (``set_language``). Each module ``_texts_*.py`` holds the entries of
one area; a code that is missing raises KeyError in tests and in the window alike, since a test walks all codes.
"""

from __future__ import annotations

import locale
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from app.common.problem import Problem, shown_params
from app.words._all import ENTRIES
from app.words.catalogue import Language, fill, fill_chinese

__all__ = [
    "ENTRIES",
    "Language",
    "current_language",
    "join_figures",
    "joined",
    "say",
    "say_in",
    "say_problem",
    "sentences",
    "set_language",
    "system_language",
    "with_words",
]

_current = Language.EN
_joins_figures = False
_GROUP = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
_UNIT = re.compile(r"(?<=\d) (?=(?:[KMGT]iB|[KMG]B(?:/s)?|tok/s|tokens?|layers?|min|ms|s|%)(?![A-Za-z]))")


def system_language() -> Language:
    """Chinese for a system that speaks any Chinese, else English."""
    names = [os.environ.get(v, "") for v in ("LC_ALL", "LC_MESSAGES", "LANG")] + [locale.getlocale()[0] or ""]
    told = [name.lower() for name in names if name and name.upper().split(".")[0] not in ("C", "POSIX")]
    return Language.ZH_CN if told and told[0].startswith(("zh", "chinese")) else Language.EN


def set_language(language: Language) -> None:
    """Choose the language of every following ``say``."""
    global _current
    _current = language


def current_language() -> Language:
    """The language in use."""
    return _current


def join_figures(*, on: bool) -> None:
    """Have ``say`` write figures that no line break tears apart (8 192 MiB). For the window: a console may not know
    these blanks, and a text that is searched or copied has ordinary ones."""
    global _joins_figures
    _joins_figures = on


def joined(text: str) -> str:
    """The text with blanks that do not break inside its figures, where the window asked for that."""
    return _UNIT.sub("\u00a0", _GROUP.sub("\u202f", text)) if _joins_figures else text


def say_in(language: Language, code: str, /, **params: Any) -> str:
    """The sentence of a code in a given language."""
    english, chinese = ENTRIES[code]
    return fill_chinese(chinese, params) if language is Language.ZH_CN else fill(english, params)


def say(code: str, /, **params: Any) -> str:
    """The sentence of a code in the current language."""
    return joined(say_in(_current, code, **params))


def say_problem(problem: Problem) -> str:
    """The sentence of a problem: what happened and the next step."""
    params: Mapping[str, Any] = shown_params(problem)
    return say(f"problem.{problem.code}", **params)


def sentences(texts: Iterable[str]) -> str:
    """Sentences in a row; Chinese ones end with their own room and need no blank between them."""
    return "".join(text if text.endswith(("。", "！", "？")) else f"{text} " for text in texts if text).rstrip()


def with_words(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems that were read from a file: those that this version has no words for become one that says so."""
    return tuple(p if _has_words(p) else replace(p, code="without_words", params={"code": p.code}) for p in problems)


def _has_words(problem: Problem) -> bool:
    try:
        say_problem(problem)
    except (KeyError, TypeError, ValueError):  # no such code, a parameter is missing, one of another type
        return False
    return True
