"""Block numbers and tensor names as regular expressions that C++ ``std::regex`` and Python's ``re`` read alike.

Only literals, ``|``, ``( )``, ``[ ]`` with digits, ``\\.``, ``^`` and ``$`` are used: no comma (``-ot`` splits there,
arg.cpp:268), no ``=`` (the first one ends the pattern, arg.cpp:269), no repetition, no look-around.
"""

from __future__ import annotations

from collections.abc import Iterable

_SPECIAL = frozenset("\\.^$*+?()[]{}|")


def literal(text: str) -> str:
    """A pattern for exactly this text; a comma or ``=``, which ``-ot`` cannot carry, becomes "any character"."""
    return "".join("." if c in ",=" or c < " " else f"\\{c}" if c in _SPECIAL else c for c in text)


def numbers_pattern(numbers: Iterable[int]) -> str:
    """Alternatives for exactly these numbers: {26..47} -> ``2[6-9]|3[0-9]|4[0-7]``, {0..12} -> ``[0-9]|1[0-2]``."""
    texts = {str(n) for n in numbers}
    lengths = sorted({len(text) for text in texts})
    return "|".join("|".join(_same_length({t for t in texts if len(t) == n})) for n in lengths)


def _same_length(texts: set[str]) -> list[str]:
    """Alternatives for texts of equal length, in ascending order of their smallest member."""
    if texts == {""}:
        return [""]
    last_digits: dict[str, set[str]] = {}
    for text in texts:
        last_digits.setdefault(text[:-1], set()).add(text[-1])
    prefixes: dict[str, set[str]] = {}
    for prefix, digits in last_digits.items():
        prefixes.setdefault("".join(sorted(digits)), set()).add(prefix)
    found: list[tuple[str, str]] = []
    for digits_text, same in prefixes.items():
        for group, smallest in _runs(same):
            found.append((smallest + digits_text[0], _joined(group) + _digit_class(digits_text)))
    return [pattern for _, pattern in sorted(found)]


def _runs(prefixes: set[str]) -> list[tuple[set[str], str]]:
    """Split prefixes where the first digits differ, so that alternatives stay flat: ``1[0-9]|2[0-9]`` can still merge
    into ``[12][0-9]``, while 13 and 25 stay two alternatives instead of a nested group."""
    patterns = _same_length(prefixes)
    if len(patterns) == 1:
        return [(prefixes, min(prefixes))]
    by_head: dict[str, set[str]] = {}
    for prefix in prefixes:
        by_head.setdefault(prefix[:-1], set()).add(prefix)
    return [(group, min(group)) for group in by_head.values()]


def _joined(prefixes: set[str]) -> str:
    patterns = _same_length(prefixes)
    return patterns[0] if len(patterns) == 1 else f"({'|'.join(patterns)})"


def _digit_class(digits: str) -> str:
    """``7``, ``[0-9]``, ``[135]``, ``[0-57]``: sorted digits as the shortest class."""
    if len(digits) == 1:
        return digits
    parts: list[str] = []
    start = previous = digits[0]
    for digit in [*digits[1:], ""]:
        if digit and int(digit) == int(previous) + 1:
            previous = digit
            continue
        span = int(previous) - int(start)
        parts.append(start if span == 0 else start + previous if span == 1 else f"{start}-{previous}")
        start = previous = digit
    return f"[{''.join(parts)}]"
