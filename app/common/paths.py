"""Where Lanewise keeps things, on each system. Tests redirect all of it with ``LANEWISE_HOME``."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AppPaths:
    """Three folders: settings, data (demo model, plans, logs), and what can be made again (engine builds)."""

    config: Path
    data: Path
    cache: Path

    @property
    def settings_file(self) -> Path:
        """The user's settings."""
        return self.config / "settings.json"

    @property
    def demo_model(self) -> Path:
        """The demo model that Lanewise makes for itself."""
        return self.data / "demo" / "lanewise-demo-moe.gguf"

    @property
    def engines(self) -> Path:
        """Engines that Lanewise built or fetched."""
        return self.cache / "engines"

    @property
    def headers(self) -> Path:
        """Model headers that were read before (app/model/cache.py)."""
        return self.cache / "headers"

    @property
    def models(self) -> Path:
        """Models that Lanewise downloaded, unless the user chose another folder."""
        return self.data / "models"

    @property
    def library_file(self) -> Path:
        """What is known of the model files of this computer (app/work/library/store.py)."""
        return self.cache / "library.json"

    @property
    def engine_home(self) -> Path:
        """A private, empty config home for the engine: the user's own config.ini must not override a plan."""
        return self.cache / "engine-home"

    @property
    def learned_file(self) -> Path:
        """What launches and dry runs on this computer have taught (``app.work.learned``)."""
        return self.data / "learned.sqlite"

    @property
    def logs(self) -> Path:
        """Log files."""
        return self.data / "logs"


_PORTABLE_MARK = "portable.txt"


def portable_folder() -> Path | None:
    """The folder ``data`` beside a portable Windows copy (installer/windows/setup_exe.py puts the mark there)."""
    program = Path(__file__).resolve().parents[3]
    return program / "data" if sys.platform == "win32" and (program / _PORTABLE_MARK).is_file() else None


def app_paths() -> AppPaths:
    """The folders for this user and system; nothing is created."""
    override = os.environ.get("LANEWISE_HOME") or portable_folder()
    if override:
        root = Path(override)
        return AppPaths(root / "config", root / "data", root / "cache")
    home = Path.home()
    if sys.platform == "win32":
        roaming = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming") / "Lanewise"
        local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Lanewise"
        return AppPaths(roaming, local / "data", local / "cache")
    if sys.platform == "darwin":
        library = home / "Library"
        support = library / "Application Support" / "Lanewise"
        return AppPaths(support, support / "data", library / "Caches" / "Lanewise")
    xdg = {
        name: Path(os.environ.get(var) or home / default) / "lanewise"
        for name, var, default in (
            ("config", "XDG_CONFIG_HOME", ".config"),
            ("data", "XDG_DATA_HOME", ".local/share"),
            ("cache", "XDG_CACHE_HOME", ".cache"),
        )
    }
    return AppPaths(xdg["config"], xdg["data"], xdg["cache"])
