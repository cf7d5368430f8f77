"""What the user has chosen, as one frozen value. Nothing here is guessed from the machine."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from typing import Any

VERSION = 1
"""The layout this program writes. Raise it together with a new entry in ``store.UPGRADES``."""

LANGUAGES = ("system", "en", "zh_CN")
THEMES = ("system", "light", "dark")
SHELLS = ("cmd", "powershell", "bash")
CLOSINGS = ("ask", "stop", "tray")
"""What closing the window does while a server runs."""

PINNINGS = ("hard", "soft", "off")
"""How firmly a server is held on its CPUs: kept there, told to prefer them (CPU sets, Windows), or not at all."""

SAMPLE_RATES = (1, 2, 5)
"""How many times a second a running server is watched while somebody looks."""

EFFORTS_ON_MAINS = ("full", "quiet")
EFFORTS_ON_BATTERY = ("full", "quiet", "ask")
"""How hard new plans work: everything at once, or half the threads at low priority (``planner.quiet``)."""


def default_shell() -> str:
    """The shell whose command line is shown first on this system."""
    return "powershell" if sys.platform == "win32" else "bash"


@dataclass(frozen=True, slots=True)
class Settings:
    """The user's settings.

    ``engine_path``: a chosen llama-server (or a folder with one), None = look for it. ``reserve_mib``: MiB of VRAM that
    new plans leave free, None = the planner's default. ``window_geometry`` is Qt's saved geometry as base64 text.
    ``rpc_servers``: HOST:PORT of machines that lend their memory. ``recent_plans``: plan files, the newest first.
    ``model_folders``: where to look for models, besides other programs' own folders. ``model_mirror``: base address
    asked instead of Hugging Face's. ``download_folder``: where downloads go, None = Lanewise's own. ``first_run``:
    steps of the first run that are behind the user, by name.
    ``update_address``: list of Lanewise's releases, asked when the user says so.
    ``engine_mirror``: base address to fetch llama.cpp from instead of the official one.
    ``start_plan``: the plan that is launched when Lanewise starts with the system.
    """

    version: int = VERSION
    language: str = "system"
    theme: str = "system"
    engine_path: str | None = None
    last_model: str | None = None
    shell: str = dataclasses.field(default_factory=default_shell)
    details_open: bool = False
    reserve_mib: int | None = None
    rpc_servers: tuple[str, ...] = ()
    window_geometry: str | None = None
    engine_mirror: str | None = None
    recent_plans: tuple[str, ...] = ()
    close_with_server: str = "ask"
    pinning: str = "hard"
    start_plan: str | None = None
    model_folders: tuple[str, ...] = ()
    model_mirror: str | None = None
    download_folder: str | None = None
    first_run: tuple[str, ...] = ()
    update_address: str | None = None
    effort_on_mains: str = "full"
    effort_on_battery: str = "full"
    samples_per_second: int = 2


def changed(settings: Settings, **changes: Any) -> Settings:
    """A copy with some fields changed; a value outside its choices is a ValueError (a bug of the caller)."""
    result = dataclasses.replace(settings, **changes)
    for name, choices in CHOICES.items():
        if getattr(result, name) not in choices:
            raise ValueError(f"{name}: {getattr(result, name)!r} is none of {choices}")
    if result.reserve_mib is not None and result.reserve_mib < 0:
        raise ValueError("reserve_mib: less than nothing")
    return result


CHOICES = {
    "language": LANGUAGES,
    "theme": THEMES,
    "shell": SHELLS,
    "close_with_server": CLOSINGS,
    "pinning": PINNINGS,
    "effort_on_mains": EFFORTS_ON_MAINS,
    "effort_on_battery": EFFORTS_ON_BATTERY,
    "samples_per_second": SAMPLE_RATES,
}
"""The fields that take one of a few values."""
