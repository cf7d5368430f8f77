"""What a user may type into the wishes."""

import pytest

from app.ui.pages.plan_choices import parse_number
from app.ui.pages.plan_verdict import ctx_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16384", 16384),
        ("16 384", 16384),
        ("16,384", 16384),
        ("16k", 16384),
        ("16 K", 16384),
        ("600 MiB", 600),
        ("0", 0),
    ],
)
def test_that_numbers_are_read_as_people_write_them(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize("text", ["", "many", "-5", "1.5k", "12 GB"])
def test_that_anything_else_is_not_a_number(text):
    assert parse_number(text) is None


def test_that_round_contexts_are_said_in_k():
    assert ctx_text(16384) == "16k"
    assert ctx_text(40960) == "40k"
    assert ctx_text(1000) == "1 000"
