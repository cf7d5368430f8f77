"""Options that are handed on: read from and written into the extra arguments, and nothing else is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.common.capabilities import Capabilities
from app.planner.pass_through import PASSED, offered, passed_problem, read_passed, with_passed
from app.work.engines import capabilities_of

ALL = capabilities_of(None)
OLD = Capabilities(frozenset({"--temp", "--top-k", "--mirostat"}))
BY_NAME = {option.name: option for option in PASSED}


def test_that_values_come_back_and_other_words_stay_in_their_order():
    extra = ("--no-warmup", "--temp", "0.9", "--threads-http", "4", "--top-k", "20")
    assert dict(read_passed(extra, ALL)) == {"temp": "0.9", "top_k": "20"}
    changed = with_passed(extra, {"temp": "0.5", "top_k": "", "jinja": "on"}, ALL)
    assert changed == ("--no-warmup", "--threads-http", "4", "--temp", "0.5", "--jinja")
    assert dict(read_passed(changed, ALL)) == {"temp": "0.5", "jinja": "on"}


def test_that_another_spelling_is_found_and_replaced():
    assert dict(read_passed(("--temperature", "1"), ALL)) == {"temp": "1"}
    assert with_passed(("--temperature", "1"), {"temp": "2"}, ALL) == ("--temp", "2")


def test_that_only_what_the_engine_lists_is_offered_and_written():
    assert [option.name for option in offered(OLD)] == ["temp", "top_k"]
    assert with_passed((), {"temp": "1", "jinja": "on", "sleep_idle": "60"}, OLD) == ("--temp", "1")
    assert {"sleep_idle", "reasoning_budget", "chat_template_file"} <= {option.name for option in offered(ALL)}


@pytest.mark.parametrize(
    ("name", "text", "is_fine"),
    [
        ("temp", "0.7", True),
        ("temp", "", True),
        ("temp", "hot", False),
        ("temp", "nan", False),
        ("temp", "1e999", False),
        ("top_p", "1.5", False),
        ("top_k", "4.5", False),
        ("top_k", "\u0663", False),
        ("reasoning_budget", "-1", True),
        ("reasoning_budget", "-2", False),
        ("chat_template", "chatml", True),
        ("chat_template_file", "/模 型/t.jinja", True),
        ("chat_template_file", "a\0b", False),
    ],
)
def test_that_values_are_checked_before_the_engine_sees_them(name, text, is_fine):
    assert (passed_problem(BY_NAME[name], text) is None) is is_fine


@given(
    st.lists(st.sampled_from(["--no-warmup", "--temp", "0.5", "x", "--top-k", "-1", "--jinja", "--numa", "distribute"]))
)
def test_that_writing_back_what_was_read_changes_no_meaning(words):
    extra = tuple(words)
    values = dict(read_passed(extra, ALL))
    again = with_passed(extra, {option.name: values.get(option.name, "") for option in PASSED}, ALL)
    assert dict(read_passed(again, ALL)) == {name: value for name, value in values.items() if value}
