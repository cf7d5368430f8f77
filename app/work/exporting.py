"""The plan's command as text for a shell, and as a script file that runs exactly it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.common.problem import fail
from app.planner.scripts import script
from app.planner.shells import Shell, quote_command

SERVER = "llama-server"
"""What is written where no engine is known yet: found on PATH by whoever runs the command."""

SCRIPT_SHELLS: Mapping[str, str] = {".bat": "cmd", ".ps1": "powershell", ".sh": "bash"}
"""File name ending -> the shell that the script is written for."""


def command_text(program: str | None, argv: Sequence[str], shell: str) -> str:
    """The whole command for ``cmd``, ``powershell`` (5.1), ``pwsh`` or ``bash``; the program receives exactly ``argv``.

    ``program`` None: no engine is known. Raises ProblemError ``shell_cannot_carry`` (a line break in cmd).
    """
    try:
        return quote_command(program or SERVER, argv, Shell(shell))
    except ValueError as error:
        raise fail("shell_cannot_carry", shell=shell) from error


def export_script(path: Path, program: str | None, argv: Sequence[str], shell: str) -> None:
    """Write the script whole, or leave an older file as it was. It clears the engine's variables and gives it a
    private config folder, so that nothing but this command decides what runs.

    Raises ProblemError ``export_failed`` or ``shell_cannot_carry``.
    """
    try:
        made = script(program or SERVER, argv, Shell(shell))
    except UnicodeEncodeError as error:
        raise fail("export_failed", path=str(path), why=error.reason) from error
    except ValueError as error:
        raise fail("shell_cannot_carry", shell=shell) from error
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(made.data)
        if made.is_executable:
            temporary.chmod(temporary.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        _remove(temporary)
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise fail("export_failed", path=str(path), why=why) from error


def _remove(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except (OSError, ValueError):
        return  # the folder is gone or cannot be written: so the file was never made
