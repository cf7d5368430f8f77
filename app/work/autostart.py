"""Starting with the system: a value under the user's Run key on Windows, a desktop file in autostart on Linux.

Both belong to the user alone, need no administrator, and are what a user finds when looking for it (Task Manager,
"Startup Applications"). The uninstaller removes the value of this name. Nothing is written unless the user asks.

Windows' Task Manager switches an entry off in a place of its own (``APPROVED_KEY``) and leaves the value: such an entry
is off here too, and switching it on removes the Task Manager's mark.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from app.common.problem import fail
from app.common.whole_file import write_whole

NAME = "Lanewise"
RUN_KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"
APPROVED_KEY = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
"""A binary value of the same name; the lowest bit of its first byte is set where the Task Manager switched it off."""
LONGEST_COMMAND = 260
"""Windows passes over a longer one ("Run and RunOnce Registry Keys")."""
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
        return _value(RUN_KEY) is not None and not is_switched_off(_value(APPROVED_KEY))
    return autostart_file().is_file()


def is_switched_off(approved: object) -> bool:
    """What the Task Manager has noted; without a note of a form that we know, the entry counts as on."""
    return isinstance(approved, bytes) and bool(approved[:1]) and bool(approved[0] & 1)


def run_value(command: StartCommand) -> str:
    """The text of the Run key. Raises ``autostart_from_source`` (the key knows no folder to start in) and
    ``autostart_too_long``."""
    if command.folder is not None:
        raise fail("autostart_from_source")
    text = subprocess.list2cmdline(command.words)
    if len(text) > LONGEST_COMMAND:
        raise fail("autostart_too_long", characters=len(text), most=LONGEST_COMMAND)
    return text


def switch_on(command: StartCommand) -> None:
    """Start with the system from now on. Raises ``autostart_failed`` and the codes of ``run_value``."""
    try:
        if sys.platform == "win32":
            _write_run_key(run_value(command))
        else:
            _write_file(autostart_file(), desktop_entry(command))
    except OSError as error:
        raise _failed(error) from error


def switch_off() -> None:
    """Do not start with the system any more. Raises ``autostart_failed``."""
    try:
        if sys.platform == "win32":
            _delete_value(RUN_KEY)
            _delete_value(APPROVED_KEY)
        else:
            autostart_file().unlink(missing_ok=True)
    except OSError as error:
        raise _failed(error) from error


def _failed(error: OSError) -> Exception:
    where = f"HKCU\\{RUN_KEY}" if sys.platform == "win32" else str(autostart_file())
    return fail("autostart_failed", where=where, why=error.strerror or type(error).__name__)


if sys.platform == "win32":
    import winreg

    def _write_run_key(text: str) -> None:
        _delete_value(APPROVED_KEY)
        with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, RUN_KEY, 0, winreg.KEY_SET_VALUE) as key:
            winreg.SetValueEx(key, NAME, 0, winreg.REG_SZ, text)

    def _value(path: str) -> object:
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as key:
                value: object = winreg.QueryValueEx(key, NAME)[0]
        except OSError:
            return None
        return value

    def _delete_value(path: str) -> None:
        with (
            contextlib.suppress(FileNotFoundError),
            winreg.OpenKey(winreg.HKEY_CURRENT_USER, path, 0, winreg.KEY_SET_VALUE) as key,
        ):
            winreg.DeleteValue(key, NAME)


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode("utf-8", "surrogateescape"))
