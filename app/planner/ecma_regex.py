"""Is a pattern one that the engine's ``std::regex`` (ECMAScript) takes, and what is it in Python's dialect?

The engine compiles override patterns only while it loads tensors, so a mistake costs a whole start and ends as a
general load error. Python's dialect is wider (``(?i)``, ``(?P<n>)``, look-behind, ``a++``): those are refused here too.
Patterns that could make a backtracking matcher run for ever are refused as well; both matchers backtrack.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_SIMPLE_ESCAPES = frozenset("dDwWsSbBfnrtv0")
_GROUPS = ("?:", "?=", "?!")
_CLASSES = {
    "alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "blank": r" \t", "w": r"\w", "d": r"\d", "s": r"\s",
}  # fmt: skip
_DEEPEST = 40
_MOST_REPEATS = 1000
_MOST_WIDE_IN_A_ROW = 2


class EcmaSyntaxError(ValueError):
    """Where and why a pattern is refused. ``reason`` is a word of ``lint.regex.*``; ``position`` counts from 0."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(f"{reason} at {position}")
        self.reason = reason
        self.position = position


@dataclass(slots=True)
class _Group:
    """An open parenthesis. ``repeats``: its body holds an unbounded quantifier or a choice."""

    start: int
    repeats: bool = False
    is_assertion: bool = False


