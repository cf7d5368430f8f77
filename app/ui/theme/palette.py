"""Tokens -> QPalette, all groups: Qt's ``offscreen`` and many desktops have no dark palette of their own."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette

from app.ui.theme.tokens import Tokens

_Role = QPalette.ColorRole
_Group = QPalette.ColorGroup

_ROLES: tuple[tuple[QPalette.ColorRole, str], ...] = (
    (_Role.Window, "window"),
    (_Role.WindowText, "text"),
    (_Role.Base, "panel"),
    (_Role.AlternateBase, "chip"),
    (_Role.ToolTipBase, "panel"),
    (_Role.ToolTipText, "text"),
    (_Role.PlaceholderText, "text_dim"),
    (_Role.Text, "text"),
    (_Role.Button, "panel"),
    (_Role.ButtonText, "text"),
    (_Role.BrightText, "error"),
    (_Role.Link, "accent"),
    (_Role.LinkVisited, "accent"),
    (_Role.Highlight, "accent"),
    (_Role.HighlightedText, "accent_text"),
    (_Role.Accent, "accent"),
    (_Role.Light, "line"),
    (_Role.Midlight, "line"),
    (_Role.Mid, "line"),
    (_Role.Dark, "line"),
    (_Role.Shadow, "line"),
)


def make_palette(tokens: Tokens) -> QPalette:
    """The palette of a theme: the same colours for active and inactive windows, quieter text where disabled."""
    palette = QPalette()
    for role, name in _ROLES:
        palette.setColor(_Group.All, role, tokens.color(name))
    faint: QColor = tokens.blend("text_dim", "panel", 0.6)
    for role in (_Role.WindowText, _Role.Text, _Role.ButtonText, _Role.HighlightedText, _Role.PlaceholderText):
        palette.setColor(_Group.Disabled, role, faint)
    palette.setColor(_Group.Disabled, _Role.Highlight, tokens.color("chip"))
    return palette
