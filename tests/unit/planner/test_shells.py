"""Quoting by round trip: text for a shell, read back by that shell's rules (bash: by a real bash), is the same argv."""

import os
import shutil
import stat
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.planner.overrides import compile_overrides, ot_argument
from app.planner.scripts import script, script_text
from app.planner.shell_split import (
    parse_command_line_to_argv_w,
    read_cmd,
    split_bash,
    split_cmd,
    split_powershell,
)
from app.planner.shells import Shell, length_problem, quote_command, windows_quote
from app.planner.types import RAM
from app.words import say_problem
from tests.unit.planner.synthetic_boards import ONE_GPU, QWEN3, experts_to

ENVIRONMENT = {"PATH": "C:\\Windows", "TEMP": "C:\\Temp", "a": "expanded", "1": "expanded"}

ALPHABET = "aZ19 \t\"'`\\^&|<>()%!,;=$#*?[]{}~@:./+-_‘’‚‛“”专家é￥\u3000"
arguments = st.one_of(
    st.text(ALPHABET, max_size=12),
    st.sampled_from(
        [
            "",
            "-m",
            "-1",
            "49",
            "%PATH%",
            "%a%b%",
            "100%",
            "a b\\",
            "\\\\server\\share\\",
            '{"a b": "c\\"d"}',
            "`n",
            "$HOME",
        ]
    ),
)
argvs = st.lists(arguments, max_size=6)
PROGRAMS = (
    "llama-server",
    "C:\\Program Files\\llama cpp\\llama-server.exe",
    "D:\\模型\\引擎 (b11434)\\100% & more\\llama-server.exe",
    "C:\\it's here\\llama-server.exe",
)
QWEN_RULE = ot_argument(compile_overrides(QWEN3, experts_to(QWEN3, RAM, range(26, 48)), ONE_GPU))
COMMAND = (
    "-m",
    "D:\\models\\Qwen3-30B.gguf",
    "-dev",
    "CUDA0,CUDA1",
    "-ngl",
    "49",
    "-ot",
    QWEN_RULE,
    "--host",
    "127.0.0.1",
)


# --- Windows: one string, cut by the program ---


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"C:\\a b\\x.exe" y', ("C:\\a b\\x.exe", "y")),
        ("x.exe", ("x.exe",)),
        ('x "a b" c', ("x", "a b", "c")),
        (r'x a\\\b d"e f"g h', ("x", "a\\\\\\b", "de fg", "h")),  # the three samples of Microsoft's documentation
        (r"x a\\\"b c d", ("x", 'a\\"b', "c", "d")),
        (r'x a\\\\"b c" d e', ("x", "a\\\\b c", "d", "e")),
        ('x ""', ("x", "")),
        ('x "" a', ("x", "", "a")),
        ('x """a', ("x", '"a')),
        ("x \t a  ", ("x", "a")),
    ],
)
def test_that_a_windows_command_line_is_cut_as_documented(line, expected):
    assert parse_command_line_to_argv_w(line) == expected


@given(st.lists(st.text(ALPHABET + "\n", max_size=12), max_size=6))
def test_that_windows_quoting_gives_back_any_argv(argv):
    line = " ".join(["x", *(windows_quote(a) for a in argv)])
    assert parse_command_line_to_argv_w(line) == ("x", *argv)


# --- cmd ---


@given(st.sampled_from(PROGRAMS), argvs, st.booleans(), st.booleans())
def test_that_cmd_passes_any_argv_on(program, argv, in_batch, multiline):
    text = quote_command(program, argv, Shell.CMD, in_batch=in_batch, multiline=multiline)
    assert split_cmd(text, in_batch, ENVIRONMENT) == (program, *argv)


def test_that_cmd_quotes_what_it_must_and_leaves_the_rest_readable():
    assert quote_command("llama-server", COMMAND, Shell.CMD) == (
        r"llama-server -m D:\models\Qwen3-30B.gguf -dev "
        r'"CUDA0,CUDA1" -ngl 49 -ot "^blk\.(2[6-9]|3[0-9]|4[0-7])\.ffn_(gate|up|down)_exps\.=CPU" --host 127.0.0.1'
    )


def test_that_percent_signs_are_doubled_in_batch_files_only():
    assert quote_command("x", ["100%"], Shell.CMD, in_batch=True) == 'x "100%%"'
    assert split_cmd(quote_command("x", ["%PATH%"], Shell.CMD), environment=ENVIRONMENT) == ("x", "%PATH%")
    assert split_cmd('x "%PATH%"', environment=ENVIRONMENT) == ("x", "C:\\Windows")


def test_that_quotes_inside_an_argument_do_not_let_a_pipe_out():
    argv = ['{"a": "b|c>d"}', "e&f"]
    assert split_cmd(quote_command("x", argv, Shell.CMD)) == ("x", *argv)
    with pytest.raises(ValueError, match="one plain command"):
        read_cmd('x "{\\"a\\": \\"b|c\\"}"')