@dataclass(slots=True)
class _Scanner:
    """Walks a pattern once, checks it and writes the Python form."""

    text: str
    position: int = 0
    out: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=list)
    n_captures: int = 0
    top: _Group = field(default_factory=lambda: _Group(0))
    wide_in_a_row: int = 0

    def run(self) -> str:
        """The whole pattern in Python's dialect."""
        while self.position < len(self.text):
            self._item()
        if self.groups:
            raise EcmaSyntaxError("unclosed_group", self.groups[-1].start)
        return "".join(self.out)

    def _item(self) -> None:
        start = self.position
        char = self.text[start]
        if char in "*+?":
            raise EcmaSyntaxError("nothing_to_repeat", start)
        if char == "{":
            raise EcmaSyntaxError("brace", start)
        self.position += 1
        if char == "(":
            self._open_group(start)
        elif char == ")":
            self._close_group(start)
        elif char in "^$|":
            self._enclosing().repeats |= char == "|"
            self.out.append(char)
            self.wide_in_a_row = 0
        elif char == "[":
            self.out.append(self._bracket(start))
            self._quantifier(is_wide=True, body_repeats=False)
        elif char == "\\":
            escape = self._escape(start)
            self.out.append(escape)
            if escape in (r"\b", r"\B"):
                self.wide_in_a_row = 0  # an assertion: what repeats it is refused with the next item
            else:
                self._quantifier(is_wide=True, body_repeats=False)
        else:
            self.out.append(char if char == "." or char.isalnum() or char == "_" else f"\\{char}")
            self._quantifier(is_wide=char == ".", body_repeats=False)

    def _enclosing(self) -> _Group:
        return self.groups[-1] if self.groups else self.top

    def _open_group(self, start: int) -> None:
        if len(self.groups) >= _DEEPEST:
            raise EcmaSyntaxError("too_complex", start)
        kind = ""
        if self.text.startswith("?", self.position):
            kind = self.text[self.position : self.position + 2]
            if kind not in _GROUPS:
                raise EcmaSyntaxError("not_ecmascript", start)
            self.position += 2
        else:
            self.n_captures += 1
        self.groups.append(_Group(start, is_assertion=kind in ("?=", "?!")))
        self.out.append("(" + kind)

    def _close_group(self, start: int) -> None:
        if not self.groups:
            raise EcmaSyntaxError("unopened_group", start)
        group = self.groups.pop()
        self.out.append(")")
        self._enclosing().repeats |= group.repeats
        if group.is_assertion:
            self.wide_in_a_row = 0
        else:
            self._quantifier(is_wide=False, body_repeats=group.repeats)

    def _quantifier(self, *, is_wide: bool, body_repeats: bool) -> None:
        """What may follow an atom: ``* + ? {m} {m,} {m,n}``, each perhaps lazy."""
        start = self.position
        char = self.text[start : start + 1]
        if char in ("*", "+", "?"):
            self.position += 1
            told, unbounded = char, char != "?"
        elif char == "{":
            told, unbounded = self._counted(start)
        else:
            self.wide_in_a_row = 0
            return
        if self.text.startswith("?", self.position):
            self.position += 1
            told += "?"
        if self.text[self.position : self.position + 1] in ("*", "+", "?", "{"):
            raise EcmaSyntaxError("nothing_to_repeat", self.position)
        self.wide_in_a_row = self.wide_in_a_row + 1 if unbounded and is_wide else 0
        if (unbounded and body_repeats) or self.wide_in_a_row > _MOST_WIDE_IN_A_ROW:
            raise EcmaSyntaxError("too_complex", start)
        self._enclosing().repeats |= unbounded
        self.out.append(told)

    def _counted(self, start: int) -> tuple[str, bool]:
        end = self.text.find("}", start)
        low, comma, high = self.text[start + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not (low.isdigit() and low.isascii()) or (high and not (high.isdigit() and high.isascii())):
            raise EcmaSyntaxError("brace", start)
        if int(low) > _MOST_REPEATS or (high and not int(low) <= int(high) <= _MOST_REPEATS):
            raise EcmaSyntaxError("brace", start)
        self.position = end + 1
        return self.text[start : end + 1], bool(comma) and not high

    def _escape(self, start: int) -> str:
        char = self.text[self.position : self.position + 1]
        self.position += 1
        if not char:
            raise EcmaSyntaxError("escape_at_end", start)
        if char in _SIMPLE_ESCAPES:
            return f"\\{char}"
        if char.isdigit() and int(char) <= self.n_captures:
            return f"\\{char}"
        if char.isalnum():  # \A, \z, \Q: Python's or Perl's, here a plain letter or an error
            raise EcmaSyntaxError("escape", start)
        return char if char == "_" else f"\\{char}"

    def _bracket(self, start: int) -> str:
        """A character class, after its ``[``."""
        found = ["["]
        if self.text.startswith("^", self.position):
            self.position += 1
            found.append("^")
        empty = len(found)
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == "]":
                self.position += 1
                if len(found) == empty:  # [] matches nothing, [^] everything
                    return "." if empty == 2 else "(?!)"
                return "".join(found) + "]"
            found.append(self._class_member(char))
        raise EcmaSyntaxError("unclosed_class", start)

    def _class_member(self, char: str) -> str:
        start = self.position
        if self.text.startswith("[:", start):
            end = self.text.find(":]", start)
            name = self.text[start + 2 : end] if end > 0 else ""
            if name not in _CLASSES:
                raise EcmaSyntaxError("class_name", start)
            self.position = end + 2
            return _CLASSES[name]
        first = self._one(char)
        if self.text.startswith("-", self.position) and self.text[self.position + 1 : self.position + 2] not in (
            "",
            "]",
        ):
            self.position += 1
            last = self._one(self.text[self.position])
            if len(first.lstrip("\\")) == 1 == len(last.lstrip("\\")) and first.lstrip("\\") > last.lstrip("\\"):
                raise EcmaSyntaxError("class_range", start)
            return f"{first}-{last}"
        return first

    def _one(self, char: str) -> str:
        start = self.position
        self.position += 1
        if char == "\\":
            return self._escape(start)
        return char if char.isalnum() or char == "_" else f"\\{char}"


def to_python(pattern: str) -> str:
    """The same pattern for Python's ``re``. Raises EcmaSyntaxError when the engine would refuse it."""
    return _Scanner(pattern).run()


def without_counts(pattern: str) -> str:
    """The pattern with ``x{m,n}`` written out, so that it holds no comma: ``[0-9]{1,2}`` -> ``[0-9][0-9]?``.

    For single characters, classes and escapes; any other comma becomes ``.``.
    """
    import re

    def written_out(match: re.Match[str]) -> str:
        atom, low, high = match[1], int(match[2]), match[3]
        if not high:
            return atom * low + atom + "*"
        return atom * low + (atom + "?") * max(int(high) - low, 0)

    counted = re.sub(r"(\\.|\[[^\]]*\]|[^()\[\]{}|*+?\\])\{(\d{1,2}),(\d{0,2})\}", written_out, pattern)
    return counted.replace(",", ".")
