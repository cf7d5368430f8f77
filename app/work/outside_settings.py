"""What this machine tells llama-server besides the command line: its config files and ``LLAMA_ARG_*`` variables.

Lanewise starts the engine without them; a command that somebody runs in a terminal gets them all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from app.planner.flag_table import Given, from_ini, from_variables

_LARGEST_FILE = 1 << 20
_FILE = Path("llama.cpp") / "config.ini"


def outside_settings(environment: Mapping[str, str] | None = None) -> tuple[Given, ...]:
    """Options in the order in which the engine applies them: system file, user file, variables (common/arg.cpp:723).

    A file that cannot be read is passed over, as the engine does.
    """
    variables = os.environ if environment is None else environment
    found: list[Given] = []
    for path in config_files(variables):
        text = _read(path)
        if text is not None:
            found.extend(from_ini(text, str(path)))
    return (*found, *from_variables(variables))


def read_by_the_engine(environment: Mapping[str, str] | None = None) -> tuple[Given, ...]:
    """What still reaches an engine that Lanewise starts: the file of the whole system. The user's own file and the
    variables do not (``engine/environment.py``)."""
    path = _system_file(os.environ if environment is None else environment)
    text = _read(path) if path is not None else None
    return () if text is None else from_ini(text, str(path))


def config_files(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where llama-server looks for ``config.ini``; the later file wins."""
    if sys.platform == "win32":
        user = variables.get("APPDATA")
    else:
        home = variables.get("HOME")
        user = variables.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)
    system = _system_file(variables)
    return (*(() if system is None else (system,)), *((Path(user) / _FILE,) if user else ()))


def _system_file(variables: Mapping[str, str]) -> Path | None:
    root = variables.get("PROGRAMDATA") if sys.platform == "win32" else "/etc"
    return Path(root) / _FILE if root else None


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_FILE).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
