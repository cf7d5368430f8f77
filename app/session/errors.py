"""Turns any error of a background job into something that can be shown."""

from __future__ import annotations

import logging

from app.common.problem import Problem, ProblemError


def problem_of(error: Exception | None) -> Problem:
    """The problem inside an error; anything else is a bug: it goes to the log with its traceback."""
    if isinstance(error, ProblemError):
        return error.problem
    logging.getLogger(__name__).error("a background job failed", exc_info=error)
    return Problem("internal_error", params={"kind": type(error).__name__}, evidence=(str(error),))
