"""Values of other programs' settings as arguments: checked, bounded, or named as left out. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

_LONGEST_VALUE = 4096
_LONGEST_SHOWN = 60
_MOST_NAMED = 40


@dataclass(slots=True)
class Found:
    """What has been understood so far, and what not."""

    argv: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def add(self, *words: str) -> None:
        """These words belong to the command."""
        self.argv += words

    def leave(self, name: str, value: object) -> None:
        """This setting has no counterpart, or its value makes no sense."""
        if len(self.left_out) < _MOST_NAMED:
            self.left_out.append((shown(name), shown(value)))


def shown(value: object) -> str:
    """A name or a value as it is told: one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(letter if letter.isprintable() else " " for letter in text[: 2 * _LONGEST_SHOWN])
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def whole(value: object, least: int = 0, most: int = 1 << 31) -> str | None:
    """A whole number within bounds, as an argument."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,10}", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return str(value) if least <= value <= most else None


def number(value: object) -> str | None:
    """A finite number as an argument, as short as it can be written."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{0,12}\.?\d{1,12}", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e12 or not math.isfinite(value):
        return None
    return f"{value:g}"


def one_line(value: object) -> str | None:
    """A path or a rule: one line without control characters, which does not look like an option."""
    is_text = isinstance(value, str) and 0 < len(value) <= _LONGEST_VALUE and value.isprintable()
    return value if is_text and isinstance(value, str) and not value.startswith("-") else None


def is_nothing(value: object) -> bool:
    """Not said, or switched off: nothing to take over and nothing to tell."""
    return value is None or value is False or value in ("", 0, -1) or value == [] or value == {}


Convert = Callable[[object], str | None]


def take(found: Found, name: str, value: object, option: str, convert: Convert) -> None:
    """One setting as one option, or named as left out."""
    argument = convert(value)
    if argument is None:
        found.leave(name, value)
    else:
        found.add(option, argument)
