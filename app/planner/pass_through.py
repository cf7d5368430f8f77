"""Options that the plan hands on as they are: sampling, the chat template, reasoning, unloading when idle.

They move no bytes, so the board does not model them; they are kept word for word among the plan's extra arguments, and
this reads and writes the usual ones there. Only what the engine's own ``--help`` lists is offered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity
from app.planner.flag_table import Given, parse_argv


class PassedKind(StrEnum):
    """How a value is written."""

    NUMBER = "number"
    WHOLE = "whole"
    TEXT = "text"
    FILE = "file"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Passed:
    """One option: its spellings, the one to write first, and the bounds of a number (common/arg.cpp, sampling.h)."""

    name: str
    spellings: tuple[str, ...]
    kind: PassedKind
    least: float = 0.0
    most: float = 1e9


PASSED = (
    Passed("temp", ("--temp", "--temperature"), PassedKind.NUMBER, 0, 100),
    Passed("top_k", ("--top-k",), PassedKind.WHOLE),
    Passed("top_p", ("--top-p",), PassedKind.NUMBER, 0, 1),
    Passed("min_p", ("--min-p",), PassedKind.NUMBER, 0, 1),
    Passed("repeat_penalty", ("--repeat-penalty",), PassedKind.NUMBER, 0, 100),
    Passed("chat_template", ("--chat-template",), PassedKind.TEXT),
    Passed("chat_template_file", ("--chat-template-file",), PassedKind.FILE),
    Passed("jinja", ("--jinja",), PassedKind.SWITCH),
    Passed("reasoning_budget", ("--reasoning-budget",), PassedKind.WHOLE, -1),
    Passed("sleep_idle", ("--sleep-idle-seconds",), PassedKind.WHOLE, -1),
)


def offered(capabilities: Capabilities) -> tuple[Passed, ...]:
    """The options that this engine lists."""
    return tuple(option for option in PASSED if capabilities.first(*option.spellings) is not None)


def read_passed(extra: tuple[str, ...], capabilities: Capabilities) -> Mapping[str, str]:
    """Name -> value of what is among the extra arguments, the last one where there are several; a switch is "on"."""
    found: dict[str, str] = {}
    for given in parse_argv(extra, capabilities):
        option = _option_of(given)
        if option is not None:
            is_switch = option.kind is PassedKind.SWITCH
            found[option.name] = "on" if is_switch else " ".join(given.words[1:])
    return found


def with_passed(extra: tuple[str, ...], values: Mapping[str, str], capabilities: Capabilities) -> tuple[str, ...]:
    """The extra arguments with these values in place of what they said; an empty value takes an option out. What
    belongs to no option of ``PASSED`` stays word for word, in its order."""
    kept: list[str] = []
    for given in parse_argv(extra, capabilities):
        option = _option_of(given)
        if option is None or option.name not in values:
            kept += given.words
    for option in offered(capabilities):
        value = values.get(option.name, "").strip()
        flag = capabilities.first(*option.spellings)
        if value and flag is not None:
            kept += [flag] if option.kind is PassedKind.SWITCH else [flag, value]
    return tuple(kept)


def passed_problem(option: Passed, text: str) -> Problem | None:
    """Why the engine would not take this value (``passed_bad_value``); None when it would, or when it is empty."""
    text = text.strip()
    if not text or option.kind in (PassedKind.SWITCH, PassedKind.TEXT, PassedKind.FILE):
        is_fine = "\0" not in text
    else:
        number = _number(text, whole=option.kind is PassedKind.WHOLE)
        is_fine = number is not None and option.least <= number <= option.most
    if is_fine:
        return None
    params: dict[str, ParamValue] = {
        "option": option.spellings[0],
        "value": text[:40],
        "least": option.least,
        "most": option.most,
    }
    return Problem("passed_bad_value", Severity.ERROR, params)


def _number(text: str, *, whole: bool) -> float | None:
    if not text.isascii():
        return None
    try:
        number = float(int(text) if whole else float(text))
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _option_of(given: Given) -> Passed | None:
    return next((o for o in PASSED if given.words and given.words[0] in o.spellings), None)
