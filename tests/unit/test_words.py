"""Every sentence exists in English and Chinese and asks for the same parameters in both."""

import string

import pytest

from app.common.problem import Problem
from app.words import ENTRIES, Language, join_figures, joined, say_in, say_problem, with_words
from app.words.catalogue import fill


def _fields(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


SAME_EVERYWHERE = {"gate", "up", "down", "+", "bash", "cmd", "PowerShell"}
"""Names that stay as they are in every language."""


def _needs_chinese(english):
    words = set(english.split()) - SAME_EVERYWHERE
    return any(len(word) > 3 and word.islower() and word.isalpha() for word in words)


def test_that_both_languages_of_every_entry_use_the_same_parameters():
    for code, (english, chinese) in ENTRIES.items():
        assert english.strip(), code
        assert chinese.strip(), code
        assert _fields(english) == _fields(chinese), code


def test_that_no_chinese_text_is_the_english_one_left_untranslated():
    for code, (english, chinese) in ENTRIES.items():
        if _needs_chinese(english):
            assert any("一" <= c <= "鿿" for c in chinese), f"{code} has no Chinese text: {chinese!r}"


def test_that_an_unknown_parameter_value_is_shown_as_a_dash():
    assert fill("{b:size} {n}", {"b": None, "n": None}) == "— —"


def test_that_counts_choose_singular_and_plural():
    assert fill("{n:count layer|layers}", {"n": 1}) == "1 layer"
    assert fill("{n:count layer|layers}", {"n": 48}) == "48 layers"


def test_that_problems_of_a_file_that_nobody_has_words_for_are_told_as_such():
    known = Problem("file_missing", params={"path": "x"})
    foreign = (Problem("of_tomorrow"), Problem("file_missing"), Problem("gguf_truncated_header", params={"path": "x"}))
    assert with_words((known,)) == (known,)
    for problem in with_words((*foreign, Problem("over_full_gpu", params={"device": "x", "missing_bytes": "y"}))):
        assert "newer" in say_problem(problem)


def test_that_a_missing_code_is_an_error():
    with pytest.raises(KeyError):
        say_in(Language.EN, "no.such.code")
    with pytest.raises(KeyError):
        say_problem(Problem("no_such_problem"))


def test_that_the_windows_figures_are_not_torn_apart_by_a_line_break():
    text = "Needs 8 192 MiB of 12 345 678 bytes, 7 tok/s at -c 4096 -np 4"
    assert joined(text) == text
    join_figures(on=True)
    try:
        assert joined(text) == (
            "Needs 8\u202f192\u00a0MiB of 12\u202f345\u202f678 bytes, 7\u00a0tok/s at -c 4096 -np 4"
        )
    finally:
        join_figures(on=False)