@pytest.mark.parametrize("text", ["x a|b", "x a>b", "x & y", "x (a", "x\ny"])
def test_that_more_than_one_plain_command_is_not_read_as_one(text):
    with pytest.raises(ValueError, match="one plain command"):
        read_cmd(text)


@pytest.mark.parametrize("shell", list(Shell))
def test_that_what_a_shell_cannot_carry_is_an_error(shell):
    with pytest.raises(ValueError, match="cannot carry"):
        quote_command("x", ["a\0b"], shell)
    if shell is Shell.CMD:
        with pytest.raises(ValueError, match="cannot carry"):
            quote_command("x", ["a\nb"], shell)


# --- PowerShell ---


@given(st.sampled_from(PROGRAMS), argvs, st.sampled_from([Shell.POWERSHELL, Shell.PWSH]), st.booleans())
def test_that_powershell_passes_any_argv_on(program, argv, shell, multiline):
    text = quote_command(program, argv, shell, multiline=multiline)
    assert split_powershell(text, shell) == (program, *argv)


def test_that_powershell_quotes_lists_and_patterns_and_calls_a_quoted_program():
    assert quote_command("llama-server", COMMAND, Shell.POWERSHELL) == (
        r"llama-server -m D:\models\Qwen3-30B.gguf -dev "
        r"'CUDA0,CUDA1' -ngl 49 -ot '^blk\.(2[6-9]|3[0-9]|4[0-7])\.ffn_(gate|up|down)_exps\.=CPU' --host 127.0.0.1"
    )
    assert quote_command("C:\\a b\\x.exe", ["-m"], Shell.POWERSHELL) == "& 'C:\\a b\\x.exe' -m"


def test_that_powershell_reads_curly_quotes_as_quotes():
    assert quote_command("x", ["it’s"], Shell.PWSH) == "x 'it’’s'"


@pytest.mark.parametrize(
    "argument", ["1kb", "0x10", "1e3", "-a.b", "-a:b", "@a", "a;b", "(a)", "{a}", "a,b", "#a", "--%"]
)
def test_that_what_powershell_would_interpret_is_quoted(argument):
    assert quote_command("x", [argument], Shell.POWERSHELL) == f"x '{argument}'"


@pytest.mark.parametrize("text", ["x $a", "x a,b", 'x "a"', "x a|b", "'x' a", "x 'a", ""])
def test_that_powershell_text_which_is_not_plain_is_refused(text):
    with pytest.raises(ValueError, match=r"PowerShell|single-quoted|call operator"):
        split_powershell(text)


# --- bash, by a real bash ---

_SHOW = r"""show() { printf '%s\0' "$#" "$@"; }"""


