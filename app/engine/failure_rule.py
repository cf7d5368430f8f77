"""One line of the failure table: a message's shape, the code it stands for, and what is read out of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from app.engine.failure_readers import Cascade, Params


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


Build = Callable[[re.Match[str], Cascade], Params]


@dataclass(frozen=True, slots=True)
class Rule:
    """``while_running``: it is a failure also after the server has been ready; else readiness proves it harmless."""

    code: str
    text: str
    build: Build
    while_running: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is needed first: the window starts without it."""
        return _compiled(self.text)


def rule(code: str, pattern: str, build: Build | None = None, *, running: bool = False) -> Rule:
    """A line of a table; without ``build`` the pattern's named groups are the parameters."""
    return Rule(code, pattern, build or (lambda match, cascade: match.groupdict()), running)


WHY = r"(?P<why>.+)"
MODEL = r"error loading model: "
NO_COLON = r"(?:[^:]|:(?! ))*"
"""Patterns look at lines of up to a thousand characters that anybody may have written. One that may begin anywhere and
then run to the end takes the square of that: such a pattern begins where a word or a line does, or ends at a mark."""
