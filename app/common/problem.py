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
LONGEST_TOLD = 400
"""Everything else (a path, a reason, a name out of a file) is told as far as anybody reads it."""


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
    at ``LONGEST_ECHO`` characters, with an ellipsis, every other text at ``LONGEST_TOLD``."""
    return {
        key: clipped(value, LONGEST_ECHO if key in _ECHOES else LONGEST_TOLD) for key, value in problem.params.items()
    }


def told_params(params: Mapping[str, ParamValue]) -> dict[str, ParamValue]:
    """The parameters for a program that reads them: no text longer than ``LONGEST_TOLD``, whoever wrote it."""
    return {key: clipped(value) for key, value in params.items()}


def clipped(value: ParamValue, most: int = LONGEST_TOLD) -> ParamValue:
    """A text cut at so many characters, with an ellipsis; anything else as it is."""
    if not isinstance(value, str) or len(value) <= most:
        return value
    return value[: most - 1] + "…"


class ProblemError(Exception):
    """Raised across a package border when the answer is a ``Problem`` instead of a value."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code} {dict(problem.params)}")
        self.problem = problem


def fail(code: str, evidence: tuple[str, ...] = (), **params: ParamValue) -> ProblemError:
    """Build the exception for an error: ``raise fail("file_missing", path=p)``."""
    return ProblemError(Problem(code, Severity.ERROR, params, evidence))
