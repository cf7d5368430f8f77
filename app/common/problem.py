"""Expected trouble as a value: a code, parameters and evidence, never a sentence.

``app.words`` turns a code into a sentence. A bug is an exception; a user's mistake is a ``Problem``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

ParamValue = str | int | float | bool | None

LONGEST_ECHO = 100
_ECHOES = frozenset(
    {
        "flag", "value", "rule", "pattern", "device", "setting", "new", "near", "argument", "dropped", "put", "name",
        "host",
    }
)  # fmt: skip
"""Parameters that repeat what somebody wrote into a command."""
_LONGER = frozenset({"path", "why"})
_LONGEST_PATH = 400
"""Paths and reasons are told whole, as far as anybody reads them."""


class Severity(StrEnum):
    """How bad it is: an error stops the job, a warning does not, info only explains."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Problem:
    """What happened. ``code`` is a key of ``app.words`` (``problem.<code>``)."""

    code: str
    severity: Severity = Severity.ERROR
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()


def shown_params(problem: Problem) -> dict[str, ParamValue]:
    """The parameters as they are shown: a word of a command that nobody could have meant (ten thousand brackets) is cut
    at ``LONGEST_ECHO`` characters, with an ellipsis."""
    return {key: _cut(key, value) for key, value in problem.params.items()}


def _cut(key: str, value: ParamValue) -> ParamValue:
    if not isinstance(value, str):
        return value
    most = LONGEST_ECHO if key in _ECHOES else _LONGEST_PATH if key in _LONGER else None
    return value if most is None or len(value) <= most else value[: most - 1] + "…"


class ProblemError(Exception):
    """Raised across a package border when the answer is a ``Problem`` instead of a value."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code} {dict(problem.params)}")
        self.problem = problem


def fail(code: str, evidence: tuple[str, ...] = (), **params: ParamValue) -> ProblemError:
    """Build the exception for an error: ``raise fail("file_missing", path=p)``."""
    return ProblemError(Problem(code, Severity.ERROR, params, evidence))
