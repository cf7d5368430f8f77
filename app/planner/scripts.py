"""Contents of exported start scripts: .bat, .ps1 and .sh, each running exactly one argv.

Nothing else may decide what runs: the engine's ``LLAMA_ARG_*`` variables are cleared and its config folder is a private
one (common/arg.cpp:723: config files and variables apply before the command line, and for ``-ot`` the first hit wins).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.planner.shells import Shell, quote_command

EXTENSIONS = {Shell.CMD: ".bat", Shell.POWERSHELL: ".ps1", Shell.PWSH: ".ps1", Shell.BASH: ".sh"}
"""File name endings by shell."""

CLEARED = ("LLAMA_ARG_", "LLAMA_LOG_")
"""Beginnings of the names of variables that would change what the engine does."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script file: write ``data`` unchanged. ``is_executable``: give it the x permission (.sh)."""

    data: bytes
    extension: str
    is_executable: bool


def script(program: str, argv: Sequence[str], shell: Shell, comments: Iterable[str] = ()) -> Script:
    """The file to write: .bat in UTF-8 without BOM, .ps1 with BOM (5.1 reads the ANSI code page otherwise), .sh.

    A name that is no UTF-8 (GBK on Linux) stands in .sh with its own bytes; elsewhere it is a UnicodeEncodeError.
    """
    text = script_text(program, argv, shell, comments)
    is_powershell = shell in (Shell.POWERSHELL, Shell.PWSH)
    errors = "surrogateescape" if shell is Shell.BASH else "strict"
    data = text.encode("utf-8-sig" if is_powershell else "utf-8", errors)
    return Script(data, EXTENSIONS[shell], shell is Shell.BASH)


def script_text(program: str, argv: Sequence[str], shell: Shell, comments: Iterable[str] = ()) -> str:
    """The script as text with the line ends of its system. ``comments`` are put on top, one a line.

    Raises ValueError when the shell cannot carry an argument (a line break in cmd).
    """
    notes = [" ".join(comment.split()) for comment in comments]
    if shell is Shell.CMD:
        return _batch(program, argv, notes)
    if shell is Shell.BASH:
        return _bash(program, argv, notes)
    return _powershell(program, argv, notes)


def _batch(program: str, argv: Sequence[str], comments: Iterable[str]) -> str:
    """After a failure the window stays open, so that a double click shows the reason."""
    lines = [
        "@echo off",
        "setlocal DisableDelayedExpansion",
        "chcp 65001 >nul",
        *(f"rem {comment.replace('%', '%%').rstrip('^ ')}" for comment in comments),
        'for /f "delims==" %%v in (\'set LLAMA_ARG_ 2^>nul\') do set "%%v="',
        'set "APPDATA=%LOCALAPPDATA%\\Lanewise\\cache\\engine-home"',
        'if not exist "%APPDATA%" mkdir "%APPDATA%"',
        quote_command(program, argv, Shell.CMD, in_batch=True, multiline=True),
        'set "code=%errorlevel%"',
        'if not "%code%"=="0" pause',
        "exit /b %code%",
    ]
    return "\n".join([*lines, ""]).replace("\n", "\r\n")


def _powershell(program: str, argv: Sequence[str], comments: Iterable[str]) -> str:
    """Written for 5.1; ``Legacy`` makes 7.3 and newer pass arguments the same way. The session's variables are put
    back afterwards, since a script changes those of the window it runs in."""
    patterns = ", ".join(f"Env:{prefix}*" for prefix in CLEARED)
    lines = [
        *(f"# {comment}" for comment in comments),
        "$PSNativeCommandArgumentPassing = 'Legacy'",
        "[Console]::OutputEncoding = [Text.Encoding]::UTF8",
        "$cache = if ($env:LOCALAPPDATA) { $env:LOCALAPPDATA } else { Join-Path $HOME '.cache' }",
        "$engineHome = Join-Path $cache 'Lanewise/cache/engine-home'",
        "New-Item -ItemType Directory -Force -Path $engineHome | Out-Null",
        f"$cleared = @(Get-ChildItem {patterns} | ForEach-Object {{ $_.Name }})",
        "$names = @('APPDATA', 'XDG_CONFIG_HOME') + $cleared",
        "$before = @{}",
        "foreach ($name in $names) {",
        '    if (Test-Path -LiteralPath "Env:$name") { $before[$name] = (Get-Item -LiteralPath "Env:$name").Value }',
        "}",
        "try {",
        '    foreach ($name in $before.Keys) { Remove-Item -LiteralPath "Env:$name" }',
        "    $env:APPDATA = $engineHome",
        "    $env:XDG_CONFIG_HOME = $engineHome",
        quote_command(program, argv, Shell.POWERSHELL, multiline=True),
        "    $code = $LASTEXITCODE",
        "} finally {",
        "    Remove-Item Env:APPDATA, Env:XDG_CONFIG_HOME -ErrorAction SilentlyContinue",
        '    foreach ($name in $before.Keys) { Set-Item -LiteralPath "Env:$name" -Value $before[$name] }',
        "}",
        "exit $code",
    ]
    return "\n".join([*lines, ""]).replace("\n", "\r\n")


def _bash(program: str, argv: Sequence[str], comments: Iterable[str]) -> str:
    names = " ".join(f'"${{!{prefix}@}}"' for prefix in CLEARED)
    lines = [
        "#!/usr/bin/env bash",
        *(f"# {comment}" for comment in comments),
        f'for name in {names}; do unset "$name"; done',
        'export XDG_CONFIG_HOME="${XDG_CACHE_HOME:-$HOME/.cache}/lanewise/engine-home"',
        'mkdir -p "$XDG_CONFIG_HOME"',
        f"exec {quote_command(program, argv, Shell.BASH, multiline=True)}",
    ]
    return "\n".join([*lines, ""])
