"""One argv as text for cmd, PowerShell and bash, such that the program receives exactly that argv again.

Windows programs get one string and cut it themselves (CommandLineToArgvW), so cmd and Windows PowerShell need two
layers of quoting; each layer has its own reader in ``shell_split``, and tests send every form through them. bash is
tested with a real bash. Lanewise itself never starts the engine through a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import StrEnum

from app.common.problem import Problem


class Shell(StrEnum):
    """Shells a command can be written for.

    ``POWERSHELL`` is Windows PowerShell 5.1, which every Windows has; ``PWSH`` is PowerShell 7.3 and newer. They differ
    only where an argument holds double quotes, is empty, or ends in a backslash after a space.
    """

    CMD = "cmd"
    POWERSHELL = "powershell"
    PWSH = "pwsh"
    BASH = "bash"


CONTINUATION = {Shell.CMD: "^", Shell.POWERSHELL: "`", Shell.PWSH: "`", Shell.BASH: "\\"}
"""What joins a line with the next one."""

LONGEST = {Shell.CMD: 8191, Shell.POWERSHELL: 32767, Shell.PWSH: 32767}
"""Characters of the longest command: cmd's own limit, and that of CreateProcess."""

SINGLE_QUOTES = "'‘’‚‛"
"""PowerShell takes all of these for a single quote."""

_CMD_PLAIN = re.compile(r"[A-Za-z0-9_.:\\/+-]+")
_CMD_SPECIAL = frozenset('()%!^"<>&|')
_POWERSHELL_PLAIN = re.compile(
    r"[A-Za-z_.\\/][A-Za-z0-9_.:\\/-]*"  # words and paths, but nothing that could be read as a number
    r"|--?[A-Za-z][A-Za-z0-9_-]*"  # options; one with a dot or colon would be cut in two
    r"|-?[0-9]+|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+"
)
_POWERSHELL_PLAIN_PROGRAM = re.compile(r"[A-Za-z.\\/][A-Za-z0-9_.:\\/-]*")
_BEFORE_QUOTE = re.compile(r'(\\*)"')
_AT_END = re.compile(r"(\\+)\Z")
_OPTION = re.compile(r"--?[A-Za-z]")


def quote_command(
    program: str, argv: Sequence[str], shell: Shell, *, in_batch: bool = False, multiline: bool = False
) -> str:
    """The command as text for a shell.

    ``in_batch``: for a .bat file, where ``%`` is doubled (only cmd). ``multiline``: a line break before each option,
    with the shell's continuation character. Raises ValueError for what a shell cannot carry: a NUL character, and line
    breaks in cmd.
    """
    for text in (program, *argv):
        if "\0" in text or (shell is Shell.CMD and ("\n" in text or "\r" in text)):
            raise ValueError(f"{shell} cannot carry this argument: {text!r}")
    words = [_program(program, shell, in_batch), *(_argument(a, shell, in_batch) for a in argv)]
    if not multiline:
        return " ".join(words)
    text = words[0]
    for argument, word in zip(argv, words[1:], strict=True):
        text += f" {CONTINUATION[shell]}\n  {word}" if _OPTION.match(argument) else f" {word}"
    return text


def length_problem(command: str, shell: Shell) -> Problem | None:
    """``command_too_long`` when the shell would cut or refuse the command."""
    most = LONGEST.get(shell)
    if most is None or len(command) <= most:
        return None
    return Problem("command_too_long", params={"n": len(command), "most": most, "shell": str(shell)})


def _program(program: str, shell: Shell, in_batch: bool) -> str:
    if shell is Shell.CMD:  # cmd itself must find the program's end, so only real quotes help; no file name has a "
        text = program.replace("%", "%%") if in_batch else program
        return program if _CMD_PLAIN.fullmatch(program) else f'"{text}"'
    if shell is Shell.BASH:  # with a = it would be an assignment
        return f"'{program}'" if "=" in program and shlex.quote(program) == program else shlex.quote(program)
    return program if _POWERSHELL_PLAIN_PROGRAM.fullmatch(program) else f"& {_single_quoted(program)}"


def _argument(argument: str, shell: Shell, in_batch: bool) -> str:
    if shell is Shell.CMD:
        return _cmd(argument, in_batch)
    if shell is Shell.BASH:
        return shlex.quote(argument)
    if _POWERSHELL_PLAIN.fullmatch(argument):
        return argument
    return _single_quoted(_for_powershell_5(argument) if shell is Shell.POWERSHELL else argument)


def windows_quote(argument: str) -> str:
    """One argument in double quotes for CommandLineToArgvW: backslashes before a quote are doubled."""
    inside = _BEFORE_QUOTE.sub(r'\1\1\\"', argument)
    return '"' + _AT_END.sub(r"\1\1", inside) + '"'


def _cmd(argument: str, in_batch: bool) -> str:
    """cmd reads ``^ & | < > ( )`` as text inside double quotes. A quote inside the argument would end that, and at the
    prompt (not in a batch file) nothing inside quotes hides ``%``: then every special character gets a caret instead,
    the quotes themselves included.
    """
    if _CMD_PLAIN.fullmatch(argument):
        return argument
    text = windows_quote(argument)
    if '"' in argument or ("%" in argument and not in_batch):
        text = "".join(f"^{c}" if c in _CMD_SPECIAL and not (c == "%" and in_batch) else c for c in text)
    return text.replace("%", "%%") if in_batch else text


def _single_quoted(text: str) -> str:
    return "'" + "".join(c * 2 if c in SINGLE_QUOTES else c for c in text) + "'"


def _for_powershell_5(argument: str) -> str:
    """Windows PowerShell 5.1 joins arguments into the command line without escaping what is inside: quotes vanish,
    an empty argument is dropped, and ``a b\\`` swallows its closing quote. So we hand it the escaped form.
    """
    if argument == "" or (argument.endswith("\\") and re.search(r"\s", argument)):
        return windows_quote(argument)
    return _BEFORE_QUOTE.sub(r'\1\1\\"', argument)
