"""Starting with the system: a value under the user's Run key on Windows, a desktop file in autostart on Linux.

Both belong to the user alone, need no administrator, and are what a user finds when looking for it (Task Manager,
"Startup Applications"). The uninstaller removes the value of this name. Nothing is written unless the user asks.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from app.common.problem import fail

NAME = "Lanewise"
RUN_KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"
_PROGRAM = "lanewise-window"


@dataclass(frozen=True, slots=True)
class StartCommand:
    """What starts the window: words, and the folder to start in where the program is only found from there."""

    words: tuple[str, ...]
    folder: str | None = None


def start_command(plan: str | None, executable: str = sys.executable) -> StartCommand:
    """The program as it runs now, hidden in the tray where there is one, with a plan to load and launch."""
    arguments = ("--tray", "--launch", plan) if plan else ("--tray",)
    program = Path(executable)
    if program.name.lower() == "lanewise.exe":
        return StartCommand((executable, *arguments))
    script = program.with_name(_PROGRAM + (".exe" if sys.platform == "win32" else ""))
    found = str(script) if script.is_file() else shutil.which(_PROGRAM)
    if found is not None:
        return StartCommand((found, *arguments))
    return StartCommand((executable, "-m", "app", *arguments), str(Path(__file__).resolve().parents[2]))


def autostart_file() -> Path:
    """Where a Linux desktop looks (Desktop Application Autostart Specification)."""
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "autostart" / "lanewise.desktop"


def desktop_entry(command: StartCommand) -> str:
    """The text of the desktop file. Raises ``autostart_failed`` for a path that no such file can hold."""
    if any("\n" in word or "\r" in word for word in (*command.words, command.folder or "")):
        raise fail("autostart_failed", where=str(autostart_file()), why="a line break in a path")
    lines = ["[Desktop Entry]", "Type=Application", f"Name={NAME}", "Icon=lanewise", "Terminal=false"]
    if command.folder is not None:
        lines.append("Path=" + command.folder.replace("\\", "\\\\"))
    lines.append("Exec=" + " ".join(_exec_word(word) for word in command.words))
    return "\n".join([*lines, "X-GNOME-Autostart-enabled=true", ""])


def _exec_word(word: str) -> str:
    """Desktop Entry Specification, "The Exec key": quoted, with the string's own escapes on top; % is a field code."""
    quoted = "".join(f"\\{letter}" if letter in '"`$\\' else letter for letter in word)
    return '"' + quoted.replace("\\", "\\\\").replace("%", "%%") + '"'


def is_on() -> bool:
    """Will Lanewise start with the system?"""
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, RUN_KEY) as key:
                winreg.QueryValueEx(key, NAME)
        except OSError:
            return False
        return True
    return autostart_file().is_file()


def switch_on(command: StartCommand) -> None:
    """Start with the system from now on. Raises ``autostart_failed``."""
    try:
        if sys.platform == "win32":
            _write_run_key(command)
        else:
            _write_file(autostart_file(), desktop_entry(command))
    except OSError as error:
        raise _failed(error) from error


def switch_off() -> None:
    """Do not start with the system any more. Raises ``autostart_failed``."""
    try:
        if sys.platform == "win32":
            import winreg

            with (
                contextlib.suppress(FileNotFoundError),
                winreg.OpenKey(winreg.HKEY_CURRENT_USER, RUN_KEY, 0, winreg.KEY_SET_VALUE) as key,
            ):
                winreg.DeleteValue(key, NAME)
        else:
            autostart_file().unlink(missing_ok=True)
    except OSError as error:
        raise _failed(error) from error


def _failed(error: OSError) -> Exception:
    where = f"HKCU\\{RUN_KEY}" if sys.platform == "win32" else str(autostart_file())
    return fail("autostart_failed", where=where, why=error.strerror or type(error).__name__)


if sys.platform == "win32":

    def _write_run_key(command: StartCommand) -> None:
        import winreg

        if command.folder is not None:  # the Run key knows no folder to start in
            raise OSError(0, "a source tree cannot start with Windows; install Lanewise first")
        with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, RUN_KEY, 0, winreg.KEY_SET_VALUE) as key:
            winreg.SetValueEx(key, NAME, 0, winreg.REG_SZ, subprocess.list2cmdline(command.words))


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
