"""The design tokens of ``resources/themes/tokens.json`` as typed values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtGui import QColor

from app.common.resources import resource_text


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one theme. ``name`` is light or dark; ``values`` are ``#rrggbb`` texts by token name."""

    name: str
    values: Mapping[str, str]
    series_values: tuple[str, ...]

    @property
    def is_dark(self) -> bool:
        """Is this the dark theme?"""
        return self.name == "dark"

    @property
    def series(self) -> tuple[QColor, ...]:
        """Eight colour-blind-safe colours for curves, in the order to use them."""
        return tuple(QColor(text) for text in self.series_values)

    def color(self, name: str) -> QColor:
        """The colour of a token; KeyError when there is none of that name."""
        return QColor(self.values[name])

    def css(self, name: str) -> str:
        """The colour of a token as the text that style sheets and SVG take."""
        return self.color(name).name()

    def blend(self, name: str, onto: str, share: float) -> QColor:
        """``share`` (0..1) of one token laid over another, opaque: a quiet tint of a strong colour."""
        front, back = self.color(name), self.color(onto)
        pairs = ((front.red(), back.red()), (front.green(), back.green()), (front.blue(), back.blue()))
        red, green, blue = (round(a * share + b * (1 - share)) for a, b in pairs)
        return QColor(red, green, blue)


def load_tokens() -> Mapping[str, Tokens]:
    """Both themes, by name."""
    data = json.loads(resource_text("themes/tokens.json"))
    return {
        name: Tokens(
            name,
            {key: value for key, value in entries.items() if isinstance(value, str)},
            tuple(entries["series"]),
        )
        for name, entries in data.items()
    }
