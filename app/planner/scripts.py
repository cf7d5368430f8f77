"""Contents of exported start scripts: .bat, .ps1 and .sh, each running exactly one argv.

Nothing else may decide what runs: the engine's ``LLAMA_ARG_*`` variables are cleared and its config folder is a private
one (common/arg.cpp:723: config files and variables apply before the command line, and for ``-ot`` the first hit wins).
A script gives the engine the cores that a launch gives it, by what its system has for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.common.ranges import ranges_text
from app.planner.shells import Shell, quote_command

EXTENSIONS = {Shell.CMD: ".bat", Shell.POWERSHELL: ".ps1", Shell.PWSH: ".ps1", Shell.BASH: ".sh"}
"""File name endings by shell."""

CLEARED = ("LLAMA_ARG_", "LLAMA_LOG_")
"""Beginnings of the names of variables that would change what the engine does."""

MASK_CPUS = 64
"""Windows writes the CPUs of one processor group as the bits of one number."""


@dataclass(frozen=True, slots=True)
class Pinning:
    """The logical CPUs that the engine gets. ``notice``: what a .bat prints, since Ctrl+C does not reach the program
    there (``start /b`` starts it in a group of its own)."""

    cpus: tuple[int, ...]
    notice: str = ""

    @property
    def mask(self) -> int | None:
        """The CPUs as bits; None where one number cannot hold them."""
        if not self.cpus or max(self.cpus) >= MASK_CPUS:
            return None
        return sum(1 << cpu for cpu in set(self.cpus))


@dataclass(frozen=True, slots=True)
class Script:
    """A script file: write ``data`` unchanged. ``is_executable``: give it the x permission (.sh)."""

    data: bytes
    extension: str
    is_executable: bool


def script(
    program: str, argv: Sequence[str], shell: Shell, comments: Iterable[str] = (), pinning: Pinning | None = None
) -> Script:
    """The file to write: .bat in UTF-8 without BOM, .ps1 with BOM (5.1 reads the ANSI code page otherwise), .sh.

    A name that is no UTF-8 (GBK on Linux) stands in .sh with its own bytes; elsewhere it is a UnicodeEncodeError.
    """
    text = script_text(program, argv, shell, comments, pinning)
    is_powershell = shell in (Shell.POWERSHELL, Shell.PWSH)
    errors = "surrogateescape" if shell is Shell.BASH else "strict"
    data = text.encode("utf-8-sig" if is_powershell else "utf-8", errors)
    return Script(data, EXTENSIONS[shell], shell is Shell.BASH)


def script_text(
    program: str, argv: Sequence[str], shell: Shell, comments: Iterable[str] = (), pinning: Pinning | None = None
) -> str:
    """The script as text with the line ends of its system. ``comments`` are put on top, one a line.

    Raises ValueError when the shell cannot carry an argument (a line break in cmd).
    """
    notes = [" ".join(comment.split()) for comment in comments]
    if shell is Shell.CMD:
        return _batch(program, argv, notes, pinning)
    if shell is Shell.BASH:
        return _bash(program, argv, notes, pinning)
    return _powershell(program, argv, notes, pinning)


def _batch(program: str, argv: Sequence[str], comments: Iterable[str], pinning: Pinning | None) -> str:
    """After a failure the window stays open, so that a double click shows the reason. ``start`` with ``/b`` and
    ``/wait`` stays in this window and passes the exit code on."""
    mask = None if pinning is None else pinning.mask
    start = "" if mask is None else f'start "" /affinity {mask:X} /wait /b '
    notice = "" if mask is None or pinning is None else " ".join(pinning.notice.split())
    lines = [
        "@echo off",
        "setlocal DisableDelayedExpansion",
        "chcp 65001 >nul",
        *(f"rem {comment.replace('%', '%%').rstrip('^ ')}" for comment in comments),
        'for /f "delims==" %%v in (\'set LLAMA_ARG_ 2^>nul\') do set "%%v="',
        *([f"echo {_echoed(notice)}"] if notice else []),
        'set "APPDATA=%LOCALAPPDATA%\\Lanewise\\cache\\engine-home"',
        'if not exist "%APPDATA%" mkdir "%APPDATA%"',
        start + quote_command(program, argv, Shell.CMD, in_batch=True, multiline=True),
        'set "code=%errorlevel%"',
        'if not "%code%"=="0" pause',
        "exit /b %code%",
    ]
    return "\n".join([*lines, ""]).replace("\n", "\r\n")


def _powershell(program: str, argv: Sequence[str], comments: Iterable[str], pinning: Pinning | None) -> str:
    """Written for 5.1; ``Legacy`` makes 7.3 and newer pass arguments the same way. The session's variables and CPUs
    are put back afterwards, since a script changes those of the window it runs in. The program inherits both."""
    patterns = ", ".join(f"Env:{prefix}*" for prefix in CLEARED)
    mask = None if pinning is None else pinning.mask
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
        *([] if mask is None else _PIN_SELF),
        "try {",
        *([] if mask is None else [_PIN.replace("MASK", str(_signed(mask)))]),
        '    foreach ($name in $before.Keys) { Remove-Item -LiteralPath "Env:$name" }',
        "    $env:APPDATA = $engineHome",
        "    $env:XDG_CONFIG_HOME = $engineHome",
        quote_command(program, argv, Shell.POWERSHELL, multiline=True),
        "    $code = $LASTEXITCODE",
        "} finally {",
        "    Remove-Item Env:APPDATA, Env:XDG_CONFIG_HOME -ErrorAction SilentlyContinue",
        '    foreach ($name in $before.Keys) { Set-Item -LiteralPath "Env:$name" -Value $before[$name] }',
        *([] if mask is None else ["    $self.ProcessorAffinity = $cpus"]),
        "}",
        "exit $code",
    ]
    return "\n".join([*lines, ""]).replace("\n", "\r\n")


def _echoed(text: str) -> str:
    return re.sub(r"[\^&|<>()]", lambda found: f"^{found[0]}", text).replace("%", "%%")


_PIN_SELF = ("$self = [Diagnostics.Process]::GetCurrentProcess()", "$cpus = $self.ProcessorAffinity")

_PIN = "    try { $self.ProcessorAffinity = [IntPtr]([long]MASK) } catch { Write-Warning $_.Exception.Message }"


def _signed(mask: int) -> int:
    """The same 64 bits as a signed number, which is what PowerShell's ``long`` is."""
    return mask - (1 << MASK_CPUS) if mask >> (MASK_CPUS - 1) else mask


def _bash(program: str, argv: Sequence[str], comments: Iterable[str], pinning: Pinning | None) -> str:
    """Where taskset is missing or refuses these CPUs, it says so itself and the engine starts without it."""
    names = " ".join(f'"${{!{prefix}@}}"' for prefix in CLEARED)
    command = quote_command(program, argv, Shell.BASH, multiline=True)
    pin: list[str] = []
    if pinning is not None and pinning.cpus:
        pin = [f"pin=(taskset -c {ranges_text(pinning.cpus, ',')})", '"${pin[@]}" true || pin=()']
        command = f'"${{pin[@]}}" {command}'
    lines = [
        "#!/usr/bin/env bash",
        *(f"# {comment}" for comment in comments),
        f'for name in {names}; do unset "$name"; done',
        'export XDG_CONFIG_HOME="${XDG_CACHE_HOME:-$HOME/.cache}/lanewise/engine-home"',
        'mkdir -p "$XDG_CONFIG_HOME"',
        *pin,
        f"exec {command}",
    ]
    return "\n".join([*lines, ""])
