"""Small things that the pages of this folder share."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractScrollArea, QPushButton

_FLAT = (
    "{0} {{ border: 1px solid transparent; border-radius: 6px; }} {0}:focus {{ border-color: palette(highlight); }} "
    "{0}::corner {{ background: transparent; border: none; }}"
)


def make_flat(view: QAbstractScrollArea) -> None:
    """A text inside a card needs no second frame; the focus ring stays.

    This one rule is set on the widget: it belongs to the inside of cards only, and the palette carries the colour.
    """
    view.setStyleSheet(_FLAT.format("QAbstractScrollArea"))


def fix_size(button: QPushButton, characters: int) -> None:
    """One size for every word and look that a button takes in turn, so that its neighbours stay where they are."""
    metrics = button.fontMetrics()
    button.setFixedSize(metrics.horizontalAdvance("0") * characters, metrics.height() + 16)