def real_bash(commands):
    """The argvs that a real bash passes on: every command calls ``show``."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    text = "\n".join([_SHOW, *commands, ""])
    ran = subprocess.run([bash, "-s"], input=text.encode(), capture_output=True, check=True, timeout=60)
    assert ran.stderr == b""
    fields = ran.stdout.decode().split("\0")[:-1]
    found = []
    while fields:
        count = int(fields.pop(0))
        found.append(fields[:count])
        fields = fields[count:]
    return found


@given(st.lists(argvs, min_size=10, max_size=40), st.booleans())
@settings(max_examples=12)
def test_that_a_real_bash_passes_any_argv_on(many, multiline):
    commands = [quote_command("show", argv, Shell.BASH, multiline=multiline) for argv in many]
    assert real_bash(commands) == many
    assert [split_bash(c.replace("\\\n", "")) for c in commands] == [("show", *argv) for argv in many]


def test_that_bash_single_quotes_patterns():
    assert quote_command("llama-server", ["-ot", QWEN_RULE], Shell.BASH) == f"llama-server -ot '{QWEN_RULE}'"


def test_that_a_program_with_an_equals_sign_is_not_an_assignment():
    assert quote_command("a=b/llama-server", ["-m", "x=y"], Shell.BASH) == "'a=b/llama-server' -m x=y"


# --- several lines ---


def test_that_several_lines_break_before_options_and_not_before_values():
    argv = ("-m", "a b", "--seed", "-1", "--metrics")
    assert quote_command("x", argv, Shell.BASH, multiline=True) == "x \\\n  -m 'a b' \\\n  --seed -1 \\\n  --metrics"
    assert quote_command("x", argv, Shell.CMD, multiline=True).count(" ^\n") == 3
    assert quote_command("x", argv, Shell.POWERSHELL, multiline=True).count(" `\n") == 3


# --- field reports ---


def test_field_report_ex_01_json_keeps_its_quotes_in_both_powershells():
    argv = ("--chat-template-kwargs", '{"enable_thinking":false}')
    old = quote_command("llama-server", argv, Shell.POWERSHELL)
    new = quote_command("llama-server", argv, Shell.PWSH)
    assert old == "llama-server --chat-template-kwargs '{\\\"enable_thinking\\\":false}'"
    assert new == "llama-server --chat-template-kwargs '{\"enable_thinking\":false}'"
    assert split_powershell(old, Shell.POWERSHELL)[1:] == argv
    assert split_powershell(new, Shell.PWSH)[1:] == argv
    assert split_powershell(new, Shell.POWERSHELL)[1:] != argv  # the bug of the report


def test_field_report_ex_05_blanks_in_program_and_model_start_the_same_argv_everywhere():
    program = "C:\\Program Files\\llama cpp\\llama-server.exe"
    argv = ("-m", "D:\\My Models\\Qwen 3 (30B)\\q4 & more.gguf", "-ngl", "49")
    cmd = quote_command(program, argv, Shell.CMD)
    powershell = quote_command(program, argv, Shell.POWERSHELL)
    bash = quote_command(program, argv, Shell.BASH)
    assert cmd.startswith(f'"{program}" -m "D:')
    assert powershell.startswith(f"& '{program}' -m 'D:")
    assert split_cmd(cmd) == split_powershell(powershell) == split_bash(bash) == (program, *argv)


# --- length ---


def test_that_a_command_too_long_for_cmd_is_reported():
    assert length_problem("x" * 8191, Shell.CMD) is None
    problem = length_problem("x" * 8192, Shell.CMD)
    assert problem is not None
    assert "8 191" in say_problem(problem)
    assert length_problem("x" * 40000, Shell.BASH) is None
    assert length_problem("x" * 40000, Shell.POWERSHELL) is not None


# --- scripts ---


def test_that_the_bash_script_runs_exactly_the_argv_with_nothing_overriding_it(tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    folder = tmp_path / "引擎 folder's"
    folder.mkdir()
    program = folder / "llama-server"
    program.write_text(
        '#!/usr/bin/env bash\nprintf "%s\\0" "$XDG_CONFIG_HOME" "${LLAMA_ARG_N_GPU_LAYERS-unset}" "$@"\n'
    )
    program.chmod(0o755)
    argv = ("-m", "/模型/a b.gguf", "-ot", QWEN_RULE, "--extra", '$HOME `id` "q" \\ !')
    made = script(str(program), argv, Shell.BASH, comments=("made by\na test",))
    file = tmp_path / "start.sh"
    file.write_bytes(made.data)
    assert made.is_executable
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "LLAMA_ARG_N_GPU_LAYERS": "7", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run([str(file)], env=environment, capture_output=True, check=True, timeout=60)
    config_home, layers, *given_argv = ran.stdout.decode().split("\0")[:-1]
    assert tuple(given_argv) == argv
    assert layers == "unset"
    assert config_home == str(tmp_path / "cache" / "lanewise" / "engine-home")
    assert os.listdir(config_home) == []


def test_that_the_bash_script_passes_the_exit_code_on(tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    file = tmp_path / "start.sh"
    file.write_bytes(script("bash", ("-c", "exit 7"), Shell.BASH).data)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    assert subprocess.run(["bash", str(file)], env=environment, check=False, timeout=60).returncode == 7


@given(st.sampled_from(PROGRAMS), argvs)
def test_that_the_batch_file_holds_exactly_the_argv(program, argv):
    text = script_text(program, argv, Shell.CMD)
    body = text.split('mkdir "%APPDATA%"\r\n')[1].split('\r\nset "code=')[0]
    assert split_cmd(body, in_batch=True, environment=ENVIRONMENT) == (program, *argv)


@given(st.sampled_from(PROGRAMS), argvs)
def test_that_the_powershell_script_holds_exactly_the_argv(program, argv):
    text = script_text(program, argv, Shell.PWSH)
    body = text.split("$env:XDG_CONFIG_HOME = $engineHome\r\n")[1].split("\r\n    $code = ")[0]
    assert split_powershell(body, Shell.POWERSHELL) == (program, *argv)


def test_that_scripts_clear_overrides_and_use_their_systems_encoding_and_line_ends():
    batch = script("x", ("-m", "模型.gguf"), Shell.CMD, comments=("100% 模型",))
    text = batch.data.decode("utf-8")
    assert batch.extension == ".bat"
    assert text.startswith("@echo off\r\n")
    assert text.index("chcp 65001") < text.index("模型")
    assert "rem 100%% 模型\r\n" in text
    assert text.count("\n") == text.count("\r\n")
    assert "set LLAMA_ARG_ 2^>nul" in text
    powershell = script("x", ("-m", "模型.gguf"), Shell.POWERSHELL)
    assert powershell.extension == ".ps1"
    assert powershell.data.startswith(b"\xef\xbb\xbf")
    assert b"Env:LLAMA_ARG_*" in powershell.data
    assert b"$PSNativeCommandArgumentPassing = 'Legacy'" in powershell.data
    shell = script("x", ("-m", "模型.gguf"), Shell.BASH)
    assert shell.extension == ".sh"
    assert shell.data.startswith(b"#!/usr/bin/env bash\n")
    assert b"\r" not in shell.data
