"""Lists of numbers as people write them."""

from __future__ import annotations

from collections.abc import Iterable


def ranges_text(numbers: Iterable[int], separator: str = ", ") -> str:
    """'0-5, 8, 10-11' for a list of numbers in any order; '' for none."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return separator.join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
