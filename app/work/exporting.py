"""The plan's command as text for a shell, and as a script file that runs exactly it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.common.problem import fail
from app.planner.argv import redact
from app.planner.scripts import script
from app.planner.shells import Shell, quote_command

SERVER = "llama-server"
"""What is written where no engine is known yet: found on PATH by whoever runs the command."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

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
    private config folder, so that nothing but this command decides what runs. One that holds a key is for the user's
    own eyes.

    Raises ProblemError ``export_failed`` or ``shell_cannot_carry``.
    """
    try:
        made = script(program or SERVER, argv, Shell(shell))
    except UnicodeEncodeError as error:
        raise fail("export_failed", path=str(path), why=error.reason) from error
    except ValueError as error:
        raise fail("shell_cannot_carry", shell=shell) from error
    has_secret = redact(tuple(argv)) != tuple(argv)
    mode = (0o700 if has_secret else 0o777) if made.is_executable else (0o600 if has_secret else 0o666)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, _NEW_FILE, mode), "wb") as file:  # the system takes the umask off the mode
            file.write(made.data)
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):  # the folder is gone or cannot be written
            temporary.unlink(missing_ok=True)
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise fail("export_failed", path=str(path), why=why) from error
