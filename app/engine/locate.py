"""Where a llama-server is on this computer."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.common.paths import AppPaths
from app.common.problem import fail

MARKER = "complete.json"
"""The file that says that a folder below ``AppPaths.engines`` holds a whole engine; written last."""

_SUFFIX = ".exe" if sys.platform == "win32" else ""
SERVER_NAME = f"llama-server{_SUFFIX}"
_RPC_NAMES = (f"ggml-rpc-server{_SUFFIX}", f"rpc-server{_SUFFIX}")
_BELOW = ("", "bin", "build/bin", "build/bin/Release", "llama.cpp/build/bin")


@dataclass(frozen=True, slots=True)
class EngineBinary:
    """One engine: its llama-server and the helpers that lie beside it (None when they do not)."""

    path: str
    rpc_server: str | None = None
    fit_params: str | None = None


def find_engine(explicit: str | None, paths: AppPaths) -> EngineBinary | None:
    """The engine to use, or None when this computer has none.

    The order: ``explicit`` (a llama-server, or a folder with one), the variable ``LANEWISE_ENGINE``, the newest engine
    that Lanewise keeps in its cache, ``PATH``, the usual folders. Raises ProblemError ``engine_not_found`` when a place
    that was named holds none: another engine than the one asked for would be a surprise.
    """
    named = explicit or os.environ.get("LANEWISE_ENGINE")
    if named:
        return engine_at(Path(os.path.expanduser(named)))  # Path.expanduser raises for a user that does not exist
    for folder in (*installed_engines(paths), *_on_path(), *usual_folders()):
        server = _server_in(folder)
        if server is not None:
            return _with_helpers(server)
    return None


def engine_at(place: Path) -> EngineBinary:
    """The engine in exactly this place: the program itself or a folder that holds it. Raises ``engine_not_found``."""
    server = place if _is_file(place) else _server_in(place)
    if server is None:
        raise fail("engine_not_found", path=str(place))
    return _with_helpers(server.absolute())


def installed_engines(paths: AppPaths) -> tuple[Path, ...]:
    """Folders of complete engines in our cache, the newest first."""
    try:
        markers = [folder / MARKER for folder in paths.engines.iterdir()]
        found = [(marker.stat().st_mtime, marker.parent) for marker in markers if marker.is_file()]
    except OSError:
        return ()
    return tuple(folder for _, folder in sorted(found, reverse=True))


def _server_in(folder: Path) -> Path | None:
    for below in _BELOW:
        candidate = folder / below / SERVER_NAME
        if _is_file(candidate):
            return candidate
    return None


def _is_file(path: Path) -> bool:
    """``Path.is_file`` raises for a folder that may not be read and for a name that is too long."""
    return os.path.isfile(path)


def _with_helpers(server: Path) -> EngineBinary:
    def beside(*names: str) -> str | None:
        for folder in (server.parent, server.resolve().parent):
            for name in names:
                if _is_file(folder / name):
                    return str(folder / name)
        return None

    return EngineBinary(str(server), beside(*_RPC_NAMES), beside(f"llama-fit-params{_SUFFIX}"))


def _on_path() -> Iterator[Path]:
    found = shutil.which(SERVER_NAME)
    if found is not None:
        yield Path(found).parent


def usual_folders() -> tuple[Path, ...]:
    """Folders where people build or unpack llama.cpp, and where package managers put it."""
    home = Path.home()
    if sys.platform == "win32":
        return _usual_on_windows(home)
    folders = [
        home / "llama.cpp",
        home / "src" / "llama.cpp",
        home / ".local" / "bin",
        Path("/usr/local/bin"),
        Path("/opt/llama.cpp"),
        Path("/usr/bin"),
        Path("/home/linuxbrew/.linuxbrew/bin"),
    ]
    if sys.platform == "darwin":
        folders += [Path("/opt/homebrew/bin")]
    return tuple(folders)


def _usual_on_windows(home: Path) -> tuple[Path, ...]:
    local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    programs = Path(os.environ.get("PROGRAMFILES") or "C:/Program Files")
    winget = local / "Microsoft" / "WinGet"
    packages = sorted((winget / "Packages").glob("ggml.llamacpp*")) if (winget / "Packages").is_dir() else []
    return (
        local / "Programs" / "llama.cpp",
        winget / "Links",
        *packages,
        Path("C:/llama.cpp"),
        Path("D:/llama.cpp"),
        programs / "llama.cpp",
        home / "llama.cpp",
        home / "Downloads" / "llama.cpp",
        home / "scoop" / "apps" / "llama.cpp" / "current",
        home / "scoop" / "shims",
    )
