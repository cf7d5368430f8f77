"""Text must be readable: WCAG contrast of the tokens, computed without Qt."""

import json
from itertools import product
from pathlib import Path

import pytest

THEMES = json.loads((Path(__file__).parents[2] / "resources" / "themes" / "tokens.json").read_text(encoding="utf-8"))

TEXTS = ("text", "text_dim", "accent", "ok", "warning", "error")
GROUNDS = ("window", "panel")
ON_TINTS = (("text", "chip"), ("text_dim", "chip"), ("text", "selection"), ("text", "hover"), ("accent_text", "accent"))


def _channel(value):
    share = value / 255
    return share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4


def _luminance(color):
    digits = color.lstrip("#")
    if len(digits) == 3:
        digits = "".join(c * 2 for c in digits)
    red, green, blue = (_channel(int(digits[i : i + 2], 16)) for i in (0, 2, 4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("front", "back"), [*product(TEXTS, GROUNDS), *ON_TINTS])
def test_that_text_has_a_contrast_of_at_least_four_and_a_half(theme, front, back):
    assert contrast(THEMES[theme][front], THEMES[theme][back]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("front", ["role_dense", "role_expert", "kv_cache", "compute", "role_embedding", "focus"])
def test_that_bars_and_focus_rings_stand_out_from_the_panel(theme, front):
    assert contrast(THEMES[theme][front], THEMES[theme]["panel"]) >= 3.0


@pytest.mark.parametrize("theme", THEMES)
def test_that_curves_stand_out_from_the_panel(theme):
    assert len(THEMES[theme]["series"]) == 8
    for color in THEMES[theme]["series"]:
        assert contrast(color, THEMES[theme]["panel"]) >= 3.0


def test_that_both_themes_have_the_same_tokens():
    assert THEMES["light"].keys() == THEMES["dark"].keys()
