"""What the command line does with mistakes, languages, odd consoles and readers that go away."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

from app.__main__ import main
from app.cli.arguments import VerbParser, add_common
from app.cli.values import split_arguments
from app.cli.verbs import VERBS, load_verb
from app.common.problem import ProblemError
from app.settings import Settings, save_settings
from app.words import ENTRIES, Language, set_language
from tests.unit.cli.conftest import NO_GPU


def test_that_a_mistyped_verb_is_told_with_the_verb_that_was_meant(run):
    said = run("inspct")
    assert said.code == 2
    assert "“lanewise inspect”" in said.sentence
    assert all(verb in said.sentence for verb in VERBS)


@pytest.mark.parametrize("verb", ["bench", "tune", "experts"])
def test_that_a_verb_that_does_not_exist_lists_those_that_do(run, verb):
    said = run(verb)
    assert said.code == 2
    assert "plan" in said.sentence
    assert "launch" in said.sentence


def test_that_a_model_that_is_not_there_is_no_mistyped_verb(run):
    said = run("where/is it.gguf")
    assert said.code == 2
    assert "There is no file where/is it.gguf" in said.sentence


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("plan",), "lanewise plan MODEL.gguf"),
        (("inspect", "--json"), "lanewise inspect MODEL.gguf"),
        (("plan", "m.gguf", "n.gguf"), "one argument too many"),
        (("plan", "m.gguf", "--ctxx", "5"), "Did you mean --ctx?"),
        (("plan", "m.gguf", "--zzzz"), "no option --zzzz"),
        (("plan", "m.gguf", "--ctx"), "--ctx needs a value"),
        (("plan", "m.gguf", "--json=yes"), "--json takes no value"),
        (("plan", "m.gguf", "--lang", "klingon"), "en, zh_CN"),
        (("plan", "m.gguf", "--extra"), "--extra needs a value"),
        (("plan", "m.gguf", "--extra", "--"), "--extra needs a value"),
        (("plan", "m.gguf", "--ctx=--"), "--ctx needs a value"),
        (("machine", "--ctx", "5"), "lanewise machine has no option --ctx"),
        (("export", "m.gguf"), "--to"),
        (("export", "m.gguf", "--to", "plan.txt"), ".bat, .ps1, .sh"),
        (("--theme", "pink"), "light, dark, system"),
        (("--rpc", "nowhere"), "HOST:PORT"),
        (("machine", "--hardware", "absent.json"), "absent.json"),
    ],
)
def test_that_bad_usage_gives_one_sentence_that_helps(run, arguments, part):
    said = run(*arguments)
    assert said.code == 2
    assert part in said.sentence


def test_that_mistakes_are_told_in_the_language_that_was_asked_for(run):
    assert run("plan", "--lang", "zh_CN").sentence == "错误：请指定模型文件：lanewise plan MODEL.gguf"
    assert run("plan", "--lang=zh").sentence.startswith("错误：")
    assert run("inspct", "--lang", "zh-CN").sentence.startswith("错误：“inspct”")


def test_that_the_language_is_that_of_the_settings_unless_one_is_named(run, lanewise_home):
    save_settings(lanewise_home / "config" / "settings.json", Settings(language="zh_CN"))
    assert run("plan").sentence.startswith("错误：")
    assert run("plan", "--lang", "en").sentence.startswith("Error:")


def test_that_the_system_decides_when_nobody_else_does(run, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert run("plan").sentence.startswith("错误：")


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("verb", VERBS)
def test_that_the_help_of_a_verb_explains_every_option(run, verb, language):
    said = run(verb, "--help", "--lang", language.value)
    assert (said.code, said.err) == (0, "")
    set_language(language)
    parser = VerbParser(verb)
    load_verb(verb).add_options(parser)
    add_common(parser)
    column = 0 if language is Language.EN else 1
    flat = re.sub(r"\s", "", said.out)
    for flag in parser.flags:
        assert flag in said.out
        if flag.startswith("--"):
            assert re.sub(r"\s", "", ENTRIES[f"cli.help.{flag[2:]}"][column]) in flat
    assert ("Usage: " if language is Language.EN else "用法：") in said.out


def test_that_help_without_a_verb_lists_the_verbs_and_the_windows_options(run):
    said = run("--help")
    assert said.code == 0
    assert all(f"lanewise {verb}" in said.out for verb in VERBS)
    assert "--build-engine" in said.out


def test_that_version_names_the_program(run):
    assert run("--version").out.startswith("Lanewise")


def test_that_json_is_utf_8_on_a_console_with_a_chinese_code_page(monkeypatch, moe):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="cp936"))
    assert main(["inspect", str(moe), "--json"]) == 0
    assert json.loads(raw.getvalue().decode("utf-8"))["path"] == str(moe)
    assert "小" in raw.getvalue().decode("utf-8")


def test_that_text_keeps_the_consoles_code_page_and_never_fails_on_it(monkeypatch, moe):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["inspect", str(moe), "--lang", "zh_CN"]) == 0
    assert b"experts:0-7" in raw.getvalue()
    assert b"\\u" in raw.getvalue()


def test_that_a_reader_that_goes_away_ends_a_verb_quietly(monkeypatch, capsys, moe):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["inspect", str(moe), "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_that_a_bug_becomes_a_report_and_not_a_traceback(run, monkeypatch, moe, lanewise_home):
    def broken(_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("app.cli.inspect_verb.open_model", broken)
    said = run("inspect", moe)
    assert said.code == 1
    assert "Traceback" not in said.err
    assert "ZeroDivisionError" in said.err
    (report,) = (lanewise_home / "data" / "logs").glob("crash-*.txt")
    assert str(report) in said.err
    assert "ZeroDivisionError: a bug" in report.read_text(encoding="utf-8")


def test_that_ctrl_c_ends_a_verb_quietly(run, monkeypatch, moe):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("app.cli.inspect_verb.open_model", interrupted)
    said = run("inspect", moe)
    assert (said.code, said.out, said.err) == (130, "", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("--mlock  --numa isolate", ("--mlock", "--numa", "isolate")),
        ("--x 'a b' \"c 'd\"", ("--x", "a b", "c 'd")),
        (r"--grammar-file C:\gram\a.gbnf", ("--grammar-file", r"C:\gram\a.gbnf")),
        ("--json-schema '{\"a\": 1}' # no comment", ("--json-schema", '{"a": 1}', "#", "no", "comment")),
        ("--alias 模型", ("--alias", "模型")),
    ],
)
def test_that_extra_arguments_are_split_like_a_shell_and_keep_backslashes(text, words):
    assert split_arguments(text) == words


def test_that_an_open_quote_in_extra_arguments_is_a_problem():
    with pytest.raises(ProblemError, match="cli_extra_quote"):
        split_arguments('--x "open')


@pytest.mark.slow
def test_that_the_command_line_loads_neither_qt_nor_numpy_nor_an_http_client(moe):
    """Each of them costs a tenth of a second and more, at every call from a script."""
    code = (
        "import sys\n"
        "from app.__main__ import main\n"
        f"assert main(['inspect', {str(moe)!r}, '--json']) == 0\n"
        f"assert main(['plan', {str(moe)!r}, '--json', '--hardware', {NO_GPU!r}]) == 0\n"
        f"assert main(['command', {str(moe)!r}, '--hardware', {NO_GPU!r}]) == 0\n"
        "heavy = {'PySide6', 'pyqtgraph', 'numpy', 'httpx', 'gguf', 'cpuinfo'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False, env={**os.environ, "PATH": ""}
    )
    assert done.returncode == 0, done.stderr.decode()
