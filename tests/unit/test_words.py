"""Every sentence exists in English and Chinese and asks for the same parameters in both."""

import re
import string

import pytest

from app.common.problem import Problem
from app.words import ENTRIES, Language, join_figures, joined, say_in, say_problem, sentences, with_words
from app.words.catalogue import fill, fill_chinese


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


@pytest.mark.parametrize(
    ("template", "device", "text"),
    [
        ("{device} 还差 2 GiB", "内存", "内存还差 2 GiB"),
        ("{device} 还差 2 GiB", "CUDA0", "CUDA0 还差 2 GiB"),
        ("{device}放不下", "RPC0", "RPC0 放不下"),
        ("移到{device}", "RTX 4070", "移到 RTX 4070"),
        ("移到 {device}（好）", "内存", "移到内存（好）"),
        ("“{device}”不存在", "中文 名字.gguf", "“中文 名字.gguf”不存在"),
        ("找不到 {device}。", "我 的", "找不到我 的。"),
        ("{device}", "", ""),
    ],
)
def test_that_chinese_meets_chinese_without_a_blank_and_letters_with_one(template, device, text):
    assert fill_chinese(template, {"device": device}) == text


def test_that_every_verb_is_told_as_a_sentence():
    for code, (english, chinese) in ENTRIES.items():
        if code.startswith("cli.verb."):
            assert english[0].isupper(), code
            assert english[-1] in ".?", code
            assert chinese[-1] in "。？", code


def test_that_the_user_is_addressed_in_one_way():
    assert [code for code, (_, chinese) in ENTRIES.items() if "您" in chinese] == []


def test_that_every_chinese_page_name_in_a_sentence_is_a_page():
    pages = {chinese for code, (_, chinese) in ENTRIES.items() if code.startswith("page.")}
    for code, (_, chinese) in ENTRIES.items():
        for named in re.findall("“([^”]+)”页", chinese):
            assert named in pages, f"{code} sends the user to a page {named} that has another name"


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


def test_that_chinese_sentences_in_a_row_have_no_blank_between_them():
    assert sentences(("One.", "Two.")) == "One. Two."
    assert sentences(("一。", "", "二。")) == "一。二。"
