"""Expected trouble as a value: a code, parameters and evidence, never a sentence.

``app.words`` turns a code into a sentence. A bug is an exception; a user's mistake is a ``Problem``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

ParamValue = str | int | float | bool | None


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


class ProblemError(Exception):
    """Raised across a package border when the answer is a ``Problem`` instead of a value."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code} {dict(problem.params)}")
        self.problem = problem


def fail(code: str, evidence: tuple[str, ...] = (), **params: ParamValue) -> ProblemError:
    """Build the exception for an error: ``raise fail("file_missing", path=p)``."""
    return ProblemError(Problem(code, Severity.ERROR, params, evidence))
