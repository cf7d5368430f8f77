"""What a user may type into the wishes."""

import pytest

from app.ui.pages.plan_choices import parse_context, parse_number
from app.ui.pages.plan_verdict import ctx_text, rounded_tps


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


@pytest.mark.parametrize("text", ["", "many", "-5", "1.5k", "12 GB", "999999999999", "9" * 5000, "200000k"])
def test_that_anything_else_is_not_a_number(text):
    assert parse_number(text) is None


def test_that_no_context_at_all_is_no_context():
    assert parse_context("0") is None
    assert parse_context("16k") == 16384


@pytest.mark.parametrize(("tps", "shown"), [(7.63, 7.6), (34.4, 34), (114.2, 110), (10696.0, 11000)])
def test_that_a_predicted_speed_has_two_digits_that_count(tps, shown):
    assert rounded_tps(tps) == shown


def test_that_round_contexts_are_said_in_k():
    assert ctx_text(16384) == "16k"
    assert ctx_text(40960) == "40k"
    assert ctx_text(1000) == "1 000"
