"""Fonts: the system's own, with Chinese behind it; sizes relative to it, never in pixels."""

from __future__ import annotations

import sys

from PySide6.QtGui import QFont, QFontDatabase

_CJK = (
    "Microsoft YaHei UI",
    "Microsoft YaHei",
    "PingFang SC",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
)
_LINUX_PREFERRED = ("Inter", "Noto Sans", "Noto Sans CJK SC", "Liberation Sans")
_MONO = ("Cascadia Mono", "Consolas", "SF Mono", "Menlo", "Noto Sans Mono", "Liberation Mono", "DejaVu Sans Mono")
_NO_REAL_CHOICE = ("Sans Serif", "Sans", "DejaVu Sans", "sans-serif", "")
_SMALLEST_POINTS = 9.75


def ui_font(system: QFont) -> QFont:
    """The font of the window.

    The system's family stays where the system has one (Windows, macOS, a desktop). Where fontconfig only has its last
    resort (a bare server, a container) the narrower families look calmer. A family with Chinese glyphs follows always.
    """
    family = system.family()
    if sys.platform.startswith("linux") and family in _NO_REAL_CHOICE:
        family = next((name for name in _LINUX_PREFERRED if QFontDatabase.hasFamily(name)), family)
    font = QFont(system)
    installed = [name for name in _CJK if QFontDatabase.hasFamily(name)]
    font.setFamilies(list(dict.fromkeys([family, *installed])))
    font.setPointSizeF(max(system.pointSizeF(), _SMALLEST_POINTS))
    return font


def mono_font(base: QFont) -> QFont:
    """A fixed-pitch font of about the same size, for commands and patterns."""
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font = QFont(base)
    # A fontconfig alias such as "monospace" is no family: in a list of families Qt would skip it.
    preferred = [name for name in _MONO if QFontDatabase.hasFamily(name)]
    font.setFamilies([*preferred, fixed.family(), *base.families()])
    font.setFixedPitch(True)
    font.setPointSizeF(base.pointSizeF() * 0.95)
    return font


def tabular(font: QFont) -> QFont:
    """The same font with figures of equal width, so that columns of numbers line up."""
    result = QFont(font)
    result.setFeature(QFont.Tag("tnum"), 1)
    return result


def scaled(font: QFont, factor: float, *, bold: bool = False) -> QFont:
    """The same font, larger or smaller by a factor, perhaps semi-bold."""
    result = QFont(font)
    result.setPointSizeF(font.pointSizeF() * factor)
    if bold:
        result.setWeight(QFont.Weight.DemiBold)
    return result
