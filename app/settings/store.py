"""Reads and writes the settings file. A file that cannot be understood never stops the program: defaults hold."""

from __future__ import annotations

import base64
import dataclasses
import json
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.common.jsonable import from_json, to_json
from app.common.patient import read_file, replace_file
from app.common.problem import Problem, Severity, fail
from app.common.whole_file import write_whole
from app.settings.settings import CHOICES, VERSION, Settings

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: Mapping[int, Upgrade] = {}
"""Version N -> the function that turns its JSON object into version N + 1."""


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """What was read. ``problem`` tells why defaults hold although a file was there."""

    settings: Settings
    problem: Problem | None = None


def load(path: Path) -> LoadedSettings:
    """Read the settings; never raises.

    No file: defaults. A damaged one: defaults, and the file is kept beside it as ``.bad`` so that nothing is lost.
    One value that this version does not know (written by a newer one): the default of that field.
    """
    try:
        text = _read(path)
    except FileNotFoundError:
        return LoadedSettings(Settings())
    except UnicodeDecodeError:
        return LoadedSettings(Settings(), _set_aside(path))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return LoadedSettings(Settings(), _problem("settings_unreadable", path=str(path), reason=reason))
    try:
        data = upgraded(json.loads(text))
        return LoadedSettings(dataclasses.replace(from_json(Settings, _known_choices(data)), version=VERSION))
    except (ValueError, KeyError, TypeError, RecursionError):
        return LoadedSettings(Settings(), _set_aside(path))


def _read(path: Path) -> str:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
        raise OSError("no regular file")
    return read_file(path).decode("utf-8-sig")


def load_settings(path: Path) -> Settings:
    """The settings alone; ``load`` also tells why defaults hold."""
    return load(path).settings


def save_settings(path: Path, settings: Settings) -> None:
    """Write the whole file or leave the old one. Raises ``settings_not_saved``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(to_json(settings), ensure_ascii=False, indent=2) + "\n"
        # a path that is no Unicode (a name in GBK on Linux) comes out as JSON's own escapes
        write_whole(path, text.encode("utf-8", "backslashreplace"), is_lasting=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise fail("settings_not_saved", path=str(path), reason=reason) from error


def upgraded(data: Any, steps: Mapping[int, Upgrade] = UPGRADES, to_version: int = VERSION) -> dict[str, Any]:
    """Bring an older file's object to the layout of ``to_version``; a newer one is read as far as it is understood."""
    if not isinstance(data, dict):
        raise ValueError("settings: expected an object")
    version = data.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("settings: the version is not a number")
    result: dict[str, Any] = data
    while version < to_version:
        result = steps[version](result)
        version += 1
    return result


def _known_choices(data: dict[str, Any]) -> dict[str, Any]:
    """Without the values that are none of a field's choices, a negative reserve, or a geometry that is none."""
    kept = {key: value for key, value in data.items() if key not in CHOICES or value in CHOICES[key]}
    reserve = kept.get("reserve_mib")
    if isinstance(reserve, int) and reserve < 0:
        del kept["reserve_mib"]
    geometry = kept.get("window_geometry")
    if isinstance(geometry, str) and not _is_base64(geometry):
        del kept["window_geometry"]
    return kept


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _set_aside(path: Path) -> Problem:
    kept = path.with_name(path.name + ".bad")
    try:
        replace_file(path, kept)
    except OSError as error:
        return _problem("settings_unreadable", path=str(path), reason=error.strerror or type(error).__name__)
    return _problem("settings_damaged", path=str(path), kept=str(kept))


def _problem(code: str, **params: str) -> Problem:
    """An error, although the program goes on: it must stay on the screen until somebody has read it."""
    return Problem(code, Severity.ERROR, params)
